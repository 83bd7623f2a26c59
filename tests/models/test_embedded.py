# SPDX-License-Identifier: MIT
"""The generated networks on the embedded device: every bit is the same with and without SIMD, whole
and split into FCs, and the outputs stay close to float.

The classifiers and the transformer run at their full size, the detector and the U-Net narrow and
small here; networks_table.py has all at their full size.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests/compiler"), str(SOURCE / "models")]

import float_reference
import model_file
import overtake_command
import reference
from overtake_command import SLOW, cosine, fc_times, succeed
from synthetic_images import synthetic_images

MODELS = pathlib.Path(os.environ.get("OVERTAKE_MODELS", SOURCE / "build/release/models"))


class Networks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        has_avx2 = " avx2 " in pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii")
        print("scalar against AVX2" if has_avx2 else "no AVX2 here: scalar against itself")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def generate(self, kind, size, width):
        """Returns network and calibration images."""
        path = self.folder / f"{kind}.onnx"
        calibration = self.folder / f"{kind}_calibration.npy"
        subprocess.run(
            [sys.executable, "-B", SOURCE / "models/generate.py", kind, path, "--input", size,
             "--width", str(width), "--samples", calibration],
            check=True, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return path, calibration

    def compile(self, network, calibration, name, *options):
        path = self.folder / name
        succeed("compile", network, "--calibration", calibration, "-o", path, "-q", *options)
        return path

    def run_on(self, model, images, simd):
        """Runs on an embedded device with these vector instructions, or fewer."""
        os.environ["OVERTAKE_SIMD"] = simd
        self.addCleanup(os.environ.pop, "OVERTAKE_SIMD", None)
        return overtake_command.run(model, {"image": images}, self.folder / f"simd-{simd}")

    def assert_same(self, results, wanted):
        self.assertEqual(results.keys(), wanted.keys())
        for name, array in wanted.items():
            np.testing.assert_array_equal(results[name], array, err_msg=name)

    def check(self, network, calibration, least_cosine, *options):
        """Runs two unseen images; returns the outputs."""
        shape = np.load(calibration, mmap_mode="r").shape
        images = synthetic_images(2, *shape[2:], np.random.default_rng(7))
        model = self.compile(network, calibration, "whole.ovm", *options)
        scalar = self.run_on(model, images, "off")
        for simd in ("auto", "avx2", "avx-vnni", "avx512-vnni", "avx512-vbmi"):  # the best of these that the CPU has
            self.assert_same(self.run_on(model, images, simd), scalar)
        limit = max(1000, int(max(fc_times(model)) * 1000 / 20))
        split = self.compile(
            network, calibration, "split.ovm", "--max-time-per-fc", limit, "--profile", SLOW,
            *options,
        )  # fmt: skip
        times = fc_times(split)
        self.assertGreaterEqual(len(times), 20)
        self.assertLessEqual(max(times), limit)
        self.assert_same(self.run_on(split, images, "auto"), scalar)
        wanted = float_reference.Network(network).run_images({"image": images})
        for name, array in wanted.items():
            similarity = cosine(scalar[name], array)
            print(f"{network.stem} {name}: cosine {similarity:.4f}")
            self.assertGreaterEqual(similarity, least_cosine, name)
        for name, array in scalar.items():
            self.assertTrue((array[0] != array[1]).any(), f"{name} does not depend on the image")

    def check_bits(self, network, calibration):
        """The device against the interpreter of instructions, for networks small enough for it."""
        model = model_file.ModelFile(self.compile(network, calibration, "whole.ovm"))
        tensor = model.tensors[model.inputs[0]]
        q = np.random.default_rng(3).integers(-128, 128, tensor.shape[1:])
        exact = (tensor.scale * (q - tensor.zero_point)).astype(np.float32)
        device = self.run_on(self.folder / "whole.ovm", exact[None], "auto")
        expected = reference.run(model, {tensor.name: q.astype(np.int8)})
        for number in model.outputs:
            output = model.tensors[number]
            got = np.rint(device[output.name] / output.scale).astype(np.int64) + output.zero_point
            np.testing.assert_array_equal(got, expected[output.name], err_msg=output.name)

    def test_resnet18_at_full_size(self):
        self.check(MODELS / "resnet18.onnx", MODELS / "resnet18_calibration.npy", 0.99)

    def test_mobilenetv2_at_full_size(self):
        self.check(MODELS / "mobilenetv2.onnx", MODELS / "mobilenetv2_calibration.npy", 0.99)

    def test_vit_at_full_size(self):
        self.check(MODELS / "vit.onnx", MODELS / "vit_calibration.npy", 0.98)

    def test_small_detector(self):
        self.check(*self.generate("yolo", "96x128", 8), 0.99)
        self.check_bits(self.folder / "yolo.onnx", self.folder / "yolo_calibration.npy")

    def test_small_unet(self):
        self.check(*self.generate("unet", "64x96", 8), 0.99)
        self.check_bits(self.folder / "unet.onnx", self.folder / "unet_calibration.npy")


if __name__ == "__main__":
    unittest.main()
