# SPDX-License-Identifier: MIT
"""What calibration methods do to an output that is nearly everywhere zero, as of a text detector."""

import pathlib
import tempfile
import unittest

import numpy as np

import float_operators  # noqa: F401, which float_reference then knows
import float_reference
from overtake_command import cosine, run, succeed
from small_models import model, node, save

SIZE = 64
SHAPE = (1, 1, SIZE, SIZE)


def pages(count, seed):
    """Dim noise with a few bright words."""
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


class Methods(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

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


if __name__ == "__main__":
    unittest.main()
