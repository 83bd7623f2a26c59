# SPDX-License-Identifier: MIT
"""overtake perf on the embedded device: its output, its refusals and its exit status."""

import csv
import json
import os
import pathlib
import pty
import signal
import subprocess
import unittest

from overtake_command import BINARY, CommandTest, overtake

NAMES = ["p50", "p90", "p95", "p99", "p99.9"]
SOURCE = pathlib.Path(__file__).resolve().parents[2]
EMBEDDED = ["--device", "embedded"]


class Perf(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = self.make_model()

    def measure(self, *options):
        """Returns the JSON of one model."""
        return self.succeed_json("perf", self.model, *EMBEDDED, *options)["models"][0]

    def test_json(self):
        result = self.succeed_json(
            "perf", self.model, *EMBEDDED, "--mode", "timed", "--cores", 3, "--priority", 255,
            "--core-limit", 2, "--frames", 200,
        )  # fmt: skip
        self.assertEqual(
            result["device"],
            {"path": None, "backend": "embedded", "mode": "timed", "profile": "default",
             "cores": 3, "core_limits": [2, 2, 2]},
        )  # fmt: skip
        self.assertIs(result["interrupted"], False)
        (model,) = result["models"]
        self.assertEqual((model["requests"], model["failed"]), (200, 0))
        self.assertEqual(sum(bin["count"] for bin in model["histogram"]), 200)
        self.assertGreater(model["fps"], 0)
        self.assertEqual((model["threads"], model["in_flight"]), (1, 1))
        for times in (model["latency_ms"], model["device_latency_ms"]):
            ascending = [times[name] for name in ["min", *NAMES, "max"]]
            self.assertEqual(ascending, sorted(ascending))
            self.assertTrue(times["min"] <= times["mean"] <= times["max"])
            self.assertEqual(times["rough"], ["p99", "p99.9"])  # 20 of 200 are beyond p90, 10 beyond p95
        self.assertGreaterEqual(model["device_latency_ms"]["min"], model["executed_ms_mean"] * 0.5)

    def test_times_have_units(self):
        model = self.measure("--frames", 20, "--period-us", "2ms", "--seconds", "5min")
        self.assertEqual((round(model["offered_per_second"]), model["requests"]), (500, 20))

    def test_priority_255_without_a_core_limit_is_hinted_at_once(self):
        hint = "255 goes first among those that wait, but preempts nothing while the core limit"
        for limit, count in (("0", 1), ("1", 0)):
            result = subprocess.run(
                [BINARY, "perf", self.model, *EMBEDDED, "--priority", "255", "--core-limit", limit,
                 "--frames", "20"], capture_output=True, text=True, check=True)  # fmt: skip
            self.assertEqual(result.stderr.count(hint), count, result.stderr)

    def test_a_limit_that_ended_an_fc_is_named_with_the_remedy(self):
        model = self.directory / "long.ovm"
        subprocess.run([os.environ["MAKE_MODEL"], str(model), "2000000000"], check=True)  # 2 s of device time
        remedy = "watchdog allows: compile the model with a --max-time-per-fc of less than that"
        for options in ([], ["--warm-up", 0], ["--warm-up", 0, "--engine"]):
            with self.subTest(options):
                result = overtake("perf", model, *EMBEDDED, "--frames", 2, *options)
                self.assertEqual(result.returncode, 1)
                self.assertIn(remedy, result.stderr)

    def test_rough_percentiles_are_marked(self):
        lines = self.succeed("perf", self.model, *EMBEDDED, "--frames", 100).splitlines()
        (line,) = [line for line in lines if " p50 " in line and line.startswith("    ")]
        self.assertEqual([part.strip().endswith("*") for part in line.removesuffix(" ms").split(",")],
                         [False, False, True, True, True])  # fmt: skip
        self.assertIn("* rough: fewer than 10 requests took longer", "\n".join(lines))

    def test_figures_are_those_of_the_records(self):
        path = self.directory / "records.csv"
        model = self.measure("--frames", 1000, "--records", path)
        with open(path, newline="", encoding="ascii") as file:
            rows = [{key: int(value) for key, value in row.items()} for row in csv.DictReader(file)]
        self.assertEqual(len(rows), 1000)
        # A late host stamps arrivals with earlier instants.
        latencies = sorted(row["done_ns"] - min(row["due_ns"], row["queued_ns"]) for row in rows)
        self.assertEqual(model["arrived_early"], sum(row["queued_ns"] < row["due_ns"] for row in rows))
        on_device = sorted(row["end_ns"] - row["queued_ns"] for row in rows)
        for times, values in (("latency_ms", latencies), ("device_latency_ms", on_device)):
            for name, rank in zip(NAMES, (500, 900, 950, 990, 999)):
                self.assertAlmostEqual(model[times][name], values[rank - 1] / 1e6, msg=name)
            self.assertAlmostEqual(model[times]["mean"], sum(values) / 1e9)
            self.assertAlmostEqual(model[times]["max"], values[-1] / 1e6)
        executed = sum(row["executed_ns"] for row in rows) / 1e9
        self.assertAlmostEqual(model["executed_ms_mean"], executed)

    def test_first_line_names_the_device(self):
        lines = self.succeed("perf", self.model, *EMBEDDED, "--frames", 5, "--cores", 1,
                             "--mode", "both").splitlines()  # fmt: skip
        self.assertEqual(
            lines[0],
            "embedded device (of this process alone), mode both, profile default, 1 core, core limit 0",
        )
        self.assertIn("test: 5 requests, 0 failed; 10 warm-up requests before them, not counted", lines[1])

    def test_warm_up_is_not_counted(self):
        model = self.measure("--frames", 25, "--warm-up", 40)
        self.assertEqual((model["requests"], model["warm_up_requests"]), (25, 40))
        model = self.measure("--frames", 25, "--warm-up", 0)
        self.assertEqual((model["requests"], model["warm_up_requests"]), (25, 0))

    def test_seconds_or_frames_whichever_is_first(self):
        self.assertEqual(self.measure("--seconds", 1000, "--frames", 30)["requests"], 30)
        # The default, 1000 frames, would take a hundred seconds.
        model = self.measure("--seconds", 0.35, "--period-us", 100000)
        self.assertEqual(model["requests"] + model["waiting_at_end"], 4)
        model = self.measure("--seconds", 0.35, "--period-us", 100000, "--frames", 3)
        self.assertEqual(model["requests"] + model["waiting_at_end"], 3)
        # The default of 1000 frames does not limit a run with --seconds alone.
        model = self.measure("--seconds", 0.15, "--period-us", 100)
        self.assertEqual(model["requests"] + model["waiting_at_end"], 1501)

    def test_overload_is_named_and_bounded(self):
        result = overtake("perf", self.model, *EMBEDDED, "--period-us", 1, "--frames", 20000)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(
            result.stdout,
            r"throughput +([\d.]+) FPS: served \1 of 1000000.0 requests/s: overloaded; "
            r"up to \d+ requests waited",
        )
        model = self.measure("--period-us", 1, "--frames", 20000)
        self.assertEqual((model["requests"], model["failed"]), (20000, 0))
        self.assertIs(model["overloaded"], True)
        self.assertEqual(model["offered_per_second"], 1e6)
        self.assertLess(model["fps"], 950000)
        self.assertLessEqual(model["buffer_sets"], 64)
        self.assertEqual(model["waiting_at_end"], 0)
        # Latency counts from when a request was due: for the last one, it is nearly all of the run.
        self.assertGreater(model["latency_ms"]["max"], 1e3 * (20000 / model["fps"] - 0.021) * 0.9)
        self.assertGreater(model["latency_ms"]["max"], model["device_latency_ms"]["max"])

    def test_what_waits_at_the_end_is_reported(self):
        options = ["--period-us", 1, "--seconds", 0.1]
        model = self.measure(*options)
        self.assertGreater(model["waiting_at_end"], 0)
        self.assertEqual(model["requests"] + model["waiting_at_end"], 100001)
        self.assertGreater(model["longest_wait_at_end_ms"], 0)
        self.assertRegex(self.succeed("perf", self.model, *EMBEDDED, *options),
                         r"\d+ requests? (were|was) still waiting at the end")  # fmt: skip

    def test_a_rate_that_is_served(self):
        options = ["--period-us", 50000, "--frames", 6]
        model = self.measure(*options)
        self.assertIs(model["overloaded"], False)
        self.assertEqual(model["offered_per_second"], 20)
        self.assertNotIn("overloaded", self.succeed("perf", self.model, *EMBEDDED, *options))

    def test_several_models_and_threads(self):
        other = self.make_model("other.ovm")
        result = self.succeed_json("perf", self.model, other, *EMBEDDED, "--threads", 3,
                                   "--in-flight", 2, "--frames", 100)  # fmt: skip
        self.assertEqual([m["requests"] for m in result["models"]], [100, 100])
        self.assertEqual([(m["threads"], m["in_flight"]) for m in result["models"]], [(3, 6)] * 2)
        self.assertTrue(all(1 <= m["buffer_sets"] <= 6 for m in result["models"]))

    def test_through_the_engine(self):
        result = self.succeed_json("perf", self.model, *EMBEDDED, "--engine", "--workers", 2,
                                   "--threads", 3, "--in-flight", 4, "--frames", 60, "--json")  # fmt: skip
        [model] = result["models"]
        self.assertEqual((model["threads"], model["in_flight"]), (3, 12))
        self.assertEqual((model["requests"], model["failed"]), (60, 0))
        self.assertGreater(model["latency_ms"]["p99"], 0)

    def test_processors_are_those_that_are_named(self):
        """`fixed` needs to know where a request runs. The embedded device of an entry has the
        other's mode."""
        def loaded(*arguments):
            return self.succeed_json("perf", self.model, *EMBEDDED, "--mode", "timed", *arguments, "--frames", 40,
                                     "--warm-up", 0, "--json")  # fmt: skip
        fixed = loaded("--processors", "npu,cpu", "--policy", "fixed", "--on", "npu.2")
        runs = {of["name"]: of["runs"] for of in fixed["processors"]}
        self.assertEqual((runs["npu.1"], runs["npu.2"]), (0, 40))
        other = loaded("--processors", "npu@embedded,cpu", "--policy", "fixed", "--on", "npu")
        for result in fixed, other:
            [model] = result["models"]
            self.assertEqual(model["failed"], 0)
            self.assertGreater(model["executed_ms_mean"], 0.9 * loaded()["models"][0]["executed_ms_mean"])

    def test_a_run_of_several_units_has_the_time_of_all(self):
        path, profile = self.directory / "glyphs.ovm", self.directory / "dsp.yaml"
        profile.write_text("name: dsp\nclock_khz: 500000\nmacs_per_cycle: 64\nvector_per_cycle: 128\nbytes_per_cycle: 16\n"
                           "insn_overhead_cycles: 100\nfc_overhead_cycles: 500\nwithout: [MAX_POOL]\n")
        self.succeed("compile", SOURCE / "models/glyphs/glyphs.onnx", "--calibration",
                     SOURCE / "models/glyphs/calibration.npy", "--class", "npu=default", "--class", f"dsp={profile}",
                     "--class", "cpu", "--min-unit", 1, "-o", path)  # fmt: skip
        def loaded(*arguments):
            return self.succeed_json("perf", path, *EMBEDDED, "--mode", "timed", "--frames", 30, "--json", *arguments)["models"][0]
        alone = loaded()["executed_ms_mean"]
        fixed = ["--policy", "fixed", "--on", "npu"]
        self.assertGreater(loaded("--processors", "npu,cpu", *fixed)["executed_ms_mean"], 0.95 * alone)
        # Dropped requests took no time and are in no average.
        late = loaded("--processors", "npu=1,cpu", *fixed, "--in-flight", 30, "--slo", 2, "--drop", "late")
        if late["slo"]["dropped"] < late["requests"]:
            self.assertGreater(late["executed_ms_mean"], 0.95 * alone)

    def test_refusals(self):
        for status, text, arguments in [
            (2, "--mode", ["--device", "kernel", "--mode", "timed"]),
            (2, "--cores", ["--device", "/dev/accel/accel7", "--cores", 1]),
            (2, "/dev/accel/accel7 is a kernel device", ["--device", "/dev/accel/accel7", "--cores", 1]),
            (2, "--in-flight", [*EMBEDDED, "--in-flight", 2, "--period-us", 1000]),
            (2, "--period-us", [*EMBEDDED, "--period-us", 0]),
            (2, "--seconds", [*EMBEDDED, "--seconds", 0]),
            (2, "--threads", [*EMBEDDED, "--threads", 0]),
            (2, "--engine", [*EMBEDDED, "--workers", 2]),
            (2, "--records", [self.model, *EMBEDDED, "--records", "r.csv"]),
            (2, "--model-name", [self.model, *EMBEDDED, "--model-name", "test"]),
            (1, "'npu.1' is no name", [*EMBEDDED, "--processors", "npu.1,cpu"]),
            (1, "cores are chosen by number (NAME=1)", [*EMBEDDED, "--processors", "cpu,a b=1"]),
            (1, "there is no processor 'dsp'; the engine has npu.1, npu.2, cpu",
             [*EMBEDDED, "--json", "--processors", "npu,cpu", "--on", "dsp"]),
            (2, "--on", [*EMBEDDED, "--on", "npu"]),
            (2, "--run-timeout", [*EMBEDDED, "--run-timeout", "1"]),
            (2, "--run-timeout", [*EMBEDDED, "--processors", "npu,cpu", "--run-timeout", "-1"]),
            (1, "/dev/accel/accel77: No such file", ["--device", "/dev/accel/accel77"]),
            (1, "absent.ovm", [self.directory / "absent.ovm", *EMBEDDED]),
        ]:
            with self.subTest(arguments=arguments):
                self.refuse(status, text, "perf", self.model, *arguments)
        self.refuse(2, "MODEL", "perf", *EMBEDDED)

    def test_a_signal_ends_it_with_what_was_measured(self):
        for number, options in (
            (signal.SIGINT, []),
            (signal.SIGTERM, ["--period-us", "100000"]),
            (signal.SIGINT, ["--period-us", "1"]),
        ):
            with self.subTest(number=number, options=options):
                child = subprocess.Popen(
                    [BINARY, "perf", self.model, *EMBEDDED, "--frames", "0", "--warm-up", "0", *options],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                )  # fmt: skip
                first = child.stdout.readline()
                self.assertIn("embedded device", first)
                child.send_signal(number)
                output, errors = child.communicate(timeout=60)
                self.assertEqual((child.returncode, errors), (0, ""))
                self.assertRegex(output, r"test: \d+ requests, 0 failed")

    def test_a_progress_bar_is_for_terminals(self):
        command = [BINARY, "perf", self.model, *EMBEDDED, "--seconds", "2.6", "--in-flight", "1", "--json"]
        ours, theirs = pty.openpty()
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True)
        output, _ = child.communicate(timeout=60)
        os.close(theirs)
        drawn = os.read(ours, 100000).decode()
        os.close(ours)
        self.assertRegex(drawn, r"\[#+\.*\] +\d+ % measuring")
        json.loads(output)
        self.assertEqual(overtake(*command[1:]).stderr, "")


if __name__ == "__main__":
    unittest.main()
