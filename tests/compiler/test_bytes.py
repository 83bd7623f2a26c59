# SPDX-License-Identifier: MIT
"""Bytes as numbers: what DynamicQuantizeLinear makes, BitShift, and Cast of inputs."""

import itertools
import pathlib
import tempfile
import unittest

import numpy as np
from onnx import TensorProto

from overtake_command import float_and_compiled, info, overtake, succeed
from small_models import model, node, save

RANDOM = np.random.default_rng(23)
F = np.float32
TYPES = {
    np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.uint16): TensorProto.UINT16,
    np.dtype(np.uint32): TensorProto.UINT32, np.dtype(np.uint64): TensorProto.UINT64,
    np.dtype(np.float32): TensorProto.FLOAT,
}  # fmt: skip


def quantised(x):
    """Returns bytes, scale and zero point, in float32 as ONNX defines them; the scale is 1 if all
    are zeros."""
    least, most = min(F(0), x.min()), max(F(0), x.max())
    scale = (most - least) / F(255) or F(1)
    zero = np.clip(np.rint((F(0) - least) / scale), 0, 255)
    return np.clip(np.rint(x / scale) + zero, 0, 255).astype(np.uint8), F(scale), zero.astype(np.uint8)


class Bytes(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def results(self, nodes, inputs, outputs, constants=None, opset=13):
        """Returns the results in float and of the compiled model; `outputs` are types by name."""
        types = {name: TYPES[array.dtype] for name, array in inputs.items()} | outputs
        constants = {name: np.asarray(array) for name, array in (constants or {}).items()}
        proto = model(nodes, {n: a.shape for n, a in inputs.items()}, dict.fromkeys(outputs), constants,
                      opset=opset, types=types)  # fmt: skip
        path = save(proto, self.folder / "m.onnx")
        return float_and_compiled(path, inputs, outputs, self.folder)

    def refusal(self, nodes, shape, outputs, constants, types):
        proto = model(nodes, {"x": shape}, dict.fromkeys(outputs), constants, types=types)
        result = overtake("compile", save(proto, self.folder / "m.onnx"), "-q")
        self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1), result.stderr)
        return result.stderr


class QuantisedAtRunTime(Bytes):
    quantiser = node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"])

    def test_its_three_outputs(self):
        outputs = {"q": TensorProto.UINT8, "s": TensorProto.FLOAT, "z": TensorProto.UINT8}
        for opset, (low, high), shape in itertools.product(
            (11, 13, 17), ((-2, 5), (0.5, 3), (-4, -1), (0, 0)), ((3, 4), (1, 2, 5, 4), (7,))
        ):
            x = RANDOM.uniform(low, high, shape).astype(F)
            with self.subTest(opset=opset, low=low, shape=shape):
                for got in self.results([self.quantiser], {"x": x}, outputs, opset=opset):
                    for name, wanted in zip(outputs, quantised(x)):
                        np.testing.assert_array_equal(got[name], wanted)
                        self.assertEqual(got[name].dtype, wanted.dtype)

    def test_halves_go_to_the_even_byte(self):
        x = np.array([0, 255, 0.5, 1.5, 2.5, 100.5], F)
        for got in self.results([self.quantiser], {"x": x}, {"q": TensorProto.UINT8}):
            np.testing.assert_array_equal(got["q"], [0, 255, 0, 2, 2, 100])

    def test_bytes_that_become_reals_again(self):
        x = RANDOM.normal(size=(2, 3, 4)).astype(F)
        q, s, z = quantised(x)
        back = node("DequantizeLinear", ["q", "s", "z"], ["y"])
        for got in self.results([self.quantiser, back], {"x": x}, {"y": TensorProto.FLOAT}):
            np.testing.assert_array_equal(got["y"], (q.astype(F) - z.astype(F)) * s)
        back = node("DequantizeLinear", ["q", "s"], ["y"])
        for got in self.results([self.quantiser, back], {"x": x}, {"y": TensorProto.FLOAT}):
            np.testing.assert_array_equal(got["y"], q.astype(F) * s)

    def test_a_scale_for_each_position_along_an_axis(self):
        x = np.arange(64, dtype=F).reshape(1, 4, 4, 4)
        q, _, _ = quantised(x)
        scales = F([1, 10, 100, 1000])
        for attributes, axis in (({"axis": 1}, 1), ({}, 1), ({"axis": -1}, 3), ({"axis": 2}, 2)):
            along = (4,) + (1,) * (3 - axis)
            for zero in (np.uint8(0), np.array([0, 5, 17, 255], np.uint8)):
                back = node("DequantizeLinear", ["q", "scales", "zero"], ["y"], **attributes)
                zeros = zero.astype(F) if zero.ndim == 0 else zero.astype(F).reshape(along)
                wanted = (q.astype(F) - zeros) * scales.reshape(along)
                with self.subTest(**attributes, zero=zero):
                    for got in self.results([self.quantiser, back], {"x": x}, {"y": TensorProto.FLOAT},
                                            {"scales": scales, "zero": zero}):  # fmt: skip
                        np.testing.assert_array_equal(got["y"], wanted)

    def test_scales_that_do_not_fit_are_refused(self):
        for scales, axis, said in (
            (F([1, 2, 3]), 1, "input 'scales' has 3 numbers, but axis 1 of input 'q' has size 4"),
            (F([1, 2, 3, 4]), 2, "axis 2 lies outside the 2 dimensions of input 'q'"),
            (F([[1, 2, 3, 4]]), 1, "input 'scales' must be a single number or one for each position along the axis"),
        ):
            back = node("DequantizeLinear", ["q", "scales"], ["y"], axis=axis, name="back")
            with self.subTest(said):
                stderr = self.refusal([self.quantiser, back], (2, 4), ["y"], {"scales": scales}, {"y": TensorProto.FLOAT})
                self.assertIn("node 'back' (DequantizeLinear)", stderr)
                self.assertIn(said, stderr)

    def test_many_that_stay(self):
        """The compiler visits all nodes once, not once for each of them."""
        count, x = 2000, RANDOM.normal(size=(3, 4)).astype(F)
        nodes = []
        for number in range(count):
            made = [f"{name}{number}" for name in "qsz"]
            nodes += [node("DynamicQuantizeLinear", ["x"], made, name=f"to{number}"),
                      node("DequantizeLinear", made, [f"y{number}"], name=f"from{number}")]  # fmt: skip
        outputs = ["y0", f"y{count - 1}"]
        path = save(model(nodes, {"x": x.shape}, dict.fromkeys(outputs)), self.folder / "m.onnx")
        np.save(self.folder / "x.npy", x)
        succeed("run", path, "--input", f"x={self.folder / 'x.npy'}", "-q", "--output-dir", self.folder)
        q, s, z = quantised(x)
        for name in outputs:
            np.testing.assert_array_equal(np.load(self.folder / f"{name}.npy"), (q.astype(F) - z.astype(F)) * s)

    def test_what_is_computed_of_them(self):
        x = RANDOM.normal(size=(4, 6)).astype(F)
        q, s, z = quantised(x)
        nodes = [self.quantiser, node("Cast", ["q"], ["i"], to=TensorProto.INT32),
                 node("Cast", ["z"], ["j"], name="zero", to=TensorProto.INT32), node("Sub", ["i", "j"], ["d"]),
                 node("Cast", ["d"], ["y"], name="real", to=TensorProto.FLOAT),
                 node("Mul", ["s", "two"], ["t"])]  # fmt: skip
        outputs = {"y": TensorProto.FLOAT, "t": TensorProto.FLOAT}
        for got in self.results(nodes, {"x": x}, outputs, {"two": F(2)}):
            np.testing.assert_array_equal(got["y"], q.astype(F) - z)
            np.testing.assert_array_equal(got["t"], s * 2)

    def test_beside_a_product_of_integers_and_behind_the_device(self):
        """The product is one in float; the bytes are made from what the device computes."""
        x, weights = RANDOM.normal(size=(1, 3, 8, 8)).astype(F), RANDOM.normal(size=(4, 3, 3, 3)).astype(F)
        matrix = RANDOM.integers(-127, 128, (6, 5)).astype(np.int8)
        nodes = [
            node("Conv", ["x", "w"], ["c"]), node("DynamicQuantizeLinear", ["c"], ["q", "s", "z"], name="kept"),
            node("DequantizeLinear", ["q", "s", "z"], ["y"]),
            node("DynamicQuantizeLinear", ["c"], ["r", "rs", "rz"], name="gone"),
            node("MatMulInteger", ["r", "m", "rz"], ["j"]), node("Cast", ["j"], ["g"], to=TensorProto.FLOAT),
            node("Mul", ["g", "rs"], ["p"]),
        ]  # fmt: skip
        outputs = {"y": TensorProto.FLOAT, "p": TensorProto.FLOAT}
        in_float, in_int8 = self.results(nodes, {"x": x}, outputs, {"w": weights, "m": matrix})
        windows = np.lib.stride_tricks.sliding_window_view(x[0], (3, 3), axis=(1, 2))
        convolved = np.einsum("chwij,ocij->ohw", windows, weights)
        q, s, z = quantised(convolved.astype(F))
        self.assertLess(np.abs(in_float["y"][0] - (q.astype(F) - z) * s).max(), s * 1.01)
        np.testing.assert_allclose(in_float["p"][0], convolved @ matrix.astype(F), rtol=1e-4, atol=1e-2)
        self.assertLess(np.abs(in_int8["y"][0] - convolved).max(), 4 * s)
        kinds = {segment["processor"] for segment in info(self.folder / "m.ovm")["segments"]}
        self.assertEqual(kinds, {"BPU", "CPU"})

    def test_arithmetic_in_bytes_is_refused(self):
        nodes = [self.quantiser, node("Add", ["q", "q"], ["y"])]
        said = self.refusal(nodes, (3, 4), ["y"], None, {"y": TensorProto.UINT8})
        self.assertIn("node 'my_add' (Add)", said)


class Shifts(Bytes):
    def test_of_inputs(self):
        for kind, direction in itertools.product(TYPES, ("LEFT", "RIGHT")):
            if kind == np.float32:
                continue
            bits = 8 * kind.itemsize
            x = RANDOM.integers(0, 2 ** min(bits, 24), (3, 40)).astype(kind)
            by = RANDOM.integers(0, min(bits, 20), (3, 40)).astype(kind)
            if direction == "LEFT" and bits > 16:  # float32 holds these exactly
                x >>= by
            wanted = x << by if direction == "LEFT" else x >> by
            shift = node("BitShift", ["x", "by"], ["y"], direction=direction)
            for inputs, constants in (({"x": x, "by": by}, {}), ({"x": x}, {"by": by})):
                with self.subTest(kind=kind, direction=direction, constant=bool(constants)):
                    for got in self.results([shift], inputs, {"y": TYPES[kind]}, constants):
                        np.testing.assert_array_equal(got["y"], wanted)
                        self.assertEqual(got["y"].dtype, kind)

    def test_of_bytes_that_a_node_has_moved(self):
        x = np.arange(24, dtype=np.uint8).reshape(2, 3, 4) * 10
        nodes = [node("Transpose", ["x"], ["t"], perm=[2, 0, 1]), node("BitShift", ["t", "two"], ["b"], direction="LEFT"),
                 node("BitShift", ["b", "one"], ["y"], name="back", direction="RIGHT")]  # fmt: skip
        wanted = (x.transpose(2, 0, 1) << 2) >> 1
        constants = {"two": np.array(2, np.uint8), "one": np.array([1], np.uint8)}
        for got in self.results(nodes, {"x": x}, {"y": TensorProto.UINT8}, constants):
            np.testing.assert_array_equal(got["y"], wanted)

    def test_a_constant_beyond_64_bits_with_a_sign_is_refused(self):
        shift = node("BitShift", ["x", "by"], ["y"], direction="LEFT")
        said = self.refusal([shift], (2,), ["y"], {"by": np.array([2**63, 1], np.uint64)},
                            {"x": TensorProto.UINT64, "y": TensorProto.UINT64})  # fmt: skip
        self.assertIn("constant 'by' holds a number of 2^63 or more; export it in int64", said)


class Casts(Bytes):
    def test_from_bytes_and_to_bytes(self):
        """One network does both; the output keeps its type."""
        x = np.arange(0, 240, 10, dtype=np.uint8).reshape(1, 2, 3, 4)
        nodes = [node("Cast", ["x"], ["f"], to=TensorProto.FLOAT), node("Softmax", ["f"], ["s"]),
                 node("Mul", ["s", "many"], ["m"]), node("Cast", ["m"], ["y"], name="back", to=TensorProto.UINT8)]  # fmt: skip
        powers = np.exp(x.astype(np.float64) - x.max(axis=-1, keepdims=True))
        wanted = (powers / powers.sum(axis=-1, keepdims=True) * 200).astype(np.uint8)
        for got in self.results(nodes, {"x": x}, {"y": TensorProto.UINT8}, {"many": F(200)}):
            np.testing.assert_array_equal(got["y"], wanted)
            self.assertEqual(got["y"].dtype, np.uint8)


if __name__ == "__main__":
    unittest.main()
