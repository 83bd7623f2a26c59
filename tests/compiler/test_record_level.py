# SPDX-License-Identifier: MIT
"""--record-level of run and perf: the same bytes, and one error for a level that is none."""

import json
import pathlib
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
            self.assertEqual(self.outputs(model, images, "--record-level", "1"), wanted)

    def test_perf_measures_it(self):
        model, _ = self.glyphs()
        for options in ([], ["--engine"]):
            result = succeed("perf", model, "--frames", 20, "--record-level", 1, "--json", *options)
            self.assertEqual(json.loads(result)["models"][0]["requests"], 20)

    def test_other_levels_are_refused(self):
        model, images = self.glyphs()
        for command in (["run", model, "--input", f"image={images}"], ["perf", model]):
            result = overtake(*command, "--record-level", "2")
            self.assertEqual(result.returncode, 2)
            self.assertIn("--record-level: ", result.stderr)


if __name__ == "__main__":
    unittest.main()
