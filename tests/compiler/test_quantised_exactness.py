# SPDX-License-Identifier: MIT
"""Quantised models give the codes that ONNX defines, or ones within the bounds of
docs/reference/operators.md: random networks (quantised_exactness.py), and what once did not."""

import os
import unittest

import numpy as np
from onnx import TensorProto, helper

import quantised_definition
import quantised_exactness
import random_qdq
import small_models
from overtake_command import info, overtake, run
from test_prequantised import Case, dequantize, quantize, round_trip

NETWORKS = int(os.environ.get("OVERTAKE_QUANTISED", 134))  # each first step comes twice


class Random(unittest.TestCase):
    def test_networks_are_within_the_bounds(self):
        rows, failures, worst = quantised_exactness.run(1, NETWORKS, os.cpu_count())
        quantised_exactness.print_rows(rows, worst)
        for seed, why in sorted(failures.items()):
            with self.subTest(seed=seed):
                self.fail(f"quantised_exactness.py --seed {seed} --count 1: {why}")
        for label, why in quantised_exactness.beyond_bounds(rows).items():
            with self.subTest(label):
                self.fail(f"{why}, seed {worst.get(label)}")

    def test_a_step_too_many_is_noticed(self):
        case = random_qdq.make(1)
        network = quantised_definition.Definition(case.model)
        (*_, result) = network.run({name: array[:1] for name, array in case.inputs.items()})
        wrong = result.codes.copy()
        wrong.flat[-1] = wrong.flat[-1] ^ 1
        row = quantised_exactness.Checker._compare(result, wrong)
        self.assertEqual((row.differ, row.greatest), (1, 1))
        self.assertTrue(quantised_exactness.beyond_bounds({"Relu": row}))

    def test_the_documented_table_has_a_row_for_each_bound(self):
        text = (quantised_exactness.DOCUMENT).read_text()
        for label in quantised_exactness.BOUNDS:
            self.assertIn(f"| {label} |", text)


class Defined(Case):
    """Each model's outputs are the definition's to the bit."""

    shape = (1, 8, 4, 4)

    def sample(self, shape=None, size=40.0):
        return np.random.default_rng(1).normal(0, size, shape or self.shape).astype(np.float32)

    def assert_exact(self, model, x, on_cpu=None, **others):
        inputs = {"x": x, **others}
        network = quantised_definition.Definition(model)
        network.run(inputs)
        path = self.compile(model)
        got = run(path, inputs, self.directory)
        for output in model.graph.output:
            wanted = network.tensors[output.name]
            scale = np.abs(wanted).max()
            np.testing.assert_allclose(got[output.name], wanted, rtol=0, atol=1e-6 * scale)
        if on_cpu is not None:
            processors = {node["name"]: node["processor"] for node in info(path)["nodes"]}
            self.assertLessEqual(on_cpu, {name for name, p in processors.items() if p == "CPU"})
        return path

    def test_concat_of_differing_scales(self):
        """Each input is rounded to the output's scale, whatever its own scale is."""
        for coarse, fine, wide in ((0.5, 0.004, 0.01), (0.05, 0.01, 0.02), (7.0, 0.02, 0.01)):
            nodes = [
                quantize("x", "a", "coarse"), dequantize("a", "b", "coarse"),
                small_models.node("Sigmoid", ["b"], ["c"]),
                quantize("c", "d", "fine", "low"), dequantize("d", "e", "fine", "low"),
                small_models.node("Concat", ["b", "e"], ["f"], axis=1),
                quantize("f", "g", "wide"), dequantize("g", "y", "wide"),
            ]  # fmt: skip
            scales = {"coarse": coarse, "fine": fine, "wide": wide}
            model = round_trip(
                nodes,
                {"low": np.int8(-128), **{n: np.float32(s) for n, s in scales.items()}},
                outputs={"y": (1, 16, 4, 4)},
            )
            with self.subTest(scales=scales):
                self.assert_exact(model, self.sample())

    def test_concat_of_codes(self):
        nodes = [
            quantize("x", "a"),
            small_models.node("Sigmoid", ["x"], ["b"]), quantize("b", "c", "fine"),
            helper.make_node(
                "QLinearConcat", ["wide", "z", "a", "s", "z", "c", "fine", "z"], ["d"],
                domain="com.microsoft", axis=2,
            ),
            dequantize("d", "y", "wide"),
        ]  # fmt: skip
        model = round_trip(
            nodes, {"fine": np.float32(0.01), "wide": np.float32(0.2)}, outputs={"y": (1, 8, 8, 4)}
        )
        model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
        self.assert_exact(model, self.sample(size=3))

    def test_a_concat_that_two_quantise_differently(self):
        nodes = [
            quantize("x", "a"), dequantize("a", "b"),
            small_models.node("Sigmoid", ["b"], ["c"]),
            quantize("c", "d", "fine"), dequantize("d", "e", "fine"),
            small_models.node("Concat", ["b", "e"], ["f"], axis=1),
            quantize("f", "g", "fine"), dequantize("g", "y", "fine"),
            quantize("f", "h", "wide"), dequantize("h", "w", "wide"),
        ]  # fmt: skip
        shape = (1, 16, 4, 4)
        model = round_trip(
            nodes, {"fine": np.float32(0.01), "wide": np.float32(0.75)},
            outputs={"y": shape, "w": shape},
        )  # fmt: skip
        self.assert_exact(model, self.sample())

    def test_padding_rounded_to_another_scale(self):
        nodes = [
            quantize("x", "a"), dequantize("a", "b"),
            small_models.node("Pad", ["b", "pads", "value"], ["c"]),
            quantize("c", "d", "wide"), dequantize("d", "y", "wide"),
        ]  # fmt: skip
        constants = {
            "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64), "value": np.float32(150),
            "wide": np.float32(2),
        }  # fmt: skip
        model = round_trip(nodes, constants, outputs={"y": (1, 8, 6, 6)})
        self.assert_exact(model, self.sample())

    def test_what_the_cpu_computes_is_rounded(self):
        """The result is rounded although only the CPU reads it."""
        nodes = [
            quantize("x", "a"), dequantize("a", "b"),
            small_models.node("Softmax", ["b"], ["c"], axis=1),
            quantize("c", "d", "coarse", "low"), dequantize("d", "y", "coarse", "low"),
        ]  # fmt: skip
        constants = {"coarse": np.float32(0.125), "low": np.int8(-128)}
        path = self.assert_exact(round_trip(nodes, constants), self.sample(size=1))
        got = run(path, {"x": self.sample(size=1)}, self.directory)["y"]
        self.assertLessEqual(len(np.unique(got)), 9)

    def test_batches_are_rounded(self):
        shape = (3, 8, 4, 4)
        nodes = [
            quantize("x", "a", "coarse"), dequantize("a", "b", "coarse"),
            small_models.node("GlobalAveragePool", ["b"], ["c"]),
            quantize("c", "d"), dequantize("d", "y"),
        ]  # fmt: skip
        constants = {"coarse": np.float32(3)}
        model = round_trip(nodes, constants, shape=shape, outputs={"y": (3, 8, 1, 1)})
        self.assert_exact(model, self.sample(shape, 4))

    def test_a_float_tensor_that_two_quantise_differently(self):
        """The tensor is the input here; its range cannot be chosen."""
        nodes = [
            quantize("x", "a", "fine"), dequantize("a", "y", "fine"),
            quantize("x", "b", "wide"), dequantize("b", "w", "wide"),
        ]  # fmt: skip
        constants = {"fine": np.float32(0.01), "wide": np.float32(0.75)}
        model = round_trip(nodes, constants, outputs={"y": self.shape, "w": self.shape})
        self.assert_exact(model, self.sample())

    def convolution(self, weights, zero, scale=0.004, **attributes):
        outputs = (1, weights.shape[0], 4, 4)
        nodes = [
            quantize("x", "a"), dequantize("a", "b"), dequantize("w", "v", "ws", "wz"),
            small_models.node("Conv", ["b", "v"], ["c"], **attributes),
            quantize("c", "d"), dequantize("d", "y"),
        ]  # fmt: skip
        constants = {"w": weights, "ws": np.float32(scale), "wz": weights.dtype.type(zero)}
        return round_trip(nodes, constants, outputs={"y": outputs})

    def test_weights_of_nine_bits_are_exact_on_the_device(self):
        random = np.random.default_rng(3)
        for shape, attributes in (
            ((8, 8, 1, 1), {}),
            ((6, 8, 3, 3), {"pads": [1, 1, 1, 1]}),
            ((8, 1, 3, 3), {"pads": [1, 1, 1, 1], "group": 8}),
            ((8, 2, 3, 2), {"pads": [1, 0, 1, 1], "group": 4}),
        ):
            weights = random.integers(0, 256, shape).astype(np.uint8)
            with self.subTest(shape=shape):
                path = self.assert_exact(self.convolution(weights, 30, **attributes), self.sample())
                nodes = [node for node in info(path)["nodes"] if node["type"] == "Conv"]
                self.assertEqual({node["processor"] for node in nodes}, {"BPU"})

    def test_a_constant_operand_keeps_its_codes(self):
        random = np.random.default_rng(5)
        nodes = [
            quantize("x", "a"), dequantize("a", "b"), dequantize("k", "c", "ks", "kz"),
            small_models.node("Add", ["b", "c"], ["d"]),
            quantize("d", "e"), dequantize("e", "y"),
        ]  # fmt: skip
        constants = {
            "k": random.integers(-100, 20, self.shape).astype(np.int8), "ks": np.float32(0.3),
            "kz": np.int8(11),
        }  # fmt: skip
        self.assert_exact(round_trip(nodes, constants), self.sample(size=5))

    def test_interpolation_is_not_rounded_to_the_scale_of_its_input(self):
        nodes = [
            quantize("x", "a", "coarse"), dequantize("a", "b", "coarse"),
            small_models.node(
                "Resize", ["b", "", "scales"], ["c"], mode="linear",
                coordinate_transformation_mode="asymmetric",
            ),
            quantize("c", "d"), dequantize("d", "y"),
        ]  # fmt: skip
        constants = {"coarse": np.float32(8), "scales": np.array([1, 1, 2, 2], np.float32)}
        model = round_trip(nodes, constants, outputs={"y": (1, 8, 8, 8)})
        self.assert_exact(model, self.sample())

    def test_what_has_no_scale_runs_on_the_cpu_and_is_named(self):
        nodes = [
            quantize("x", "a"), dequantize("a", "b"), dequantize("w", "v", "ws", "wz"),
            small_models.node("Conv", ["b", "v"], ["c"], name="bare"),
            small_models.node("Sigmoid", ["c"], ["d"], name="gate"),
            small_models.node("Mul", ["c", "d"], ["e"], name="product"),
            quantize("e", "f"), dequantize("f", "y"),
        ]  # fmt: skip
        constants = {
            "w": np.random.default_rng(2).integers(-99, 99, (8, 8, 1, 1)).astype(np.int8),
            "ws": np.float32(0.004), "wz": np.int8(0),
        }  # fmt: skip
        model = round_trip(nodes, constants)
        self.assert_exact(model, self.sample(size=8), on_cpu={"bare"})
        path = self.directory / "model.onnx"
        result = overtake("compile", path)
        self.assertIn("gives no scales for", result.stderr)
        self.assertIn("'bare'", result.stderr)
        np.save(self.directory / "x.npy", self.sample(size=8))
        result = overtake("compile", path, "--calibration", self.directory / "x.npy")
        self.assertNotIn("gives no scales for", result.stderr)
        nodes = info(path.with_suffix(".ovm"))["nodes"]
        (node,) = [node for node in nodes if node["name"] == "bare"]
        self.assertEqual(node["processor"], "BPU")


class Refusals(Case):
    def test_types_of_other_sizes(self):
        for array in (np.int16, np.uint16):
            nodes = [quantize("x", "a", zero="wide"), dequantize("a", "y", zero="wide")]
            model = round_trip(nodes, {"wide": array(3)})
            self.assertIn(np.dtype(array).name, self.refusal(model))

    def test_a_zero_point_of_another_type(self):
        nodes = [quantize("x", "a"), dequantize("a", "y", zero="other")]
        model = round_trip(nodes, {"other": np.uint8(3)})
        self.assertIn("dq_y", self.refusal(model))

    def test_codes_that_nothing_dequantises(self):
        nodes = [quantize("x", "a"), small_models.node("Add", ["a", "a"], ["y"])]
        model = round_trip(nodes, {})
        model.graph.output[0].type.tensor_type.elem_type = TensorProto.INT8
        self.assertIn("only operators that move elements", self.refusal(model))


if __name__ == "__main__":
    unittest.main()
