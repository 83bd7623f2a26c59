# SPDX-License-Identifier: MIT
"""Operators of older and of newer opsets mean what they mean there, in float and compiled."""

import math
import pathlib
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper
from overtake_command import cosine, overtake, run, succeed
from small_models import model, node, save

SCALES = [
    (1, 1, 2, 2), (1, 1, 3, 1), (1, 1, 1, 2.5), (1, 1, 1.3, 1.7),
    (1, 1, 0.25, 0.25), (1, 1, 0.6, 0.6), (1, 1, 0.5, 2), (1, 1, 1, 0.4),
]  # fmt: skip


def positions(size, scale):
    """Returns where each output lies on the input: before opset 11 there is one rule."""
    count = int(np.floor(np.float32(size) * np.float32(scale)))
    return np.arange(count) / np.float64(np.float32(scale))


def nearest_axis(x, axis, scale):
    """Rounds positions down, or up if the axis shrinks."""
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
        """Runs the network in float and compiled."""
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
        """ceil_mode changes nothing."""
        for operator in ("AveragePool", "MaxPool"):
            attributes = {"kernel_shape": [1, 1], "strides": [2, 3], "auto_pad": "SAME_UPPER"}
            nodes = [node(operator, ["x"], ["y"], ceil_mode=1, **attributes)]
            proto = model(nodes, {"x": self.x.shape}, {"y": (None,) * 4}, opset=12)
            in_float, in_int8 = self.run_network(proto)
            np.testing.assert_array_equal(in_float, self.x[:, :, ::2, ::3])
            self.assertGreater(cosine(in_int8, in_float), 0.999)

    def test_same_padding_of_a_transposed_convolution_gives_size_times_stride(self):
        """output_padding does not change the size, but the elements that are cut off."""
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

    def test_an_axis_out_of_range_is_reported_for_the_node_of_the_file(self):
        proto = model([node("Softmax", ["x"], ["y"], axis=9)], {"x": (2, 3, 4)}, {"y": (2, 3, 4)}, opset=11)
        result = overtake("compile", save(proto, self.folder / "net.onnx"), "-q")
        self.assertEqual(result.returncode, 1)
        self.assertIn("node 'my_softmax' (Softmax): its axis 9", result.stderr)


def integers(*numbers):
    return np.array(numbers, np.int64)


def erf(x):
    return np.vectorize(math.erf)(x)


def grouped(x, groups):
    """Returns x with each group's mean 0 and variance 1."""
    rows = x.reshape(len(x), groups, -1)
    rows = rows - rows.mean(-1, keepdims=True)
    return (rows / np.sqrt((rows**2).mean(-1, keepdims=True) + 1e-5)).reshape(x.shape)


def newer_operators():
    """Yields the title, opset, nodes, constants, and what they make of x."""
    for opset in (18, 23):
        yield "ReduceMean", opset, [node("ReduceMean", ["x", "a"], ["y"])], {"a": integers(2, -1)}, (
            lambda x: x.mean((2, 3), keepdims=True)
        )
        yield "ReduceMax that does nothing", opset, [
            node("ReduceMax", ["x"], ["y"], noop_with_empty_axes=1)
        ], {}, lambda x: x  # fmt: skip
        yield "Pad of an axis", opset, [node("Pad", ["x", "p", "", "a"], ["y"])], {
            "p": integers(1, 2), "a": integers(-1),
        }, lambda x: np.pad(x, ((0, 0), (0, 0), (0, 0), (1, 2)))  # fmt: skip
        yield "Resize of two axes", opset, [
            node("Resize", ["x", "", "s"], ["y"], axes=[2, 3], mode="nearest",
                 coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        ], {"s": np.array([2, 3], np.float32)}, lambda x: x.repeat(2, 2).repeat(3, 3)  # fmt: skip
        yield "Split into unequal parts", opset, [
            node("Split", ["x"], ["b", "c", "d"], axis=3, num_outputs=3),
            node("Concat", ["d", "b", "c"], ["y"], axis=3),
        ], {}, lambda x: np.concatenate([x[..., 8:], x[..., :8]], 3)  # fmt: skip
        yield "Mish", opset, [node("Mish", ["x"], ["y"])], {}, (
            lambda x: x * np.tanh(np.log1p(np.exp(x)))
        )
    yield "Gelu", 20, [node("Gelu", ["x"], ["y"])], {}, (
        lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2)))
    )
    yield "Gelu by tanh", 22, [node("Gelu", ["x"], ["y"], approximate="tanh")], {}, (
        lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    )
    scale = np.linspace(0.5, 2, 8).astype(np.float32)
    for opset, count in ((18, 4), (21, 8)):
        constants = {"s": scale[:count], "b": scale[:count] - 1}
        yield "GroupNormalization", opset, [
            node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=4)
        ], constants, lambda x, c=constants, count=count: (
            grouped(x, 4) * c["s"].repeat(8 // count)[:, None, None]
            + c["b"].repeat(8 // count)[:, None, None]
        )  # fmt: skip
    yield "RMSNormalization", 23, [node("RMSNormalization", ["x", "w"], ["y"])], {
        "w": np.linspace(0.5, 2, 10).astype(np.float32)
    }, lambda x: x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * np.linspace(0.5, 2, 10)  # fmt: skip
    yield "CastLike", 19, [node("CastLike", ["x", "i"], ["c"], saturate=1),
                           node("Cast", ["c"], ["y"], to=TensorProto.FLOAT)], {
        "i": integers(1)}, np.trunc  # fmt: skip
    yield "AveragePool", 22, [
        node("AveragePool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2], dilations=[1, 1])
    ], {}, lambda x: x.reshape(1, 8, 3, 2, 5, 2).mean((3, 5))  # fmt: skip


class Pools(OldNetworks):
    def test_no_window_begins_in_the_padding_behind(self):
        """Exporters write ceil_mode so: a window that would begin in the padding is left out."""
        self.x = self.x[:, :, :5, :5].copy()
        for operator, fill in (("MaxPool", -np.inf), ("AveragePool", 0)):
            attributes = {"kernel_shape": [1, 1], "strides": [2, 2], "pads": [0, 0, 2, 2]}
            nodes = [node(operator, ["x"], ["y"], ceil_mode=1, **attributes)]
            proto = model(nodes, {"x": self.x.shape}, {"y": (1, 8, 3, 3)}, opset=18)
            in_float, in_int8 = self.run_network(proto)
            np.testing.assert_array_equal(in_float, self.x[:, :, ::2, ::2])
            self.assertGreater(cosine(in_int8, in_float), 0.999)
            attributes = {"kernel_shape": [3, 3], "strides": [3, 3], "pads": [1, 1, 1, 1]}
            nodes = [node(operator, ["x"], ["y"], ceil_mode=1, **attributes)]
            proto = model(nodes, {"x": (1, 8, 5, 5)}, {"y": (1, 8, 2, 2)}, opset=12)
            padded = np.pad(self.x, ((0, 0), (0, 0), (1, 0), (1, 0)), constant_values=fill)
            wanted = padded.reshape(1, 8, 2, 3, 2, 3).max((3, 5))
            in_float, _ = self.run_network(proto)
            if operator == "MaxPool":
                np.testing.assert_array_equal(in_float, wanted)
            self.assertEqual(in_float.shape, wanted.shape)

    def test_no_window_begins_behind_a_tensor_without_padding(self):
        attributes = {"kernel_shape": [1, 1], "strides": [2, 2], "ceil_mode": 1}
        nodes = [node("MaxPool", ["x"], ["y"], **attributes)]
        proto = model(nodes, {"x": self.x.shape}, {"y": (1, 8, 3, 5)}, opset=22)
        in_float, in_int8 = self.run_network(proto)
        np.testing.assert_array_equal(in_float, self.x[:, :, ::2, ::2])
        self.assertGreater(cosine(in_int8, in_float), 0.999)


class NewNetworks(OldNetworks):
    def test_operators_of_newer_opsets(self):
        for title, opset, nodes, constants, wanted in newer_operators():
            for ir_version in (8, 13):
                with self.subTest(title, opset=opset, ir_version=ir_version):
                    proto = model(
                        nodes, {"x": self.x.shape}, {"y": (None,) * 4}, constants, opset=opset
                    )
                    proto.ir_version = ir_version
                    in_float, in_int8 = self.run_network(proto)
                    np.testing.assert_allclose(in_float, wanted(self.x), atol=2e-5)
                    self.assertGreater(cosine(in_int8, in_float), 0.99)

    def test_one_network_has_the_same_bytes_in_every_opset(self):
        weights = {"w": np.random.default_rng(1).normal(size=(8, 8, 3, 3)).astype(np.float32)}
        nodes = [
            node("Conv", ["x", "w"], ["a"], name="conv", pads=[1, 1, 1, 1]),
            node("Relu", ["a"], ["b"], name="relu"),
            node("MaxPool", ["b"], ["y"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        ]
        np.save(self.folder / "x.npy", self.x)
        files = set()
        for opset, ir_version in ((11, 6), (13, 7), (17, 8), (18, 8), (20, 9), (22, 10), (23, 13)):
            proto = model(nodes, {"x": self.x.shape}, {"y": (1, 8, 3, 5)}, weights, opset=opset)
            proto.ir_version = ir_version
            path = save(proto, self.folder / "net.onnx")
            succeed("compile", path, "-q", "--calibration", self.folder / "x.npy")
            files.add(path.with_suffix(".ovm").read_bytes())
        self.assertEqual(len(files), 1)

    def test_what_is_not_supported_is_refused_by_operator(self):
        for nodes, said in (
            ([node("Attention", ["x", "x", "x"], ["y"])],
             "node 'my_attention' (Attention): the operator is not supported"),
            ([node("Resize", ["x", "", "s"], ["y"], antialias=1)],
             "node 'my_resize' (Resize): its antialias is on; export it without"),
            ([node("Pad", ["x", "p"], ["y"], mode="wrap")], "its mode is wrap; pad with constant"),
            ([node("Odd", ["x"], ["y"], domain="some.where")],
             "it is of domain 'some.where', so export it as operators of ONNX, or leave it to"),
        ):  # fmt: skip
            constants = {"s": np.array([1, 1, 2, 2], np.float32), "p": integers(0, 0, 0, 1, 0, 0, 0, 0)}
            proto = model(nodes, {"x": self.x.shape}, {"y": (None,) * 4}, constants, opset=23)
            proto.opset_import.append(helper.make_opsetid("some.where", 1))
            path = save(proto, self.folder / "net.onnx")
            result = overtake("compile", path)
            self.assertEqual(result.returncode, 1)
            self.assertIn(said, result.stderr)
            self.assertNotIn("opset", result.stderr)

    def test_a_newer_opset_is_warned_about(self):
        path = save(model([node("Relu", ["x"], ["y"])], {"x": self.x.shape}, {"y": self.x.shape},
                          opset=24), self.folder / "net.onnx")  # fmt: skip
        result = overtake("compile", path)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("opset 24 is newer than 23", result.stderr)


class Functions(OldNetworks):
    def network(self, calls, functions, opset=18):
        proto = model(calls, {"x": self.x.shape}, {"y": (None,) * 4}, opset=opset)
        proto.opset_import.append(helper.make_opsetid("mine", 1))
        proto.functions.extend(functions)
        return proto

    @staticmethod
    def function(name, inputs, outputs, nodes, attributes=(), opset=18):
        imports = [helper.make_opsetid("", opset), helper.make_opsetid("mine", 1)]
        return helper.make_function("mine", name, inputs, outputs, nodes, imports, list(attributes))

    def test_they_are_inlined_with_their_attributes(self):
        leaky = node("LeakyRelu", ["a"], ["b"], name="leaky")
        reference = leaky.attribute.add(name="alpha", type=onnx.AttributeProto.FLOAT)
        reference.ref_attr_name = "slope"
        inner = self.function("Inner", ["a"], ["b"], [leaky], ["slope"])
        call = node("Inner", ["p"], ["t"], domain="mine", name="inner")
        outer_reference = call.attribute.add(name="slope", type=onnx.AttributeProto.FLOAT)
        outer_reference.ref_attr_name = "steepness"
        outer = self.function(
            "Outer", ["p", "q"], ["r"], [call, node("Add", ["t", "q"], ["r"], name="add")],
            ["steepness"],
        )  # fmt: skip
        calls = [
            node("Outer", ["x", "x"], ["t"], domain="mine", name="first", steepness=0.5),
            node("Outer", ["t", "x"], ["y"], domain="mine", name="second", steepness=0.25),
        ]
        in_float, in_int8 = self.run_network(self.network(calls, [inner, outer]))
        first = np.where(self.x < 0, self.x * 0.5, self.x) + self.x
        wanted = np.where(first < 0, first * 0.25, first) + self.x
        np.testing.assert_allclose(in_float, wanted, atol=1e-5)
        self.assertGreater(cosine(in_int8, wanted), 0.99)

    def test_one_that_calls_itself_is_refused(self):
        again = self.function("Again", ["a"], ["b"], [
            node("Again", ["a"], ["b"], domain="mine", name="again")])  # fmt: skip
        calls = [node("Again", ["x"], ["y"], domain="mine", name="call")]
        path = save(self.network(calls, [again]), self.folder / "net.onnx")
        result = overtake("compile", path)
        self.assertEqual(result.returncode, 1)
        self.assertIn("its functions call themselves", result.stderr)


if __name__ == "__main__":
    unittest.main()
