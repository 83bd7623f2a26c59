# SPDX-License-Identifier: MIT
"""The trained glyph classifier keeps its accuracy through the compiler, on the embedded device."""

import pathlib
import tempfile
import unittest

import numpy as np

from overtake_command import SLOW, SOURCE, fc_times, run, succeed

import float_reference

GLYPHS = SOURCE / "models/glyphs"
POINT = 0.01


def accuracy(probabilities, labels):
    return float((probabilities.argmax(axis=1) == labels).mean())


class Glyphs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.images = np.load(GLYPHS / "heldout_images.npy").astype(np.float32)
        cls.labels = np.load(GLYPHS / "heldout_labels.npy")
        network = float_reference.Network(GLYPHS / "glyphs.onnx")
        cls.float_result = network.run_images({"image": cls.images})["probabilities"]

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def compile(self, *arguments):
        path = self.directory / "glyphs.ovm"
        calibration = GLYPHS / "calibration.npy"
        succeed(
            "compile", GLYPHS / "glyphs.onnx", "--calibration", calibration, "-o", path, *arguments
        )
        return path

    def run_heldout(self, model):
        return run(model, {"image": self.images}, self.directory)["probabilities"]

    def test_int8_accuracy_is_within_a_point_of_float(self):
        for arguments in (
            [], ["--no-bias-correction"], ["--no-equalisation"], ["--percentile", "99.9"],
            *(["--calibration-method", m] for m in ("min-max", "percentile", "kl", "mse", "best")),
        ):
            with self.subTest(arguments=arguments):
                result = self.run_heldout(self.compile(*arguments))
                self.assertEqual(result.shape, (len(self.labels), 16))
                self.assertGreaterEqual(
                    accuracy(result, self.labels),
                    accuracy(self.float_result, self.labels) - POINT,
                )

    def test_split_gives_the_same_probabilities(self):
        whole = self.run_heldout(self.compile())
        path = self.compile("--max-time-per-fc", "2000", "--profile", SLOW)
        self.assertGreater(len(fc_times(path)), 3)
        self.assertLessEqual(max(fc_times(path)), 2000)
        np.testing.assert_array_equal(self.run_heldout(path), whole)

    def test_compiling_twice_gives_the_same_bytes(self):
        self.assertEqual(self.compile().read_bytes(), self.compile().read_bytes())


if __name__ == "__main__":
    unittest.main()
