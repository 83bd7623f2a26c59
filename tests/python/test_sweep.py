# SPDX-License-Identifier: MIT
"""sweep(): the results of `overtake sim --sweep`, in one piece, in parts, and over workers."""

import errno
import json
import math
import pathlib
import tempfile
import unittest

import glyphs
import overtake
from overtake import _core, _sweep

SCENARIO = {"version": 1, "kind": "fc", "cores": 1, "seed": 7, "loads": [
    {"id": "high", "priority": 255, "fcs": [30], "count": 60, "slo": 90,
     "arrivals": {"type": "poisson", "mean": 200}},
    {"id": "low", "fcs": [40, 60], "count": 60,
     "arrivals": {"type": "log_normal", "mean": 250, "sigma": 1}}]}
GRID = {"core_limit": range(4), "loads.low.priority": [0, 255], "seed": range(30)}
TEXT = "core_limit=0..3,loads.low.priority=0|255,seed=0..29"


class InProcess:
    """The few words of a dask Client that sweep() speaks, without dask: each part in turn, the last first."""

    def __init__(self, threads):
        self.threads = threads
        self.submitted = []
        self.cancelled = None

    def nthreads(self):
        return {"a": self.threads, "b": self.threads}

    def submit(self, work, *arguments, pure):
        assert pure is False
        self.submitted.append((work, arguments))
        return len(self.submitted) - 1

    def gather(self, futures):
        results = {future: self.submitted[future][0](*self.submitted[future][1]) for future in reversed(futures)}
        return [results[future] for future in futures]

    def cancel(self, futures):
        self.cancelled = futures


class Sweeps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.path = pathlib.Path(directory.name) / "scenario.json"
        cls.path.write_text(json.dumps(SCENARIO), encoding="utf-8")
        cls.text = glyphs.overtake("sim", cls.path, "--sweep", TEXT)
        cls.json = glyphs.overtake("sim", cls.path, "--sweep", TEXT, "--json")

    def equal(self, sweep):
        self.assertEqual(len(sweep), 240)
        self.assertEqual(sweep.to_text(), self.text)
        self.assertEqual(sweep.to_json() + "\n", self.json)

    def test_a_grid_of_240_is_that_of_the_command(self):
        self.equal(overtake.sweep(SCENARIO, GRID))
        self.equal(overtake.sweep(self.path, TEXT, threads=1))
        self.equal(overtake.sweep(SCENARIO, GRID, threads=5))

    def test_parts_are_the_whole(self):
        plan = _core.Plan(_core.Source(json.dumps(SCENARIO), ".", "s"), TEXT, 1, 0, 0, [])
        for of in (1, 2, 7, 25):
            self.equal(_sweep.Sweep(_core.merge_shards([plan.run_shard(2, i, of) for i in range(of, 0, -1)])))

    def test_workers_give_the_same(self):
        for threads, shards, want in ((1, None, 8), (2, None, 16), (1, 5, 5)):
            client = InProcess(threads)
            self.equal(overtake.sweep(SCENARIO, GRID, client=client, shards=shards))
            self.assertEqual(len(client.submitted), want)
            self.assertEqual(client.cancelled, list(range(want)))
        client = InProcess(8)
        few = overtake.sweep(SCENARIO, "core_limit=0..2", client=client)
        self.assertEqual(len(client.submitted), 3)
        self.assertEqual(few.to_json(), overtake.sweep(SCENARIO, "core_limit=0..2").to_json())

    def test_repetitions_columns_and_the_rest(self):
        sweep = overtake.sweep("demo-both", "core_limit=0..1", repeat=3, seed=4, settings={"loads.large.count": 30},
                               warm_up=5000)
        more = ["--sweep", "core_limit=0..1", "--repeat", 3, "--seed", 4, "--set", "loads.large.count=30",
                "--warm-up", "5ms"]
        self.assertEqual(sweep.to_json() + "\n", glyphs.overtake("sim", "demo-both", "--json", *more))
        self.assertEqual(sweep.to_text(["p99", "ANTT"]),
                         glyphs.overtake("sim", "demo-both", "--columns", "p99,ANTT", *more))
        self.assertEqual(sweep.rows, json.loads(sweep.to_json()))

    def test_figures_are_arrays(self):
        sweep = overtake.sweep(SCENARIO, {"core_limit": [0, 1], "loads.low.class": ["a", "b"]})
        self.assertEqual(sweep.settings("core_limit"), [0, 0, 1, 1])
        self.assertEqual(sweep.settings("loads.low.class"), ["a", "b", "a", "b"])
        values = sweep.values("a.max_us")
        self.assertEqual([math.isnan(value) for value in values], [False, True, False, True])
        self.assertEqual(values[0], sweep.rows[0]["a.max_us"]["mean"])
        with self.assertRaisesRegex(KeyError, "no figure is called a.p42; there are high.mean_us"):
            sweep.values("a.p42")

    def test_what_is_refused(self):
        for grid, why in [({}, "the grid: keys, each with a list of values"), ({"core_limit": []}, "the grid: keys"),
                          ("core_limit", "KEY=A..B"), ({"": [1]}, "the grid: keys"),
                          ({"core_limit": [0, -1]}, "scenario: with core_limit=-1: "),
                          ({"seed": range(1000), "core_limit": range(1000)}, "more than 100000 combinations")]:
            for client in (None, InProcess(1)):
                with self.subTest(grid=grid), self.assertRaises(overtake.Error) as caught:
                    overtake.sweep(SCENARIO, grid, client=client)
                self.assertEqual(caught.exception.code, errno.EINVAL)
                self.assertIn(why, str(caught.exception))
        with self.assertRaisesRegex(overtake.Error, "no column is"):
            overtake.sweep(SCENARIO, {"core_limit": [0]}).to_text(["p42"])


if __name__ == "__main__":
    unittest.main()
