# SPDX-License-Identifier: MIT
"""A sweep in parts: sweep-merge joins them, and its output is to the last byte that of the whole sweep. A part that is
missing, given twice, damaged or of another experiment is refused by name."""

import json
import pathlib
import unittest

from overtake_command import CommandTest

SCENARIO = {"version": 1, "kind": "fc", "cores": 1, "seed": 7, "loads": [
    {"id": "high", "priority": 255, "fcs": [30], "count": 60, "slo": 90,
     "arrivals": {"type": "poisson", "mean": 200}},
    {"id": "low", "fcs": [40, 60], "count": 60,
     "arrivals": {"type": "log_normal", "mean": 250, "sigma": 1}}]}
SWEEP = "core_limit=0..3,loads.low.class=a|b,loads.low.arrivals.sigma=0.5|1.5"
POINTS = 16


class Shards(CommandTest):
    def setUp(self):
        super().setUp()
        self.scenario = self.directory / "scenario.json"
        self.write(SCENARIO)

    def write(self, scenario):
        self.scenario.write_text(json.dumps(scenario), encoding="utf-8")

    def run_shards(self, of, *options, name="part", numbers=None):
        """Runs some shards, by default all, and returns their files."""
        files = [self.directory / f"{name}{number}" for number in numbers or range(1, of + 1)]
        for number, file in zip(numbers or range(1, of + 1), files):
            self.assertEqual(self.succeed("sim", self.scenario, *options, "--shard", f"{number}/{of}", "-o", file), "")
        return files

    def test_all_parts_are_the_whole(self):
        # Each part is a process of its own, and starting it takes most of the time.
        few, many = (3,), (1, 2, POINTS + 2)
        for options, parts in (([], many), (["--repeat", "2", "--json"], many), (["--json"], few),
                               (["--columns", "p99,ANTT,SLO met"], few), (["--json", "--columns", "high max"], few),
                               (["--warm-up", "1ms", "--drain", "500"], few),
                               (["--set", "fair=true", "--seed", "3"], few)):
            options = ["--sweep", SWEEP, *options]
            whole = self.succeed("sim", self.scenario, *options)
            self.assertIn("\n", whole)
            for of in parts:
                with self.subTest(options=options, of=of):
                    files = self.run_shards(of, *options)
                    self.assertEqual(self.succeed("sweep-merge", *files), whole)
                    self.assertEqual(self.succeed("sweep-merge", *reversed(files)), whole)

    def test_times_keep_the_unit_of_the_scenario(self):
        self.write({**SCENARIO, "time_unit": "ns"})
        whole = self.succeed("sim", self.scenario, "--sweep", SWEEP)
        self.assertEqual(self.succeed("sweep-merge", *self.run_shards(2, "--sweep", SWEEP)), whole)

    def test_a_file_is_written_whole(self):
        whole = self.succeed("sim", self.scenario, "--sweep", SWEEP, "--json")
        files = self.run_shards(3, "--sweep", SWEEP, "--json")
        out = self.directory / "out"
        self.assertEqual(self.succeed("sweep-merge", *files, "-o", out), "")
        self.assertEqual(out.read_text(encoding="utf-8"), whole)
        self.refuse(1, "is read and would be replaced", "sweep-merge", *files, "-o", files[0])
        # A command that fails leaves the file that was there.
        self.refuse(1, "shard 2/3", "sweep-merge", files[0], "-o", out)
        self.assertEqual(out.read_text(encoding="utf-8"), whole)

    def test_every_point_is_in_one_part(self):
        for of in (3, POINTS + 2):
            counts = [len(json.loads(file.read_text(encoding="utf-8"))["points"])
                      for file in self.run_shards(of, "--sweep", SWEEP)]
            self.assertEqual(sum(counts), POINTS)
            self.assertLessEqual(max(counts) - min(counts), 1)
            self.assertEqual(counts, sorted(counts, reverse=True))

    def test_missing_and_double_parts_are_named(self):
        files = self.run_shards(4, "--sweep", SWEEP)
        self.refuse(1, "overtake: shard 2/4, shard 4/4 are missing; run what is missing with --shard",
                    "sweep-merge", files[0], files[2])
        self.refuse(1, "overtake: shard 1/4 is missing;", "sweep-merge", *files[1:])
        twin = self.directory / "twin"
        twin.write_bytes(files[2].read_bytes())
        self.refuse(1, f"{twin}: is shard 3/4, and so is {files[2]}; name one of them", "sweep-merge", *files, twin)

    def test_parts_of_other_experiments_are_named(self):
        one, two = self.run_shards(2, "--sweep", SWEEP)
        other = self.directory / "other"
        for what, of, options in [
                ("another grid", 2, ["--sweep", SWEEP.replace("0..3", "0..4")]),
                ("another scenario", 2, ["--sweep", SWEEP, "--seed", "8"]),
                ("another scenario", 2, ["--sweep", SWEEP, "--set", "fair=true"]),
                ("another repeat", 2, ["--sweep", SWEEP, "--repeat", "2"]),
                ("another warm_up_us", 2, ["--sweep", SWEEP, "--warm-up", "5"]),
                ("another drain_us", 2, ["--sweep", SWEEP, "--drain", "5"]),
                (f"has other --columns or --json than {one}", 2, ["--sweep", SWEEP, "--json"]),
                (f"has other --columns or --json than {one}", 2, ["--sweep", SWEEP, "--columns", "p99"]),
                (f"is shard 2/3, but {one} is one of 2", 3, ["--sweep", SWEEP])]:
            with self.subTest(what=what):
                self.succeed("sim", self.scenario, *options, "--shard", f"2/{of}", "-o", other)
                self.refuse(1, f"overtake: {other}: ", "sweep-merge", one, other)
                self.refuse(1, what, "sweep-merge", one, other)
        self.succeed("sweep-merge", one, two)

    def test_files_that_a_scenario_names_are_part_of_it(self):
        self.write({**SCENARIO, "loads": [{"id": "a", "fcs": [30], "arrivals": {"type": "trace", "file": "times"}}]})
        times = self.directory / "times"
        times.write_text("1\n50\n", encoding="utf-8")
        one, two = self.run_shards(2, "--sweep", "core_limit=0..3")
        self.succeed("sweep-merge", one, two)
        times.write_text("1\n51\n", encoding="utf-8")
        other, = self.run_shards(2, "--sweep", "core_limit=0..3", name="other", numbers=[2])
        self.refuse(1, f"{other}: is of another experiment than {one}: another content of the files it names",
                    "sweep-merge", one, other)

    def test_what_is_no_part_is_refused(self):
        one, two = self.run_shards(2, "--sweep", SWEEP)
        bad = self.directory / "bad"
        whole = json.loads(two.read_text(encoding="utf-8"))
        no_runs = {**whole, "points": [[]] * len(whole["points"])}
        for text, why in [
                ("", "is not a shard, or damaged"), ("{}", "is not a shard; name files that"), ("[]", "is not a shard;"),
                (two.read_text(encoding="utf-8")[:-100], "is not a shard, or damaged; run that shard again"),
                (json.dumps({**whole, "overtake_shard": 3}), "is a shard of another version"),
                (json.dumps({**whole, "shard": 3}), "is not a shard, or damaged"),
                (json.dumps({**whole, "shard": 0}), "is not a shard, or damaged"),
                (json.dumps({**whole, "points": whole["points"][1:]}), "is damaged: not all of its points are there"),
                (json.dumps(no_runs), "is damaged: not all of its points are there"),
                (json.dumps({**whole, "experiment": {**whole["experiment"], "program": "0"}}), "another program")]:
            with self.subTest(why=why):
                bad.write_text(text, encoding="utf-8")
                self.refuse(1, f"{bad}: {why}" if "program" not in why else why, "sweep-merge", one, bad)
        self.refuse(1, f"{self.directory / 'none'}: No such file or directory; name", "sweep-merge",
                    self.directory / "none")
        self.refuse(1, "Is a directory", "sweep-merge", self.directory)
        self.refuse(2, "FILE is required", "sweep-merge")

    def test_wrong_options_are_refused(self):
        out = self.directory / "out"
        for shard in ("0/2", "3/2", "1", "1/", "1/2/3", "-1/2", "1/100001", ""):
            self.refuse(2, f"overtake: --shard {shard}: I/N is needed, with I from 1 to N", "sim", self.scenario,
                        "--sweep", SWEEP, "--shard", shard, "-o", out)
        self.refuse(2, "--shard requires --output", "sim", self.scenario, "--sweep", SWEEP, "--shard", "1/2")
        self.refuse(2, "--shard requires --sweep", "sim", self.scenario, "--shard", "1/2", "-o", out)
        for many in ("--sweep", "--repeat"):
            self.refuse(2, f"--output: cannot be given together with {many}", "sim", self.scenario, many,
                        SWEEP if many == "--sweep" else "2", "-o", out)
        # Each part refuses what the whole sweep would refuse, although the point belongs to another
        # part.
        self.refuse(1, "core_limit", "sim", self.scenario, "--sweep", "core_limit=1|-1", "--shard", "1/2", "-o", out)
        self.refuse(1, "--columns: no column is", "sim", self.scenario, "--sweep", SWEEP, "--columns", "p42",
                    "--shard", "1/2", "-o", out)
        self.assertFalse(pathlib.Path(out).exists())


if __name__ == "__main__":
    unittest.main()
