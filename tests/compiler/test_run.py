# SPDX-License-Identifier: MIT
"""overtake run on a network as ONNX has it: in float, and in int8 without a model file."""

import pathlib
import tempfile
import unittest

import numpy as np
from overtake_command import SOURCE, cosine, overtake, succeed  # also finds models/
from PIL import Image

import float_reference

NETWORK = SOURCE / "models/glyphs/glyphs.onnx"
CALIBRATION = SOURCE / "models/glyphs/calibration.npy"
HELDOUT = SOURCE / "models/glyphs/heldout_images.npy"


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.images = np.load(HELDOUT)[:20].astype(np.float32)
        self.samples = self.folder / "images.npy"
        np.save(self.samples, self.images)

    def run_network(self, source, *options, model=NETWORK):
        output = self.folder / "out"
        printed = succeed("run", model, "--input", f"image={source}", "--output-dir", output,
                          "--device", "embedded", *options)  # fmt: skip
        return np.load(output / "probabilities.npy"), printed

    def test_float_is_what_the_reference_computes(self):
        got, printed = self.run_network(self.samples)
        wanted = float_reference.Network(NETWORK).run_images({"image": self.images})
        np.testing.assert_allclose(got, wanted["probabilities"], rtol=1e-3, atol=1e-5)
        self.assertRegex(printed, r"20 samples in float on the CPU, [\d.]+ ms each, peak memory \d+ MiB")

    def test_calibration_runs_what_compile_writes(self):
        got, printed = self.run_network(self.samples, "--calibration", CALIBRATION)
        self.assertIn("20 samples in int8 on embedded", printed)
        path = self.folder / "glyphs.ovm"
        succeed("compile", NETWORK, "--calibration", CALIBRATION, "-o", path, "-q")
        wanted, _ = self.run_network(self.samples, model=path)
        np.testing.assert_array_equal(got, wanted)
        in_float, _ = self.run_network(self.samples)
        self.assertGreaterEqual(cosine(got, in_float), 0.99)
        self.assertFalse((got == in_float).all())

    def test_pictures(self):
        picture = self.folder / "glyph.png"
        Image.fromarray(self.images[3, 0].astype(np.uint8)).save(picture)
        got, _ = self.run_network(picture)
        wanted, _ = self.run_network(self.samples)
        np.testing.assert_array_equal(got[0], wanted[3])
        np.save(self.samples, (self.images - 10) * np.float32(0.5))
        got, _ = self.run_network(picture, "--mean", "10", "--scale", "0.5")
        wanted, _ = self.run_network(self.samples)
        np.testing.assert_array_equal(got[0], wanted[3])

    def test_refusals(self):
        picture = self.folder / "glyph.png"
        Image.new("L", (8, 8)).save(picture)
        path = self.folder / "glyphs.ovm"
        succeed("compile", NETWORK, "--calibration", CALIBRATION, "-o", path, "-q")
        for model, arguments, text in [
            (NETWORK, ["--input", f"image={picture}", "--mean", "1,2"], "--mean"),
            (NETWORK, ["--input", f"picture={picture}"], "'image' is missing"),
            (path, ["--input", f"image={picture}", "--calibration", CALIBRATION], "--calibration"),
            (self.folder / "absent.onnx", ["--input", f"image={picture}"], "absent.onnx"),
        ]:
            with self.subTest(text=text):
                result = overtake("run", model, *arguments, "--output-dir", self.folder / "out")
                self.assertEqual(result.returncode, 1)
                self.assertIn(text, result.stderr)

    def test_quiet(self):
        _, printed = self.run_network(self.samples, "-q")
        self.assertEqual(printed, "")


if __name__ == "__main__":
    unittest.main()
