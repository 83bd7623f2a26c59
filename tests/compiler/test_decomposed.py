# SPDX-License-Identifier: MIT
"""Operators that the compiler replaces by others, in float and in int8, against numpy; the expected
values are written here, from ONNX's text."""

import itertools
import math
import pathlib
import random
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto

from overtake_command import cosine, info, overtake, run, succeed
from small_models import model, node, save

RANDOM = np.random.default_rng(39)
LIBONNX = tuple(int(part) for part in onnx.__version__.split(".")[:2])


def onnx_type(kind):
    return {np.uint8: TensorProto.UINT8, np.uint16: TensorProto.UINT16}[kind]


def real(*shape, low=-2.0, high=2.0):
    return RANDOM.uniform(low, high, shape).astype(np.float32)


def integers(*numbers):
    return np.array(numbers, np.int64)


def lrn(x, size, alpha, beta, bias):
    squares = np.zeros_like(x)
    for channel in range(x.shape[1]):
        first = max(0, channel - (size - 1) // 2)
        squares[:, channel] = (x[:, first : channel + size // 2 + 1] ** 2).sum(axis=1)
    return x / (bias + alpha / size * squares) ** beta


def lp_pool(x, p, kernel, stride, pad):
    x = np.pad(np.abs(x) ** p, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    rows = range(0, x.shape[2] - kernel + 1, stride)
    columns = range(0, x.shape[3] - kernel + 1, stride)
    return np.array([[x[:, :, r : r + kernel, c : c + kernel].sum(axis=(2, 3)) for c in columns]
                     for r in rows]).transpose(2, 3, 0, 1) ** (1 / p)  # fmt: skip


def gather_nd(data, indices, batch_axes):
    result = []
    for batch in np.ndindex(data.shape[:batch_axes]):
        rows = indices[batch].reshape(-1, indices.shape[-1])
        result += [data[batch][tuple(row)] for row in rows]
    return np.array(result).reshape(
        indices.shape[:-1] + data.shape[batch_axes + indices.shape[-1] :]
    )


def one_hot(indices, depth, axis):
    hot = np.zeros(indices.shape + (depth,), np.float32)
    for place in np.ndindex(indices.shape):
        if -depth <= indices[place] < depth:
            hot[place + (int(indices[place]) % depth,)] = 1
    return np.moveaxis(hot, -1, axis)


X = real(2, 3, 4, 5)
SQUARE = real(3, 6, 6)


def normalisations():
    for axis, epsilon in ((1, 1e-5), (-1, 1e-3), (2, 1e-5)):
        axes = tuple(range(axis % 4, 4))
        mean, variance = X.mean(axis=axes, keepdims=True), X.var(axis=axes, keepdims=True)
        deviation = 1 / np.sqrt(variance + epsilon)
        scale, bias = real(*X.shape[axis % 4 :]), real(*X.shape[axis % 4 :])
        nodes = [node("LayerNormalization", ["x", "s", "b"], ["y", "m", "d"], axis=axis, epsilon=epsilon)]
        yield nodes, {"x": X}, {"s": scale, "b": bias}, {
            "y": (X - mean) * deviation * scale + bias, "m": mean, "d": deviation,
        }  # fmt: skip
        nodes = [node("LayerNormalization", ["x", "s"], ["y", "", "d"], axis=axis, epsilon=epsilon)]
        yield nodes, {"x": X}, {"s": scale}, {"y": (X - mean) * deviation * scale, "d": deviation}
    for axes in ((0, 2, 3), (1,), (2, 3)):
        mean, deviation = X.mean(axis=axes, keepdims=True), X.std(axis=axes, keepdims=True)
        nodes = [node("MeanVarianceNormalization", ["x"], ["y"], axes=list(axes))]
        yield nodes, {"x": X}, {}, {"y": (X - mean) / (deviation + 1e-9)}
    for p, axis in ((1, 1), (2, -1), (2, 0)):
        norm = (np.abs(X) ** p).sum(axis=axis, keepdims=True) ** (1 / p)
        yield [node("LpNormalization", ["x"], ["y"], p=p, axis=axis)], {"x": X}, {}, {"y": X / norm}
    for size, alpha, beta, bias in ((3, 1e-4, 0.75, 1.0), (2, 0.5, 0.6, 2.0), (5, 1.0, 1.0, 0.5)):
        x = real(1, 7, 4, 3)
        nodes = [node("LRN", ["x"], ["y"], size=size, alpha=alpha, beta=beta, bias=bias)]
        yield nodes, {"x": x}, {}, {"y": lrn(x, size, alpha, beta, bias)}


def pools():
    for p, kernel, stride, pad in ((2, 3, 1, 1), (1, 2, 2, 0), (2, 2, 2, 1)):
        x = real(1, 3, 8, 8)
        nodes = [node("LpPool", ["x"], ["y"], p=p, kernel_shape=[kernel] * 2, strides=[stride] * 2,
                      pads=[pad] * 4)]  # fmt: skip
        yield nodes, {"x": x}, {}, {"y": lp_pool(x, p, kernel, stride, pad)}
    wanted = np.sqrt((X**2).sum(axis=(2, 3), keepdims=True))
    yield [node("GlobalLpPool", ["x"], ["y"])], {"x": X}, {}, {"y": wanted}


def matrices():
    for k, upper in itertools.product((-7, -2, 0, 1, 4, 9), (0, 1)):
        nodes = [node("Trilu", ["x", "k"], ["y"], upper=upper)]
        wanted = np.triu(X, k) if upper else np.tril(X, k)
        yield nodes, {"x": X}, {"k": np.array(k, np.int64)}, {"y": wanted}
    for k in (-1, 0, 2):
        nodes = [node("EyeLike", ["x"], ["e"], k=k), node("MatMul", ["x", "e"], ["y"])]
        yield nodes, {"x": SQUARE[0]}, {}, {"y": SQUARE[0] @ np.eye(6, k=k, dtype=np.float32)}


def positions():
    data = real(3, 4, 2, 5)
    for places, batch_axes in (
        (RANDOM.integers(-2, 2, (6, 3)), 0), (RANDOM.integers(-3, 3, (2, 3, 1)), 0),
        (RANDOM.integers(0, 2, (3, 4, 2)), 1), (RANDOM.integers(-2, 2, (3, 4, 1)), 2),
        (RANDOM.integers(0, 2, (4,)), 0),
    ):  # fmt: skip
        nodes = [node("GatherND", ["x", "i"], ["y"], batch_dims=batch_axes)]
        wanted = {"y": gather_nd(data, places, batch_axes)}
        yield nodes, {"x": data}, {"i": places.astype(np.int64)}, wanted
        yield nodes, {"x": data, "i": places.astype(np.int64)}, {}, wanted
    indices = RANDOM.integers(-6, 7, (3, 4)).astype(np.int64)
    for depth, axis in ((5, -1), (6, 0), (4, 1)):
        nodes = [node("OneHot", ["x", "d", "v"], ["y"], axis=axis)]
        constants = {"d": integers(depth), "v": np.array([-1.5, 2.5], np.float32)}
        wanted = one_hot(indices, depth, axis % 3) * 4 - 1.5
        yield nodes, {"x": indices}, constants, {"y": wanted}


def places_of_constants():
    """Tests NonZero, whose result has as many elements as its constant has elements other than
    zero."""
    x = real(2, 3, 4)
    for constant in (np.array([[1, 0, 2, 0], [0, 0, 0, 3], [4, 0, 0, 0]], np.float32),
                     np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 7]], np.int64),
                     np.array([[True, False, False, True]] * 3)):  # fmt: skip
        wanted = x.reshape(2, 12)[:, np.flatnonzero(constant)]
        nodes = [node("NonZero", ["k"], ["places"]), node("Transpose", ["places"], ["rows"], perm=[1, 0]),
                 node("Transpose", ["x"], ["last"], perm=[1, 2, 0]), node("GatherND", ["last", "rows"], ["z"]),
                 node("Transpose", ["z"], ["y"], perm=[1, 0])]  # fmt: skip
        yield nodes, {"x": x}, {"k": constant}, {"y": wanted}
    # As many as a dimension of x.
    nodes = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "two"], ["d"]), node("ConstantOfShape", ["d"], ["ones"]),
             node("Add", ["ones", "one"], ["k"]), node("NonZero", ["k"], ["n"]), node("Squeeze", ["n", "zero"], ["i"]),
             node("Gather", ["x", "i"], ["y"], axis=2)]  # fmt: skip
    constants = {"two": integers([2]), "zero": integers([0]), "one": np.ones(1, np.float32)}
    yield nodes, {"x": x}, constants, {"y": x}


def of_onnx_runtime(operator, inputs, outputs=("y",), **attributes):
    return [node(operator, inputs, outputs, domain="com.microsoft", **attributes)]


def gelu(x):
    return x * (1 + np.vectorize(math.erf)(x / np.sqrt(2))).astype(np.float32) / 2


def fast_gelu(x):
    return x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def fused_functions():
    x, bias = real(2, 6, 8), real(8)
    yield of_onnx_runtime("Gelu", ["x"]), {"x": x}, {}, {"y": gelu(x)}
    yield of_onnx_runtime("BiasGelu", ["x", "b"]), {"x": x}, {"b": bias}, {"y": gelu(x + bias)}
    yield of_onnx_runtime("FastGelu", ["x"]), {"x": x}, {}, {"y": fast_gelu(x)}
    yield of_onnx_runtime("FastGelu", ["x", "b"]), {"x": x}, {"b": bias}, {"y": fast_gelu(x + bias)}
    yield of_onnx_runtime("QuickGelu", ["x"]), {"x": x}, {}, {"y": x * sigmoid(1.702 * x)}
    yield of_onnx_runtime("QuickGelu", ["x"], alpha=0.5), {"x": x}, {}, {"y": x * sigmoid(x / 2)}
    skip = real(2, 6, 8)
    wanted = {"y": x + bias + skip}
    yield of_onnx_runtime("BiasAdd", ["x", "b", "s"]), {"x": x, "s": skip}, {"b": bias}, wanted


def fused_products():
    x, z = real(1, 4, 6, 6), real(1, 5, 6, 6)
    weights, bias = real(5, 4, 1, 1), real(5)
    sums = np.einsum("nchw,oc->nohw", x, weights[:, :, 0, 0]) + bias[:, None, None]
    constants = {"w": weights, "b": bias}
    for activation, parameters, function in (
        ("Relu", None, lambda v: np.maximum(v, 0)), ("Tanh", None, np.tanh), ("Sigmoid", None, sigmoid),
        ("LeakyRelu", [0.25], lambda v: np.where(v < 0, v / 4, v)),
        ("HardSigmoid", [0.25, 0.5], lambda v: np.clip(v / 4 + 0.5, 0, 1)),
        ("Clip", [-1.0, 0.5], lambda v: np.clip(v, -1, 0.5)),
        ("Elu", [0.5], lambda v: np.where(v < 0, 0.5 * np.expm1(v), v)),
        ("Elu", None, lambda v: np.where(v < 0, np.expm1(v), v)),
        ("Softplus", None, lambda v: np.log1p(np.exp(v))), ("Softsign", None, lambda v: v / (1 + np.abs(v))),
        ("ThresholdedRelu", [0.25], lambda v: np.where(v > 0.25, v, 0)),
    ):  # fmt: skip
        options = {"activation": activation}
        if parameters:
            options["activation_params"] = parameters
        wanted = {"y": function(sums)}
        yield of_onnx_runtime("FusedConv", ["x", "w", "b"], **options), {"x": x}, constants, wanted
        wanted = {"y": function(sums + z)}
        nodes = of_onnx_runtime("FusedConv", ["x", "w", "b", "z"], kernel_shape=[1, 1], **options)
        yield nodes, {"x": x, "z": z}, constants, wanted
    a, b, c = real(5, 7), real(6, 7), real(6)
    wanted = np.maximum(0.5 * a @ b.T + 2 * c, 0)
    nodes = of_onnx_runtime("FusedGemm", ["x", "b", "c"], alpha=0.5, beta=2.0, transB=1, activation="Relu")
    yield nodes, {"x": a}, {"b": b, "c": c}, {"y": wanted}
    nodes = of_onnx_runtime("FusedGemm", ["x", "b"], transB=1, activation="LeakyRelu", activation_alpha=0.25)
    wanted = a @ b.T
    yield nodes, {"x": a}, {"b": b}, {"y": np.where(wanted < 0, wanted / 4, wanted)}
    for options, slope, offset in (({"alpha": 0.25}, 0.25, 0.5), ({"beta": 0.25}, 0.2, 0.25), ({}, 0.2, 0.5)):
        nodes = of_onnx_runtime("FusedGemm", ["x", "b"], transB=1, activation="HardSigmoid",
                                **{f"activation_{name}": value for name, value in options.items()})  # fmt: skip
        yield nodes, {"x": a}, {"b": b}, {"y": np.clip(slope * wanted + offset, 0, 1)}
    a, b = real(2, 5, 7), real(2, 6, 7)
    wanted = 0.125 * a @ b.transpose(0, 2, 1)
    nodes = of_onnx_runtime("FusedMatMul", ["x", "b"], transB=1, alpha=0.125)
    yield nodes, {"x": a}, {"b": b}, {"y": wanted}
    yield nodes, {"x": a, "b": b}, {}, {"y": wanted}
    nodes = of_onnx_runtime("FusedMatMul", ["x", "b"], transA=1)
    yield nodes, {"x": a.transpose(0, 2, 1)}, {"b": b.transpose(0, 2, 1)}, {"y": 8 * wanted}


def fused_normalisations():
    x, skip = real(2, 6, 8), real(2, 6, 8)
    gamma, beta, bias = real(8, low=0.5), real(8), real(8)
    for names, total, given in (
        (["x", "s", "g", "b"], x + skip, {}), (["x", "s", "g", "b", "c"], x + skip + bias, {"c": bias}),
    ):  # fmt: skip
        mean, variance = total.mean(axis=-1, keepdims=True), total.var(axis=-1, keepdims=True)
        wanted = (total - mean) / np.sqrt(variance + 1e-6) * gamma + beta
        constants = {"g": gamma, "b": beta, **given}
        nodes = of_onnx_runtime("SkipLayerNormalization", names, ["y", "", "", "t"], epsilon=1e-6)
        yield nodes, {"x": x, "s": skip}, constants, {"y": wanted, "t": total}
        nodes = of_onnx_runtime("SkipLayerNormalization", names, ["y"], epsilon=1e-6)
        yield nodes, {"x": x, "s": skip}, constants, {"y": wanted}
    total = x + skip
    wanted = total / np.sqrt((total**2).mean(axis=-1, keepdims=True) + 1e-6) * gamma
    nodes = of_onnx_runtime("SkipSimplifiedLayerNormalization", ["x", "s", "g"], ["y", "", "", "t"],
                            epsilon=1e-6)  # fmt: skip
    yield nodes, {"x": x, "s": skip}, {"g": gamma}, {"y": wanted, "t": total}


class Case(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.directory = pathlib.Path(holder.name)

    def results(self, nodes, inputs, constants, wanted, opset=17):
        """Checks the results in float and of the compiled model."""
        types = {name: TensorProto.INT64 for name, array in inputs.items() if array.dtype == np.int64}
        proto = model(nodes, {name: array.shape for name, array in inputs.items()},
                      {name: (None,) * array.ndim for name, array in wanted.items()}, constants,
                      opset=opset, types=types)  # fmt: skip
        path = save(proto, self.directory / "m.onnx")
        given, samples = [], []
        for name, array in inputs.items():
            file = self.directory / f"{name}.npy"
            np.save(file, array)
            given += ["--input", f"{name}={file}"]
            samples += ["--calibration", f"{name}={file}"]
        succeed("run", path, *given, "-q", "--output-dir", self.directory)
        in_float = {name: np.load(self.directory / f"{name}.npy") for name in wanted}
        succeed("compile", path, "-q", *samples)
        return in_float, run(path.with_suffix(".ovm"), inputs, self.directory / "run")

    def check(self, cases, tolerance=1e-5):
        for nodes, inputs, constants, wanted in cases:
            with self.subTest(nodes[0].op_type, attributes=str(nodes[0].attribute)):
                in_float, in_int8 = self.results(nodes, inputs, constants, wanted)
                for name, array in wanted.items():
                    np.testing.assert_allclose(in_float[name], array, rtol=1e-4, atol=tolerance)
                    self.assertEqual(in_float[name].shape, array.shape)
                    self.assertGreater(cosine(in_int8[name], array), 0.99)


class Decomposed(Case):
    def test_normalisations(self):
        self.check(normalisations())

    def test_pools(self):
        self.check(pools())

    def test_matrices(self):
        self.check(matrices())

    def test_positions(self):
        self.check(positions())

    def test_places_of_constants(self):
        self.check(places_of_constants())
        for constant, said in ((np.zeros(4, np.float32), "its constant is all zeros"), (None, "only known at run time")):
            nodes = [node("NonZero", ["x" if constant is None else "k"], ["n"]),
                     node("Cast", ["n"], ["c"], to=1), node("ReduceSum", ["c"], ["r"], keepdims=0),
                     node("Add", ["x", "r"], ["y"])]  # fmt: skip
            proto = model(nodes, {"x": (2, 3)}, {"y": (2, 3)}, {} if constant is None else {"k": constant})
            result = overtake("compile", save(proto, self.directory / "m.onnx"))
            self.assertEqual(result.returncode, 1)
            self.assertIn(said, result.stderr)

    def test_indices_that_no_node_reads_are_none(self):
        x = real(1, 3, 6, 6)
        nodes = [node("MaxPool", ["x"], ["y", "indices"], kernel_shape=[2, 2], strides=[2, 2])]
        self.check([(nodes, {"x": x}, {}, {"y": x.reshape(1, 3, 3, 2, 3, 2).max(axis=(3, 5))})])

    def test_functions_that_onnx_runtime_fuses(self):
        self.check(fused_functions())

    def test_products_that_onnx_runtime_fuses(self):
        self.check(fused_products())

    def test_normalisations_that_onnx_runtime_fuses(self):
        self.check(fused_normalisations())

    def test_fused_operators_in_files_of_old_opsets(self):
        """ONNX's converter knows none of these operators."""
        x, w = real(1, 4, 6, 6), real(4, 4, 1, 1)
        sums = np.einsum("nchw,oc->nohw", x, w[:, :, 0, 0])
        wanted = {"y": np.maximum(np.einsum("nchw,oc->nohw", fast_gelu(sums), w[:, :, 0, 0]), 0)}
        nodes = [
            node("Conv", ["x", "w"], ["c"]),
            node("FastGelu", ["c"], ["g"], domain="com.microsoft"),
            node("FusedConv", ["g", "w"], ["y"], domain="com.microsoft", activation="Relu"),
        ]
        for opset in (9, 11, 12):
            with self.subTest(opset=opset):
                in_float, in_int8 = self.results(nodes, {"x": x}, {"w": w}, wanted, opset=opset)
                np.testing.assert_allclose(in_float["y"], wanted["y"], rtol=1e-4, atol=1e-5)
                self.assertGreater(cosine(in_int8["y"], wanted["y"]), 0.99)
                proto = model(nodes, {"x": x.shape}, {"y": x.shape}, {"w": w}, opset=opset)
                proto.graph.node[1].domain, proto.graph.node[1].op_type = "com.other", "Thing"
                proto.opset_import[-1].domain = "com.other"
                proto.graph.node[2].domain = ""
                proto.graph.node[2].op_type = "Conv"
                proto.graph.node[2].ClearField("attribute")
                result = overtake("compile", save(proto, self.directory / "m.onnx"))
                self.assertIn("(Thing): the operator is not supported; it is of domain", result.stderr)

    def test_normalisations_that_onnx_runtime_writes_before_onnx_had_them(self):
        x, gamma, beta = real(2, 6, 8), real(8, low=0.5), real(8)
        mean, variance = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
        wanted = (x - mean) / np.sqrt(variance + 1e-5) * gamma
        root = x / np.sqrt((x**2).mean(axis=(1, 2), keepdims=True) + 1e-5) * real(6, 8, low=0.5)
        scale = root * np.sqrt((x**2).mean(axis=(1, 2), keepdims=True) + 1e-5) / x
        for opset in (11, 13, 16):
            for names, constants, result in ((["x", "g", "b"], {"g": gamma, "b": beta}, wanted + beta),
                                             (["x", "g"], {"g": gamma}, wanted)):  # fmt: skip
                nodes = [node("LayerNormalization", names, ["y", "mean", "deviation"], axis=-1)]
                in_float, in_int8 = self.results(nodes, {"x": x}, constants, {"y": result}, opset=opset)
                np.testing.assert_allclose(in_float["y"], result, rtol=1e-4, atol=1e-5)
                self.assertGreater(cosine(in_int8["y"], result), 0.99)
        for domain in ("", "com.microsoft"):
            nodes = [node("SimplifiedLayerNormalization", ["x", "s"], ["y"], axis=1, domain=domain)]
            in_float, _ = self.results(nodes, {"x": x}, {"s": scale[0].astype(np.float32)}, {"y": root}, opset=13)
            np.testing.assert_allclose(in_float["y"], root, rtol=1e-3, atol=1e-4)

    def test_attributes_of_another_type_are_refused(self):
        """Such attributes would be read as 0."""
        for nodes, said in (
            (of_onnx_runtime("FusedMatMul", ["x", "x"], alpha=2), "its alpha is of type INT, not FLOAT"),
            (of_onnx_runtime("FusedConv", ["x", "w"], activation=3), "its activation is of type INT, not STRING"),
        ):  # fmt: skip
            proto = model(nodes, {"x": (1, 4, 6, 6)}, {"y": (None,) * 4}, {"w": real(5, 4, 1, 1)})
            result = overtake("compile", save(proto, self.directory / "m.onnx"))
            self.assertEqual(result.returncode, 1)
            self.assertIn(said, result.stderr)

    def test_further_outputs_that_no_node_reads_are_none(self):
        x, skip, gamma = real(2, 6, 8), real(2, 6, 8), real(8, low=0.5)
        total = x + skip
        wanted = (total - total.mean(axis=-1, keepdims=True)) / total.std(axis=-1, keepdims=True)
        nodes = of_onnx_runtime("SkipLayerNormalization", ["x", "s", "g"], ["y", "mean", "deviation"])
        self.check([(nodes, {"x": x, "s": skip}, {"g": gamma}, {"y": wanted * gamma})])

    def test_what_has_no_form_of_a_fused_operator_is_refused(self):
        for nodes, said in (
            (of_onnx_runtime("FusedConv", ["x", "w"], activation="Celu"),
             "its activation is 'Celu'; Relu, Tanh,"),
            (of_onnx_runtime("FusedConv", ["x", "w"], activation="Clip", activation_params=[1.0]),
             "its activation is 'Clip'; "),
            (of_onnx_runtime("SkipLayerNormalization", ["x", "x", "w"], ["t", "y"]),
             "its mean or deviation is read"),
            (of_onnx_runtime("FusedMatMul", ["x", "x"], transBatchA=1), "its transBatchA is 1"),
            (of_onnx_runtime("SkipLayerNormalization", ["x", "x"]), "it has no input 2, and needs 3"),
            (of_onnx_runtime("BiasGelu", ["x", ""]), "it has no input 1, and needs 2"),
            (of_onnx_runtime("Attention", ["x", "w"]), "it is of domain 'com.microsoft'"),
        ):  # fmt: skip
            with self.subTest(said):
                proto = model(nodes, {"x": (1, 4, 6, 6)}, {"y": (None,) * 4}, {"w": real(5, 4, 1, 1)})
                result = overtake("compile", save(proto, self.directory / "m.onnx"))
                self.assertEqual(result.returncode, 1)
                self.assertIn(said, result.stderr)

    def test_convolutions_with_padding_as_large_as_their_kernel(self):
        """The same holds on the device, where no window may lie in the padding."""
        weights, bias = real(5, 3, 1, 1), real(5)
        for pads, kernel, strides in (([1, 1, 1, 1], 1, 1), ([0, 2, 1, 0], 1, 2), ([3, 0, 0, 3], 3, 1),
                                      ([1, 1, 4, 4], 3, 2)):  # fmt: skip
            x, weights = real(1, 3, 6, 6), real(5, 3, kernel, kernel)
            padded = np.pad(x, [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])])
            rows, columns = ((size - kernel) // strides + 1 for size in padded.shape[2:])
            wanted = np.zeros((1, 5, rows, columns), np.float32) + bias[:, None, None]
            for row, column in itertools.product(range(kernel), repeat=2):
                part = padded[:, :, row : row + (rows - 1) * strides + 1 : strides,
                              column : column + (columns - 1) * strides + 1 : strides]  # fmt: skip
                wanted += np.einsum("nchw,oc->nohw", part, weights[:, :, row, column])
            nodes = [node("Conv", ["x", "w", "b"], ["y"], pads=pads, strides=[strides] * 2)]
            self.check([(nodes, {"x": x}, {"w": weights, "b": bias}, {"y": wanted})])
            where = {n["processor"] for n in info(self.directory / "m.ovm")["nodes"]}
            self.assertEqual(where, {"BPU"})

    def test_zeros_stay_zeros(self):
        x = np.zeros((2, 3), np.float32)
        x[1] = 3, 0, 4
        wanted = {"y": np.array([[0, 0, 0], [0.6, 0, 0.8]], np.float32)}
        self.check([([node("LpNormalization", ["x"], ["y"])], {"x": x}, {}, wanted)])

    def test_infinity_beyond_a_diagonal_is_gone(self):
        x = np.where(np.tri(4, dtype=bool), real(4, 4), np.float32(np.inf))
        np.save(self.directory / "x.npy", x)
        proto = model([node("Trilu", ["x"], ["y"], upper=0)], {"x": (4, 4)}, {"y": (4, 4)}, opset=14)
        path = save(proto, self.directory / "m.onnx")
        succeed("run", path, "--input", f"x={self.directory / 'x.npy'}", "-q", "--output-dir", self.directory)
        np.testing.assert_array_equal(np.load(self.directory / "y.npy"), np.tril(x))

    def test_a_position_that_leaves_its_axis_is_refused(self):
        # Of the whole it leaves nothing: row 0, column 5 would be row 1, column 0.
        data, places = real(4, 5), integers([0, 5], [1, 1]).reshape(2, 2)
        nodes = [node("GatherND", ["x", "i"], ["y"])]
        proto = model(nodes, {"x": (4, 5), "i": (2, 2)}, {"y": (2,)}, types={"i": TensorProto.INT64})
        path = save(proto, self.directory / "m.onnx")
        given = []
        for name, array in (("x", data), ("i", places)):
            np.save(self.directory / f"{name}.npy", array)
            given += ["--input", f"{name}={self.directory / name}.npy"]
        result = overtake("run", path, *given, "-q", "--output-dir", self.directory)
        self.assertEqual(result.returncode, 1)
        self.assertIn("an index leaves the 20 elements", result.stderr)

    def test_the_mask_of_dropout_lets_everything_pass(self):
        nodes = [node("Dropout", ["x"], ["t", "m"]), node("Where", ["m", "t", "z"], ["y"])]
        self.check([(nodes, {"x": X}, {"z": np.float32([0])}, {"y": X})])

    def test_bits_are_shifted_as_integers_are(self):
        for kind, bits in ((np.uint8, 8), (np.uint16, 16)):
            x = RANDOM.integers(0, 2**bits, X.shape)
            shifts = RANDOM.integers(0, bits, X.shape)
            for direction, wanted in (("LEFT", (x << shifts) % 2**bits), ("RIGHT", x >> shifts)):
                nodes = [node("Cast", ["x"], ["i"], to=onnx_type(kind)),
                         node("BitShift", ["i", "s"], ["b"], direction=direction),
                         node("Cast", ["b"], ["y"], name="back", to=TensorProto.FLOAT)]  # fmt: skip
                self.check([(nodes, {"x": x.astype(np.float32)}, {"s": shifts.astype(kind)},
                             {"y": wanted.astype(np.float32)})])  # fmt: skip

    def test_cast_like_casts(self):
        nodes = [node("CastLike", ["x", "i"], ["c"]), node("Cast", ["c"], ["y"], to=TensorProto.FLOAT)]
        self.check([(nodes, {"x": X}, {"i": integers(1)}, {"y": np.trunc(X)})])

    def test_cast_like_wraps_as_its_type_does(self):
        nodes = [node("CastLike", ["k", "i"], ["c"]), node("Cast", ["c"], ["f"], to=TensorProto.FLOAT),
                 node("Add", ["x", "f"], ["y"])]  # fmt: skip
        constants = {"k": integers(300), "i": np.array([1], np.uint8)}
        self.check([(nodes, {"x": X}, constants, {"y": X + np.float32(300 % 256)})])

    def test_constants_of_many_nodes_have_a_limit(self):
        nodes = [node("OneHot", ["i", "d", "v"], [f"h{n}"], name=f"hot{n}") for n in range(40)]
        nodes.append(node("Sum", [f"h{n}" for n in range(40)], ["y"]))
        constants = {"d": integers(1 << 21), "v": np.array([0, 1], np.float32)}
        proto = model(nodes, {"i": (1,)}, {"y": (1, 1 << 21)}, constants, types={"i": TensorProto.INT64})
        result = overtake("compile", save(proto, self.directory / "m.onnx"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("it and operators before it are written with more than 67108864 constants",
                      result.stderr)  # fmt: skip

    def test_what_runs_on_the_cpu_runs_there_with_all_its_parts(self):
        x = real(1, 8, 4, 4)
        nodes = [node("LRN", ["x"], ["y"], name="it", size=3)]
        path = save(model(nodes, {"x": x.shape}, {"y": x.shape}), self.directory / "m.onnx")
        np.save(self.directory / "x.npy", x)
        for options, processors in (([], {"BPU", "CPU"}), (["--run-on-cpu", "it"], {"CPU"})):
            succeed("compile", path, "-q", "--calibration", self.directory / "x.npy", *options)
            found = {segment["processor"] for segment in info(path.with_suffix(".ovm"))["segments"]}
            self.assertTrue(found <= processors and ("BPU" in processors) == ("BPU" in found), found)

    def test_refusals_name_the_node_and_the_remedy(self):
        for operator, inputs, attributes, constants, said in (
            ("Einsum", ["x"], {"equation": "ab->ba"}, {}, "(Einsum): its equation 'ab->ba' does not fit its inputs"),
            ("Einsum", ["x"], {"equation": "1abc->abc1"}, {}, "does not fit its inputs"),
            ("Einsum", ["x"], {"equation": "......->a"}, {}, "does not fit its inputs"),
            ("Einsum", ["x"], {"equation": "abcd->abce"}, {}, "does not fit its inputs"),
            ("Einsum", ["x", "x"], {"equation": "abcd->a"}, {}, "does not fit its inputs"),
            ("Einsum", ["x"] * 65, {"equation": ",".join(["abcd"] * 65)}, {}, "it has 65 inputs; 64 are supported"),
            ("OneHot", ["x", "d", "v"], {}, {"d": np.float32(np.nan), "v": np.float32([0, 1])},
             "its depth is not 1 to 16777215"),
            ("ScatterND", ["x", "i", "u"], {}, {"i": integers([0, 0]).reshape(1, 2), "u": real(3)},
             "its updates do not fit its indices and data"),
            ("LpPool", ["x"], {"kernel_shape": [2, 2], "p": 3}, {}, "(LpPool): its p is 3; 1 and 2 are supported"),
            ("OneHot", ["x", "x", "v"], {}, {"v": np.float32([0, 1])},
             "(OneHot): its depth is computed; export it with a constant one"),
            ("GatherND", ["x", "i"], {}, {"i": integers([0] * 5)}, "its indices do not fit its data"),
            ("Dropout", ["x", "", "t"], {}, {"t": np.array(True)}, "(Dropout): is in training mode"),
        ):  # fmt: skip
            with self.subTest(operator, said=said):
                outputs = ["y", "m"] if operator == "Dropout" else ["y"]
                proto = model([node(operator, inputs, outputs, name="it", **attributes)],
                              {"x": (2, 3, 4, 5)}, {"y": None}, constants, opset=15)  # fmt: skip
                result = overtake("compile", save(proto, self.directory / "m.onnx"))
                self.assertEqual(result.returncode, 1, result.stderr)
                if operator == "Einsum" and LIBONNX >= (1, 15) and "libonnx crashed over it" in result.stderr:
                    continue  # libonnx of Debian 13 runs in a process of its own
                self.assertIn("node 'it' " if "(" in said else "it", result.stderr)
                self.assertIn(said, result.stderr)


def random_equation(chance):
    """Returns an equation and the shapes of its inputs; labels may be repeated, an axis may have
    one element."""
    sizes = {label: chance.randint(1, 4) for label in "abcdefg"}
    terms = []
    for _ in range(chance.choice((1, 1, 2, 2, 2, 3))):
        terms.append("".join(chance.choice("abcdefg") for _ in range(chance.randint(1, 4))))
    labels = sorted(set("".join(terms)))
    chance.shuffle(labels)
    result = "".join(labels[: chance.randint(0, min(4, len(labels)))])
    shapes = [tuple(sizes[label] for label in term) for term in terms]
    return f"{','.join(terms)}->{result}", shapes


class Einsum(Case):
    def test_equations(self):
        cases = [
            ("ij,jk->ik", (3, 4), (4, 5)), ("bij, bjk -> bik", (2, 3, 4), (2, 4, 5)),
            ("bhqd,bhkd->bhqk", (1, 2, 3, 4), (1, 2, 5, 4)), ("bld,dhk->blhk", (2, 3, 4), (4, 2, 3)),
            ("...ii->...i", (2, 3, 3)), ("...ij,...jk->...ik", (2, 3, 4), (4, 5)),
            ("ij,jk", (3, 4), (4, 5)), ("ba", (3, 4)), ("i,i", (4,), (4,)), ("ii", (3, 3)),
            ("...a,...a->...", (2, 1, 4), (3, 4)), ("nchw,nvc->nvhw", (1, 3, 2, 2), (1, 4, 3)),
        ]  # fmt: skip
        for equation, *shapes in cases:
            self.check_equation(equation, shapes, in_int8=True)

    def test_random_equations(self):
        for seed in range(150):
            chance = random.Random(seed)
            equation, shapes = random_equation(chance)
            self.check_equation(equation, shapes, in_int8=seed % 10 == 0)

    def check_equation(self, equation, shapes, in_int8):
        with self.subTest(equation, shapes=shapes):
            inputs = {f"x{i}": real(*shape) for i, shape in enumerate(shapes)}
            wanted = np.asarray(np.einsum(equation, *inputs.values()))
            nodes = [node("Einsum", list(inputs), ["y"], equation=equation)]
            in_float, device = self.results(nodes, inputs, {}, {"y": wanted})
            got = in_float["y"].reshape(wanted.shape)
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)
            if in_int8 and np.abs(wanted).max() > 0.1:
                self.assertGreater(cosine(device["y"], wanted), 0.98)


if __name__ == "__main__":
    unittest.main()
