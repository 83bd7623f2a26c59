# SPDX-License-Identifier: MIT
"""Operators that write, sum up and read at places: ScatterElements, ScatterND, CumSum, GridSample;
against loops in Python, written from ONNX's text."""

import itertools
import math
import pathlib
import random
import tempfile
import unittest

import numpy as np
from onnx import TensorProto

from overtake_command import cosine, overtake, run, succeed
from small_models import model, node, save

RANDOM = np.random.default_rng(39)
WAYS = {
    "none": lambda old, new: new, "add": lambda old, new: old + new, "mul": lambda old, new: old * new,
    "max": max, "min": min,
}  # fmt: skip


def real(*shape, low=-2.0, high=2.0):
    return RANDOM.uniform(low, high, shape).astype(np.float32)


def scatter_elements(data, indices, updates, axis, way):
    result = data.copy()
    for place in np.ndindex(indices.shape):
        target = list(place)
        target[axis] = int(indices[place])
        result[tuple(target)] = WAYS[way](result[tuple(target)], updates[place])
    return result


def scatter_nd(data, indices, updates, way):
    result = data.copy()
    for place in np.ndindex(indices.shape[:-1]):
        target = tuple(int(i) for i in indices[place])
        inner = [WAYS[way](old, new) for old, new in zip(result[target].ravel(), updates[place].ravel())]
        result[target] = np.reshape(inner, result[target].shape)
    return result


class Sampler:
    """Samples one axis of GridSample."""

    def __init__(self, size, align, padding):
        self.size, self.align, self.padding = size, align, padding

    def position(self, given):
        if self.align:
            return (given + 1) / 2 * (self.size - 1)
        return ((given + 1) * self.size - 1) / 2

    def inside(self, at):
        if self.padding == "reflection":
            low, high = (0, self.size - 1) if self.align else (-0.5, self.size - 0.5)
            while high > low and not low <= at <= high:
                at = 2 * low - at if at < low else 2 * high - at
            at = low if high <= low else at
        return at if self.padding == "zeros" else min(max(at, 0), self.size - 1)

    def taps(self, given, mode):
        """Returns [(pixel or None, weight)]."""
        at = self.position(given)
        if mode == "nearest":
            return [self.tap(np.rint(self.inside(at)), 1)]
        if mode == "bilinear":
            at = self.inside(at)
            first = math.floor(at)
            return [self.tap(first, first + 1 - at), self.tap(first + 1, at - first)]
        first = math.floor(at)
        return [self.tap(first + i, self.cubic(at - first - i)) for i in (-1, 0, 1, 2)]

    @staticmethod
    def cubic(x, a=-0.75):
        x = abs(x)
        return (a + 2) * x**3 - (a + 3) * x**2 + 1 if x <= 1 else a * (x**3 - 5 * x**2 + 8 * x - 4)

    def tap(self, pixel, weight):
        pixel = int(self.inside(pixel))
        return (pixel if 0 <= pixel < self.size else None, weight)


def grid_sample(x, grid, mode, padding, align):
    rows, columns = Sampler(x.shape[2], align, padding), Sampler(x.shape[3], align, padding)
    result = np.zeros((*x.shape[:2], *grid.shape[1:3]))
    for b, i, j in np.ndindex(grid.shape[:3]):
        across, down = (float(v) for v in grid[b, i, j])
        for (r, v), (c, w) in itertools.product(rows.taps(down, mode), columns.taps(across, mode)):
            if r is not None and c is not None:
                result[b, :, i, j] += v * w * x[b, :, r, c]
    return result


class Places(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.directory = pathlib.Path(holder.name)

    def save(self, nodes, inputs, constants, wanted):
        types = {name: TensorProto.INT64 for name, array in inputs.items() if array.dtype == np.int64}
        proto = model(nodes, {name: array.shape for name, array in inputs.items()},
                      {"y": wanted.shape}, constants, opset=16, types=types)  # fmt: skip
        given, samples = [], []
        for name, array in inputs.items():
            np.save(self.directory / f"{name}.npy", array)
            given += ["--input", f"{name}={self.directory / name}.npy"]
            samples += ["--calibration", f"{name}={self.directory / name}.npy"]
        return save(proto, self.directory / "m.onnx"), given, samples

    def check(self, nodes, inputs, constants, wanted):
        path, given, samples = self.save(nodes, inputs, constants, wanted)
        succeed("run", path, *given, "-q", "--output-dir", self.directory)
        in_float = np.load(self.directory / "y.npy")
        np.testing.assert_allclose(in_float, wanted, rtol=1e-4, atol=1e-4)
        succeed("compile", path, "-q", *samples)
        compiled = run(path.with_suffix(".ovm"), inputs, self.directory / "run")["y"]
        np.testing.assert_array_equal(compiled, in_float)

    def test_scatter_elements(self):
        for seed in range(60):
            chance = random.Random(seed)
            shape = [chance.randint(1, 5) for _ in range(chance.randint(1, 4))]
            axis, way = chance.randrange(len(shape)), chance.choice(list(WAYS)[:3])
            small = [chance.randint(1, size) for size in shape]
            indices = np.random.default_rng(seed).integers(-shape[axis], shape[axis], small)
            if way == "none":  # ONNX does not say which of two updates remains
                indices = np.argsort(np.random.default_rng(seed).random(small), axis=axis)
            data, updates = real(*shape), real(*small)
            attributes = {"axis": axis - len(shape) * (seed % 2), "reduction": way}
            nodes = [node("ScatterElements", ["x", "i", "u"], ["y"], **attributes)]
            wanted = scatter_elements(data, indices, updates, axis, way)
            with self.subTest(seed, shape=shape, indices=indices.shape, attributes=attributes):
                inputs, constants = {"x": data, "u": updates}, {"i": indices.astype(np.int64)}
                if seed % 3 == 0:
                    inputs, constants = inputs | constants, {}
                self.check(nodes, inputs, constants, wanted)

    def test_scatter_nd(self):
        for seed in range(40):
            chance, numbers = random.Random(seed), np.random.default_rng(seed)
            shape = [chance.randint(1, 4) for _ in range(chance.randint(1, 4))]
            depth, way = chance.randint(1, len(shape)), chance.choice(list(WAYS)[:3])
            count = [chance.randint(1, 3) for _ in range(chance.randint(1, 2))]
            indices = np.stack([numbers.integers(-size, size, count) for size in shape[:depth]], axis=-1)
            if way == "none":
                indices = np.array([indices.reshape(-1, depth)[0]])
            data, updates = real(*shape), real(*indices.shape[:-1], *shape[depth:])
            nodes = [node("ScatterND", ["x", "i", "u"], ["y"], reduction=way)]
            wanted = scatter_nd(data, indices, updates, way)
            with self.subTest(seed, shape=shape, indices=indices.shape, way=way):
                inputs, constants = {"x": data, "u": updates}, {"i": indices.astype(np.int64)}
                if seed % 3 == 0:
                    inputs, constants = inputs | constants, {}
                self.check(nodes, inputs, constants, wanted)

    def test_an_index_that_leaves_its_axis_is_refused(self):
        nodes = [node("ScatterElements", ["x", "i", "u"], ["y"], name="it")]
        inputs = {"x": real(3, 2), "i": np.array([[3, 0]], np.int64), "u": real(1, 2)}
        path, given, _ = self.save(nodes, inputs, {}, inputs["x"])
        result = overtake("run", path, *given, "-q", "--output-dir", self.directory)
        self.assertEqual(result.returncode, 1)
        self.assertIn("node 'it' (ScatterElements): an index leaves the 3 elements", result.stderr)

    def test_cumulative_sum(self):
        x = real(2, 3, 5)
        for axis, exclusive, reverse in itertools.product((-1, 0, 1), (0, 1), (0, 1)):
            nodes = [node("CumSum", ["x", "a"], ["y"], exclusive=exclusive, reverse=reverse)]
            wanted = np.flip(x, axis) if reverse else x
            wanted = np.cumsum(wanted, axis) - (wanted if exclusive else 0)
            wanted = np.flip(wanted, axis) if reverse else wanted
            with self.subTest(axis=axis, exclusive=exclusive, reverse=reverse):
                self.check(nodes, {"x": x}, {"a": np.array(axis, np.int64)}, wanted)

    def test_cumulative_sum_behind_infinity(self):
        x = np.array([[1, np.inf, 2]], np.float32)
        path, given, _ = self.save([node("CumSum", ["x", "a"], ["y"])], {"x": x}, {"a": np.array(1, np.int64)}, x)
        succeed("run", path, *given, "-q", "--output-dir", self.directory)
        np.testing.assert_array_equal(np.load(self.directory / "y.npy"), [[1, np.inf, np.inf]])

    def test_grid_sample(self):
        modes = ("bilinear", "nearest", "bicubic")
        for mode, padding, align in itertools.product(modes, ("zeros", "border", "reflection"), (0, 1)):
            for shape in ((2, 3, 4, 6), (1, 2, 1, 5), (1, 1, 3, 1)):
                x, grid = real(*shape), real(shape[0], 5, 7, 2, low=-3.0, high=3.0)
                attributes = {"mode": mode, "padding_mode": padding, "align_corners": align}
                nodes = [node("GridSample", ["x", "g"], ["y"], **attributes)]
                wanted = grid_sample(x, grid, mode, padding, align)
                with self.subTest(**attributes, shape=shape):
                    self.check(nodes, {"x": x, "g": grid}, {}, wanted)

    def test_a_grid_of_impossible_positions_reads_nothing(self):
        x, grid = real(1, 1, 2, 2), np.zeros((1, 1, 3, 2), np.float32)
        grid[0, 0, :, 0] = np.nan, np.inf, -1e30
        for padding in ("zeros", "border", "reflection"):
            nodes = [node("GridSample", ["x", "g"], ["y"], padding_mode=padding)]
            path, given, _ = self.save(nodes, {"x": x, "g": grid}, {}, np.zeros((1, 1, 1, 3)))
            succeed("run", path, *given, "-q", "--output-dir", self.directory)
            got = np.load(self.directory / "y.npy")
            self.assertTrue(np.isfinite(got).all())
            if padding == "zeros":
                np.testing.assert_array_equal(got, 0)

    def test_the_device_makes_what_is_sampled(self):
        x, weights, grid = real(1, 3, 6, 6), real(4, 3, 3, 3) * 0.3, real(1, 4, 4, 2, low=-1.0, high=1.0)
        nodes = [node("Conv", ["x", "w"], ["c"], pads=[1] * 4), node("GridSample", ["c", "g"], ["y"])]
        path, given, samples = self.save(nodes, {"x": x, "g": grid}, {"w": weights}, np.zeros((1, 4, 4, 4)))
        succeed("run", path, *given, "-q", "--output-dir", self.directory)
        succeed("compile", path, "-q", *samples)
        got = run(path.with_suffix(".ovm"), {"x": x, "g": grid}, self.directory / "run")["y"]
        self.assertGreater(cosine(got, np.load(self.directory / "y.npy")), 0.99)


if __name__ == "__main__":
    unittest.main()
