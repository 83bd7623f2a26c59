# SPDX-License-Identifier: MIT
"""The worked examples of groups: `overtake sim` prints for each its expected timeline, with all keys."""
import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
OVERTAKE = os.environ["OVERTAKE"]


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class GroupExamples(unittest.TestCase):
    def timeline(self, scenario):
        with tempfile.TemporaryDirectory() as directory:
            out = os.path.join(directory, "timeline.json")
            subprocess.run([OVERTAKE, "sim", scenario, "-o", out], check=True, capture_output=True)
            return read(out)

    def test_examples(self):
        names = [path.removesuffix(".expected.json")
                 for path in sorted(glob.glob(os.path.join(DATA, "groups-*.expected.json")))]
        self.assertGreaterEqual(len(names), 8)
        for name in names:
            with self.subTest(os.path.basename(name)):
                self.assertEqual(self.timeline(name + ".json"), read(name + ".expected.json"))

    def test_a_group_of_one_part_with_one_stage_is_a_job(self):
        for path in sorted(glob.glob(os.path.join(DATA, "fc-*.json"))):
            scenario = read(path)
            if path.endswith(".expected.json") or not all("fcs" in job for job in scenario["jobs"]):
                continue
            for job in scenario["jobs"]:
                job["parts"] = [{"core": job.pop("core", 0), "stages": [job.pop("fcs")]}]
            with self.subTest(os.path.basename(path)), tempfile.TemporaryDirectory() as directory:
                as_groups = os.path.join(directory, "groups.json")
                with open(as_groups, "w", encoding="utf-8") as file:
                    json.dump(scenario, file)
                got = self.timeline(as_groups)
                for fc in got["fcs"]:
                    self.assertEqual((fc.pop("part"), fc.pop("stage")), (0, 0))
                for job in got["jobs"]:
                    self.assertEqual(len(job.pop("parts")), 1)
                self.assertEqual(got, self.timeline(path))


if __name__ == "__main__":
    sys.exit(unittest.main())
