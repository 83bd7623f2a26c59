# SPDX-License-Identifier: MIT
"""Operators that the device computes beside convolutions, bit for bit against numpy.

Inputs are exact in int8. Operators that only move elements, and tables, have to give the byte that is
nearest to the float result of numpy. Sums and pairs are written here from the text of the instruction
set. Each case is compiled again for FCs as short as possible, which may change no bit."""

import math
import pathlib
import re
import tempfile
import unittest

import numpy as np

import model_file
from activation_patterns import functions, number
from overtake_command import SLOW, cosine, info, run, succeed
from small_models import model, node, save

RANDOM = np.random.default_rng(23)
CONV, DEPTHWISE, MATMUL, TABLE, COPY, MAX, DEPTH_TO_SPACE = 1, 2, 3, 7, 8, 13, 19


def real(*shape, low=-2.0, high=2.0):
    return RANDOM.uniform(low, high, shape).astype(np.float32)


def integers(*numbers):
    return np.array(numbers, np.int64)


def to_real(tensor, q):
    return (tensor.scale * (q - tensor.zero_point)).astype(np.float32)


def to_bytes(tensor, reals):
    """Returns the nearest bytes; a half is rounded to the even one."""
    with np.errstate(invalid="ignore"):
        q = np.rint(reals.astype(np.float64) / np.float64(tensor.scale)) + tensor.zero_point
    return np.clip(q, -128, 127).astype(np.int64)


def fixed(number):
    """Returns multiplier and shift; multiplier / 2**shift is the float32 that is nearest to the
    number."""
    mantissa, exponent = math.frexp(float(np.float32(number)))
    return int(mantissa * 2**24), 24 - exponent


def round_half_even(value, shift):
    floor, half = value >> shift, 1 << (shift - 1)
    rest = value - (floor << shift)
    return floor + ((rest > half) | ((rest == half) & (floor & 1 == 1)))


class Quantised:
    """A constant as the compiler quantises it: its range holds its elements and 0."""

    def __init__(self, array):
        low, high = min(float(array.min()), 0.0), max(float(array.max()), 0.0)
        step = (high - low) / 255.0
        self.scale = np.float32(step)
        self.zero_point = int(np.clip(np.rint(-128.0 - low / step), -128, 127))
        self.steps = to_bytes(self, array) - self.zero_point


def pair(operator, first, second, output):
    """`first` and `second` have scale and steps."""
    scales = [float(side.scale) / float(output.scale) for side in (first, second)]
    if operator == "Mul":
        multiplier, shift = fixed(float(first.scale) * float(second.scale) / float(output.scale))
        value = first.steps * second.steps * multiplier
    else:
        _, shift = fixed(max(scales))
        a, b = (
            side.steps * min(int(np.rint(math.ldexp(scale, shift))), 2**24 - 1)
            for side, scale in zip((first, second), scales)
        )
        combine = {"Add": np.add, "Sub": np.subtract, "Max": np.maximum, "Min": np.minimum}
        value = combine[operator](a, b)
    return np.clip(round_half_even(value, shift) + output.zero_point, -128, 127)


def depth_to_space(x, block, is_crd):
    n, c, h, w = x.shape
    inner = c // block**2
    if is_crd:
        parts = x.reshape(n, inner, block, block, h, w).transpose(0, 1, 4, 2, 5, 3)
    else:
        parts = x.reshape(n, block, block, inner, h, w).transpose(0, 3, 4, 1, 5, 2)
    return parts.reshape(n, inner, h * block, w * block)


def space_to_depth(x, block):
    n, c, h, w = x.shape
    parts = x.reshape(n, c, h // block, block, w // block, block).transpose(0, 3, 5, 1, 2, 4)
    return parts.reshape(n, c * block**2, h // block, w // block)


def pad_cases():
    image = {"x": (1, 5, 6, 7)}
    around = integers(0, 0, 2, 1, 0, 0, 1, 3)
    widths = ((0, 0), (0, 0), (2, 1), (1, 3))
    yield "zeros", node("Pad", ["x", "p"], ["y"]), image, {"p": around}, lambda x: np.pad(x, widths)
    for mode in ("edge", "reflect"):
        yield (
            mode, node("Pad", ["x", "p"], ["y"], mode=mode), image, {"p": around},
            lambda x, mode=mode: np.pad(x, widths, mode=mode),
        )  # fmt: skip
    for fill in (-7.0, 0.5):
        yield (
            f"of {fill}", node("Pad", ["x", "p", "v"], ["y"]), image,
            {"p": around, "v": np.float32(fill)},
            lambda x, fill=fill: np.pad(x, widths, constant_values=fill),
        )  # fmt: skip
    yield (
        "channels", node("Pad", ["x", "p", "v"], ["y"]), image,
        {"p": integers(0, 3, 0, 1, 0, 2, 1, 0), "v": np.float32(1.5)},
        lambda x: np.pad(x, ((0, 0), (3, 2), (0, 1), (1, 0)), constant_values=1.5),
    )  # fmt: skip
    yield (
        "cut and padded", node("Pad", ["x", "p"], ["y"]), image,
        {"p": integers(0, -1, -2, 3, 0, 0, 1, -1)},
        lambda x: np.pad(x[:, 1:, 2:, :-1], ((0, 0), (0, 0), (0, 1), (3, 0))),
    )  # fmt: skip
    yield (
        "cut alone", node("Pad", ["x", "p"], ["y"]), image, {"p": integers(0, 0, -1, 0, 0, -2, 0, -3)},
        lambda x: x[:, :-2, 1:, :-3],
    )  # fmt: skip
    yield (
        "a token in front", node("Pad", ["x", "p"], ["y"]), {"x": (1, 9, 16)},
        {"p": integers(0, 1, 0, 0, 0, 0)}, lambda x: np.pad(x, ((0, 0), (1, 0), (0, 0))),
    )  # fmt: skip


def block_cases():
    blocks = {"x": (1, 36, 4, 5)}
    for block in (2, 3):
        for mode in ("DCR", "CRD"):
            yield (
                f"{mode} {block}", node("DepthToSpace", ["x"], ["y"], blocksize=block, mode=mode),
                blocks, {},
                lambda x, block=block, mode=mode: depth_to_space(x, block, mode == "CRD"),
            )  # fmt: skip
    yield (
        "space to depth", node("SpaceToDepth", ["x"], ["y"], blocksize=3), {"x": (1, 5, 6, 9)}, {},
        lambda x: space_to_depth(x, 3),
    )  # fmt: skip


def part_cases():
    image = {"x": (1, 9, 6, 7)}
    yield (
        "one position", node("Gather", ["x", "i"], ["y"], axis=1), {"x": (1, 9, 16)},
        {"i": np.array(-2, np.int64)}, lambda x: x[:, -2],
    )  # fmt: skip
    for axis in (1, 2, 3):
        yield (
            f"positions of axis {axis}", node("Gather", ["x", "i"], ["y"], axis=axis), image,
            {"i": integers(4, 3, 0, 1, 2, 2)},
            lambda x, axis=axis: np.take(x, [4, 3, 0, 1, 2, 2], axis=axis),
        )  # fmt: skip
    yield (
        "repeated", node("Tile", ["x", "r"], ["y"]), image, {"r": integers(1, 2, 1, 3)},
        lambda x: np.tile(x, (1, 2, 1, 3)),
    )  # fmt: skip
    yield (
        "spread over pixels", node("Expand", ["x", "s"], ["y"]), {"x": (1, 5, 1, 1)},
        {"s": integers(1, 5, 4, 6)}, lambda x: np.broadcast_to(x, (1, 5, 4, 6)),
    )  # fmt: skip
    yield (
        "spread over channels", node("Expand", ["x", "s"], ["y"]), {"x": (1, 1, 4, 6)},
        {"s": integers(11, 1, 1)}, lambda x: np.broadcast_to(x, (1, 11, 4, 6)),
    )  # fmt: skip
    five = {"x": (1, 6, 2, 3, 8)}
    for perm in ([2, 0, 3, 1, 4], [0, 2, 1, 3, 4], [0, 1, 3, 2, 4], [0, 2, 3, 1, 4]):
        yield (
            f"five axes {perm}", node("Transpose", ["x"], ["y"], perm=perm), five, {},
            lambda x, perm=perm: x.transpose(perm),
        )  # fmt: skip
    yield (
        "windows", node("Transpose", ["x"], ["y"], perm=[0, 1, 3, 2, 4, 5]),
        {"x": (1, 3, 4, 5, 4, 8)}, {}, lambda x: x.transpose(0, 1, 3, 2, 4, 5),
    )  # fmt: skip
    yield (
        "a part of many", node("Gather", ["x", "i"], ["y"], axis=0), {"x": (3, 2, 2, 5, 8)},
        {"i": np.array(1, np.int64)}, lambda x: x[1],
    )  # fmt: skip
    yield (
        "columns of many", node("Slice", ["x", "s", "e", "a"], ["y"]), {"x": (3, 2, 5, 16)},
        {"s": integers(1, 8), "e": integers(4, 16), "a": integers(2, 3)},
        lambda x: x[:, :, 1:4, 8:16],
    )  # fmt: skip
    yield (
        "columns exchanged", node("Transpose", ["x"], ["y"], perm=[0, 1, 3, 2]), image, {},
        lambda x: x.transpose(0, 1, 3, 2),
    )  # fmt: skip


class Case(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def compile(self, nodes, shapes, constants, wanted, samples=None, options=()):
        nodes = nodes if isinstance(nodes, list) else [nodes]
        proto = model(nodes, shapes, {"y": wanted}, constants)
        source = save(proto, self.directory / "m.onnx")
        arguments = list(options)
        for name, shape in shapes.items():
            sample = samples[name] if samples else real(*shape)
            np.save(self.directory / f"{name}.npy", sample)
            arguments += ["--calibration", f"{name}={self.directory / f'{name}.npy'}"]
        succeed("compile", source, "-q", *arguments)
        self.arguments = arguments
        return source.with_suffix(".ovm")

    def bytes_of(self, path, inputs):
        """Returns the outputs of the device as bytes in ONNX's order, and the tensors of the file."""
        file = model_file.ModelFile(path)
        tensors = {tensor.name: tensor for tensor in file.tensors}
        reals = {name: to_real(tensors[name], q) for name, q in inputs.items()}
        got = run(path, reals, self.directory / "run")["y"]
        return to_bytes(tensors["y"], got), tensors

class Bytes(Case):
    """Tests which bytes the device makes of bytes."""

    def check_split(self, path, inputs, whole):
        def compile_with(limit):
            succeed(
                "compile", path.with_suffix(".onnx"), *self.arguments, "--max-time-per-fc", limit,
                "--profile", SLOW,
            )  # fmt: skip

        try:
            compile_with(1000)
        except AssertionError as refusal:
            compile_with(re.search(r"smallest possible value is (\d+)", str(refusal))[1])
        np.testing.assert_array_equal(self.bytes_of(path, inputs)[0], whole)

    def check(self, nodes, shapes, constants, wanted, expect):
        """Checks a network; `expect` makes bytes from the tensors and the bytes of the inputs, all
        by name."""
        path = self.compile(nodes, shapes, constants, wanted)
        self.assertEqual({s["processor"] for s in info(path)["segments"]}, {"BPU"})
        inputs = {n: RANDOM.integers(-128, 128, shape) for n, shape in shapes.items()}
        got, tensors = self.bytes_of(path, inputs)
        np.testing.assert_array_equal(got.reshape(wanted), expect(tensors, inputs))
        self.check_split(path, inputs, got)

    def check_movement(self, cases):
        for title, nodes, shapes, constants, function in cases:
            with self.subTest(case=title):
                shape = function(np.zeros(shapes["x"], np.float32)).shape
                self.check(
                    nodes, shapes, constants, shape,
                    lambda tensors, inputs, function=function: to_bytes(
                        tensors["y"], function(to_real(tensors["x"], inputs["x"]))
                    ),
                )  # fmt: skip

    def test_padding_moves_bytes(self):
        self.check_movement(pad_cases())

    def test_blocks_move_bytes(self):
        self.check_movement(block_cases())

    def test_parts_move_bytes(self):
        self.check_movement(part_cases())

    def test_reductions_sum_and_compare(self):
        shape = (1, 6, 5, 7)
        for operator in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"):
            for axes in ([1], [2], [3], [1, 2], [-1, 1], [2, 3], [1, 2, 3]):
                for keepdims in (0, 1):
                    with self.subTest(operator=operator, axes=axes, keepdims=keepdims):
                        self.check_reduction(operator, shape, axes, keepdims)
        for axes in ([-1], [1], [0, 1, 2]):
            self.check_reduction("ReduceMean", (1, 9, 16), axes, 1)

    def check_reduction(self, operator, shape, axes, keepdims):
        constants, attributes = {}, {"keepdims": keepdims}
        inputs = ["x"]
        if operator == "ReduceSum":
            constants["a"] = integers(*axes)
            inputs.append("a")
        else:
            attributes["axes"] = axes
        axes = tuple(axes)

        def expect(tensors, given):
            x, y = tensors["x"], tensors["y"]
            if operator in ("ReduceMax", "ReduceMin"):
                function = np.max if operator == "ReduceMax" else np.min
                return function(given["x"], axis=axes, keepdims=bool(keepdims))
            sums = (given["x"] - x.zero_point).sum(axis=axes, keepdims=bool(keepdims))
            count = given["x"].size // sums.size if operator == "ReduceMean" else 1
            if operator == "ReduceMean" and axes == (2, 3):  # a pool, which divides last
                factor = float(x.scale) / float(y.scale) / count
            else:
                factor = float(x.scale) / float(y.scale) * (1 / count)
            multiplier, shift = fixed(factor)
            return np.clip(round_half_even(sums * multiplier, shift) + y.zero_point, -128, 127)

        wanted = np.zeros(shape).sum(axis=axes, keepdims=bool(keepdims)).shape
        self.check(node(operator, inputs, ["y"], **attributes), {"x": shape}, constants, wanted, expect)

    def test_constants_of_any_shape_lie_among_the_weights(self):
        cases = [
            ((1, 5, 4, 6), (1, 5, 4, 6)), ((1, 5, 4, 6), (4, 6)), ((1, 5, 4, 6), (4, 1)),
            ((1, 5, 4, 6), (6,)), ((1, 9, 16), (1, 9, 16)), ((1, 9, 16), (9, 1)),
            ((2, 3, 9, 16), (3, 1, 16)), ((1, 5, 1, 1), (1, 5, 4, 6)),
        ]  # fmt: skip
        for operator in ("Add", "Sub", "Mul", "Max", "Min"):
            for shape, constant in cases:
                for leads in (False, True):
                    with self.subTest(operator=operator, shape=shape, constant=constant):
                        self.check_pair(operator, shape, real(*constant), leads)

    def check_pair(self, operator, shape, constant, leads):
        def expect(tensors, given):
            x = Quantised(np.float32([0, 1]))
            x.scale, x.steps = tensors["x"].scale, given["x"] - tensors["x"].zero_point
            sides = [Quantised(constant), x]
            return pair(operator, *(sides if leads else sides[::-1]), tensors["y"])

        names = ["c", "x"] if leads else ["x", "c"]
        wanted = np.broadcast_shapes(shape, constant.shape)
        self.check(node(operator, names, ["y"]), {"x": shape}, {"c": constant}, wanted, expect)


class Programs(Case):
    """Tests which instructions a network becomes."""

    def opcodes(self, path):
        return [int(insn["opcode"]) for insn in model_file.ModelFile(path).program]

    def test_functions_of_one_tensor_are_one_table(self):
        shape = (1, 5, 6, 7)
        for title, nodes, constants, function in functions():
            with self.subTest(function=title):
                path = self.compile(nodes, {"x": shape}, constants, shape, {"x": real(*shape) * 2})
                self.assertEqual(self.opcodes(path), [TABLE])
                q = np.resize(np.arange(-128, 128), shape)
                got, tensors = self.bytes_of(path, {"x": q})
                x, y = tensors["x"], tensors["y"]
                exact = function(to_real(x, q).astype(np.float64)) / float(y.scale) + y.zero_point
                distance = np.abs(got - np.clip(exact, -128, 127))
                self.assertLessEqual(distance.max(), 0.5 + 1e-3)

    def test_what_a_model_rounds_on_the_way_is_rounded_in_the_table(self):
        shape = (1, 1, 16, 16)
        constants = {
            "xs": number(1 / 32), "xz": np.int8(0), "ss": number(1 / 8), "sz": np.int8(-128),
            "ys": number(1 / 32), "yz": np.int8(0),
        }  # fmt: skip
        nodes = [
            node("QuantizeLinear", ["x", "xs", "xz"], ["xq"], name="a"),
            node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"], name="b"),
            node("Sigmoid", ["xd"], ["s"], name="c"),
            node("QuantizeLinear", ["s", "ss", "sz"], ["sq"], name="d"),
            node("DequantizeLinear", ["sq", "ss", "sz"], ["sd"], name="e"),
            node("Mul", ["xd", "sd"], ["m"], name="f"),
            node("QuantizeLinear", ["m", "ys", "yz"], ["yq"], name="g"),
            node("DequantizeLinear", ["yq", "ys", "yz"], ["y"], name="h"),
        ]
        path = self.compile(nodes, {"x": shape}, constants, shape)
        self.assertEqual(self.opcodes(path), [TABLE])
        q = np.arange(-128, 128).reshape(shape)
        x = (q / 32).astype(np.float32)
        got = run(path, {"x": x}, self.directory / "run")["y"]
        rounded = np.rint(8 / (1 + np.exp(-x.astype(np.float64)))) / 8
        np.testing.assert_array_equal(np.rint(got * 32), np.clip(np.rint(x * rounded * 32), -128, 127))

    def test_slopes_per_channel_are_a_product_and_a_comparison(self):
        shape, slopes = (1, 5, 6, 7), real(5, 1, 1, low=0.0, high=0.9)
        x, constants = real(*shape), {"c": slopes}
        path = self.compile(
            node("PRelu", ["x", "c"], ["y"]), {"x": shape}, constants, shape, {"x": x}
        )
        self.assertEqual(self.opcodes(path), [DEPTHWISE, MAX])
        got = run(path, {"x": x}, self.directory / "run")["y"]
        self.assertGreater(cosine(got, np.where(x < 0, x * slopes, x)), 0.999)

    def test_sums_and_means_of_many(self):
        shape, constant = (1, 5, 6, 7), real(5, 6, 7)
        for operator in ("Sum", "Mean", "Max", "Min"):
            x, z = real(*shape), real(*shape)
            path = self.compile(
                node(operator, ["x", "c", "z"], ["y"]), {"x": shape, "z": shape}, {"c": constant},
                shape, {"x": x, "z": z},
            )  # fmt: skip
            self.assertEqual({s["processor"] for s in info(path)["segments"]}, {"BPU"})
            functions = {"Sum": np.sum, "Mean": np.mean, "Max": np.max, "Min": np.min}
            wanted = functions[operator](np.stack([x, np.broadcast_to(constant, shape), z]), axis=0)
            got = run(path, {"x": x, "z": z}, self.directory / "run")["y"]
            self.assertGreater(cosine(got, wanted), 0.999)

    def test_a_shuffle_written_out_is_one_instruction(self):
        to = {
            "CRD": ([1, 3, 2, 2, 4, 5], [0, 1, 4, 2, 5, 3]), "DCR": ([1, 2, 2, 3, 4, 5], [0, 3, 4, 1, 5, 2]),
        }  # fmt: skip
        for mode, (middle, perm) in to.items():
            nodes = [
                node("Reshape", ["x", "m"], ["a"], name="a"),
                node("Transpose", ["a"], ["b"], name="b", perm=perm),
                node("Reshape", ["b", "o"], ["y"]),
            ]
            constants = {"m": integers(*middle), "o": integers(1, 3, 8, 10)}
            shape = (1, 12, 4, 5)
            path = self.compile(nodes, {"x": shape}, constants, (1, 3, 8, 10))
            self.assertEqual(self.opcodes(path), [DEPTH_TO_SPACE])
            q = RANDOM.integers(-128, 128, shape)
            got, _ = self.bytes_of(path, {"x": q})
            np.testing.assert_array_equal(got, depth_to_space(q, 2, mode == "CRD"))

    def test_padding_in_front_of_a_window_is_the_windows(self):
        nodes = [node("Pad", ["x", "p"], ["a"], name="a"), node("Conv", ["a", "w"], ["y"], strides=[2, 2])]
        constants = {"p": integers(0, 0, 1, 2, 0, 0, 2, 1), "w": real(4, 3, 3, 3)}
        x = real(1, 3, 9, 9)
        path = self.compile(nodes, {"x": x.shape}, constants, (1, 4, 5, 5), {"x": x})
        self.assertEqual(self.opcodes(path), [CONV])
        padded = np.pad(x, ((0, 0), (0, 0), (1, 2), (2, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::2, ::2]
        wanted = np.einsum("ncyxij,ocij->noyx", windows, constants["w"])
        got = run(path, {"x": x}, self.directory / "run")["y"]
        self.assertGreater(cosine(got, wanted), 0.999)

    def test_patches_become_tokens_without_a_copy(self):
        nodes = [
            node("Conv", ["x", "w"], ["a"], name="patches", strides=[2, 2]),
            node("Reshape", ["a", "s"], ["b"], name="flat"),
            node("Transpose", ["b"], ["c"], name="tokens", perm=[0, 2, 1]),
            node("MatMul", ["c", "m"], ["y"], name="matmul"),
        ]
        constants = {"w": real(16, 3, 2, 2), "s": integers(1, 16, -1), "m": real(16, 8)}
        x = real(1, 3, 8, 8)
        path = self.compile(nodes, {"x": x.shape}, constants, (1, 16, 8), {"x": x})
        self.assertEqual(self.opcodes(path), [CONV, CONV])
        patches = x.reshape(3, 4, 2, 4, 2).transpose(1, 3, 0, 2, 4).reshape(16, 12)
        wanted = patches @ constants["w"].reshape(16, 12).T @ constants["m"]
        got = run(path, {"x": x}, self.directory / "run")["y"]
        self.assertGreater(cosine(got, wanted), 0.999)

    def test_a_constant_is_joined_to_tokens(self):
        nodes = [node("MatMul", ["x", "m"], ["a"], name="a"), node("Concat", ["c", "a"], ["y"], axis=1)]
        x, constants = real(1, 5, 16), {"m": real(16, 16), "c": real(1, 1, 16)}
        path = self.compile(nodes, {"x": x.shape}, constants, (1, 6, 16), {"x": x})
        self.assertEqual({s["processor"] for s in info(path)["segments"]}, {"BPU"})
        got = run(path, {"x": x}, self.directory / "run")["y"]
        wanted = np.concatenate([constants["c"], x @ constants["m"]], axis=1)
        self.assertGreater(cosine(got, wanted), 0.999)

    def test_attention_of_one_matrix_stays_on_the_device(self):
        """Query, key and value come from one product, as PyTorch's image models export them."""
        tokens, heads, size = 10, 3, 8
        width = heads * size
        nodes = [
            node("MatMul", ["x", "w"], ["qkv"], name="qkv"),
            node("Reshape", ["qkv", "five"], ["split"], name="split"),
            node("Transpose", ["split"], ["parts"], name="parts", perm=[2, 0, 3, 1, 4]),
            *(node("Gather", ["parts", f"n{i}"], [n], name=n, axis=0) for i, n in enumerate("qkv")),
            node("Transpose", ["k"], ["kt"], name="kt", perm=[0, 1, 3, 2]),
            node("MatMul", ["q", "kt"], ["scores"], name="scores"),
            node("MatMul", ["scores", "v"], ["mixed"], name="mixed"),
            node("Transpose", ["mixed"], ["back"], name="back", perm=[0, 2, 1, 3]),
            node("Reshape", ["back", "three"], ["flat"], name="flat"),
            node("MatMul", ["flat", "o"], ["y"], name="out"),
        ]
        constants = {f"n{i}": np.array(i, np.int64) for i in range(3)}
        constants |= {
            "w": real(width, 3 * width) * 0.2, "o": real(width, width) * 0.2,
            "five": integers(1, tokens, 3, heads, size), "three": integers(1, tokens, width),
        }  # fmt: skip
        x = real(1, tokens, width)
        path = self.compile(nodes, {"x": x.shape}, constants, x.shape, {"x": x})
        self.assertEqual({s["processor"] for s in info(path)["segments"]}, {"BPU"})
        self.assertNotIn(COPY, self.opcodes(path))
        q, k, v = (x @ constants["w"]).reshape(tokens, 3, heads, size).transpose(1, 2, 0, 3)
        mixed = (q @ k.transpose(0, 2, 1) @ v).transpose(1, 0, 2).reshape(1, tokens, width)
        got = run(path, {"x": x}, self.directory / "run")["y"]
        self.assertGreater(cosine(got, mixed @ constants["o"]), 0.99)

    def test_what_cannot_be_reshaped_on_the_device_keeps_no_product_from_it(self):
        nodes = [
            node("Conv", ["x", "w"], ["a"], name="conv"), node("Reshape", ["a", "s"], ["b"], name="shape"),
            node("MatMul", ["b", "m"], ["y"], name="matmul"),
        ]  # fmt: skip
        constants = {"w": real(6, 3, 1, 1), "s": integers(8, 12), "m": real(12, 5)}
        x = real(1, 3, 4, 4)
        path = self.compile(nodes, {"x": x.shape}, constants, (8, 5), {"x": x})
        segments = info(path)["segments"]
        self.assertEqual([s["processor"] for s in segments], ["BPU", "CPU", "BPU"])
        self.assertEqual(len(segments[1]["ops"]), 1)
        wanted = np.einsum("oc,chw->ohw", constants["w"][:, :, 0, 0], x[0]).reshape(8, 12)
        got = run(path, {"x": x}, self.directory / "run")["y"]
        self.assertGreater(cosine(got, wanted @ constants["m"]), 0.99)

    def test_scores_are_scaled_where_they_are_requantised(self):
        nodes = [
            node("Transpose", ["z"], ["t"], name="t", perm=[0, 2, 1]),
            node("MatMul", ["x", "t"], ["a"], name="a"), node("Div", ["a", "root"], ["y"]),
        ]  # fmt: skip
        shape = (3, 10, 16)
        x, z = real(*shape), real(*shape)
        samples = {"x": x, "z": z}
        path = self.compile(
            nodes, {"x": shape, "z": shape}, {"root": number(4)}, (3, 10, 10), samples
        )
        self.assertEqual(self.opcodes(path), [MATMUL])
        got = run(path, {"x": x, "z": z}, self.directory / "run")["y"]
        self.assertGreater(cosine(got, x @ z.transpose(0, 2, 1) / 4), 0.999)

    def test_a_normalisation_takes_its_scale_and_offset_along(self):
        nodes = [
            node("ReduceMean", ["x"], ["m"], axes=[2], name="mean"),
            node("Sub", ["x", "m"], ["d"], name="sub"),
            node("Mul", ["d", "d"], ["q"], name="square"),
            node("ReduceMean", ["q"], ["v"], axes=[-1], name="variance"),
            node("Add", ["v", "e"], ["t"], name="add"),
            node("Sqrt", ["t"], ["r"], name="sqrt"),
            node("Div", ["d", "r"], ["n"], name="div"),
            node("Mul", ["n", "w"], ["s"], name="scale"),
            node("Add", ["b", "s"], ["y"], name="offset"),
        ]
        shape = (1, 6, 16)
        constants = {"w": real(16), "b": real(16), "e": number(1e-5)}
        path = self.compile(nodes, {"x": shape}, constants, shape)
        segments = info(path)["segments"]
        self.assertEqual([[op["type"] for op in s["ops"]] for s in segments], [["Normalize"]])
        x = real(*shape)
        centred = x - x.mean(axis=2, keepdims=True)
        wanted = centred / np.sqrt((centred**2).mean(axis=2, keepdims=True) + 1e-5)
        got = run(path, {"x": x}, self.directory / "run")["y"]
        np.testing.assert_allclose(got, wanted * constants["w"] + constants["b"], atol=1e-4)


if __name__ == "__main__":
    unittest.main()
