# SPDX-License-Identifier: MIT
"""Compiled random networks against two independent judges.

reference.py runs the compiled instructions in numpy: the device has to match it bit by bit, split
or not. models/float_reference.py runs the ONNX network in float: int8 has to stay close to it.
"""

import re
import tempfile
import pathlib
import unittest

import numpy as np
import onnx

from overtake_command import SLOW, cosine, fc_times, overtake, run, succeed

import float_reference
import model_file
import random_graphs
import reference
import small_models

GRAPHS = 100
SAMPLES = 3


class Agreement(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def compile(self, name, *arguments):
        path = self.directory / name
        source = self.directory / "model.onnx"
        calibration = self.directory / "calibration.npy"
        succeed("compile", source, "--calibration", calibration, "-o", path, "-q", *arguments)
        return path

    def make(self, seed):
        """Writes model.onnx and calibration.npy; returns network and samples."""
        model = random_graphs.make(seed)
        onnx.save(model, str(self.directory / "model.onnx"))
        shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
        random = np.random.default_rng(seed + 1)
        samples = random.standard_normal((SAMPLES, *shape[1:])).astype(np.float32)
        np.save(self.directory / "calibration.npy", samples)
        return float_reference.Network(model), samples

    def smallest_limit(self):
        refused = overtake(
            "compile", self.directory / "model.onnx", "--max-time-per-fc", 1000, "--profile", SLOW,
            "-o", self.directory / "small.ovm",
        )  # fmt: skip
        if refused.returncode == 0:
            return 1000
        return int(re.search(r"smallest possible value is (\d+)", refused.stderr)[1])

    def check_bits(self, path, reals):
        """The device against the interpreter, over inputs that are exact in int8."""
        model = model_file.ModelFile(path)
        tensor = model.tensors[model.inputs[0]]
        q = np.random.default_rng(7).integers(-128, 128, (len(reals), *tensor.shape[1:]))
        exact = tensor.scale * (q - tensor.zero_point).astype(np.float32)
        device = run(path, {tensor.name: exact.astype(np.float32)}, self.directory / "bits")
        for index, sample in enumerate(q.astype(np.int8)):
            expected = reference.run(model, {tensor.name: sample})
            for number in model.outputs:
                output = model.tensors[number]
                got = device[output.name][index]
                want = expected[output.name][0]
                if output.on_device:
                    got = np.rint(got / output.scale).astype(np.int64) + output.zero_point
                    np.testing.assert_array_equal(got, want, err_msg=output.name)
                else:
                    np.testing.assert_allclose(got, want, atol=1e-6, err_msg=output.name)

    def test_device_matches_the_interpreter_and_stays_close_to_float(self):
        for seed in range(GRAPHS):
            with self.subTest(seed=seed):
                network, samples = self.make(seed)
                path = self.compile("whole.ovm")
                self.check_bits(path, samples)
                device = run(path, {"image": samples}, self.directory / "float")
                for name, wanted in network.run_images({"image": samples}).items():
                    self.assertGreaterEqual(cosine(device[name], wanted), 0.99, name)

    def test_a_strided_depthwise_convolution_of_one_tap_is_no_scaling(self):
        nodes = [
            small_models.node("Conv", ["image", "v"], ["between"], name="first"),
            small_models.node("Conv", ["between", "w"], ["y"], group=8, strides=[3, 2]),
        ]
        random = np.random.default_rng(1)
        constants = {
            "v": random.standard_normal((8, 3, 1, 1)).astype(np.float32),
            "w": random.uniform(0.5, 1.5, (8, 1, 1, 1)).astype(np.float32),
        }
        model = small_models.model(nodes, {"image": (1, 3, 7, 7)}, {"y": (1, 8, 3, 4)}, constants)
        onnx.save(model, str(self.directory / "model.onnx"))
        samples = random.standard_normal((SAMPLES, 3, 7, 7)).astype(np.float32)
        np.save(self.directory / "calibration.npy", samples)
        path = self.compile("whole.ovm")
        self.check_bits(path, samples)
        wanted = float_reference.Network(model).run_images({"image": samples})["y"]
        device = run(path, {"image": samples}, self.directory / "float")["y"]
        self.assertGreaterEqual(cosine(device, wanted), 0.99)

    def test_splitting_changes_no_bit_and_keeps_the_limit(self):
        for seed in range(0, GRAPHS, 3):
            _, samples = self.make(seed)
            whole = run(self.compile("whole.ovm"), {"image": samples}, self.directory / "whole")
            smallest = self.smallest_limit()
            for limit in (smallest, smallest + 1, 2 * smallest):
                with self.subTest(seed=seed, limit=limit):
                    path = self.compile(
                        "split.ovm", "--max-time-per-fc", limit, "--profile", SLOW
                    )
                    self.assertLessEqual(max(fc_times(path)), limit)
                    self.check_bits(path, samples[:1])
                    split = run(path, {"image": samples}, self.directory / "split")
                    self.assertEqual(whole.keys(), split.keys())
                    for name, wanted in whole.items():
                        np.testing.assert_array_equal(split[name], wanted, err_msg=name)


if __name__ == "__main__":
    unittest.main()
