# SPDX-License-Identifier: MIT
"""Calibration samples: pictures and .npy files of the same values give the same model."""

import pathlib
import tempfile
import unittest

import numpy as np
from PIL import Image

import small_models
from overtake_command import SOURCE, info, overtake, succeed

GLYPHS = SOURCE / "models/glyphs"


class Samples(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        (self.directory / "images").mkdir()

    def compile(self, model, calibration, *arguments):
        succeed("compile", model, "--calibration", calibration, "-o", self.directory / "m.ovm",
                *arguments)
        return (self.directory / "m.ovm").read_bytes()

    def refusal(self, model, calibration):
        result = overtake(
            "compile", model, "--calibration", calibration, "-o", self.directory / "no.ovm"
        )
        self.assertEqual(result.returncode, 1)
        self.assertFalse((self.directory / "no.ovm").exists())
        return result.stderr

    def three_channels(self):
        return small_models.save(
            small_models.relu((1, 3, 16, 24)), self.directory / "relu.onnx"
        )

    def input_range(self):
        (tensor,) = info(self.directory / "m.ovm")["inputs"]
        return tensor["scale"] * (127 - tensor["zero_point"])

    def test_a_folder_of_gray_png_files_is_the_array_of_them(self):
        samples = np.load(GLYPHS / "calibration.npy")
        for index, sample in enumerate(samples):
            Image.fromarray(sample[0]).save(self.directory / f"images/{index:03}.png")
        for method in ("min-max", "kl"):
            arguments = ("--calibration-method", method)
            self.assertEqual(
                self.compile(GLYPHS / "glyphs.onnx", self.directory / "images", *arguments),
                self.compile(GLYPHS / "glyphs.onnx", GLYPHS / "calibration.npy", *arguments),
            )

    def test_colours_come_as_planes_of_red_green_blue(self):
        pixels = np.random.default_rng(1).integers(0, 256, (16, 24, 3), np.uint8)
        Image.fromarray(pixels).save(self.directory / "images/a.png")
        np.save(self.directory / "a.npy", pixels.transpose(2, 0, 1))
        model = self.three_channels()
        self.assertEqual(
            self.compile(model, self.directory / "images"),
            self.compile(model, self.directory / "a.npy"),
        )

    def test_jpeg_files_of_any_size_are_stretched(self):
        Image.new("RGB", (100, 50), (10, 200, 90)).save(self.directory / "images/a.jpg")
        self.compile(self.three_channels(), self.directory / "images")
        self.assertAlmostEqual(self.input_range(), 200, delta=3)

    def test_gray_pictures_serve_a_network_of_three_channels(self):
        Image.new("L", (24, 16), 77).save(self.directory / "images/a.png")
        self.compile(self.three_channels(), self.directory / "images")
        self.assertAlmostEqual(self.input_range(), 77, delta=0.5)

    def test_a_broken_picture_is_refused(self):
        Image.new("RGB", (40, 40)).save(self.directory / "whole.png")
        Image.new("RGB", (40, 40)).save(self.directory / "whole.jpg")
        for name, reason in (("whole.png", "libpng refuses"), ("whole.jpg", "libjpeg refuses")):
            with self.subTest(name=name):
                path = self.directory / name
                path.write_bytes(path.read_bytes()[:24] + b"rubbish" * 9)
                self.assertIn(f"{path}: ", self.refusal(self.three_channels(), path))
                self.assertIn(reason, self.refusal(self.three_channels(), path))
        text = self.directory / "b.png"
        text.write_text("no picture")
        self.assertIn("neither a .npy array nor a PNG or JPEG", self.refusal(self.three_channels(), text))

    def test_pictures_do_not_fit_every_input(self):
        model = small_models.save(
            small_models.relu((1, 5, 8, 8)), self.directory / "five.onnx"
        )
        Image.new("L", (8, 8)).save(self.directory / "images/a.png")
        self.assertIn(
            "has not one or three channels", self.refusal(model, self.directory / "images")
        )

    def test_an_empty_folder_is_refused(self):
        self.assertIn(
            "no .npy, .png or .jpg file", self.refusal(self.three_channels(), self.directory / "images")
        )


if __name__ == "__main__":
    unittest.main()
