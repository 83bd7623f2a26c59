# SPDX-License-Identifier: MIT
"""The options of overtake sim that are about many runs: a table whenever an option asks for one, and one line for an
option that is refused or would have no effect."""
import json
import os
import subprocess
import tempfile
import unittest

OVERTAKE = os.environ["OVERTAKE"]
SCENARIO = {"version": 1, "kind": "fc", "cores": 1, "jobs": [
    {"id": "a", "at": 0, "class": "c", "fcs": [5]}]}
TABLE = ("c p50  c p99  c max  c x alone    busy  ANTT   STP\n"
         "~5 us  ~5 us   5 us       1.00  100.0%  1.00  1.00\n"
         "~ rests on fewer than 10 latencies\n")


class Sweeps(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.scenario = os.path.join(directory.name, "scenario.json")
        with open(self.scenario, "w", encoding="utf-8") as out:
            json.dump(SCENARIO, out)

    def sim(self, *options):
        return subprocess.run([OVERTAKE, "sim", self.scenario, *options], capture_output=True,
                              text=True, timeout=60, check=False)

    def output(self, *options):
        run = self.sim(*options)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.stdout

    def test_a_file_goes_before_a_bundled_scenario_of_its_name(self):
        folder = os.path.dirname(self.scenario)
        own = self.output("--summary")
        for name in ("demo-both", "demo-both.json"):
            command = [OVERTAKE, "sim", name, "--summary"]
            bundled = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
            self.assertNotEqual(bundled.stdout, own)
            os.symlink(self.scenario, os.path.join(folder, name))
            run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
            self.assertEqual(run.stdout, own)
            os.remove(os.path.join(folder, name))

    def refuse(self, status, text, *options):
        run = self.sim(*options)
        self.assertEqual(run.returncode, status, run.stderr)
        self.assertEqual(run.stdout, "")
        self.assertIn(text, run.stderr.splitlines()[0])
        if status == 1:
            self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)

    def test_one_repetition_is_a_table_too(self):
        self.assertEqual(self.output("--repeat", "1"), TABLE)
        rows = json.loads(self.output("--repeat", "1", "--json"))
        self.assertEqual([row["runs"] for row in rows], [1])
        self.assertEqual(self.output("--repeat", "1", "--columns", "c p50"), "c p50\n~5 us\n~ rests on fewer than 10 latencies\n")
        self.assertEqual(self.output("--repeat", "2", "--columns", "c max,c dropped,c per s"),
                         "c max  c dropped    c per s\n5 us           0  200000.00\n")

    def test_an_empty_sweep_is_refused(self):
        for more in ([], ["--json"], ["--repeat", "2"]):
            self.refuse(2, 'overtake: --sweep "": KEY=A..B[,KEY=A..B...] is needed',
                        "--sweep", "", *more)

    def test_columns_choose_the_figures_of_json(self):
        rows = json.loads(self.output("--sweep", "core_limit=0..1", "--json", "--columns",
                                      "ANTT,c p50,ANTT"))
        self.assertEqual(rows, [
            {"settings": {"core_limit": limit}, "runs": 1, "antt": {"mean": 1.0},
             "c.p50_us": {"mean": 5.0, "rests_on_few": True}} for limit in (0, 1)])
        self.refuse(1, '--columns: no column is "p42"', "--repeat", "2", "--json", "--columns", "p42")

    def test_options_without_many_runs_are_refused(self):
        self.refuse(2, "--columns requires --sweep or --repeat", "--columns", "p50")
        self.refuse(2, "--columns requires --sweep or --repeat", "--summary", "--columns", "p50")
        self.refuse(2, "--threads requires --sweep or --repeat", "--threads", "4")
        self.assertEqual(self.output("--repeat", "1", "--threads", "4"), self.output("--repeat", "1"))

    def test_warm_up_and_drain_are_left_out(self):
        jobs = [{"id": str(i), "at": 100 * i, "class": "c", "fcs": [50]} for i in range(10)]
        with open(self.scenario, "w", encoding="utf-8") as out:
            json.dump({**SCENARIO, "jobs": jobs}, out)
        options = ("--warm-up", "125us", "--drain", "0.25ms")
        summary = json.loads(self.output("--json", *options))
        self.assertEqual([summary["from_us"], summary["to_us"], summary["fcs"]], [125, 700, 5])
        self.assertEqual(self.output("--summary", *options).splitlines()[1].split()[:2], ["c", "5"])
        rows = json.loads(self.output("--repeat", "1", "--json", *options))
        self.assertAlmostEqual(rows[0]["c.throughput_per_s"]["mean"], 5 / 575e-6)
        self.refuse(1, "--warm-up and --drain leave nothing of a run of 950 us",
                    "--summary", "--warm-up", "500", "--drain", "450")
        for option in ("--warm-up", "--drain"):
            self.refuse(2, f"{option} requires --summary, --json, --blame, --what-if, --sweep or --repeat", option, "5")
            self.refuse(2, "soon is not a time", "--summary", option, "soon")


if __name__ == "__main__":
    unittest.main()
