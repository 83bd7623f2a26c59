# SPDX-License-Identifier: MIT
"""Several models in one file: each gives the results that it gives alone, and equal weights are there once."""

import json
import pathlib
import shutil
import tempfile
import unittest

import numpy as np
from overtake_command import SLOW, SOURCE, info, overtake, succeed

GLYPHS = SOURCE / "models/glyphs"


class Pack(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.pack = self.folder / "pack.ovm"

    def compile(self, name, *options):
        # A model has the name of its file.
        network = self.folder / f"{name}.onnx"
        shutil.copy(GLYPHS / "glyphs.onnx", network)
        succeed("compile", network, "--calibration", GLYPHS / "calibration.npy", "-q", *options)
        return self.folder / f"{name}.ovm"

    def run_model(self, path, *options):
        output = self.folder / "out"
        succeed("run", path, "--input", f"image={GLYPHS / 'calibration.npy'}", "--output-dir",
                output, "--device", "embedded", "-q", *options)  # fmt: skip
        return np.load(output / "probabilities.npy")

    def test_models_share_equal_weights_and_compute_what_they_did(self):
        whole = self.compile("whole")
        split = self.compile("split", "--max-time-per-fc", 2000, "--profile", SLOW)
        wanted = self.run_model(whole)
        succeed("pack", whole, split, "-o", self.pack)
        models = info(self.pack)
        self.assertEqual([m["name"] for m in models], ["whole", "split"])
        for name, alone in (("whole", whole), ("split", split)):
            np.testing.assert_array_equal(self.run_model(self.pack, "--model-name", name), wanted)
            packed = json.loads(succeed("info", self.pack, "--model-name", name, "--json"))
            self.assertEqual(packed["segments"], info(alone)["segments"])
        # The second model brings only the parameters of its pieces.
        shared = models[0]["total"]["weights_bytes"]
        self.assertEqual(shared, models[1]["total"]["weights_bytes"])
        alone = info(whole)["total"]["weights_bytes"]
        self.assertLess(shared, 1.5 * alone)

    def test_a_pack_of_one_needs_no_name(self):
        whole = self.compile("whole")
        succeed("pack", whole, "-o", self.pack)
        np.testing.assert_array_equal(self.run_model(self.pack), self.run_model(whole))

    def test_reports_stay_in_their_directory(self):
        succeed("pack", self.compile("evil_name"), self.compile("other"), "-o", self.pack)
        self.pack.write_bytes(self.pack.read_bytes().replace(b"evil_name", b"../escape"))
        reports = self.folder / "deep/reports"
        succeed("info", self.pack, "--report", reports)
        self.assertEqual(
            {path.name for path in reports.iterdir()},
            {f"{name}.{form}" for name in ("_._escape", "other") for form in ("html", "json", "txt")},
        )
        self.assertEqual(list((self.folder / "deep").iterdir()), [reports])

    def test_reports_of_several_models_need_several_files(self):
        succeed("pack", self.compile("whole"), self.compile("other"), "-o", self.pack)
        result = overtake("info", self.pack, "--report", self.folder / "all.html")
        self.assertEqual(result.returncode, 1)
        self.assertIn("one file for 2 models; name a directory", result.stderr)
        self.assertFalse((self.folder / "all.html").exists())
        succeed("info", self.pack, "--model-name", "other", "--report", self.folder / "all.html")

    def test_refusals(self):
        whole, other = self.compile("whole"), self.compile("other")
        succeed("pack", whole, other, "-o", self.pack)
        damaged = self.folder / "damaged.ovm"
        damaged.write_bytes(self.pack.read_bytes()[:1000])
        for arguments, text in [
            (["pack", whole, whole, "-o", self.folder / "p"], "'whole'"),
            (["pack", whole, damaged, "-o", self.folder / "p"], "damaged.ovm"),
            (["info", damaged], "damaged.ovm: offset"),
            (["info", self.pack, "--model-name", "none"], "whole, other"),
            (["perf", self.pack, "--frames", 1], "whole, other"),
        ]:
            with self.subTest(arguments=arguments):
                result = overtake(*arguments)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn(text.strip("'"), result.stderr)


if __name__ == "__main__":
    unittest.main()
