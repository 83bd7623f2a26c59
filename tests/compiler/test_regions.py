# SPDX-License-Identifier: MIT
"""RoiAlign, the places of MaxPool and MaxUnpool, against numpy; the expected values are written
here, from ONNX's text and its reference."""

import itertools
import pathlib
import tempfile
import unittest

import numpy as np
from onnx import TensorProto

from overtake_command import float_and_compiled, info, overtake
from small_models import model, node, save

RANDOM = np.random.default_rng(71)
F = np.float32


def real(*shape, low=-2.0, high=2.0):
    return RANDOM.uniform(low, high, shape).astype(np.float32)


def integers(*numbers):
    return np.array(numbers, np.int64)


def corners_of(plane, y, x):
    """Returns the sum of the four pixels around a position, each times its weight; pixels outside
    count 0."""
    height, width = plane.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return [0.0]
    y, x = min(max(float(y), 0.0), height - 1), min(max(float(x), 0.0), width - 1)
    top, left = min(int(y), max(height - 2, 0)), min(int(x), max(width - 2, 0))
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    down, across = (y - top if bottom > top else 0.0), (x - left if right > left else 0.0)
    return [
        (1 - down) * (1 - across) * plane[top, left], (1 - down) * across * plane[top, right],
        down * (1 - across) * plane[bottom, left], down * across * plane[bottom, right],
    ]  # fmt: skip


def roi_align(x, rois, pictures, size, mode="avg", half=True, ratio=0, scale=1.0):
    """Uses positions in float32, as ONNX Runtime does; they decide how many samples there are."""
    height, width = size
    out = np.zeros((len(rois), x.shape[1], height, width))
    for n, roi in enumerate(rois):
        corner = [F(number) * F(scale) - F(0.5 if half else 0) for number in roi]
        extent = [corner[2] - corner[0], corner[3] - corner[1]]
        if not half:
            extent = [max(e, F(1)) for e in extent]
        step = [extent[0] / F(width), extent[1] / F(height)]
        count = [ratio or max(int(np.ceil(s)), 0) for s in step]

        def positions(axis, output):
            return [corner[axis] + F(output) * step[axis] + (F(i) + F(0.5)) * step[axis] / F(count[axis])
                    for i in range(count[axis])]  # fmt: skip

        for c, row, column in np.ndindex(out.shape[1:]):
            plane = x[pictures[n], c].astype(np.float64)
            found = [corners_of(plane, py, px)
                     for py in positions(1, row) for px in positions(0, column)]  # fmt: skip
            if mode == "avg":
                out[n, c, row, column] = sum(map(sum, found)) / max(len(found), 1)
            else:
                out[n, c, row, column] = max(map(max, found), default=0)
    return out


def max_pool(x, kernel, strides, pads, dilations, ceil_mode=0, by_columns=False):
    """Returns the greatest elements and where they are."""
    sizes, axes = x.shape[2:], x.ndim - 2
    counts = []
    for axis in range(axes):
        room = sizes[axis] + pads[axis] + pads[axes + axis] - (kernel[axis] - 1) * dilations[axis] - 1
        count = (-(-room // strides[axis]) if ceil_mode else room // strides[axis]) + 1
        if ceil_mode and (count - 1) * strides[axis] >= sizes[axis] + pads[axis]:
            count -= 1
        counts.append(count)
    values, places = np.zeros(x.shape[:2] + tuple(counts), F), np.zeros(x.shape[:2] + tuple(counts), np.int64)
    numbers = np.arange(np.prod(sizes)).reshape(sizes, order="F" if by_columns else "C")
    for plane in np.ndindex(x.shape[:2]):
        base = np.ravel_multi_index(plane, x.shape[:2]) * np.prod(sizes)
        for window in np.ndindex(*counts):
            taps = [tuple(w * s - p + k * d for w, s, p, k, d in zip(window, strides, pads, tap, dilations))
                    for tap in np.ndindex(*kernel)]  # fmt: skip
            taps = [tap for tap in taps if all(0 <= t < size for t, size in zip(tap, sizes))]
            best = max(taps, key=lambda tap: x[plane][tap])  # the first of equal elements
            values[plane][window], places[plane][window] = x[plane][best], base + numbers[best]
    return values, places


class Case(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def results(self, nodes, inputs, outputs, constants=None, opset=17, types=None):
        """Returns the results in float and of the compiled model."""
        types = {n: TensorProto.INT64 for n, a in inputs.items() if a.dtype == np.int64} | (types or {})
        proto = model(nodes, {n: a.shape for n, a in inputs.items()}, outputs, constants, opset=opset, types=types)
        path = save(proto, self.folder / "m.onnx")
        return float_and_compiled(path, inputs, outputs, self.folder)

    def failure(self, nodes, inputs, outputs, opset=17):
        types = {n: TensorProto.INT64 for n, a in inputs.items() if a.dtype == np.int64}
        proto = model(nodes, {n: a.shape for n, a in inputs.items()}, outputs, opset=opset, types=types)
        path, given = save(proto, self.folder / "m.onnx"), []
        for name, array in inputs.items():
            np.save(self.folder / f"{name}.npy", array)
            given += ["--input", f"{name}={self.folder / f'{name}.npy'}"]
        result = overtake("run", path, *given, "-q", "--output-dir", self.folder)
        self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1), result.stderr)
        return result.stderr


REGIONS = F([[0, 0, 9, 9], [0.3, 5.1, 4.4, 9.7], [5, 5, 5, 5], [-3, -2, 14.5, 3], [7, 6, 2.5, 1], [20, 20, 30, 30]])


class Regions(Case):
    def check(self, attributes, opset, half, rois=REGIONS, shape=(2, 3, 10, 9), size=(4, 3)):
        x, pictures = real(*shape), integers(*(n % shape[0] for n in range(len(rois))))
        full = {"output_height": size[0], "output_width": size[1], **attributes}
        nodes = [node("RoiAlign", ["x", "r", "i"], ["y"], **full)]
        wanted = roi_align(x, rois, pictures, size, attributes.get("mode", "avg"), half,
                           attributes.get("sampling_ratio", 0), attributes.get("spatial_scale", 1.0))  # fmt: skip
        for got in self.results(nodes, {"x": x, "r": rois, "i": pictures}, {"y": None}, opset=opset):
            np.testing.assert_allclose(got["y"], wanted, atol=1e-5, rtol=1e-5)

    def test_regions(self):
        for mode, ratio, rule in itertools.product(("avg", "max"), (0, 1, 2, 3), ("half_pixel", "output_half_pixel")):
            attributes = {"mode": mode, "sampling_ratio": ratio, "coordinate_transformation_mode": rule}
            with self.subTest(**attributes):
                self.check(attributes, 16, rule == "half_pixel")

    def test_scales_and_small_pictures(self):
        for scale, shape in ((0.25, (1, 2, 3, 3)), (0.5, (2, 1, 1, 7)), (2.0, (1, 1, 1, 1)), (0.0625, (1, 4, 5, 1))):
            with self.subTest(scale=scale):
                self.check({"spatial_scale": scale}, 16, True, shape=shape)
                self.check({"spatial_scale": scale, "sampling_ratio": 2}, 16, True, shape=shape, size=(1, 5))

    def test_which_pixel_a_position_is_without_an_attribute(self):
        """The default changed with opset 16."""
        for opset, half in ((10, False), (13, False), (15, False), (16, True), (17, True)):
            with self.subTest(opset=opset):
                self.check({"sampling_ratio": 2}, opset, half)

    def test_random_regions(self):
        rois = real(40, 4, low=-4, high=40)
        self.check({"spatial_scale": 0.3}, 16, True, rois=rois, shape=(3, 2, 12, 11), size=(7, 7))

    def test_regions_that_are_mostly_outside(self):
        """Some regions run backwards; these have samples if the number of samples is given."""
        rois = F([[-100, -90, 200, 150], [200, 150, -100, -90], [-300, 4, -2, 5], [3, 3, 700, 3.5], [8, 9, -0.7, -0.9]])
        for mode, ratio, opset in itertools.product(("avg", "max"), (0, 3, 40), (13, 16)):
            with self.subTest(mode=mode, ratio=ratio, opset=opset):
                self.check({"mode": mode, "sampling_ratio": ratio}, opset, opset == 16, rois=rois)

    def test_a_picture_counted_from_the_end(self):
        """The rows of -1 that fill the output of NonMaxSuppression count so."""
        x, rois = real(2, 1, 4, 4), F([[0, 0, 3, 3]])
        nodes = [node("RoiAlign", ["x", "r", "i"], ["y"], output_height=2, output_width=2)]
        for got in self.results(nodes, {"x": x, "r": rois, "i": integers(-1)}, {"y": None}):
            np.testing.assert_allclose(got["y"], roi_align(x, rois, [1], (2, 2)), atol=1e-5)

    def test_what_is_no_region_ends_the_run(self):
        nodes = [node("RoiAlign", ["x", "r", "i"], ["y"], output_height=2, output_width=2)]
        x = real(2, 1, 4, 4)
        for picture in (2, -3):
            said = self.failure(nodes, {"x": x, "r": F([[0, 0, 3, 3]]), "i": integers(picture)}, {"y": None})
            self.assertIn("a region of RoiAlign is of picture", said)
        for number in (1e9, np.inf, np.nan):
            said = self.failure(nodes, {"x": x, "r": F([[0, 0, number, 3]]), "i": integers(0)}, {"y": None})
            self.assertIn("a region of RoiAlign has more than 4096 pixels for one output, or is none", said)
        nodes[0].attribute.extend([node("", [], [], sampling_ratio=2).attribute[0]])
        rois = F([[0, 0, np.nan, 3], [-1e30, 0, 1e30, 3], [0, np.inf, 3, np.inf]])
        for got in self.results(nodes, {"x": x, "r": rois, "i": integers(0, 1, 1)}, {"y": None}):
            self.assertTrue(np.isfinite(got["y"]).all())

    def test_refusals(self):
        for attributes, shape, said in (
            ({"sampling_ratio": 257}, (1, 1, 4, 4), "its sampling_ratio must lie in 0..256"),
            ({"sampling_ratio": -1}, (1, 1, 4, 4), "its sampling_ratio must lie in 0..256"),
            ({"output_height": 0}, (1, 1, 4, 4), "output_height"),
            ({"mode": "sum"}, (1, 1, 4, 4), "its mode or coordinate transformation is none that ONNX knows"),
            ({"spatial_scale": float("nan")}, (1, 1, 4, 4), "its spatial_scale is no number"),
        ):
            nodes = [node("RoiAlign", ["x", "r", "i"], ["y"], name="it", **attributes)]
            said_all = self.failure(nodes, {"x": real(*shape), "r": REGIONS[:1], "i": integers(0)}, {"y": None})
            with self.subTest(**attributes):
                self.assertIn("node 'it' (RoiAlign)", said_all)
                self.assertIn(said, said_all)

    def test_the_device_makes_what_regions_are_taken_of(self):
        x, weights = real(1, 3, 8, 8), real(4, 3, 3, 3) * F(0.3)
        nodes = [node("Conv", ["x", "w"], ["c"], pads=[1] * 4),
                 node("RoiAlign", ["c", "r", "i"], ["y"], output_height=3, output_width=3)]  # fmt: skip
        inputs = {"x": x, "r": F([[0, 0, 7, 7], [2, 1, 5, 6]]), "i": integers(0, 0)}
        in_float, in_int8 = self.results(nodes, inputs, {"y": None}, {"w": weights})
        kinds = [s["processor"] for s in info(self.folder / "m.ovm")["segments"]]
        self.assertEqual(kinds, ["BPU", "CPU"])
        np.testing.assert_allclose(in_int8["y"], in_float["y"], atol=0.1)


class Places(Case):
    def check(self, shape, kernel, strides, pads, dilations, ceil_mode, order, x=None):
        x = real(*shape) if x is None else x
        attributes = {"kernel_shape": kernel, "strides": strides, "pads": pads, "dilations": dilations,
                      "ceil_mode": ceil_mode, "storage_order": order}  # fmt: skip
        values, places = max_pool(x, kernel, strides, pads, dilations, ceil_mode, order == 1)
        nodes = [node("MaxPool", ["x"], ["y", "i"], **attributes)]
        for got in self.results(nodes, {"x": x}, {"y": None, "i": None}, types={"i": TensorProto.INT64}):
            np.testing.assert_array_equal(got["y"], values)
            np.testing.assert_array_equal(got["i"], places)
            self.assertEqual(got["i"].dtype, np.int64)

    def test_places(self):
        for order, ceil_mode in itertools.product((0, 1), (0, 1)):
            for case in (
                ((2, 3, 11), [3], [2], [1, 1], [1]), ((1, 2, 7, 9), [3, 2], [2, 3], [1, 0, 1, 1], [1, 1]),
                ((2, 2, 8, 6), [2, 3], [1, 2], [0, 1, 0, 2], [3, 1]), ((1, 2, 5, 4, 6), [2, 2, 3], [2, 1, 2], [0] * 6, [1, 2, 1]),
            ):  # fmt: skip
                with self.subTest(order=order, ceil_mode=ceil_mode, case=case):
                    self.check(*case, ceil_mode, order)

    def test_the_first_of_equals(self):
        x = np.array([[[[1, 1, -np.inf], [1, 1, -np.inf], [0, 0, -np.inf]]]], F)
        for order in (0, 1):
            self.check(None, [2, 1], [1, 1], [0] * 4, [1, 1], 0, order, x)

    def test_automatic_padding_and_indices_alone(self):
        x = real(1, 2, 6, 7)
        for rule, pads in (("SAME_UPPER", [0, 1, 1, 1]), ("SAME_LOWER", [1, 1, 0, 1]), ("VALID", [0] * 4)):
            _, places = max_pool(x, [3, 3], [2, 2], pads, [1, 1])
            nodes = [node("MaxPool", ["x"], ["y", "i"], kernel_shape=[3, 3], strides=[2, 2], auto_pad=rule)]
            with self.subTest(rule):
                for got in self.results(nodes, {"x": x}, {"i": None}, types={"i": TensorProto.INT64}):
                    np.testing.assert_array_equal(got["i"], places)

    def test_what_is_put_back(self):
        """Tests MaxUnpool behind MaxPool, and with a shape of its own."""
        x = real(2, 3, 8, 6)
        values, places = max_pool(x, [2, 2], [2, 2], [0] * 4, [1, 1])
        whole = np.zeros_like(x).ravel()
        whole[places.ravel()] = values.ravel()
        whole = whole.reshape(x.shape)
        pool = node("MaxPool", ["x"], ["p", "i"], kernel_shape=[2, 2], strides=[2, 2])
        around = np.pad(whole, ((0, 0), (0, 0), (0, 1), (0, 2)))
        for inputs, constants, wanted in ((["p", "i"], {}, whole), (["p", "i", "s"], {"s": integers(2, 3, 9, 8)}, around)):
            nodes = [pool, node("MaxUnpool", inputs, ["y"], kernel_shape=[2, 2], strides=[2, 2])]
            for got in self.results(nodes, {"x": x}, {"y": None}, constants):
                np.testing.assert_array_equal(got["y"], wanted)

    def test_what_cannot_be_put_back(self):
        x = real(1, 1, 4, 4)
        for attributes, said in (
            ({"kernel_shape": [2, 2], "strides": [2, 2], "pads": [4, 4, 4, 4]}, "(MaxUnpool)"),
            ({"kernel_shape": [2, 2, 2]}, "(MaxUnpool)"),
        ):
            nodes = [node("MaxUnpool", ["x", "i"], ["y"], **attributes)]
            stderr = self.failure(nodes, {"x": x, "i": np.zeros((1, 1, 4, 4), np.int64)}, {"y": None})
            self.assertIn(said, stderr)
        nodes = [node("MaxUnpool", ["x", "i"], ["y"], kernel_shape=[2, 2], strides=[2, 2])]
        stderr = self.failure(nodes, {"x": x, "i": np.full((1, 1, 4, 4), 64, np.int64)}, {"y": None})
        self.assertIn("an index leaves the 64 elements", stderr)


if __name__ == "__main__":
    unittest.main()
