# SPDX-License-Identifier: MIT
"""Tests overtake profile, and the commands that take its files: perf and run --times."""

import json
import unittest

import numpy as np

from overtake_command import CommandTest, overtake

EMBEDDED = ["--device", "embedded"]
SEVERAL = ["--processors", "npu=1,cpu=x2"]


class Profile(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = self.make_model()
        self.times = self.directory / "times.json"

    def profile(self, *options):
        return self.succeed_json("profile", self.model, *EMBEDDED, *SEVERAL, "-o", self.times, "--runs", 3, *options)

    def refuse(self, code, said, *arguments):
        result = overtake(*arguments)
        self.assertEqual((result.returncode, result.stdout), (code, ""))
        self.assertIn(said, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def perf(self, *options):
        return ["perf", self.model, *EMBEDDED, *SEVERAL, "--frames", 20, "--times", self.times, *options]

    def test_what_is_printed_is_what_is_written(self):
        printed = self.profile("--mode", "timed")
        written = json.loads(self.times.read_text())
        self.assertEqual((printed["device"]["mode"], printed["runs"], printed["file"]), ("timed", 3, str(self.times)))
        pieces = [(of["name"], piece["units"], piece["time_ns"]) for of in written["classes"] for piece in of["pieces"]]
        self.assertEqual([(of["class"], of["units"], of["time_ns"]) for of in printed["times"]], pieces)
        self.assertEqual({name for name, _, _ in pieces}, {"npu", "cpu"})
        self.assertTrue(all(time > 0 for _, _, time in pieces))
        (cores,) = [of for of in written["classes"] if of["name"] == "npu"]
        self.assertEqual((cores["kind"], cores["device"], cores["mode"], cores["profile"]),
                         ("cores", "embedded", "timed", "default"))
        lines = self.succeed("profile", self.model, *EMBEDDED, *SEVERAL, "-o", self.times).splitlines()
        self.assertEqual(lines[1].split(), ["class", "units", "us"])
        self.assertEqual({line.split()[0] for line in lines[2:]}, {"npu", "cpu"})

    def test_perf_and_run_take_the_file(self):
        self.profile()
        self.assertEqual(self.succeed_json(*self.perf())["models"][0]["failed"], 0)
        (x,) = self.succeed_json("info", self.model)["inputs"]
        np.save(self.directory / "x.npy", np.zeros((2, *x["shape"][1:]), "f4"))
        self.succeed("run", self.model, *EMBEDDED, *SEVERAL, "--input", f"{x['name']}={self.directory / 'x.npy'}",
                     "--output-dir", self.directory / "out", "--times", self.times)

    def test_times_of_something_else_are_refused(self):
        self.profile("--mode", "timed")
        self.refuse(1, "classes[0].mode: 'timed', but class 'npu' of the engine has 'functional'; profile the model here",
                    *self.perf())
        right = self.perf("--mode", "timed")
        self.succeed(*right)
        self.refuse(1, "the engine has no class 'npu' but cpu", "perf", self.model, *EMBEDDED, "--processors", "cpu",
                    "--times", self.times)
        text = self.times.read_text()
        name = json.loads(text)["model"]
        for old, new, said in (
            (f'"model": "{name}"', '"model": "other"', f"model: the times are of 'other', and this model is '{name}'"),
            ('"model_digest": "', '"model_digest": "0', f"model_digest: the times are of another version of '{name}'"),
            ('"host": "', '"host": "no ', "host: the times are of a machine with 'no "),
            ('"default"', '"ideal"', "classes[0].profile: 'ideal', but class 'npu' of the engine has 'default'"),
            ('"time_ns": ', '"time_ns": -', "classes[0].pieces[0].time_ns: -"),
            ('"time_ns"', '"time"', "classes[0].pieces[0].time: is no key of such a file"),
            ("{", "", "parse error at line"),
        ):
            with self.subTest(new):
                self.assertIn(old, text)
                self.times.write_text(text.replace(old, new, 1))
                self.refuse(1, f"{self.times}: {said}", *right)

    def test_each_of_several_models_has_its_file(self):
        self.profile()
        self.succeed(*self.perf(), self.model)  # the same model twice: the file is of both
        self.refuse(1, "a file before it is of the same model", *self.perf(), "--times", self.times)

    def test_a_file_that_is_there_is_replaced_as_a_whole(self):
        self.times.write_text("old")
        self.refuse(1, "core 7, but its device has 2", "profile", self.model, *EMBEDDED, "--processors", "npu=7", "-o",
                    self.times)
        self.assertEqual(self.times.read_text(), "old")
        self.profile()
        self.assertEqual(json.loads(self.times.read_text())["kind"], "expected-times")
        self.assertEqual(sorted(path.name for path in self.directory.glob("*.json*")), ["times.json"])


if __name__ == "__main__":
    unittest.main()
