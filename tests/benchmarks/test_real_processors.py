# SPDX-License-Identifier: MIT
"""bench_real_processors runs a scenario to its end under the real clock, with any events of processors."""

import collections
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["BENCH_REAL_PROCESSORS"]


def scenario(**more):
    return {
        "version": 1, "kind": "task", "policy": "least-slack", "retry_after": 500,
        "processors": [{"name": "npu", "class": "npu", "cores": 2, "depth": 2}, {"name": "cpu", "class": "cpu", "workers": 1}],
        "models": {
            "pair": {"units": [{"time": {"npu": [100, 100], "cpu": 300}}, {"time": {"cpu": 50}}]},
            "one": {"units": [{"time": {"npu": 100}}]},
        },
        "loads": [
            {"id": "a", "model": "pair", "arrivals": {"type": "closed_loop", "depth": 3}, "until": 40000},
            {"id": "b", "model": "one", "arrivals": {"type": "poisson", "mean": 400}, "until": 40000},
        ],
        **more,
    }  # fmt: skip


def run(document):
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "scenario.json"
        path.write_text(json.dumps(document))
        return subprocess.run([PROGRAM, path], capture_output=True, text=True, check=False, timeout=100)


class RealProcessors(unittest.TestCase):
    def succeed(self, document):
        result = run(document)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def test_every_task_ends(self):
        printed = self.succeed(scenario())
        tasks = printed["tasks"]
        loads = collections.Counter(task["id"].split("#")[0] for task in tasks)
        self.assertGreaterEqual(loads["a"], 3)
        self.assertGreaterEqual(loads["b"], 1)
        self.assertEqual(len({task["id"] for task in tasks}), len(tasks))
        self.assertEqual({task["status"] for task in tasks}, {"done"})
        for task in tasks:
            self.assertLessEqual(task["arrival"], task["submitted"])
            self.assertLess(task["submitted"], task["end"])
        of_pairs = {run["processor"] for run in printed["runs"] if run["task"].startswith("a#")}
        self.assertIn("cpu", of_pairs)  # no core has the second unit
        self.assertLessEqual({run["processor"] for run in printed["runs"] if run["task"].startswith("b#")}, {"npu.1", "npu.2"})

    def test_processors_fail_and_come_back(self):
        """However late an event is, requests come behind it.

        The policy does not look at expected times: after one very late run, others may leave all cores idle for good.
        """
        document = scenario(policy="round-robin", events=[
            {"at": 5000, "processor": "npu.1", "event": "fail"},
            {"at": 12000, "processor": "cpu", "event": "fail"},
            {"at": 16000, "processor": "cpu", "event": "recover"},
            {"at": 18000, "processor": "npu.2", "event": "throttle", "factor": 300},
            {"at": 20000, "processor": "cpu", "event": "throttle", "factor": 300},
        ])  # fmt: skip
        document["loads"] = [{"id": name, "model": model, "arrivals": {"type": "closed_loop", "depth": 2}, "count": 400, "until": 10**12}
                             for name, model in (("a", "pair"), ("b", "one"))]  # fmt: skip
        printed = self.succeed(document)
        self.assertEqual(len(printed["tasks"]), 800)
        self.assertEqual({task["status"] for task in printed["tasks"]}, {"done"})
        failures = {state["name"]: state["failures"] for state in printed["processors"]}
        self.assertGreaterEqual(failures["npu.1"], 1)
        self.assertEqual(failures["npu.2"], 0)

    def test_late_tasks_are_dropped(self):
        document = scenario(drop="late")
        document["loads"] = [{"id": "a", "model": "pair", "slo": 500, "arrivals": {"type": "closed_loop", "depth": 20},
                              "until": 40000}]  # fmt: skip
        self.assertIn("dropped", {task["status"] for task in self.succeed(document)["tasks"]})

    def test_what_it_cannot_do_is_refused(self):
        for change, said in (
            ({"tasks": [{"id": "x", "at": 0, "model": "one"}]}, "listed tasks and cancels: loads alone"),
            ({"processors": [{"name": "npu", "class": "npu", "cores": 1, "overhead": 5},
                             {"name": "cpu", "class": "cpu", "workers": 1}]}, "npu: one worker, and no overhead"),
        ):  # fmt: skip
            result = run(scenario(**change))
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertIn(said, result.stderr)


if __name__ == "__main__":
    unittest.main()
