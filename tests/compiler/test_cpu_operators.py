# SPDX-License-Identifier: MIT
"""Every operator of the CPU, compiled for the CPU and run, against numpy; and once in one graph
with the device on both sides. The expected values are written here, from ONNX's text."""

import math
import pathlib
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto

from overtake_command import cosine, info, overtake, run, succeed
from small_models import model, node, save

OPSETS = {"HardSwish": 14, "LayerNormalization": 17}  # 13 for all others
RANDOM = np.random.default_rng(11)


def real(*shape, low=-2.0, high=2.0):
    return RANDOM.uniform(low, high, shape).astype(np.float32)


def integers(*numbers):
    return np.array(numbers, np.int64)


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def erf(x):
    return np.vectorize(math.erf)(x)


def pool_1d(x, kernel, stride, reduce_window):
    starts = range(0, x.shape[2] - kernel + 1, stride)
    return np.stack([reduce_window(x[:, :, s : s + kernel]) for s in starts], axis=2)


def normalise(x, axes, epsilon=1e-5):
    mean, variance = x.mean(axis=axes, keepdims=True), x.var(axis=axes, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon)


X = real(2, 3, 4)
Y = real(2, 3, 4)
P = real(2, 3, 4, low=0.2, high=3.0)
IMAGE = real(2, 3, 5, 6)
ROW = real(4)


def unary_cases():
    functions = {
        "Abs": np.abs, "Atan": np.arctan, "Asinh": np.arcsinh, "Ceil": np.ceil, "Cos": np.cos,
        "Cosh": np.cosh, "Erf": erf, "Exp": np.exp, "Floor": np.floor, "Neg": np.negative,
        "Round": np.rint, "Sign": np.sign, "Sin": np.sin, "Sinh": np.sinh, "Tan": np.tan,
        "Tanh": np.tanh, "Relu": lambda x: np.maximum(x, 0),
        "Sigmoid": lambda x: 1 / (1 + np.exp(-x)), "Softplus": lambda x: np.log1p(np.exp(x)),
        "Softsign": lambda x: x / (1 + np.abs(x)),
        "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
        "LeakyRelu": lambda x: np.where(x < 0, 0.01 * x, x),
        "Elu": lambda x: np.where(x < 0, np.expm1(x), x),
        "Celu": lambda x: np.where(x < 0, np.expm1(x), x),
        "HardSigmoid": lambda x: np.clip(0.2 * x + 0.5, 0, 1),
        "ThresholdedRelu": lambda x: np.where(x > 1, x, 0),
    }  # fmt: skip
    positive = {"Log": np.log, "Sqrt": np.sqrt, "Reciprocal": lambda x: 1 / x}
    for table, x in ((functions, X), (positive, P)):
        for operator, function in table.items():
            yield node(operator, ["x"], ["y"]), {"x": x}, {}, function(x)
    unit = real(2, 3, 4, low=-0.9, high=0.9)
    for operator, function in {"Acos": np.arccos, "Asin": np.arcsin, "Atanh": np.arctanh}.items():
        yield node(operator, ["x"], ["y"]), {"x": unit}, {}, function(unit)
    yield node("Acosh", ["x"], ["y"]), {"x": P + 1}, {}, np.arccosh(P + 1)
    selu = 1.05070102 * np.where(X < 0, 1.67326319 * np.expm1(X), X)
    yield node("Selu", ["x"], ["y"]), {"x": X}, {}, selu
    shrunk = np.where(X < -0.5, X + 0.5, np.where(X > 0.5, X - 0.5, 0))
    yield node("Shrink", ["x"], ["y"], bias=0.5), {"x": X}, {}, shrunk
    clip = {"low": np.float32(-0.5), "high": np.float32(1.0)}
    yield node("Clip", ["x", "low", "high"], ["y"]), {"x": X}, clip, np.clip(X, -0.5, 1)
    # The bounds are computed: half of the maximum, and crossed ones, of which the upper one counts.
    nodes = [
        node("ReduceMax", ["x"], ["max"], name="max", keepdims=0),
        node("Mul", ["max", "half"], ["bound"], name="mul"),
    ]
    half = {"half": np.float32(0.5), "low": np.float32(100)}
    yield [*nodes, node("Clip", ["x", "bound"], ["y"])], {"x": X}, half, np.maximum(X, X.max() / 2)
    crossed = node("Clip", ["x", "low", "bound"], ["y"])
    yield [*nodes, crossed], {"x": X}, half, np.full_like(X, X.max() / 2)


def binary_cases():
    functions = {
        "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Max": np.maximum,
        "Min": np.minimum, "Sum": np.add, "Mean": lambda a, b: (a + b) / 2,
        "PRelu": lambda a, b: np.where(a < 0, a * b, a),
    }  # fmt: skip
    for operator, function in functions.items():
        yield node(operator, ["x", "z"], ["y"]), {"x": X, "z": P}, {}, function(X, P)
        yield node(operator, ["x", "z"], ["y"]), {"x": X}, {"z": ROW + 3}, function(X, ROW + 3)
    yield node("Pow", ["x", "z"], ["y"]), {"x": P, "z": Y}, {}, P**Y
    yield node("Mod", ["x", "z"], ["y"], fmod=1), {"x": X, "z": P}, {}, np.fmod(X, P)
    for operator, function in {"Greater": np.greater, "LessOrEqual": np.less_equal}.items():
        nodes = [node(operator, ["x", "z"], ["b"], name="compare"), node("Where", ["b", "x", "z"], ["y"])]
        yield nodes, {"x": X, "z": Y}, {}, np.where(function(X, Y), X, Y)
    nodes = [
        node("Less", ["x", "zero"], ["a"], name="a"),
        node("Greater", ["z", "zero"], ["b"], name="b"),
        node("Xor", ["a", "b"], ["c"], name="c"),
        node("Not", ["c"], ["d"], name="d"),
        node("Cast", ["d"], ["y"], to=TensorProto.FLOAT),
    ]
    wanted = np.logical_not(np.logical_xor(X < 0, Y > 0)).astype(np.float32)
    yield nodes, {"x": X, "z": Y}, {"zero": np.float32(0)}, wanted
    truncated = [
        node("Cast", ["x"], ["i"], to=TensorProto.INT64, name="cast"),
        node("Div", ["i", "two"], ["h"], name="half"),
        node("Cast", ["h"], ["y"], to=TensorProto.FLOAT, name="back"),
    ]
    big = (X * 10).astype(np.float32)
    yield truncated, {"x": big}, {"two": integers(2)}, np.trunc(np.trunc(big) / 2)


def movement_cases():
    yield node("Transpose", ["x"], ["y"], perm=[2, 0, 1]), {"x": X}, {}, X.transpose(2, 0, 1)
    bounds = {"s": integers(3, 0), "e": integers(-5, 3), "a": integers(2, 1), "p": integers(-2, 2)}
    yield node("Slice", ["x", *bounds], ["y"]), {"x": X}, bounds, X[:, 0:3:2, 3::-2]
    shape = {"shape": integers(2, 2, 3, 4)}
    yield node("Expand", ["x", "shape"], ["y"]), {"x": X[:1]}, shape, np.broadcast_to(X[:1], (2, 2, 3, 4))
    yield node("Tile", ["x", "r"], ["y"]), {"x": X}, {"r": integers(2, 1, 3)}, np.tile(X, (2, 1, 3))
    index = np.array([[0, 2], [-1, 1]], np.int64)
    yield node("Gather", ["x", "i"], ["y"], axis=1), {"x": X}, {"i": index}, np.take(X, index, axis=1)
    picks = np.array([[[0, 3, 1], [2, 2, 0]]] * 2, np.int64)
    wanted = np.take_along_axis(X[:, :2], picks, axis=2)
    yield node("GatherElements", ["x", "i"], ["y"], axis=2), {"x": X}, {"i": picks}, wanted
    joined = np.concatenate([X, Y[:, :1], X], axis=1)
    yield (
        node("Concat", ["x", "z", "x"], ["y"], axis=1), {"x": X, "z": Y[:, :1]}, {}, joined
    )  # fmt: skip
    pads = {"p": integers(0, 1, 2, 0, 0, 1), "v": np.float32(7)}
    widths = ((0, 0), (1, 0), (2, 1))
    wanted = np.pad(X, widths, constant_values=7)
    yield node("Pad", ["x", "p", "v"], ["y"]), {"x": X}, pads, wanted
    for mode in ("edge", "reflect"):
        wanted = np.pad(X, widths, mode=mode)
        yield node("Pad", ["x", "p"], ["y"], mode=mode), {"x": X}, {"p": pads["p"]}, wanted
    n, c, h, w = 1, 8, 3, 4
    blocks = real(n, c, h, w)
    dcr = blocks.reshape(n, 2, 2, 2, h, w).transpose(0, 3, 4, 1, 5, 2).reshape(n, 2, 6, 8)
    crd = blocks.reshape(n, 2, 2, 2, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, 2, 6, 8)
    yield node("DepthToSpace", ["x"], ["y"], blocksize=2), {"x": blocks}, {}, dcr
    yield node("DepthToSpace", ["x"], ["y"], blocksize=2, mode="CRD"), {"x": blocks}, {}, crd
    yield node("SpaceToDepth", ["x"], ["y"], blocksize=2), {"x": dcr}, {}, blocks
    chain = [
        node("Unsqueeze", ["x", "a"], ["u"], name="u"),
        node("Flatten", ["u"], ["f"], axis=2, name="f"),
        node("Reshape", ["f", "s"], ["r"], name="r"),
        node("Neg", ["r"], ["y"], name="neg"),
    ]
    constants = {"a": integers(0), "s": integers(0, 3, -1)}
    yield chain, {"x": X}, constants, -X.reshape(2, 3, 4)


def reduction_cases():
    functions = {
        "ReduceL1": lambda x, **k: np.abs(x).sum(**k), "ReduceMax": np.max, "ReduceMin": np.min,
        "ReduceL2": lambda x, **k: np.sqrt((x * x).sum(**k)), "ReduceMean": np.mean,
        "ReduceProd": np.prod, "ReduceSumSquare": lambda x, **k: (x * x).sum(**k),
        "ReduceLogSum": lambda x, **k: np.log(x.sum(**k)),
        "ReduceLogSumExp": lambda x, **k: np.log(np.exp(x).sum(**k)),
    }  # fmt: skip
    for operator, function in functions.items():
        wanted = function(P, axis=(0, 2), keepdims=True)
        yield node(operator, ["x"], ["y"], axes=[0, -1]), {"x": P}, {}, wanted
    yield (
        node("ReduceSum", ["x", "a"], ["y"], keepdims=0), {"x": X}, {"a": integers(1)}, X.sum(axis=1)
    )  # fmt: skip
    for operator, function in {"ArgMax": np.argmax, "ArgMin": np.argmin}.items():
        yield node(operator, ["x"], ["y"], axis=2, keepdims=0), {"x": X}, {}, function(X, axis=2)
    for axis in (0, 1, 2):
        yield node("Softmax", ["x"], ["y"], axis=axis), {"x": X}, {}, softmax(X, axis)
        log = np.log(softmax(X, axis))
        yield node("LogSoftmax", ["x"], ["y"], axis=axis), {"x": X}, {}, log
    order = np.argsort(-X, axis=1, kind="stable")[:, :2]
    yield (
        node("TopK", ["x", "k"], ["y", "other"], axis=1), {"x": X}, {"k": integers(2)},
        np.take_along_axis(X, order, axis=1),
    )  # fmt: skip
    yield node("TopK", ["x", "k"], ["other", "y"], axis=1), {"x": X}, {"k": integers(2)}, order


def network_cases():
    weights, bias = real(4, low=0.5), real(4)
    wanted = normalise(X, 2) * weights + bias
    yield (
        node("LayerNormalization", ["x", "w", "b"], ["y"]), {"x": X}, {"w": weights, "b": bias}, wanted
    )  # fmt: skip
    scale, offset = real(3, low=0.5), real(3)
    wanted = normalise(IMAGE, (2, 3)) * scale[:, None, None] + offset[:, None, None]
    constants = {"w": scale, "b": offset}
    yield node("InstanceNormalization", ["x", "w", "b"], ["y"]), {"x": IMAGE}, constants, wanted
    mean, variance = real(3), real(3, low=0.5)
    wanted = (IMAGE - mean[:, None, None]) / np.sqrt(variance + 1e-5)[:, None, None]
    wanted = wanted * scale[:, None, None] + offset[:, None, None]
    constants |= {"m": mean, "v": variance}
    yield node("BatchNormalization", ["x", *"wbmv"], ["y"]), {"x": IMAGE}, constants, wanted
    a, b = real(2, 3, 4, 5), real(3, 5, 2)
    yield node("MatMul", ["x", "z"], ["y"]), {"x": a, "z": b}, {}, a @ b
    column = real(5)
    yield node("MatMul", ["x", "z"], ["y"]), {"x": a}, {"z": column}, a @ column
    left, right, addend = real(4, 5), real(4, 6), real(6)
    yield (
        node("Gemm", ["x", "z", "c"], ["y"], transA=1, alpha=0.5, beta=2.0),
        {"x": left, "z": right}, {"c": addend}, 0.5 * (left.T @ right) + 2 * addend,
    )  # fmt: skip
    signal, kernel = real(2, 4, 9), real(6, 2, 3)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(signal, ((0, 0), (0, 0), (1, 1))), 3, axis=2)
    windows = windows[:, :, ::2].reshape(2, 2, 2, 5, 3)
    wanted = np.einsum("ngilk,goik->ngol", windows, kernel.reshape(2, 3, 2, 3)).reshape(2, 6, 5)
    yield (
        node("Conv", ["x", "w"], ["y"], group=2, strides=[2], pads=[1, 1]), {"x": signal},
        {"w": kernel}, wanted,
    )  # fmt: skip
    kernel = real(4, 3, 3)
    wanted = np.zeros((2, 3, 19), np.float32)
    for tap in range(3):
        wanted[:, :, tap : tap + 17 : 2] += np.einsum("nil,io->nol", signal, kernel[:, :, tap])
    yield node("ConvTranspose", ["x", "w"], ["y"], strides=[2]), {"x": signal}, {"w": kernel}, wanted
    greatest = pool_1d(signal, 3, 2, lambda window: window.max(axis=2))
    yield node("MaxPool", ["x"], ["y"], kernel_shape=[3], strides=[2]), {"x": signal}, {}, greatest
    mean = pool_1d(signal, 3, 2, lambda window: window.mean(axis=2))
    yield node("AveragePool", ["x"], ["y"], kernel_shape=[3], strides=[2]), {"x": signal}, {}, mean
    yield node("GlobalAveragePool", ["x"], ["y"]), {"x": signal}, {}, signal.mean(axis=2, keepdims=True)
    yield node("GlobalMaxPool", ["x"], ["y"]), {"x": signal}, {}, signal.max(axis=2, keepdims=True)


def split_cases():
    nodes = [
        node("Split", ["x", "s"], ["a", "b"], axis=2, name="split"),
        node("ReduceMax", ["a"], ["c"], axes=[2], name="max"),
        node("Add", ["b", "c"], ["y"], name="add"),
    ]
    wanted = X[:, :, 1:] + X[:, :, :1]
    yield nodes, {"x": X}, {"s": integers(1, 3)}, wanted
    sizes = {"r": np.zeros(0, np.float32), "s": np.array([1, 1, 2, 0.5], np.float32)}
    rows = np.clip((np.arange(10) + 0.5) / 2 - 0.5, 0, 4)
    below = np.minimum(np.floor(rows).astype(int) + 1, 4)
    part = (rows - np.floor(rows))[:, None]
    tall = IMAGE[:, :, np.floor(rows).astype(int)] * (1 - part) + IMAGE[:, :, below] * part
    wanted = (tall[..., 0::2] + tall[..., 1::2]) / 2
    yield node("Resize", ["x", "r", "s"], ["y"], mode="linear"), {"x": IMAGE}, sizes, wanted


CASES = [unary_cases, binary_cases, movement_cases, reduction_cases, network_cases, split_cases]


class CpuOperators(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def compile(self, proto, inputs, on_cpu=()):
        source = save(proto, self.directory / "m.onnx")
        arguments = [part for name in on_cpu for part in ("--run-on-cpu", name)]
        for name, array in inputs.items():
            np.save(self.directory / f"{name}.npy", array)
            arguments += ["--calibration", f"{name}={self.directory / f'{name}.npy'}"]
        succeed("compile", source, "-q", *arguments)
        return source.with_suffix(".ovm")

    def check(self, nodes, inputs, constants, wanted):
        nodes = nodes if isinstance(nodes, list) else [nodes]
        integer = nodes[-1].op_type in ("ArgMax", "ArgMin") or nodes[-1].output[0] == "other"
        proto = model(
            nodes, {name: array.shape for name, array in inputs.items()}, {"y": wanted.shape},
            constants, opset=OPSETS.get(nodes[0].op_type, 13),
        )  # fmt: skip
        if integer:
            proto.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
        path = self.compile(proto, inputs, [entry.name for entry in nodes])
        self.assertEqual({s["processor"] for s in info(path)["segments"]}, {"CPU"})
        got = run(path, inputs, self.directory / "run")["y"]
        np.testing.assert_allclose(
            got.reshape(wanted.shape), wanted, rtol=1e-4, atol=1e-5, err_msg=nodes[-1].op_type
        )

    def test_each_gives_what_numpy_gives(self):
        for cases in CASES:
            for nodes, inputs, constants, wanted in cases():
                first = nodes[0] if isinstance(nodes, list) else nodes
                with self.subTest(operator=first.op_type):
                    self.check(nodes, inputs, constants, wanted)

    def test_boxes_that_overlap_are_suppressed(self):
        boxes = np.array([[[0, 0, 2, 2], [0, 0, 2, 1.9], [5, 5, 6, 6], [0, 0, 1, 1]]], np.float32)
        scores = np.array([[[0.8, 0.9, 0.7, 0.1]]], np.float32)
        nodes = [node("NonMaxSuppression", ["b", "s", "n", "u", "t"], ["y"])]
        constants = {"n": integers(3), "u": np.float32(0.5), "t": np.float32(0.3)}
        proto = model(nodes, {"b": boxes.shape, "s": scores.shape}, {"y": (None, 3)}, constants)
        proto.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
        path = self.compile(proto, {"b": boxes, "s": scores})
        got = run(path, {"b": boxes, "s": scores}, self.directory / "run")["y"]
        np.testing.assert_array_equal(got, [[0, 0, 1], [0, 0, 2], [-1, -1, -1]])

    def test_an_index_out_of_its_tensor_ends_the_run_with_an_error(self):
        index = real(2)
        nodes = [
            node("Cast", ["x"], ["i"], to=TensorProto.INT64, name="cast"),
            node("Gather", ["c", "i"], ["y"], name="gather"),
        ]
        proto = model(nodes, {"x": (2,)}, {"y": (2,)}, {"c": real(4)})
        path = self.compile(proto, {"x": index})
        np.save(self.directory / "far.npy", np.array([0, 9], np.float32))
        result = overtake(
            "run", path, "--input", f"x={self.directory / 'far.npy'}", "--output-dir",
            self.directory / "o", "--device", "embedded",
        )  # fmt: skip
        self.assertEqual(result.returncode, 1)
        self.assertIn("gather", result.stderr)

    def test_layer_normalization_written_out_is_recognised(self):
        nodes = [
            node("Conv", ["x", "w"], ["a"], name="conv"),
            node("ReduceMean", ["a"], ["m"], axes=[-1], name="mean"),
            node("Sub", ["a", "m"], ["d"], name="sub"),
            node("Pow", ["d", "two"], ["q"], name="pow"),
            node("ReduceMean", ["q"], ["v"], axes=[-1], name="variance"),
            node("Add", ["v", "e"], ["t"], name="add"),
            node("Sqrt", ["t"], ["r"], name="sqrt"),
            node("Div", ["d", "r"], ["y"], name="div"),
        ]
        x, weights = real(1, 4, 6, 8), real(4, 4, 1, 1)
        constants = {"w": weights, "two": np.float32(2), "e": np.float32(1e-5)}
        proto = model(nodes, {"x": x.shape}, {"y": x.shape}, constants)
        path = self.compile(proto, {"x": x})
        summary = info(path)
        self.assertEqual([s["processor"] for s in summary["segments"]], ["BPU", "CPU"])
        self.assertEqual([op["type"] for op in summary["segments"][1]["ops"]], ["Normalize"])
        wanted = normalise(np.einsum("oi,nihw->nohw", weights[:, :, 0, 0], x), 3)
        self.assertGreater(cosine(run(path, {"x": x}, self.directory / "run")["y"], wanted), 0.999)

    def test_attention_multiplies_on_the_device_and_normalises_on_the_cpu(self):
        tokens, heads, size = 10, 2, 8
        width = heads * size
        names = ["q", "k", "v"]
        nodes = [node("MatMul", ["x", f"w{n}"], [n], name=n) for n in names]
        perms = {"q": [0, 2, 1, 3], "k": [0, 2, 3, 1], "v": [0, 2, 1, 3]}
        for n in names:
            nodes.append(node("Reshape", [n, "split"], [f"{n}4"], name=f"{n}4"))
            nodes.append(node("Transpose", [f"{n}4"], [f"{n}t"], name=f"{n}t", perm=perms[n]))
        nodes += [
            node("MatMul", ["qt", "kt"], ["scores"], name="scores"),
            node("Softmax", ["scores"], ["weights"], name="softmax", axis=-1),
            node("MatMul", ["weights", "vt"], ["mixed"], name="mixed"),
            node("Transpose", ["mixed"], ["back"], name="back", perm=[0, 2, 1, 3]),
            node("Reshape", ["back", "join"], ["flat"], name="flat"),
            node("MatMul", ["flat", "wo"], ["y"], name="out"),
        ]
        constants = {f"w{n}": real(width, width) * 0.3 for n in "qkvo"}
        constants |= {"split": integers(1, tokens, heads, size), "join": integers(1, tokens, width)}
        x = real(1, tokens, width)
        proto = model(nodes, {"x": x.shape}, {"y": x.shape}, constants)
        path = self.compile(proto, {"x": x})
        summary = info(path)
        self.assertEqual([s["processor"] for s in summary["segments"]], ["BPU", "CPU", "BPU"])
        q, k, v = (
            (x @ constants[f"w{n}"]).reshape(1, tokens, heads, size).transpose(0, 2, 1, 3)
            for n in names
        )
        mixed = softmax(q @ k.transpose(0, 1, 3, 2), 3) @ v
        wanted = mixed.transpose(0, 2, 1, 3).reshape(1, tokens, width) @ constants["wo"]
        got = run(path, {"x": x}, self.directory / "run")["y"]
        self.assertGreater(cosine(got, wanted), 0.99)

    def test_a_cheap_operator_between_two_of_the_cpu_stays_there(self):
        nodes = [
            node("Softmax", ["x"], ["a"], name="first", axis=1),
            node("Relu", ["a"], ["b"], name="relu"),
            node("Softmax", ["b"], ["c"], name="second", axis=1),
            node("Conv", ["c", "w"], ["y"], name="conv"),
        ]
        x = real(1, 8, 4, 4)
        proto = model(nodes, {"x": x.shape}, {"y": x.shape}, {"w": real(8, 8, 1, 1)})
        path = self.compile(proto, {"x": x})
        self.assertEqual([s["processor"] for s in info(path)["segments"]], ["CPU", "BPU"])

    def test_constants_behind_shapes_are_folded(self):
        nodes = [
            node("Shape", ["x"], ["s"], name="shape"),
            node("Gather", ["s", "first"], ["n"], name="gather", axis=0),
            node("Concat", ["n", "rest"], ["t"], name="concat", axis=0),
            node("Reshape", ["x", "t"], ["r"], name="reshape"),
            node("MatMul", ["r", "w"], ["y"], name="matmul"),
        ]
        x, weights = real(1, 3, 2, 4), real(24, 5)
        constants = {"first": integers(0), "rest": integers(-1), "w": weights}
        proto = model(nodes, {"x": x.shape}, {"y": (1, 5)}, constants)
        path = self.compile(proto, {"x": x})
        self.assertEqual([s["processor"] for s in info(path)["segments"]], ["BPU"])
        got = run(path, {"x": x}, self.directory / "run")["y"]
        self.assertGreater(cosine(got, x.reshape(1, 24) @ weights), 0.99)

    def test_symbolic_dimensions_get_the_shape_that_is_given(self):
        x = real(1, 3, 4, 6)
        proto = model([node("Softmax", ["x"], ["y"], axis=3)], {"x": (1, 3, 4, 6)}, {"y": (1, 3, 4, 6)})
        for value in (proto.graph.input[0], proto.graph.output[0]):
            value.type.tensor_type.shape.dim[2].dim_param = "h"
            value.type.tensor_type.shape.dim[3].dim_param = "w"
        source = save(proto, self.directory / "m.onnx")
        self.assertIn("--input-shape", overtake("compile", source).stderr)
        succeed("compile", source, "--input-shape", "x=1x3x4x6")
        got = run(source.with_suffix(".ovm"), {"x": x}, self.directory / "run")["y"]
        np.testing.assert_allclose(got, softmax(x, 3), rtol=1e-5)

    def test_constants_may_lie_in_a_file_beside_the_model(self):
        x, weights = real(1, 16), real(16, 64)
        proto = model([node("MatMul", ["x", "w"], ["y"])], {"x": (1, 16)}, {"y": (1, 64)}, {"w": weights})
        source = self.directory / "m.onnx"
        onnx.save_model(proto, str(source), save_as_external_data=True, location="m.bin", size_threshold=0)
        np.save(self.directory / "x.npy", x)
        succeed("compile", source, "--calibration", self.directory / "x.npy")
        got = run(source.with_suffix(".ovm"), {"x": x}, self.directory / "run")["y"]
        self.assertGreater(cosine(got, x @ weights), 0.99)
        (self.directory / "m.bin").unlink()
        self.assertIn("m.bin", overtake("compile", source).stderr)


if __name__ == "__main__":
    unittest.main()
