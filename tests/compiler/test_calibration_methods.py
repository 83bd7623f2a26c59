# SPDX-License-Identifier: MIT
"""The ranges that calibration chooses for outputs that are nearly everywhere zero, as a text
detector's are, and for tensors that only a function reads."""

import pathlib
import re
import tempfile
import unittest

import numpy as np

import float_operators  # noqa: F401, which float_reference then knows
import float_reference
from overtake_command import cosine, overtake, run, succeed
from small_models import model, node, save

SIZE = 64
SHAPE = (1, 1, SIZE, SIZE)


def pages(count, seed):
    """Returns dim noise with a few bright words."""
    random = np.random.default_rng(seed)
    result = random.uniform(0, 0.2, (count, 1, SIZE, SIZE)).astype(np.float32)
    for page in result:
        for _ in range(3):
            row, column = random.integers(0, SIZE - 4), random.integers(0, SIZE - 8)
            page[0, row : row + 3, column : column + 8] = random.uniform(0.9, 1, (3, 8))
    return result


def detector(spike=0.0):
    """p = sigmoid(16 x - 9); on the way x shares a tensor with a channel that is spike * relu(x -
    0.98), and so has few great values."""
    weights = np.array([1, spike], np.float32).reshape(2, 1, 1, 1)
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["both"], name="first"),
        node("Relu", ["both"], ["features"], name="features"),
        node("Conv", ["features", "w2", "b2"], ["logits"], name="logits"),
        node("Sigmoid", ["logits"], ["p"], name="map"),
    ]
    constants = {
        "w1": weights,
        "b1": np.array([0, -0.98 * spike], np.float32),
        "w2": np.array([16, 1e-6], np.float32).reshape(1, 2, 1, 1),
        "b2": np.array([-9], np.float32),
    }
    return model(nodes, {"x": SHAPE}, {"p": SHAPE}, constants)


class Compiled(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class Bounded(Compiled):
    def test_samples_that_never_fire_are_warned_of(self):
        """The warning names the outputs whatever the method is; no output is named if one fires."""
        warning = r"output 'p' \(Sigmoid\) stays within 0\.\d+ of 0 over the calibration samples, and can reach 1"
        path = save(detector(), self.folder / "m.onnx")
        np.save(self.folder / "dim.npy", np.minimum(pages(4, 1), 0.5))
        np.save(self.folder / "bright.npy", pages(4, 1))
        for samples, expected in (("dim.npy", 1), ("bright.npy", 0)):
            for options in ([], ["--accuracy", "0.5"]):
                result = overtake("compile", path, "--calibration", self.folder / samples, *options)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(len(re.findall(warning, result.stderr)), expected, result.stderr)
        result = overtake("compile", path)  # noise has a warning of its own
        self.assertNotRegex(result.stderr, warning)

    def test_what_fires_was_not_among_the_samples(self):
        """A wake word is calibrated on noise: p of the samples is 0.03 to 0.08, p of the word
        0.99."""
        noise = np.random.default_rng(2).uniform(-4, 4, (64, 2, 1, 1)).astype(np.float32)
        noise[:, 1] = -3 - noise[:, 0] + noise[:, 1] / 8
        np.save(self.folder / "x.npy", noise)
        constants = {"w": np.ones((1, 2, 1, 1), np.float32)}
        for function, values in (("Sigmoid", lambda x: 1 / (1 + np.exp(-x))), ("Tanh", np.tanh)):
            nodes = [node("Conv", ["x", "w"], ["logits"], name="logits"), node(function, ["logits"], ["p"])]
            proto = model(nodes, {"x": (1, 2, 1, 1)}, {"p": (1, 1, 1, 1)}, constants)
            path = save(proto, self.folder / "m.onnx")
            for method in ("min-max", "percentile", "kl", "mse", "best"):
                succeed("compile", path, "--calibration", self.folder / "x.npy", "-q",
                        "--calibration-method", method)  # fmt: skip
                for first, second in ((3.5, 1), (3, 0), (0, 1), (0, -1)):
                    with self.subTest(function, method=method, logit=first + second):
                        word = np.float32([first, second]).reshape(1, 2, 1, 1)
                        got = run(path.with_suffix(".ovm"), {"x": word}, self.folder / "out")["p"]
                        np.testing.assert_allclose(got.ravel(), values(first + second), atol=0.04)


class Methods(Compiled):
    def got_and_wanted(self, proto, method, *options):
        path = save(proto, self.folder / "m.onnx")
        np.save(self.folder / "x.npy", pages(8, seed=1))
        succeed("compile", path, "--calibration", self.folder / "x.npy",
                "--calibration-method", method, *options)  # fmt: skip
        inputs = {"x": pages(1, seed=2)}
        got = run(path.with_suffix(".ovm"), inputs, self.folder / "run")["p"]
        return got, float_reference.Network(proto).run(inputs)["p"]

    def test_no_method_lets_an_output_saturate(self):
        for method in ("min-max", "kl", "mse", "best"):
            with self.subTest(method=method):
                got, wanted = self.got_and_wanted(detector(), method)
                self.assertGreater(got.max(), 0.95)
                self.assertGreater(cosine(got, wanted), 0.99)

    def test_the_best_method_is_not_one_whose_output_has_only_the_right_direction(self):
        proto = detector(spike=30000.0)
        got, wanted = self.got_and_wanted(proto, "best", "--no-equalisation")
        self.assertGreater(got.max(), 0.95)
        self.assertGreater(cosine(got, wanted), 0.99)


class Ranges(Compiled):
    """Tests ranges of tensors that a function reads: they reach as far as the function gives different
    results."""

    def nearness(self, nodes, inputs, constants, method):
        random = np.random.default_rng(5)
        constants = {"w": random.standard_normal((6, 4, 1, 1)).astype(np.float32), **constants}
        nodes = [node("Conv", ["x", "w"], ["y"], name="conv"), *nodes]
        proto = model(nodes, {n: (1, *a.shape[1:]) for n, a in inputs.items()},
                      {"z": (1, 6, 8, 8)}, constants)  # fmt: skip
        path = save(proto, self.folder / "m.onnx")
        options = ["--calibration-method", method]
        for name, array in inputs.items():
            np.save(self.folder / f"{name}.npy", array)
            options += ["--calibration", f"{name}={self.folder / f'{name}.npy'}"]
        succeed("compile", path, *options)
        one = {name: array[:1] for name, array in inputs.items()}
        got = run(path.with_suffix(".ovm"), one, self.folder / "run")["z"]
        return cosine(got, float_reference.Network(proto).run(one)["z"])

    def test_what_sigmoid_reads_of_a_masked_sum_keeps_its_steps(self):
        nodes = [node("Add", ["y", "mask"], ["sum"]), node("Sigmoid", ["sum"], ["z"])]
        random = np.random.default_rng(6)
        x = random.standard_normal((4, 4, 8, 8)).astype(np.float32)
        mask = np.where(random.random((4, 1, 8, 8)) < 0.3, -1e4, 0).astype(np.float32)
        for method in ("min-max", "mse", "best"):
            with self.subTest(method=method):
                near = self.nearness(nodes, {"x": x, "mask": mask}, {}, method)
                self.assertGreater(near, 0.999)

    def test_what_exp_reads_of_great_distances_keeps_its_steps(self):
        nodes = [node("Sub", ["y", "distance"], ["near"]), node("Exp", ["near"], ["z"])]
        random = np.random.default_rng(7)
        x = random.standard_normal((4, 4, 8, 8)).astype(np.float32)
        distance = np.maximum(random.uniform(-500, 500, (4, 1, 8, 8)), 0).astype(np.float32)
        near = self.nearness(nodes, {"x": x, "distance": distance}, {}, "min-max")
        self.assertGreater(near, 0.99)


if __name__ == "__main__":
    unittest.main()
