# SPDX-License-Identifier: MIT
"""The options of overtake sim that are about many runs: a table whenever one is asked for, and one
line for what is refused or would be without effect."""
import json
import os
import subprocess
import tempfile
import unittest

OVERTAKE = os.environ["OVERTAKE"]
SCENARIO = {"version": 1, "kind": "fc", "cores": 1, "jobs": [
    {"id": "a", "at": 0, "class": "c", "fcs": [5]}]}
TABLE = ("c p50  c p99  c max  c x alone    busy  ANTT   STP\n"
         "5 us    5 us   5 us       1.00  100.0%  1.00  1.00\n")


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
        self.assertEqual(self.output("--repeat", "1", "--columns", "c p50"), "c p50\n5 us\n")

    def test_an_empty_sweep_is_refused(self):
        for more in ([], ["--json"], ["--repeat", "2"]):
            self.refuse(2, 'overtake: --sweep "": KEY=A..B[,KEY=A..B...] is needed',
                        "--sweep", "", *more)

    def test_columns_choose_the_figures_of_json(self):
        rows = json.loads(self.output("--sweep", "core_limit=0..1", "--json", "--columns",
                                      "ANTT,c p50,ANTT"))
        self.assertEqual(rows, [
            {"settings": {"core_limit": limit}, "runs": 1, "antt": {"mean": 1.0},
             "c.p50_us": {"mean": 5.0}} for limit in (0, 1)])
        self.refuse(1, '--columns: no column is "p42"', "--repeat", "2", "--json", "--columns", "p42")

    def test_options_without_many_runs_are_refused(self):
        self.refuse(2, "--columns requires --sweep or --repeat", "--columns", "p50")
        self.refuse(2, "--columns requires --sweep or --repeat", "--summary", "--columns", "p50")
        self.refuse(2, "--threads requires --sweep, --repeat or --fuzz", "--threads", "4")
        self.assertEqual(self.output("--repeat", "1", "--threads", "4"), self.output("--repeat", "1"))

    def test_a_case_of_fuzzing_is_replayed_once(self):
        with open(self.scenario, "w", encoding="utf-8") as out:
            json.dump({"version": 1, "kind": "fuzz"}, out)
        for option, value in (("--sweep", "seed=1..2"), ("--repeat", "1")):
            self.refuse(1, "--sweep and --repeat: a case of --fuzz is replayed once", option, value)


if __name__ == "__main__":
    unittest.main()
