# SPDX-License-Identifier: MIT
"""Operators of older opsets mean what they meant there, in float and compiled."""

import pathlib
import tempfile
import unittest

import numpy as np
from onnx import TensorProto
from overtake_command import cosine, overtake, run, succeed
from small_models import model, node, save

SCALES = [
    (1, 1, 2, 2), (1, 1, 3, 1), (1, 1, 1, 2.5), (1, 1, 1.3, 1.7),
    (1, 1, 0.25, 0.25), (1, 1, 0.6, 0.6), (1, 1, 0.5, 2), (1, 1, 1, 0.4),
]  # fmt: skip


def positions(size, scale):
    """Where each output lies on the input: before opset 11 there is one rule."""
    count = int(np.floor(np.float32(size) * np.float32(scale)))
    return np.arange(count) / np.float64(np.float32(scale))


def nearest_axis(x, axis, scale):
    """Rounds down, and up where it shrinks."""
    hair = 1e-6
    at = positions(x.shape[axis], scale)
    at = np.ceil(at - hair) if scale < 1 else np.floor(at + hair)
    return x.take(np.clip(at, 0, x.shape[axis] - 1).astype(int), axis)


def linear_axis(x, axis, scale):
    at = np.clip(positions(x.shape[axis], scale), 0, x.shape[axis] - 1)
    low = np.floor(at).astype(int)
    high = np.minimum(low + 1, x.shape[axis] - 1)
    weight = (at - low).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    return x.take(low, axis) * (1 - weight) + x.take(high, axis) * weight


def resized(x, mode, scales):
    for axis, scale in enumerate(scales):
        x = (nearest_axis if mode == "nearest" else linear_axis)(x, axis, scale)
    return x


def upsample_7(mode, scales, opset=7):
    nodes = [node("Upsample", ["x"], ["y"], mode=mode, scales=[float(s) for s in scales])]
    return model(nodes, {"x": (1, 8, 6, 10)}, {"y": (None,) * 4}, opset=opset)


def with_input(operator, mode, scales, opset):
    constants = {"s": np.array(scales, np.float32)}
    nodes = [node(operator, ["x", "s"], ["y"], mode=mode)]
    return model(nodes, {"x": (1, 8, 6, 10)}, {"y": (None,) * 4}, constants, opset=opset)


class OldNetworks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.x = np.random.default_rng(5).normal(size=(1, 8, 6, 10)).astype(np.float32)

    def run_network(self, proto):
        """In float; and compiled."""
        path = save(proto, self.folder / "old.onnx")
        np.save(self.folder / "x.npy", self.x)
        in_float = run(path, {"x": self.x}, self.folder / "float")["y"]
        succeed("compile", path, "-q", "--calibration", self.folder / "x.npy")
        return in_float, run(path.with_suffix(".ovm"), {"x": self.x}, self.folder / "int8")["y"]


class Resizing(OldNetworks):
    def check(self, proto, mode, scales):
        wanted = resized(self.x, mode, scales)
        in_float, in_int8 = self.run_network(proto)
        np.testing.assert_allclose(in_float, wanted, atol=1e-5)
        self.assertGreater(cosine(in_int8, wanted), 0.999)

    def test_upsample(self):
        for scales in [scales for scales in SCALES if min(scales) >= 1]:
            for mode in ("nearest", "linear"):
                for opset, proto in (
                    (7, upsample_7(mode, scales)),
                    (8, upsample_7(mode, scales, 8)),
                    (9, with_input("Upsample", mode, scales, 9)),
                ):
                    with self.subTest(scales=scales, mode=mode, opset=opset):
                        self.check(proto, mode, scales)

    def test_resize_of_opset_10(self):
        for scales in SCALES:
            for mode in ("nearest", "linear"):
                with self.subTest(scales=scales, mode=mode):
                    self.check(with_input("Resize", mode, scales, 10), mode, scales)

    def test_resize_of_opset_11_keeps_its_own_rule(self):
        constants = {"r": np.zeros(0, np.float32), "s": np.array((1, 1, 2, 2), np.float32)}
        nodes = [node("Resize", ["x", "r", "s"], ["y"], mode="linear")]
        proto = model(nodes, {"x": (1, 8, 6, 10)}, {"y": (None,) * 4}, constants, opset=11)
        got, _ = self.run_network(proto)
        row = self.x[0, 0, 0]
        np.testing.assert_allclose(got[0, 0, 0, :3], [row[0], row[0] * 0.75 + row[1] * 0.25,
                                                      row[0] * 0.25 + row[1] * 0.75], atol=1e-5)  # fmt: skip

    def test_what_follows_a_resize_does_not_change_its_rule(self):
        scales = (1, 1, 1, 2.5)
        wanted = -resized(self.x, "linear", scales)
        for opset in (7, 9, 10):
            proto = upsample_7("linear", scales)
            if opset > 7:
                proto = with_input("Upsample" if opset == 9 else "Resize", "linear", scales, opset)
            proto.graph.node[0].output[0] = "resized"
            proto.graph.node.append(node("Neg", ["resized"], ["y"]))
            with self.subTest(opset=opset):
                in_float, in_int8 = self.run_network(proto)
                np.testing.assert_allclose(in_float, wanted, atol=1e-5)
                self.assertGreater(cosine(in_int8, wanted), 0.999)


class Attributes(OldNetworks):
    def test_pad_without_a_value_pads_zeros(self):
        nodes = [node("Pad", ["x"], ["y"], pads=[0, 0, 1, 2, 0, 0, 0, 1])]
        for opset in (7, 10):
            proto = model(nodes, {"x": self.x.shape}, {"y": (None,) * 4}, opset=opset)
            in_float, in_int8 = self.run_network(proto)
            wanted = np.pad(self.x, ((0, 0), (0, 0), (1, 0), (2, 1)))
            np.testing.assert_array_equal(in_float, wanted)
            self.assertGreater(cosine(in_int8, wanted), 0.999)

    def test_same_padding_has_an_output_for_each_stride(self):
        """Whatever ceil_mode says."""
        for operator in ("AveragePool", "MaxPool"):
            attributes = {"kernel_shape": [1, 1], "strides": [2, 3], "auto_pad": "SAME_UPPER"}
            nodes = [node(operator, ["x"], ["y"], ceil_mode=1, **attributes)]
            proto = model(nodes, {"x": self.x.shape}, {"y": (None,) * 4}, opset=12)
            in_float, in_int8 = self.run_network(proto)
            np.testing.assert_array_equal(in_float, self.x[:, :, ::2, ::3])
            self.assertGreater(cosine(in_int8, in_float), 0.999)

    def test_same_padding_of_a_transposed_convolution_gives_size_times_stride(self):
        """Whatever output_padding says; it moves what is cut off."""
        weights = np.random.default_rng(6).normal(size=(8, 2, 3, 2)).astype(np.float32)
        plain = {"strides": [2, 3], "output_padding": [1, 2]}
        nodes = [node("ConvTranspose", ["x", "w"], ["y"], **plain)]
        shapes = {"x": self.x.shape}, {"y": (None,) * 4}
        whole, _ = self.run_network(model(nodes, *shapes, {"w": weights}, opset=11))
        for rule, top, left in (("SAME_UPPER", 1, 0), ("SAME_LOWER", 1, 1)):
            nodes = [node("ConvTranspose", ["x", "w"], ["y"], auto_pad=rule, **plain)]
            got, in_int8 = self.run_network(model(nodes, *shapes, {"w": weights}, opset=11))
            height, width = 6 * 2, 10 * 3
            wanted = whole[:, :, top : top + height, left : left + width]
            np.testing.assert_allclose(got, wanted, atol=1e-5)
            self.assertGreater(cosine(in_int8, wanted), 0.999)


class FlattenedSoftmax(unittest.TestCase):
    """Before opset 13 Softmax runs over all dimensions from its axis on."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.x = np.random.default_rng(5).normal(size=(2, 3, 4)).astype(np.float32)
        powers = np.exp(self.x)
        self.softmax = powers / powers.sum((1, 2), keepdims=True)

    def test_of_doubles(self):
        proto = model([node("Softmax", ["x"], ["y"], axis=1)], {"x": (2, 3, 4)}, {"y": (2, 3, 4)},
                      opset=12, types={"x": TensorProto.DOUBLE, "y": TensorProto.DOUBLE})  # fmt: skip
        y = run(save(proto, self.folder / "net.onnx"), {"x": self.x}, self.folder / "out")["y"]
        np.testing.assert_allclose(y, self.softmax, atol=1e-6)

    def test_beside_a_constant_of_a_name_that_it_would_make(self):
        nodes = [node("Softmax", ["x"], ["y"], axis=1), node("Add", ["y", "y:shape"], ["z"])]
        proto = model(nodes, {"x": (2, 3, 4)}, {"z": (2, 3, 4)}, {"y:shape": np.ones(1, np.float32)}, opset=12)
        z = run(save(proto, self.folder / "net.onnx"), {"x": self.x}, self.folder / "out")["z"]
        np.testing.assert_allclose(z, self.softmax + 1, atol=1e-6)

    def test_an_axis_out_of_range_is_told_of_the_node_of_the_file(self):
        proto = model([node("Softmax", ["x"], ["y"], axis=9)], {"x": (2, 3, 4)}, {"y": (2, 3, 4)}, opset=11)
        result = overtake("compile", save(proto, self.folder / "net.onnx"), "-q")
        self.assertEqual(result.returncode, 1)
        self.assertIn("node 'my_softmax' (Softmax): its axis 9", result.stderr)


if __name__ == "__main__":
    unittest.main()
