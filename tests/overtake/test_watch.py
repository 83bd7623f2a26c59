# SPDX-License-Identifier: MIT
"""Tests the reports of overtake trace, latency and top on a device server about loads with known counts."""
import collections
import ctypes
import contextlib
import json
import os
import pathlib
import signal
import struct
import subprocess
import time

from overtake_command import BINARY, CommandTest, overtake
import unittest


def may_use_bpf():
    """Whether this process may make a map: an array of one number."""
    map_create, array = 0, 2
    attributes = struct.pack("=IIIII", array, 4, 8, 1, 0)
    descriptor = ctypes.CDLL(None, use_errno=True).syscall(321, map_create, attributes, len(attributes))
    if descriptor >= 0:
        os.close(descriptor)
    return descriptor >= 0


def is_in_container():
    """Whether process numbers here differ from those that the kernel's events name."""
    first = 0xEFFFFFFC  # PROC_PID_INIT_INO of the kernel
    path = pathlib.Path("/proc/self/ns/pid")
    return path.exists() and path.stat().st_ino != first


NEEDS_PROBES = unittest.skipUnless(
    os.uname().machine == "x86_64" and may_use_bpf() and not is_in_container(),
    "needs the right to use BPF, outside of a container",
)


class Watch(CommandTest):
    def setUp(self):
        super().setUp()
        self.socket = self.directory / "device"
        self.model = self.make_model("detector.ovm")
        self.start("serve", "--socket", self.socket, "--cores", "1")
        self.wait_for(lambda: overtake("serve", "--status", "--socket", self.socket).returncode == 0)
        self.device = f"server:{self.socket}"

    def serve_timed(self, *options, cores=1):
        self.socket = self.directory / "timed"
        self.device = f"server:{self.socket}"
        self.start("serve", "--socket", self.socket, "--cores", cores, "--mode", "timed",
                   *options)
        self.wait_for(lambda: overtake("serve", "--status", "--socket", self.socket).returncode == 0)

    def start(self, *arguments, **options):
        process = subprocess.Popen([BINARY, *map(str, arguments)], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        process.kill()
        process.communicate()

    def wait_for(self, condition):
        deadline = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def clients(self):
        status = json.loads(overtake("serve", "--status", "--json", "--socket", self.socket).stdout)
        return status["clients"]

    def watch(self, *arguments):
        """Starts a watcher, and returns once it is connected: it asks for events in its first
        call."""
        before = len(self.clients())
        process = self.start(*arguments, "--device", self.device)
        # The watcher's ring is charged to the watcher.
        self.wait_for(lambda: len(self.clients()) > before and
                      self.clients()[-1]["memory_bytes"] > 0)
        return process

    def first_picture(self, watcher, is_wanted):
        """Returns the first picture of a `top --json` that shows the state for which a test waits: a load takes time to
        start."""
        for line in watcher.stdout:
            picture = json.loads(line)
            if is_wanted(picture):
                return picture
        self.fail(f"top has ended: {watcher.stderr.read()}")

    def load(self, frames, *arguments):
        return self.succeed("perf", self.model, "--device", self.device, "--frames", frames,
                            "--warm-up", "0", *arguments)

    def stop(self, process):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        return out, err

    def test_trace_has_every_fc_once(self):
        tracer = self.watch("trace", "--json")
        self.load(50)
        self.load(30, "--priority", "255")
        out, err = self.stop(tracer)
        lines = [line for line in err.splitlines() if not (is_in_container() and "the first PID namespace" in line)]
        self.assertEqual(lines, [])
        events = [json.loads(line) for line in out.splitlines()]
        counts = collections.Counter(event["event"] for event in events)
        self.assertEqual(counts["job_queue"], 80)
        self.assertEqual(counts["job_done"], 80)
        fcs = sum(event["fc_count"] for event in events if event["event"] == "job_queue")
        self.assertEqual(counts["fc_start"], fcs)
        self.assertEqual(counts["fc_done"], fcs)
        # Some tasks belong to other engines of this host, which other tests have.
        of_device = [event for event in events if event["event"].startswith(("ctx_", "job_", "fc_"))]
        self.assertEqual(len({event["pid"] for event in of_device}), 2)
        self.assertEqual(sum(event["executed"] for event in events if event["event"] == "job_done"),
                         fcs)
        per_core = [event["time_ns"] for event in events if event["event"].startswith("fc_")
                    and event["event"] != "fc_submit"]
        self.assertEqual(per_core, sorted(per_core))

    def test_filters_leave_the_rest_out(self):
        tracer = self.watch("trace", "--json", "--priority", "255", "--type", "fc_done")
        self.load(5)
        self.load(3, "--priority", "255")
        events = [json.loads(line) for line in self.stop(tracer)[0].splitlines()]
        self.assertEqual(len(events) % 3, 0)
        self.assertGreater(len(events), 0)
        self.assertEqual({event["event"] for event in events}, {"fc_done"})
        self.assertEqual({event["high"] for event in events}, {True})

    def test_pictures_are_drawn_at_the_end(self):
        svg, perfetto = self.directory / "a.svg", self.directory / "a.pftrace"
        tracer = self.watch("trace", "--svg", svg, "--perfetto", perfetto)
        self.load(5)
        self.assertEqual(self.stop(tracer)[0], "")
        self.assertIn("<svg", svg.read_text())
        self.assertGreater(perfetto.stat().st_size, 100)

    def check_replay(self, load):
        """Records while `load` runs, which has 70 jobs; returns the scenario."""
        run, replay = self.directory / "run.json", self.directory / "replay.json"
        tracer = self.watch("trace", "--json", "--record", run)
        load()
        out, err = self.stop(tracer)
        self.assertEqual(err, "")
        lines = out.splitlines()
        self.assertIn("70 jobs; replay them with overtake sim", lines[-1])
        events = [json.loads(line) for line in lines[:-1]]
        self.succeed("sim", run, "-o", replay)
        origin = min(event["time_ns"] for event in events)
        recorded = sorted((event["time_ns"] - event["duration_ns"] - origin, event["time_ns"] - origin)
                          for event in events if event["event"] == "fc_done")
        replayed = [(fc["start"], fc["end"]) for fc in json.loads(replay.read_text())["fcs"]]
        self.assertEqual(replayed, recorded)
        self.assertEqual(len(recorded),
                         sum(event["fc_count"] for event in events if event["event"] == "job_queue"))
        return json.loads(run.read_text())

    def test_a_recording_replays_to_the_nanosecond(self):
        self.serve_timed()

        def load():
            self.load(50, "--in-flight", "3")
            self.load(20, "--priority", "255")
        self.assertNotIn("fair", self.check_replay(load))

    def test_so_does_one_of_a_device_where_queues_take_turns(self):
        self.serve_timed("--fair")

        def load():
            first = self.start("perf", self.model, "--device", self.device, "--frames", "50",
                               "--warm-up", "0", "--in-flight", "8")
            self.load(20, "--in-flight", "4")
            first.communicate(timeout=60)
            self.assertEqual(first.returncode, 0)
        self.assertIs(self.check_replay(load)["fair"], True)

    def test_so_does_one_of_requests_on_two_cores(self):
        glyphs = pathlib.Path(__file__).parents[2] / "models/glyphs"
        self.model = self.directory / "glyphs.ovm"
        self.succeed("compile", glyphs / "glyphs.onnx", "--calibration", glyphs / "calibration.npy",
                     "--profile", "ideal", "--cores", "2", "-o", self.model)
        self.serve_timed("--profile", "ideal", cores=2)
        meter = self.watch("latency", "--json", "--blame", "1000")
        jobs = self.check_replay(lambda: self.load(70, "--in-flight", "3"))["jobs"]
        self.assertEqual([len(job["parts"]) for job in jobs], [2] * 70)
        self.assertGreater(len(jobs[0]["parts"][0]["stages"]), 1)
        slowest = json.loads(self.stop(meter)[0])["slowest"]
        self.assertEqual(len(slowest), 70)
        for job in slowest:
            self.assertEqual(sum(part["ns"] for part in job["parts"]), job["latency_ns"])

    @unittest.skipIf(is_in_container(), "one more line explains what a container does not show")
    def test_nothing_to_draw_is_said(self):
        svg = self.directory / "a.svg"
        self.refuse(1, "nothing to draw", "trace", "--device", self.device, "--duration", "0.01",
                    "--svg", svg)
        self.assertFalse(svg.exists())

    def test_latency_counts_the_jobs_of_each_priority(self):
        meter = self.watch("latency", "--json", "--by", "priority")
        self.load(40)
        self.load(20, "--priority", "255")
        result = json.loads(self.stop(meter)[0])
        self.assertEqual(result["lost"], 0)
        self.assertEqual([(group["group"], group["jobs"]) for group in result["groups"]],
                         [("priority 255", 20), ("priority 0", 40)])
        for group in result["groups"]:
            self.assertLessEqual(group["total"]["p50_ns"], group["total"]["p99_ns"])
            self.assertEqual(sum(bar["count"] for bar in group["total"]["histogram"]),
                             group["jobs"])

    def test_blame_adds_up_to_the_latency(self):
        # Each job takes 10 ms, so that one waits for the other on a busy host too.
        self.serve_timed()
        self.model = self.make_model("detector.ovm", cycles=10_000_000)
        meter = self.watch("latency", "--json", "--blame", "1000")
        self.load(60, "--in-flight", "4")
        self.load(5, "--priority", "255")
        slowest = json.loads(self.stop(meter)[0])["slowest"]
        self.assertEqual(len(slowest), 65)
        for job in slowest:
            self.assertEqual(sum(part["ns"] for part in job["parts"]), job["latency_ns"])
            self.assertFalse(job["incomplete"])
        blamed = [part for job in slowest for part in job["parts"] if part["cause"] == "behind_normal"]
        self.assertTrue(blamed)
        self.assertEqual({part["by"] for part in blamed}, {job["name"] for job in slowest if job["priority"] == 0})

    def probes_of(self, process):
        """Returns how many probes a process has attached to."""
        count = 0
        for descriptor in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # the file was closed meanwhile
                count += "perf_event" in os.readlink(descriptor)
        return count

    @NEEDS_PROBES
    def test_tasks_of_its_clients_engines_are_told(self):
        """The tasks are shorter than the time between two looks at the device's events."""
        meter = self.watch("latency", "--json", "--blame", "1000")
        self.wait_for(lambda: self.probes_of(meter) >= 7)
        others = self.start("perf", self.model, "--device", "embedded", "--frames", "0", "--engine")
        self.load(100, "--engine", "--in-flight", "4", "--priority", "200")
        self.load(10)
        self.assertIsNone(others.poll())
        slowest = json.loads(self.stop(meter)[0])["slowest"]
        tasks = [entry for entry in slowest if entry["is_task"]]
        self.assertEqual([entry["priority"] for entry in tasks], [200] * 100)
        self.assertEqual(len(slowest), 110)  # and nothing of processes that use another device
        for entry in tasks:
            self.assertEqual(sum(part["ns"] for part in entry["parts"]), entry["latency_ns"])
            self.assertIn("running", {part["cause"] for part in entry["parts"]})
        self.assertIn("slot", {part["cause"] for entry in tasks for part in entry["parts"]})

    @NEEDS_PROBES
    def test_processors_of_an_engine_are_told(self):
        """The report is the same for any device; here the process uses its own."""
        svg = self.directory / "runs.svg"
        tracer = self.start("trace", "--device", "engines", "--json")
        painter = self.start("trace", "--device", "engines", "--svg", svg)
        meter = self.start("latency", "--device", "engines", "--json", "--blame", "1000")
        watcher = self.start("top", "--device", "engines", "--json", "--batch", "--interval", "0.1")
        plain = self.start("latency", "--device", "engines")
        for process, probes in (tracer, 14), (painter, 7), (meter, 14), (watcher, 1), (plain, 14):
            self.wait_for(lambda process=process, probes=probes: self.probes_of(process) >= probes)
        load = self.start("perf", self.model, "--device", "embedded", "--mode", "timed", "--cores", "2",
                          "--processors", "npu=1+2,cpu=x2", "--frames", "200", "--warm-up", "0", "--in-flight", "8", "--json")  # fmt: skip
        out, err = load.communicate(timeout=60)
        self.assertEqual(load.returncode, 0, err)
        processors = {of["name"]: of for of in json.loads(out)["processors"]}

        def of_load(events):
            return [event for event in events if event["pid"] == load.pid]

        events = of_load(json.loads(line) for line in self.stop(tracer)[0].splitlines())
        counts = collections.Counter(event["event"] for event in events)
        self.assertEqual(counts["request_arrive"], 200)
        self.assertEqual(counts["request_end"], 200)
        self.assertEqual(counts["run_dispatch"], counts["run_end"])
        runs = collections.Counter(event["processor"] for event in events if event["event"] == "run_end")
        self.assertEqual(runs, {name: of["runs"] for name, of in processors.items() if of["runs"]})
        last = {event["processor"]: event for event in events if event["event"] == "processor"}
        self.assertEqual(last.keys(), processors.keys())
        for name, event in last.items():
            self.assertEqual((event["state"], event["runs"]), ("gone", processors[name]["runs"]))
        slowest = [of for of in json.loads(self.stop(meter)[0])["requests"] if of["name"].endswith(f"(pid {load.pid})")]
        self.assertEqual(len(slowest), 200)
        for request in slowest:
            self.assertEqual(sum(part["ns"] for part in request["parts"]) + request["own_ns"], request["latency_ns"])
        waits = [part for request in slowest for part in request["parts"]]
        self.assertTrue(any(part["processor"] in processors and part["busy_ns"] for part in waits))
        told = self.stop(plain)[0]  # it blames without the option
        self.assertIn("the slowest requests on several processors", told)
        self.assertNotIn("no job", told)
        self.stop(painter)
        self.assertIn("npu.1", svg.read_text(encoding="utf-8"))
        rows = [row for picture in self.stop(watcher)[0].splitlines()
                for row in of_load(json.loads(picture).get("processors", []))]  # fmt: skip
        self.assertLessEqual({row["processor"] for row in rows}, processors.keys())

    @NEEDS_PROBES
    def test_runs_name_the_jobs_that_the_device_tells(self):
        tracer = self.watch("trace", "--json")
        self.wait_for(lambda: self.probes_of(tracer) >= 14)
        load = self.start("perf", self.model, "--device", self.device, "--processors", "npu,cpu=x2",
                          "--frames", "50", "--warm-up", "0", "--in-flight", "4")  # fmt: skip
        self.assertEqual(load.wait(timeout=60), 0)
        events = [json.loads(line) for line in self.stop(tracer)[0].splitlines()]
        ours = [event for event in events if event["pid"] == load.pid]
        queued = [event["tag"] for event in ours if event["event"] == "job_queue"]
        named = [tag for event in ours for tag in event.get("jobs", [])]
        self.assertGreater(len(queued), 0)
        self.assertEqual(sorted(named), sorted(queued))
        self.assertTrue(all(event["processor"] == "npu" for event in ours if event.get("jobs")))

    @NEEDS_PROBES
    def test_top_and_metrics_show_the_processors_of_an_engine(self):
        load = self.start("perf", self.model, "--device", "embedded", "--mode", "timed", "--cores", "2",
                          "--processors", "npu=1+2,cpu=x2", "--policy", "fixed", "--core", "1",
                          "--frames", "0", "--in-flight", "8")  # fmt: skip
        watcher = self.start("top", "--device", "engines", "--json", "--batch", "--interval", "0.3")

        def rows_of_load(picture):
            return {row["processor"]: row for row in picture["processors"] if row["pid"] == load.pid}
        rows = rows_of_load(self.first_picture(watcher, lambda picture: any(
            row["runs"] for row in rows_of_load(picture).values())))
        self.assertEqual(rows.keys(), {"npu.1", "npu.2", "cpu"})  # also the idle one
        self.assertEqual((rows["npu.2"]["state"], rows["npu.2"]["runs"]), ("ok", 0))
        self.assertEqual((rows["npu.1"]["state"], rows["npu.1"]["retries"]), ("ok", 0))
        self.assertGreater(rows["npu.1"]["runs"], 0)
        self.assertGreater(rows["npu.1"]["busy"], 0)
        text = self.succeed("top", "--device", "engines", "--batch", "1", "--interval", "0.3")
        self.assertRegex(text, rf" {load.pid} overtake .* 1 npu\.1 +ok ")
        metrics = self.succeed("metrics", "--engines")
        labels = rf'{{pid="{load.pid}",command="overtake",engine="1",processor="npu\.1"'
        self.assertRegex(metrics, rf'overtake_processor_state{labels},state="ok"}} 1\n')
        self.assertRegex(metrics, rf"overtake_processor_runs_total{labels}}} [1-9]")
        self.assertIsNone(load.poll())

    @NEEDS_PROBES
    def test_latency_of_engines_that_do_nothing_says_so(self):
        # Engines of the whole host are watched, and other tests have some.
        self.wait_for(lambda: self.succeed("latency", "--device", "engines", "--duration", "0.01") ==
                      "no request on several processors ended while it was watched\n")

    def test_latency_without_a_job_says_so(self):
        self.assertIn("no job was queued",
                      self.succeed("latency", "--device", self.device, "--duration", "0.01"))

    def test_top_shows_who_uses_the_device(self):
        load = self.start("perf", self.model, "--device", self.device, "--frames", "0")
        watcher = self.start("top", "--device", self.device, "--json", "--batch", "--interval", "0.1")
        processes = self.first_picture(watcher, lambda picture: any(
            process["ended"] for process in picture["processes"]))["processes"]
        self.assertEqual([process["pid"] for process in processes], [load.pid])
        self.assertEqual(len(self.succeed("top", "--device", self.device, "--json", "--batch", "3",
                                          "--interval", "0.1").splitlines()), 3)
        text = self.succeed("top", "--device", self.device, "--batch", "1", "--interval", "0.1")
        self.assertIn(f"{load.pid:>8} ", text)
        self.assertNotIn("\x1b", text)

    def test_top_without_a_terminal_names_the_remedy(self):
        self.refuse(1, "use --batch or --json", "top", "--device", self.device)


if __name__ == "__main__":
    unittest.main()
