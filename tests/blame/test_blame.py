# SPDX-License-Identifier: MIT
"""Checks overtake sim --blame against recompute.py, which knows only the scenario and its timeline:
sums are exact, and each class that is named did delay the task, on the bundled scenarios and on random ones.
To run more random scenarios than the default of 200, 2 x 100 with groups, and 150 of the simulator's own:

    BLAME_OWN_COUNT=1000 BLAME_GROUP_COUNT=1000 BLAME_OTHER_COUNT=250 ctest --preset release -R blame_recomputed
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../compiler"))

import overtake_command  # noqa: E402
import random_tasks  # noqa: E402
import recompute  # noqa: E402

GENERATOR = os.environ["SIM_DIFFERENTIAL"]
OWN_COUNT = int(os.environ.get("BLAME_OWN_COUNT", "200"))
GROUP_COUNT = int(os.environ.get("BLAME_GROUP_COUNT", "100"))
OTHER_COUNT = int(os.environ.get("BLAME_OTHER_COUNT", "50"))
SCENARIOS = os.environ["SCENARIOS"]


class Blame(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.seen = {}

    def check(self, scenario, most, name):
        """Returns how many tasks have a blame; None if the scenario's times are too large for events."""
        path = os.path.join(self.directory.name, "scenario.json")
        timeline = os.path.join(self.directory.name, "timeline.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(scenario, file)
        run = overtake_command.overtake("sim", path, "-o", timeline, "--json", "--blame", most)
        if run.returncode == 1 and "later than events can tell" in run.stderr:
            return None
        self.assertEqual(run.returncode, 0, f"{name}: {run.stderr}")
        with open(timeline, encoding="utf-8") as file:
            known = recompute.Run(scenario, json.load(file))
        blamed = json.loads(run.stdout)["blame"]
        for entry in blamed:
            wrong = recompute.differences(known, entry)
            if wrong:
                with open(f"blame-{name}.json", "w", encoding="utf-8") as file:
                    json.dump(scenario, file, indent=1)
            self.assertFalse(wrong, f"blame-{name}.json: {entry['id']}: {wrong}")
            for part in entry["parts"]:
                self.seen[part["cause"]] = self.seen.get(part["cause"], 0) + 1
        if most >= len(known.tasks):
            self.assertEqual(len(blamed), len(known.tasks), f"{name}: not every task is there")
        return len(blamed)

    def test_bundled_scenarios(self):
        names = [name for name in sorted(os.listdir(SCENARIOS)) if name.endswith(".json")]
        self.assertGreaterEqual(len(names), 15)
        for name in names:
            with open(os.path.join(SCENARIOS, name), encoding="utf-8") as file:
                scenario = json.load(file)
            most = 100000 if name.startswith("demo-") or name.startswith("board-") else 50
            self.assertGreater(self.check(scenario, most, name), 0)

    def test_random_tasks(self):
        first = int(os.environ.get("BLAME_FIRST", "1"))
        total = 0
        for seed in range(first, first + OWN_COUNT):
            total += self.check(random_tasks.scenario(seed), 1000000, f"own-{seed}")
        print(f"{OWN_COUNT} scenarios, {total} tasks: {self.seen}", file=sys.stderr)
        for cause in set(recompute.BLAMED) - {"held"} | {"worker", "cpu", "gap", "running"}:
            self.assertGreater(self.seen.get(cause, 0), OWN_COUNT // 20, f"{cause} hardly occurs")
        self.assertNotIn("host", self.seen)

    def check_groups(self, scenario_of, name):
        first = int(os.environ.get("BLAME_FIRST", "1"))
        total = 0
        for seed in range(first, first + GROUP_COUNT):
            total += self.check(scenario_of(seed), 1000000, f"{name}-{seed}")
        print(f"{GROUP_COUNT} scenarios, {total} {name}: {self.seen}", file=sys.stderr)

    def test_random_groups(self):
        self.check_groups(random_tasks.jobs, "jobs")
        for cause in ("behind_normal", "behind_high", "held", "stages", "running"):
            self.assertGreater(self.seen.get(cause, 0), GROUP_COUNT // 20, f"{cause} hardly occurs")
        self.assertNotIn("host", self.seen)

    def test_random_tasks_with_groups(self):
        self.check_groups(lambda seed: random_tasks.scenario(seed, groups=True), "tasks")
        for cause in recompute.BLAMED + ("worker", "cpu", "gap", "stages", "running"):
            self.assertGreater(self.seen.get(cause, 0), GROUP_COUNT // 40, f"{cause} hardly occurs")
        self.assertNotIn("host", self.seen)

    def test_the_simulators_own_random_scenarios(self):
        printed = subprocess.run([GENERATOR, "--print", "--count", str(OTHER_COUNT)],
                                 cwd=self.directory.name, capture_output=True, text=True, check=True)
        scenarios = [json.loads(line) for line in printed.stdout.splitlines() if line.startswith("{")]
        self.assertEqual(len(scenarios), 3 * OTHER_COUNT)
        answers = [self.check(scenario, 1000000, f"other-{number}")
                   for number, scenario in enumerate(scenarios)]
        self.assertGreater(len([answer for answer in answers if answer]), 2 * OTHER_COUNT)


if __name__ == "__main__":
    unittest.main()
