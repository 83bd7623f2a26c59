# SPDX-License-Identifier: MIT
"""Tests overtake serve as users call it: two programs share its device, and a signal ends it."""

import json
import os
import pathlib
import pwd
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import numpy as np
from overtake_command import BINARY, CommandTest, overtake

MAKE_MODEL = os.environ["MAKE_MODEL"]
HAVE_SECCOMP = os.environ["HAVE_SECCOMP"] == "1"
PATIENCE = 60


class Serve(CommandTest):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.directory.chmod(0o755)
        self.socket = self.directory / "sockets/device"
        self.model = self.directory / "m.ovm"
        subprocess.run([MAKE_MODEL, str(self.model)], check=True)

    def serve(self, *options, **popen):
        """Starts a server that listens; it is stopped after the test."""
        server = subprocess.Popen(
            [BINARY, "serve", "--socket", str(self.socket), *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **popen)  # fmt: skip
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait, PATIENCE)
        self.addCleanup(server.terminate)
        self.said = server.stdout.readline()
        return server

    def status(self):
        return json.loads(self.succeed("serve", "--status", "--json", "--socket", str(self.socket)))

    def clients(self, count, are_ready=lambda clients: True):
        deadline = time.monotonic() + PATIENCE
        while len(clients := self.status()["clients"]) != count or not are_ready(clients):
            self.assertLess(time.monotonic(), deadline, f"there never were {count} clients, ready: {clients}")
        return clients

    def expect_no_socket(self):
        if os.getuid() != 0:  # root's server is user nobody by then, who may not remove the socket
            self.assertFalse(self.socket.exists())

    def run_beside(self, *arguments, **popen):
        program = subprocess.Popen([BINARY, *arguments], stdout=subprocess.PIPE, text=True, **popen)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.wait, PATIENCE)
        self.addCleanup(program.send_signal, signal.SIGINT)
        return program

    def test_two_programs_share_its_device(self):
        server = self.serve("--cores", "3", "--mode", "both")
        self.assertEqual(self.said, f"serving 3 cores at {self.socket}\n")
        status = self.status()
        self.assertLessEqual(status.pop("lock")["most_steps"], 256)
        self.assertEqual(status, {"version": 1, "cores": 3, "mode": 2, "fair": False, "clients": []})
        device = f"server:{self.socket}"
        first = self.run_beside("perf", "--device", device, str(self.model), "--frames", "0")
        (client,) = self.clients(1, lambda clients: clients[0]["memory_bytes"] > 1 << 20)
        self.assertEqual(client["pid"], first.pid)
        self.assertEqual(client["uid"], os.getuid())
        result = self.succeed_json("perf", "--device", device, str(self.model), "--frames", "20",
                                   "--priority", "255")  # fmt: skip
        self.assertEqual(result["device"]["backend"], "server")
        self.assertEqual(result["device"]["cores"], 3)
        text = self.succeed("serve", "--status", "--socket", str(self.socket))
        self.assertRegex(text, rf"\A{self.socket}: 3 cores, mode both, 1 client\n")
        self.assertRegex(text, rf"(?m)^ +{first.pid} ")
        server.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(PATIENCE), 0)
        if HAVE_SECCOMP:
            self.assertEqual(server.stderr.read(), "")
        self.expect_no_socket()
        self.assertNotEqual(first.wait(PATIENCE), 0)  # its device is gone

    def test_a_load_ends_with_its_server(self):
        for options in ((), ("--engine",), ("--engine", "--service"), ("--engine", "--period-us", "1000")):
            with self.subTest(options):
                server = self.serve("--cores", "1")
                load = self.run_beside("perf", "--device", f"server:{self.socket}", str(self.model), "--frames", "0",
                                       *(() if "--period-us" in options else ("--in-flight", "20")), *options,
                                       stderr=subprocess.PIPE)  # fmt: skip
                self.addCleanup(load.stderr.close)
                self.clients(1)
                server.kill()
                self.assertEqual(load.wait(PATIENCE), 1)
                self.assertRegex(load.stderr.read(), "No such device|device is gone|server")

    def test_programs_in_service_mode_share_a_queue(self):
        self.serve("--slots", "2", "--task-limit", "5", "--cores", "1")
        device = f"server:{self.socket}"
        first = self.run_beside("perf", "--device", device, str(self.model), "--frames", "0", "--engine",
                                "--service", "--in-flight", "3")  # fmt: skip
        self.clients(1)
        result = self.succeed_json("perf", "--device", device, str(self.model), "--frames", "50", "--engine",
                                   "--service", "--priority", "200")  # fmt: skip
        self.assertEqual(result["models"][0]["failed"], 0)
        (client,) = self.clients(1)
        tasks = client["tasks"]
        self.assertEqual(set(tasks), {"waiting", "ready", "dispatched", "overdue", "slots", "uncollected",
                                      "ended", "waited_ns", "overdue_ever"})  # fmt: skip
        self.assertGreater(tasks["ended"], 0)
        self.assertLessEqual(tasks["waiting"] + tasks["dispatched"] + tasks["uncollected"], 3)
        text = self.succeed("serve", "--status", "--socket", str(self.socket))
        heading, line = text.splitlines()[1:]
        self.assertEqual(heading.split(), ["pid", "user", "queues", "buffers", "jobs", "memory", "KiB", "waiting",
                                           "begun", "overdue", "slots", "ended", "255"])  # fmt: skip
        self.assertEqual(len(line.split()), 12)
        self.assertEqual(line.split()[0], str(first.pid))

    def test_samples_in_service_mode_give_the_same(self):
        self.serve()
        inputs = self.directory / "x.npy"
        np.save(inputs, np.random.default_rng(1).standard_normal((7, *self.input_shape())).astype("f4"))
        outputs = []
        for options in (["--device", "embedded"], ["--device", f"server:{self.socket}", "--service"]):
            folder = self.directory / f"out{len(outputs)}"
            self.succeed("run", str(self.model), "--input", f"{self.input_name()}={inputs}", "--output-dir",
                         str(folder), *options)  # fmt: skip
            outputs.append([np.load(path) for path in sorted(folder.iterdir())])
        self.assertTrue(outputs[0])
        for own, shared in zip(*outputs, strict=True):
            np.testing.assert_array_equal(own, shared)
        self.refuse(1, "overtake serve", "run", str(self.model), "--input", f"{self.input_name()}={inputs}",
                    "--output-dir", str(folder), "--service", "--device", "embedded")  # fmt: skip

    def info(self):
        return json.loads(self.succeed("info", "--json", str(self.model)))

    def input_name(self):
        return self.info()["inputs"][0]["name"]

    def input_shape(self):
        return self.info()["inputs"][0]["shape"][1:]

    def test_auto_takes_it_where_there_is_no_driver(self):
        if pathlib.Path("/dev/accel/accel0").exists():
            self.skipTest("there is a driver")
        self.serve()
        environment = {**os.environ, "OVERTAKE_SERVER": str(self.socket)}
        run = subprocess.run(
            [BINARY, "perf", str(self.model), "--frames", "5", "--json"], env=environment,
            capture_output=True, text=True, check=True, timeout=PATIENCE)  # fmt: skip
        self.assertEqual(json.loads(run.stdout)["device"]["backend"], "server")

    def test_devices_lists_it(self):
        self.serve("--cores", "1", "--mode", "timed", "--core-limit", "2")
        environment = {**os.environ, "OVERTAKE_SERVER": str(self.socket)}

        def devices(*options):
            return subprocess.run([BINARY, "devices", *options], env=environment, capture_output=True, text=True,
                                  check=True, timeout=PATIENCE).stdout  # fmt: skip

        (server,) = [device for device in json.loads(devices("--json"))["devices"] if device["kind"] == "server"]
        self.assertEqual((server["socket"], server["mode"], server["cores"], server["core_limits"], server["usable"],
                          server["priority_255"], server["refusal"]),
                         (str(self.socket), "timed", 1, [2], True, True, None))  # fmt: skip
        self.assertIn("device of a server, mode timed, 1 core, core limit 2\n"
                      f"  socket        {self.socket}\n  you           can use it\n", devices())  # fmt: skip
        environment["OVERTAKE_SERVER"] = str(self.directory / "none")
        self.assertNotIn("server", devices())
        (self.directory / "none").touch()
        self.assertRegex(devices(), rf"device server {self.directory}/none\n  you           cannot use it: .*none: ")
        (server,) = [device for device in json.loads(devices("--json"))["devices"] if device["kind"] == "server"]
        self.assertEqual((server["usable"], server["priority_255"]), (False, None))

    def test_run_warns_of_a_device_that_computes_nothing(self):
        inputs = self.directory / "x.npy"
        np.save(inputs, np.zeros((1, *self.input_shape()), "f4"))
        for mode, count, options in ("timed", 1, []), ("timed", 0, ["-q"]), ("both", 0, []):
            server = self.serve("--mode", mode)
            run = subprocess.run(
                [BINARY, "run", str(self.model), "--input", str(inputs), "--output-dir", str(self.directory / mode),
                 "--device", f"server:{self.socket}", *options],
                capture_output=True, text=True, check=True, timeout=PATIENCE)  # fmt: skip
            self.assertEqual(run.stderr.count("computes nothing, so the outputs are not the network's"), count)
            server.terminate()
            server.wait()

    def test_its_cores_may_have_profiles_of_their_own(self):
        self.serve("--profile", "default+ideal+ideal", "--mode", "timed")
        self.assertEqual(self.said, f"serving 3 cores at {self.socket}\n")
        device = f"server:{self.socket}"
        perf = self.succeed("perf", "--device", device, self.model, "--frames", "2", "--warm-up", "0")
        self.assertIn("profile default+ideal+ideal, 3 cores", perf)
        self.refuse(1, "service mode: the cores of this device have unlike profiles", "perf", "--device", device,
                    self.model, "--frames", "1", "--engine", "--service")  # fmt: skip
        picture = json.loads(self.succeed("top", "--device", device, "--json", "--batch", "1", "--interval", "50ms"))
        self.assertEqual([core["profile"] for core in picture["cores"]], ["default", "ideal", "ideal"])

    def test_profiles_that_do_not_fit_its_cores_are_refused(self):
        for words, arguments in (
            ("serve: --profile names 2 cores, --cores 3: name one profile for each core, or one for all",
             ("--profile", "default+ideal", "--cores", "3")),
            ("core 2: no profile named 'fast': name one of default, ideal, ethos-u65-512, rk3588-core",
             ("--profile", "default+fast")),
            ("core 2: no profile named ''", ("--profile", "ideal+", "--cores", "2")),
        ):  # fmt: skip
            with self.subTest(arguments):
                self.refuse(1, words, "serve", "--socket", str(self.socket), *arguments)

    def test_a_second_one_at_its_socket_is_refused(self):
        self.serve()
        self.refuse(1, "a device server is there already: stop it, or choose another --socket",
                    "serve", "--socket", str(self.socket))  # fmt: skip
        self.assertEqual(self.status()["cores"], 2)

    def test_what_one_that_was_killed_has_left_is_replaced(self):
        server = self.serve()
        server.kill()
        server.wait()
        self.assertTrue(self.socket.exists())
        self.refuse(1, "no device server: Connection refused", "serve", "--status", "--socket",
                    str(self.socket))  # fmt: skip
        self.serve("--cores", "1")
        self.assertEqual(self.status()["cores"], 1)

    def test_it_ends_an_fc_that_takes_longer_than_its_clock(self):
        endless = self.directory / "endless.ovm"
        subprocess.run([MAKE_MODEL, str(endless), "endless"], check=True)
        self.serve("--fc-clock-ms", "0.05s", "--profile", "ideal")  # the watchdog comes much later
        device = f"server:{self.socket}"
        arguments = ("perf", "--device", device, endless, "--frames", "1", "--warm-up", "0", "--json")
        for options in ((), ("--engine",), ("--engine", "--service")):
            with self.subTest(options):
                result = overtake(*arguments, *options)
                self.assertEqual(result.returncode, 1)
                self.assertIn("one of its FCs took the host longer than the device allows", result.stderr)
                self.assertIn("overtake serve --fc-clock-ms", result.stderr)
        self.succeed("perf", "--device", device, self.model, "--frames", "5")

    def test_it_ends_a_job_that_is_in_flight_for_longer_than_its_queue_timeout(self):
        endless = self.directory / "endless.ovm"
        subprocess.run([MAKE_MODEL, str(endless), "endless"], check=True)
        self.serve("--fc-clock-ms", "1h", "--queue-timeout-ms", "50ms", "--profile", "ideal")
        result = overtake("perf", "--device", f"server:{self.socket}", endless, "--frames", "1", "--warm-up", "0")
        self.assertEqual(result.returncode, 1)
        self.assertIn("the device's queue timeout passed", result.stderr)
        self.assertIn("overtake serve --queue-timeout-ms", result.stderr)

    def test_it_ends_when_no_client_comes(self):
        server = self.serve("--idle-exit", "1000ms", "--memory", "2G")
        self.assertEqual(server.wait(PATIENCE), 0)
        self.expect_no_socket()

    def test_it_serves_a_socket_that_it_is_handed(self):
        """As with systemd, descriptor 3 is the socket, and LISTEN_PID names the process for which it is."""
        for kind, works in ((socket.SOCK_SEQPACKET, True), (socket.SOCK_STREAM, False)):
            with self.subTest(kind=kind), socket.socket(socket.AF_UNIX, kind) as listening:
                self.socket.parent.mkdir(exist_ok=True)
                self.socket.unlink(missing_ok=True)
                listening.bind(str(self.socket))
                listening.listen()
                command = f"{BINARY} serve --socket {self.socket} --cores 1"

                def hand_over(descriptor=listening.fileno()):
                    os.dup2(descriptor, 3)
                    os.set_inheritable(3, True)  # dup2() changes nothing if it is 3 already

                server = subprocess.Popen(
                    ["sh", "-c", f"LISTEN_FDS=1 LISTEN_PID=$$ exec {command}"],
                    preexec_fn=hand_over, close_fds=False, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, text=True)  # fmt: skip
                with server:
                    if works:
                        self.assertEqual(self.status()["cores"], 1)
                        server.terminate()
                        self.assertEqual(server.wait(PATIENCE), 0)
                        self.assertTrue(self.socket.exists())  # the socket is systemd's
                    else:
                        self.assertEqual(server.wait(PATIENCE), 1)
                        self.assertIn("ListenSequentialPacket=", server.stderr.read())

    def rights_of(self, pid):
        lines = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
        return dict(line.split(":", 1) for line in lines)

    def test_it_takes_no_rights_that_it_does_not_need(self):
        server = self.serve()
        rights = self.rights_of(server.pid)
        self.assertEqual(rights["NoNewPrivs"].strip(), "1")
        if HAVE_SECCOMP:
            self.assertEqual(rights["Seccomp"].strip(), "2")  # SECCOMP_MODE_FILTER
        if os.getuid() != 0:
            return
        self.assertEqual(set(rights["Uid"].split()), {str(pwd.getpwnam("nobody").pw_uid)})
        self.assertEqual(rights["Groups"].strip(), "")
        for sort in ("CapPrm", "CapEff", "CapInh"):
            self.assertEqual(int(rights[sort], 16), 0, sort)

    def test_it_serves_who_has_no_rights_and_no_network(self):
        """The client is a container's process: it has namespaces of its own and nothing but the
        socket."""
        self.serve()
        alone = ["unshare", "--user", "--map-root-user", "--mount", "--net", "--pid", "--fork"]
        if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("this machine gives no namespaces")
        run = subprocess.run(
            [*alone, "sh", "-c", 'mount -t tmpfs none /dev && exec "$@"', "sh", BINARY, "perf",
             "--device", f"server:{self.socket}", str(self.model), "--frames", "5", "--json"],
            capture_output=True, text=True, check=False, timeout=PATIENCE)  # fmt: skip
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(json.loads(run.stdout)["device"]["backend"], "server")


if __name__ == "__main__":
    unittest.main()
