# SPDX-License-Identifier: MIT
"""simulate(): the results of `overtake sim`, as arrays."""

import concurrent.futures
import errno
import json
import os
import pathlib
import tempfile
import unittest

import numpy as np

import glyphs
import overtake

SMALL = {"version": 1, "kind": "fc", "cores": 1, "core_limit": 1, "jobs": [
    {"id": "a", "at": 0, "fcs": [5, 5]}, {"id": "b", "at": 3, "priority": 255, "fcs": [2]}]}


def timeline(run):
    """Returns the document that -o writes, made of the arrays alone."""
    def or_null(time):
        return None if time < 0 else int(time)

    def name(job):
        task = run.ids[job["task"]]
        return task if run.kind == "fc" else f"{task}.{job['segment']}"

    names = [name(job) for job in run.jobs]
    document = {
        "version": 1,
        "fcs": [{"job": names[fc["job"]], "index": int(fc["index"]), "core": int(fc["core"]),
                 "ring": "high" if fc["high"] else "normal", "start": int(fc["start"]), "end": int(fc["end"])}
                for fc in run.fcs],
        "jobs": [{"id": of, "core": int(job["core"]), "arrival": int(job["arrival"]), "start": or_null(job["start"]),
                  "end": int(job["end"]), "preemptions": int(job["preemptions"]), "cancelled": bool(job["cancelled"])}
                 for of, job in zip(names, run.jobs)]}
    if run.kind == "task":
        document["cpu"] = [{"task": run.ids[cpu["task"]], "segment": int(cpu["segment"]), "start": int(cpu["start"]),
                            "end": int(cpu["end"])} for cpu in run.cpu]
        document["tasks"] = [
            {"id": of, "core": int(task["core"]), "arrival": int(task["arrival"]),
             "dispatched": or_null(task["dispatched"]), "end": int(task["end"]), "cancelled": bool(task["cancelled"])}
            for of, task in zip(run.ids, run.tasks)]
    return document


class Simulate(unittest.TestCase):
    maxDiff = 2000

    def refuse(self, code, text, *arguments, **options):
        with self.assertRaises(overtake.Error) as caught:
            overtake.simulate(*arguments, **options)
        self.assertEqual(caught.exception.code, code)
        self.assertIn(text, str(caught.exception))

    def test_every_bundled_scenario(self):
        names = overtake.bundled_scenarios()
        listed = [line.split()[0] for line in glyphs.overtake("sim", "--list").splitlines()]
        self.assertEqual(names, listed)
        self.assertGreater(len(names), 10)
        for name in names:
            with self.subTest(name=name):
                # 60 s of ten models are many lines; the first few seconds have all kinds of them.
                settings = {"until": 3_000_000} if name.startswith("disb") else {}
                more = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
                run = overtake.simulate(name, settings=settings)
                self.assertEqual(timeline(run), json.loads(glyphs.overtake("sim", name, *more)))
                self.assertEqual(run.summary, json.loads(glyphs.overtake("sim", name, "--json", *more)))

    def test_dict_file_and_text_are_the_same(self):
        want = timeline(overtake.simulate(SMALL))
        self.assertEqual([fc["job"] for fc in want["fcs"]], ["a", "b", "a"])
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "small.json"
            path.write_text(json.dumps(SMALL), encoding="utf-8")
            for source in (path, str(path)):
                self.assertEqual(timeline(overtake.simulate(source)), want)

    def test_a_moment_that_never_came_is_minus_one(self):
        late = {"id": "late", "at": 1, "fcs": [5]}
        run = overtake.simulate({**SMALL, "jobs": [*SMALL["jobs"], late], "cancels": [{"at": 2, "id": "late"}]})
        self.assertEqual(run.jobs["start"].tolist(), [0, -1, 5])
        self.assertEqual(run.jobs["cancelled"].tolist(), [False, True, False])
        self.assertEqual(run.tasks["dispatched"].tolist(), [-1, -1, -1])  # at FC level nothing is

    def test_settings_and_seed(self):
        for settings, seed, more in [({"core_limit": 0}, None, ["--set", "core_limit=0"]),
                                     ({"loads.large.priority": np.int64(7), "fair": True}, 5,
                                      ["--set", "loads.large.priority=7", "--set", "fair=true", "--seed", "5"])]:
            run = overtake.simulate("demo-both", settings=settings, seed=seed)
            self.assertEqual(run.summary, json.loads(glyphs.overtake("sim", "demo-both", "--json", *more)))
        run = overtake.simulate("demo-both", warm_up=1000, drain=2_000_000)
        self.assertEqual(run.summary, json.loads(glyphs.overtake(
            "sim", "demo-both", "--json", "--warm-up", "1ms", "--drain", "2s")))

    def test_files_are_found(self):
        loads = {"version": 1, "kind": "fc", "cores": 1, "loads": [
            {"id": "a", "fcs": [30], "arrivals": {"type": "trace", "file": "times"}}]}
        with tempfile.TemporaryDirectory() as directory:
            (pathlib.Path(directory) / "times").write_text("10\n20\n", encoding="utf-8")
            path = pathlib.Path(directory) / "traced.json"
            path.write_text(json.dumps(loads), encoding="utf-8")
            self.assertEqual(overtake.simulate(path).tasks["arrival"].tolist(), [10, 20])
            here = os.getcwd()
            try:
                os.chdir(directory)
                self.assertEqual(overtake.simulate(loads).tasks["arrival"].tolist(), [10, 20])
            finally:
                os.chdir(here)

    def test_arrays_keep_what_they_show(self):
        fcs = overtake.simulate("demo-both").fcs
        want = overtake.simulate("demo-both")
        self.assertEqual(fcs.tobytes(), want.fcs.tobytes())
        self.assertEqual(fcs.dtype.names, ("job", "index", "core", "high", "start", "end"))
        self.assertFalse(fcs.flags.owndata)
        # As arrays are meant to be used: the detector's latencies.
        latency = (want.tasks["end"] - want.tasks["arrival"])[want.tasks["class"] == want.classes.index("detector")]
        of = next(of for of in want.summary["classes"] if of["class"] == "detector")["latency_us"]
        self.assertEqual([latency.max(), np.sort(latency)[(len(latency) * 99 + 99) // 100 - 1]], [of["max"], of["p99"]])
        self.assertEqual(want.jobs["preemptions"].sum(), len(want.preemptions))
        self.assertGreater(len(want.preemptions), 1000)

    def test_threads_simulate_at_the_same_time(self):
        want = overtake.simulate("demo-both").fcs.tobytes()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for got in pool.map(lambda _: overtake.simulate("demo-both").fcs.tobytes(), range(8)):
                self.assertEqual(got, want)

    def test_what_is_refused(self):
        self.refuse(errno.EINVAL, "scenario: jobs[0].at: missing", {**SMALL, "jobs": [{"id": "a"}]})
        self.refuse(errno.EINVAL, "scenario: colour: unknown key", {**SMALL, "colour": 1})
        self.refuse(errno.ENOENT, "nowhere: no such file", "nowhere")
        self.refuse(errno.ENOENT, "nowhere.json: no such file", pathlib.Path("nowhere.json"))
        self.refuse(errno.EINVAL, "demo-both.json: loads.absent.priority: the scenario has no loads.absent", "demo-both",
                    settings={"loads.absent.priority": 1})
        self.refuse(errno.EINVAL, "leave nothing", SMALL, warm_up=100)
        self.refuse(errno.EINVAL, "passes 2^63", {**SMALL, "jobs": [{"id": "a", "at": 2**63, "fcs": [1]}]})
        with self.assertRaises(TypeError):
            overtake.simulate({**SMALL, "jobs": {1, 2}})
        with self.assertRaises(ValueError):
            overtake.simulate({**SMALL, "seed": float("nan")})
        with self.assertRaises(TypeError):
            overtake.simulate(SMALL, warm_up=-1)


if __name__ == "__main__":
    unittest.main()
