# SPDX-License-Identifier: MIT
"""overtake sim --what-if: its settings, and that before, after and difference are those of two runs."""
import json
import os
import subprocess
import tempfile
import unittest

OVERTAKE = os.environ["OVERTAKE"]
BOTH = ["core_limit=1", "detector.priority=255", "large.max_time_per_fc=1000"]


def sim(*arguments):
    return subprocess.run([OVERTAKE, "sim", *arguments], capture_output=True, text=True, timeout=120,
                          check=False)


def what_if(scenario, settings, *more):
    run = sim(scenario, *[word for setting in settings for word in ("--what-if", setting)], *more)
    assert run.returncode == 0, run.stderr
    return run.stdout


def latencies(scenario):
    summary = json.loads(sim(scenario, "--json").stdout)
    return {of["class"]: of["latency_us"] for of in summary["classes"]}


class WhatIf(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def write(self, scenario):
        path = os.path.join(self.directory.name, "own.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(scenario, file)
        return path

    def test_neither_becomes_both(self):
        table = {of["class"]: of for of in json.loads(what_if("demo-neither", BOTH, "--json"))}
        for name in ("detector", "large"):
            before, after = latencies("demo-neither")[name], latencies("demo-both")[name]
            for key in ("p50", "p99", "max"):
                cell = table[name][key + "_us"]
                self.assertEqual(cell["before"], before[key])
                self.assertLess(abs(cell["after"] - after[key]), 0.05 * after[key])
                self.assertEqual(cell["difference"], cell["after"] - cell["before"])
        self.assertGreater(table["detector"]["p99_us"]["before"], 10 * table["detector"]["p99_us"]["after"])

    def test_listed_fcs_of_a_class_are_split_in_us(self):
        jobs = [{"id": "job 0", "at": 0, "class": "large", "fcs": [10_000_000, 500_000]},
                {"id": "job 1", "at": 100_000, "class": "detector", "priority": 255, "fcs": [200_000]}]
        path = self.write({"version": 1, "kind": "fc", "cores": 1, "core_limit": 1, "time_unit": "ns",
                           "jobs": jobs})
        table = {of["class"]: of for of in json.loads(what_if(path, ["large.max_time_per_fc=1000"], "--json"))}
        self.assertEqual(table["detector"]["max_us"], {"before": 10_100, "after": 1_100, "difference": -9_000})
        self.assertEqual(table["large"]["max_us"]["after"], 10_700)

    def test_every_entry_of_a_name_is_set(self):
        jobs = [{"id": str(i), "at": i, "class": "b" if i % 2 else "a", "fcs": [100]} for i in range(6)]
        path = self.write({"version": 1, "kind": "fc", "cores": 2, "jobs": jobs})
        before = {of["class"]: of for of in json.loads(what_if(path, ["a.core=1", "b.core=2"], "--json"))}
        # Three jobs of 100 us run one after the other on a core of their own: the last takes 300 -
        # 4.
        self.assertEqual(before["a"]["max_us"]["after"], 296)
        self.assertEqual(before["b"]["max_us"]["after"], 296)

    def test_a_model_of_a_recording_is_that_of_all_its_processes(self):
        classes = ["large (pid 7)", "large (pid 8)", "largest (pid 9)"]
        jobs = [{"id": str(i), "at": 0, "core": i + 1, "class": name, "fcs": [3000]} for i, name in enumerate(classes)]
        path = self.write({"version": 1, "kind": "fc", "cores": 4, "core_limit": 1, "jobs": jobs + [
            {"id": f"high {i}", "class": f"high {i}", "at": 1, "core": i + 1, "priority": 255, "fcs": [100]} for i in range(3)]})
        run = sim(path, "--what-if", "large.max_time_per_fc=1000", "--json", "-o", self.directory.name)
        self.assertEqual(run.returncode, 0, run.stderr)
        table = {of["class"]: of for of in json.loads(run.stdout)}
        self.assertEqual([table[f"high {i}"]["max_us"]["after"] for i in range(3)], [1099, 1099, 3099])

    def test_text_has_a_row_for_each_class(self):
        lines = what_if("demo-neither", BOTH).splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["class", "detector", "large"])
        self.assertIn("-46.58 ms", lines[1])

    def test_both_pictures(self):
        directory = os.path.join(self.directory.name, "pictures")
        what_if("demo-neither", BOTH, "-o", directory, "--from", "1000ms", "--to", "1060ms")
        pictures = {}
        for name in ("before", "after"):
            with open(os.path.join(directory, name + ".svg"), encoding="utf-8") as file:
                pictures[name] = file.read()
            self.assertTrue(pictures[name].startswith(("<?xml", "<svg")))
        self.assertIn("demo-neither with core_limit=1, detector.priority=255, large.max_time", pictures["after"])
        self.assertIn("no priority, not split", pictures["before"])
        # If it is split, the large network has many more FCs.
        self.assertGreater(pictures["after"].count("<rect"), 3 * pictures["before"].count("<rect"))


if __name__ == "__main__":
    unittest.main()
