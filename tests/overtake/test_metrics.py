# SPDX-License-Identifier: MIT
"""overtake metrics: its output has Prometheus's format and agrees with a device server, and its HTTP server stays small
and can be ended. tests/overtake/run-metrics has kernel devices."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time
import unittest
import urllib.error
import urllib.request

from exposition import Exposition
from overtake_command import BINARY, SOURCE, CommandTest

PATIENCE = 60
DASHBOARD = SOURCE / "tools/observe/metrics/grafana-dashboard.json"
LINE = re.compile(r"(\w+) +(counter|gauge) +(\S.*)")


def fetch(url, **options):
    with urllib.request.urlopen(url, timeout=PATIENCE, **options) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


class MetricsTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.directory.chmod(0o755)
        self.socket = self.directory / "device"
        self.name = f"server:{self.socket}"

    def start(self, *arguments, **popen):
        """Starts a program whose first line says that it is ready; the program is ended after the
        test."""
        program = subprocess.Popen([BINARY, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, **popen)  # fmt: skip
        self.addCleanup(program.stderr.close)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.wait, PATIENCE)
        self.addCleanup(program.kill)
        program.said = program.stdout.readline()
        return program

    def serve_device(self, *options):
        return self.start("serve", "--socket", str(self.socket), *options)

    def listen(self, *options, **popen):
        program = self.start("metrics", "--listen", "0", *options, **popen)
        program.url = program.said.removeprefix("serving metrics at ").strip()
        self.assertRegex(program.url, r"^http://127\.0\.0\.1:\d+/metrics$")
        program.port = int(program.url.split(":")[2].split("/")[0])
        return program

    def metrics(self, *options):
        return Exposition(self.succeed("metrics", "--server", str(self.socket), *options))

    def families(self):
        """Returns name to type and meaning, as --list has them."""
        lines = [LINE.fullmatch(line) for line in self.succeed("metrics", "--list").splitlines()]
        self.assertTrue(lines and all(lines))
        return {line[1]: (line[2], line[3]) for line in lines}


class Text(MetricsTest):
    def test_a_device_server_is_counted_as_it_counts(self):
        self.serve_device("--cores", "3", "--mode", "timed", "--core-limit", "4")
        model = self.make_model()
        for priority, frames in ((255, 40), (3, 25)):
            self.succeed("perf", str(model), "--device", self.name, "--frames", str(frames), "--warm-up", "0",
                         "--priority", str(priority))  # fmt: skip
        client = self.start("perf", str(model), "--device", self.name, "--frames", "0")
        deadline = time.monotonic() + PATIENCE
        while not self.metrics().value("overtake_memory_bytes", device=self.name):
            self.assertLess(time.monotonic(), deadline)
        client.send_signal(signal.SIGINT)
        client.wait(PATIENCE)
        report = self.metrics()
        self.assertEqual(report.value("overtake_server_up", device=self.name), 1)
        self.assertEqual(report.value("overtake_cores", device=self.name), 3)
        self.assertEqual(report.value("overtake_device_info", device=self.name, kind="server", mode="timed",
                                      profile=""), 1)  # fmt: skip
        self.assertEqual(report.value("overtake_fcs_total", device=self.name, ring="high"), 80)
        self.assertGreaterEqual(report.value("overtake_fcs_total", device=self.name, ring="normal"), 50)
        self.assertGreater(report.value("overtake_busy_seconds_total", device=self.name), 0)
        for core in "123":
            self.assertEqual(report.value("overtake_core_limit_fcs", device=self.name, core=core), 4)
        self.assertEqual(report.value("overtake_faults_total", device=self.name), 0)

    def test_clients_of_a_server_and_series_of_processes(self):
        self.serve_device("--cores", "1", "--mode", "timed")
        client = subprocess.Popen([BINARY, "perf", str(self.make_model()), "--device", self.name, "--frames", "0",
                                   "--engine", "--service"], stdout=subprocess.DEVNULL)  # fmt: skip
        self.addCleanup(client.wait, PATIENCE)
        self.addCleanup(client.kill)
        deadline = time.monotonic() + PATIENCE
        while not (memory := (report := self.metrics("--processes")).value("overtake_memory_bytes", device=self.name)):
            self.assertLess(time.monotonic(), deadline)
        self.assertEqual(report.value("overtake_clients", device=self.name), 1)
        of_process = {"device": self.name, "pid": str(client.pid), "command": "overtake"}
        self.assertEqual(report.value("overtake_process_memory_bytes", **of_process), memory)
        normal = {**of_process, "core": "1", "ring": "normal"}
        while not (busy := self.metrics("--processes").value("overtake_process_busy_seconds_total", **normal)):
            self.assertLess(time.monotonic(), deadline)
        self.assertLessEqual(busy, self.metrics().value("overtake_busy_seconds_total", device=self.name, core="1"))
        self.assertEqual(self.metrics("--processes").value("overtake_process_busy_seconds_total",
                                                           **{**normal, "ring": "high"}), 0)  # fmt: skip
        self.assertEqual(
            {labels["state"] for labels, _ in report.samples("overtake_tasks", device=self.name)},
            {"waiting", "ready", "dispatched", "overdue", "uncollected"},
        )
        self.assertFalse(self.metrics().samples("overtake_process_memory_bytes"))

    def test_a_server_that_is_not_there_is_not_up(self):
        self.assertEqual(self.metrics().value("overtake_server_up", device=self.name), 0)

    def test_a_server_that_does_not_answer_is_not_up(self):
        server = self.serve_device()
        server.send_signal(signal.SIGSTOP)
        self.assertEqual(self.metrics().value("overtake_server_up", device=self.name), 0)
        server.send_signal(signal.SIGCONT)
        self.assertEqual(self.metrics().value("overtake_server_up", device=self.name), 1)

    def test_the_usual_server_is_asked_if_it_is_there(self):
        environment = {**os.environ, "OVERTAKE_SERVER": str(self.socket)}
        def printed():
            return Exposition(subprocess.run([BINARY, "metrics"], env=environment, capture_output=True,
                                             text=True, check=True).stdout)  # fmt: skip
        self.assertFalse(printed().samples("overtake_server_up"))
        self.serve_device()
        self.assertEqual(printed().value("overtake_server_up", device=self.name), 1)

    def test_what_is_printed_is_what_is_listed(self):
        self.serve_device()
        families = self.families()
        report = self.metrics("--processes")
        self.assertGreater(len(report.types), 12)
        for name, kind in report.types.items():
            self.assertEqual((kind, report.help[name]), families[name])
        for name, (kind, meaning) in families.items():
            self.assertEqual(name.endswith("_total"), kind == "counter", name)
            self.assertRegex(name, r"^(overtake|hw)_[a-z_]+$")
            self.assertTrue(meaning.endswith("."), name)

    def test_the_page_has_every_metric_and_no_other(self):
        page = (SOURCE / "docs/reference/metrics.md").read_text(encoding="utf-8")
        rows = dict(re.findall(r"^\| `((?:overtake|hw)_\w+)` \|([^|]*)\|", page, re.MULTILINE))
        families = self.families()
        self.assertEqual(rows.keys(), families.keys())
        for name, unit in rows.items():
            self.assertEqual("counter" in unit, families[name][0] == "counter", name)

    def test_names_of_labels_are_any_text(self):
        strange = self.directory / 'a"b\\c\nd'
        text = self.succeed("metrics", "--server", str(strange))
        self.assertIn(f'overtake_server_up{{device="server:{self.directory}/a\\"b\\\\c?d"}} 0\n', text)


class File(MetricsTest):
    def test_a_file_appears_whole_and_readable(self):
        self.serve_device()
        path = self.directory / "overtake.prom"
        path.write_text("old\n", encoding="ascii")
        before = path.stat().st_ino
        self.assertEqual(self.succeed("metrics", "--server", str(self.socket), "-o", str(path)), "")
        self.assertNotEqual(path.stat().st_ino, before)  # another file was renamed to this name
        self.assertEqual(path.stat().st_mode & 0o444, 0o444)
        self.assertEqual(Exposition(path.read_text(encoding="ascii")).value("overtake_server_up"), 1)
        self.assertEqual(sorted(file.name for file in self.directory.iterdir()), ["device", "device.lock", "overtake.prom"])

    def test_refusals(self):
        self.refuse(1, "no/such: ", "metrics", "-o", str(self.directory / "no/such"))
        self.refuse(2, "cannot be given together", "metrics", "-o", "x", "--listen", "9101")
        self.refuse(2, "spare", "metrics", "spare")


class Http(MetricsTest):
    def test_it_serves_what_it_prints(self):
        self.serve_device("--cores", "2")
        server = self.listen("--server", str(self.socket))
        content_type, text = fetch(server.url)
        self.assertEqual(content_type, "text/plain; version=0.0.4; charset=utf-8")
        self.assertEqual(Exposition(text).types.keys(), self.metrics().types.keys())
        for path, method in (("/", "GET"), ("/metrics", "POST")):
            request = urllib.request.Request(server.url.replace("/metrics", path), method=method)
            with self.assertRaises(urllib.error.HTTPError) as refused:
                fetch(request)
            self.assertIn(refused.exception.code, (400, 404))
            refused.exception.close()

    def test_signals_end_it(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            server = self.listen()
            fetch(server.url)
            server.send_signal(number)
            self.assertEqual(server.wait(PATIENCE), 0)
            self.assertEqual(server.stderr.read(), "")

    def test_an_address_in_use_is_refused(self):
        server = self.listen()
        self.refuse(1, f"127.0.0.1:{server.port}: cannot listen: Address already in use: choose another",
                    "metrics", "--listen", str(server.port))  # fmt: skip
        self.refuse(1, "cannot listen: Cannot assign requested address", "metrics", "--listen", "192.0.2.1:9101")
        fetch(server.url)

    def test_its_port_is_free_again(self):
        server = self.listen()
        fetch(server.url)
        server.terminate()
        server.wait(PATIENCE)
        again = self.start("metrics", "--listen", f"127.0.0.1:{server.port}")
        self.assertEqual(again.said.strip(), f"serving metrics at {server.url}")
        six = self.start("metrics", "--listen", "[::1]:0")
        self.assertRegex(six.said, r"^serving metrics at http://\[::1\]:\d+/metrics$")
        fetch(six.said.split()[-1])

    def test_addresses_that_are_none(self):
        for address in ("x", "localhost:9101", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "::1:9101",
                        "1.2.3:9101", "127.0.0.1:91x"):  # fmt: skip
            with self.subTest(address=address):
                self.refuse(2, "is not PORT, ADDRESS:PORT or [ADDRESS]:PORT", "metrics", f"--listen={address}")

    def connect(self, server, text=b""):
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
        self.addCleanup(connection.close)
        connection.sendall(text)
        return connection

    def test_slow_clients_delay_no_other_for_ever(self):
        """There are more such clients than threads: each loses its connection, and then others are
        served."""
        server = self.listen()
        idle = [self.connect(server, b"GET /metrics HTTP/1.1\r\n" if i % 2 else b"") for i in range(20)]
        fetch(server.url)
        for connection in idle[:8]:
            self.assertEqual(connection.recv(100).partition(b" ")[0] or b"", b"")

    def test_a_client_that_sends_byte_by_byte_has_two_seconds(self):
        server = self.listen()
        slow = self.connect(server, b"GET /metrics HTTP/1.1\r\nX: ")
        sent = 0
        with self.assertRaises(OSError):
            while sent < 600:  # a minute
                slow.sendall(b"x")
                sent += 1
                time.sleep(0.1)
        self.assertLess(sent, 600)

    def test_requests_that_are_too_long_are_turned_away(self):
        server = self.listen()
        for request in (b"GET /" + b"x" * 100_000, b"GET /metrics HTTP/1.1\r\n" + b"A: b\r\n" * 10_000):
            connection = self.connect(server)
            answer = b""
            try:
                connection.sendall(request + b"\r\n\r\n")
                answer = connection.recv(100)
            except OSError:  # the server has closed the connection
                pass
            self.assertNotIn(b" 200 ", answer)
        fetch(server.url)

    def test_a_thousand_scrapes_while_servers_come_and_go(self):
        server = self.listen("--server", str(self.socket))

        def open_files():
            return len(os.listdir(f"/proc/{server.pid}/fd"))

        def memory_kib():
            status = pathlib.Path(f"/proc/{server.pid}/status").read_text(encoding="ascii")
            return int(re.search(r"VmRSS:\s+(\d+)", status)[1])

        device, up = None, set()
        for scrape in range(1000):
            if scrape % 50 == 0:
                if device:
                    device.kill()
                    device.wait(PATIENCE)
                device = None if device else self.serve_device()
            up.add((device is not None, Exposition(fetch(server.url)[1]).value("overtake_server_up")))
            if scrape == 200:
                files, memory = open_files(), memory_kib()
        self.assertEqual(up, {(True, 1), (False, 0)})
        self.assertLessEqual(open_files(), files + 1)  # one may be open at this moment
        self.assertLess(memory_kib(), memory + 2048)


class Dashboard(MetricsTest):
    """Reads the dashboard as Grafana does: every panel has what it needs and asks for metrics that
    exist."""

    def setUp(self):
        super().setUp()
        self.dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))

    def test_it_asks_only_for_metrics_that_there_are(self):
        families = self.families()
        expressions = [target["expr"] for panel in self.dashboard["panels"] for target in panel["targets"]]
        expressions += [v["definition"] for v in self.dashboard["templating"]["list"] if "definition" in v]
        for expression in expressions:
            names = re.findall(r"\b(?:overtake|hw)_\w+", expression)
            self.assertEqual(len(names), 1, expression)
            kind = families[names[0]][0]
            self.assertEqual(bool(re.search(r"\b(rate|increase)\(", expression)) or "_lost_" in expression,
                             kind == "counter", expression)  # fmt: skip

    def test_its_labels_are_those_of_the_metrics(self):
        self.serve_device()
        report = self.metrics()
        for panel in self.dashboard["panels"]:
            for target in panel["targets"]:
                name = re.search(r"\bovertake_\w+", target["expr"])[0]
                wanted = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
                for labels, _ in report.samples(name):
                    self.assertLessEqual(wanted, labels.keys(), target["expr"])

    def test_its_structure(self):
        self.assertLessEqual({"uid", "title", "schemaVersion", "templating", "time", "panels"}, self.dashboard.keys())
        panels = self.dashboard["panels"]
        self.assertEqual([panel["id"] for panel in panels], list(range(1, len(panels) + 1)))
        taken = set()
        for panel in panels:
            self.assertIn(panel["type"], {"timeseries", "stat"})
            self.assertTrue(panel["title"] and panel["description"])
            self.assertEqual(panel["datasource"], {"type": "prometheus", "uid": "${datasource}"})
            self.assertIn("unit", panel["fieldConfig"]["defaults"])
            self.assertEqual([target["refId"] for target in panel["targets"]],
                             [chr(ord("A") + i) for i in range(len(panel["targets"]))])  # fmt: skip
            place = panel["gridPos"]
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                     for y in range(place["y"], place["y"] + place["h"])}  # fmt: skip
            self.assertFalse(cells & taken, panel["title"])
            self.assertLessEqual(place["x"] + place["w"], 24)
            taken |= cells
        variables = {variable["name"] for variable in self.dashboard["templating"]["list"]}
        self.assertEqual(set(re.findall(r"\$\{?([a-z]\w*)", json.dumps(self.dashboard))) , variables)


if __name__ == "__main__":
    unittest.main()
