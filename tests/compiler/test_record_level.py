# SPDX-License-Identifier: MIT
"""--record-level of run and perf: equal bytes, the memory that level 2 gives back, and one error for each refusal;
perf --try, which compares levels and layouts."""

import json
import pathlib
import re
import tempfile
import unittest

import numpy as np

from overtake_command import SOURCE, overtake, succeed

GLYPHS = SOURCE / "models/glyphs"


class RecordLevel(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def outputs(self, model, samples, *options):
        directory = self.folder / "out"
        succeed("run", model, "--input", f"image={samples}", "--output-dir", directory, "-q", *options)
        arrays = {path.name: path.read_bytes() for path in directory.glob("*.npy")}
        for path in directory.glob("*.npy"):
            path.unlink()
        self.assertTrue(arrays)
        return arrays

    def glyphs(self, *options):
        compiled = self.folder / "glyphs.ovm"
        succeed("compile", GLYPHS / "glyphs.onnx", "--calibration", GLYPHS / "calibration.npy",
                "-o", compiled, *options)  # fmt: skip
        images = self.folder / "images.npy"
        np.save(images, np.load(GLYPHS / "heldout_images.npy")[:12])
        return compiled, images

    def test_run_gives_the_same_bytes(self):
        for options in ([], ["--cores", "2"]):
            model, images = self.glyphs(*options)
            wanted = self.outputs(model, images)
            for level in "12":
                self.assertEqual(self.outputs(model, images, "--record-level", level), wanted)

    def test_perf_measures_it(self):
        model, _ = self.glyphs()
        for options in ([], ["--engine"]):
            for level in (1, 2):
                result = json.loads(succeed("perf", model, "--frames", 20, "--record-level", level, "--json", *options))
                self.assertEqual(result["models"][0]["requests"], 20)
                self.assertEqual("gave_back_bytes" in result["models"][0], level == 2)
                self.assertGreater(result["resident_bytes"]["all"], 0)

    def test_other_levels_are_refused(self):
        model, images = self.glyphs()
        for command in (["run", model, "--input", f"image={images}"], ["perf", model]):
            result = overtake(*command, "--record-level", "3")
            self.assertEqual(result.returncode, 2)
            self.assertIn("--record-level: ", result.stderr)

    def refuse(self, text, *command, code=1):
        result = overtake(*command)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertIn(text, result.stderr)

    def test_level_two_says_what_it_gave_back(self):
        model, images = self.glyphs()
        size = model.stat().st_size
        printed = succeed("perf", model, "--frames", 20, "--record-level", 2)
        given = int(re.search(r"gave back (\d+) bytes: the model's file", printed)[1])
        weights = json.loads(succeed("perf", model, "--frames", 1, "--json"))["models"][0]["memory_bytes"]["weights"]
        self.assertGreater(weights, 0)
        self.assertGreater(given, weights)
        self.assertLess(given, 2 * size)
        printed = succeed("run", model, "--input", f"image={images}", "--output-dir", self.folder / "out",
                          "--record-level", 2)  # fmt: skip
        self.assertIn(f"gave back {given} bytes", printed)
        for level in (0, 1):
            self.assertNotIn("gave back", succeed("perf", model, "--frames", 20, "--record-level", level))

    def test_level_two_refuses_what_level_one_runs_ordinarily(self):
        model, images = self.glyphs()
        run = ["run", model, "--input", f"image={images}", "--output-dir", self.folder / "out"]
        for command in (["perf", model], run):
            self.refuse("record level 2: with several processors the policy chooses where each unit of a model runs; "
                        "use record level 1", *command, "--device", "embedded", "--record-level", 2,
                        "--processors", "npu,cpu")  # fmt: skip
        for command in (["perf", model, "--engine"], run):
            self.refuse("record level 2: tasks of service mode are the device's", *command, "--device", "embedded",
                        "--record-level", 2, "--service")  # fmt: skip

    def test_try_compares_layouts_and_levels(self):
        model, _ = self.glyphs("--run-on-cpu", "conv1", "--run-on-cpu", "conv2")
        for options in ([], ["--engine"]):
            tried = json.loads(succeed("perf", model, "--try", "--frames", 50, "--json", *options))
            settings = [(each["cpu_layout"], each["record_level"]) for each in tried["settings"]]
            self.assertEqual(settings, [(layout, level) for layout in ("auto", "planes", "blocked")
                                        for level in (0, 1, 2)])  # fmt: skip
            for each in tried["settings"]:
                self.assertEqual(each["requests"], 50)
                self.assertGreaterEqual(each["p99_ms"], each["p50_ms"])
                self.assertGreater(each["ratio"], 0)
            self.assertEqual(tried["settings"][0]["ratio"], 1)
            self.assertIn((tried["best"]["cpu_layout"], tried["best"]["record_level"]), settings)
            self.assertEqual(tried["refused"], [])

    def test_try_names_what_to_use(self):
        model, _ = self.glyphs()
        printed = succeed("perf", model, "--try", "--frames", 5)
        used = re.search(r"^use +--cpu-layout (\w+) --record-level (\d)", printed, re.MULTILINE)
        layout, level = used.groups()
        self.assertIn(f"board programs: OVERTAKE_CPU_LAYOUT={layout} OVERTAKE_RECORD_LEVEL={level}", printed)
        self.assertIn(f", record = {level}", printed)
        succeed("perf", model, "--frames", 5, "--cpu-layout", layout, "--record-level", level)

    def test_try_leaves_out_what_makes_no_difference(self):
        compiled = self.folder / "glyphs.ovm"
        succeed("compile", "--cpu", GLYPHS / "glyphs.onnx", "-o", compiled)
        tried = json.loads(succeed("perf", compiled, "--try", "--frames", 5, "--json"))
        self.assertEqual({each["record_level"] for each in tried["settings"]}, {0, 2})
        self.assertEqual(len(tried["settings"]), 6)
        self.assertIn("nothing on the device", tried["notes"][0])
        model, _ = self.glyphs()  # one Softmax is on the CPU
        tried = json.loads(succeed("perf", model, "--try", "--frames", 5, "--json"))
        self.assertEqual({each["cpu_layout"] for each in tried["settings"]}, {"auto"})
        self.assertEqual(tried["notes"], [f"layout {layout} is the same as auto in this model"
                                          for layout in ("planes", "blocked")])  # fmt: skip

    def test_try_refuses_what_it_cannot_compare(self):
        model, _ = self.glyphs()
        for option in ("--cpu-layout=planes", "--record-level=1"):
            name = option.split("=")[0]
            self.refuse(f"--try: tries each {name}", "perf", model, "--try", option, code=2)
        for option in ("--processors=npu,cpu", "--records=x.csv", "--seconds=1", "--period-us=100"):
            name = option.split("=")[0]
            self.refuse(f"--try: does not go with {name}", "perf", model, "--try", option, code=2)
        self.refuse("--try: does not go with --service", "perf", model, "--try", "--engine", "--service", code=2)
        self.refuse("--try: is for one MODEL", "perf", model, model, "--try", code=2)
        self.refuse("--try: needs --frames of at least 5", "perf", model, "--try", "--frames", "4", code=2)


if __name__ == "__main__":
    unittest.main()
