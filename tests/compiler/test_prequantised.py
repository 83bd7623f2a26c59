# SPDX-License-Identifier: MIT
"""Models that come quantised, QDQ and QOperator, compute what ONNX defines, with their own scales."""

import pathlib
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import small_models
from overtake_command import SOURCE, info, overtake, run, succeed

import float_reference
import quantise_model

GLYPHS = SOURCE / "models/glyphs"
POINT = 0.01
STYLES = [(s, a) for s in ("qdq", "qoperator") for a in ("uint8", "int8")]


def accuracy(probabilities, labels):
    return float((probabilities.argmax(axis=1) == labels).mean())


class Case(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def compile(self, model, *arguments):
        path = small_models.save(model, self.directory / "model.onnx")
        succeed("compile", path, "-q", *arguments)
        return path.with_suffix(".ovm")

    def refusal(self, model):
        path = small_models.save(model, self.directory / "refused.onnx")
        result = overtake("compile", path)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertFalse(path.with_suffix(".ovm").exists())
        return result.stderr


class Glyphs(Case):
    @classmethod
    def setUpClass(cls):
        cls.images = np.load(GLYPHS / "heldout_images.npy").astype(np.float32)
        cls.labels = np.load(GLYPHS / "heldout_labels.npy")
        cls.model = onnx.load(str(GLYPHS / "glyphs.onnx"))
        cls.samples = np.load(GLYPHS / "calibration.npy").astype(np.float32)
        network = float_reference.Network(cls.model)
        cls.float_result = network.run_images({"image": cls.images})["probabilities"]
        cls.quantised = {
            style: quantise_model.quantise(cls.model, cls.samples, *style) for style in STYLES
        }
        defined = float_reference.Network(cls.quantised["qdq", "uint8"])
        cls.defined = defined.run_images({"image": cls.images})["probabilities"]

    def results(self):
        for style, model in self.quantised.items():
            path = self.compile(model)
            yield style, run(path, {"image": self.images}, self.directory)["probabilities"]

    def test_accuracy_is_within_a_point_of_float(self):
        wanted = accuracy(self.float_result, self.labels) - POINT
        for style, result in self.results():
            with self.subTest(style=style):
                self.assertGreaterEqual(accuracy(result, self.labels), wanted)

    def test_results_are_what_onnx_defines(self):
        """Float sums round otherwise than integers do, about once in many thousand elements."""
        for style, result in self.results():
            with self.subTest(style=style):
                differs = ~np.isclose(result, self.defined, rtol=1e-4, atol=1e-7).all(axis=1)
                self.assertLess(differs.mean(), 0.02)
                np.testing.assert_array_equal(
                    result.argmax(axis=1)[~differs], self.defined.argmax(axis=1)[~differs]
                )

    def test_samples_change_nothing(self):
        path = self.compile(self.quantised["qdq", "int8"])
        without = run(path, {"image": self.images[:8]}, self.directory)["probabilities"]
        path = self.compile(
            self.quantised["qdq", "int8"], "--calibration", GLYPHS / "calibration.npy"
        )
        given = run(path, {"image": self.images[:8]}, self.directory)["probabilities"]
        np.testing.assert_array_equal(without, given)

    def test_the_input_has_the_scale_that_the_model_gives(self):
        for style, model in self.quantised.items():
            with self.subTest(style=style):
                (tensor,) = info(self.compile(model))["inputs"]
                self.assertEqual(tensor["scale"], 1.0)
                self.assertEqual(tensor["zero_point"], -128)


def round_trip(nodes, constants, shape=(1, 8, 4, 4), outputs=None):
    return small_models.model(
        nodes, {"x": shape}, outputs or {"y": shape},
        {"s": np.float32(0.5), "z": np.int8(3), **constants},
    )


def quantize(source, target, scale="s", zero="z"):
    return small_models.node("QuantizeLinear", [source, scale, zero], [target], name=f"q_{target}")


def dequantize(source, target, scale="s", zero="z", **attributes):
    return small_models.node(
        "DequantizeLinear", [source, scale, zero], [target], name=f"dq_{target}", **attributes
    )


class Small(Case):
    def assert_defined(self, model, x, steps=0.0, halves=0):
        """Every element is what ONNX says, or off by `steps` where a sum was near a half.

        As many as `halves` may be off by one step of 0.5: each BLAS adds in an order of its own.
        """
        wanted = float_reference.Network(model).run({"x": x})["y"]
        got = run(self.compile(model), {"x": x}, self.directory)["y"]
        off = np.abs(got - wanted) > steps + 1e-6
        self.assertLessEqual(np.count_nonzero(off), halves, (got, wanted))
        np.testing.assert_allclose(got[off], wanted[off], rtol=0, atol=0.5 + 1e-6)
        return got

    def sample(self, shape=(1, 8, 4, 4), size=40.0):
        return np.random.default_rng(1).normal(0, size, shape).astype(np.float32)

    def test_what_a_tensor_is_rounded_to_stays(self):
        """A Relu behind a rounding is not merged into the node in front of it."""
        nodes = [
            quantize("x", "a"), dequantize("a", "b"), dequantize("w", "v", "one", "zero"),
            small_models.node("Conv", ["b", "v"], ["c"], kernel_shape=[1, 1]),
            quantize("c", "d", "coarse", "zero"), dequantize("d", "e", "coarse", "zero"),
            small_models.node("Relu", ["e"], ["f"]),
            quantize("f", "g", "fine", "low"), dequantize("g", "y", "fine", "low"),
        ]
        weights = np.eye(8, dtype=np.int8).reshape(8, 8, 1, 1)
        model = round_trip(nodes, {
            "w": weights, "one": np.float32(1), "coarse": np.float32(4), "zero": np.int8(0),
            "fine": np.float32(1), "low": np.int8(-128),
        })
        got = self.assert_defined(model, self.sample())
        self.assertGreater(len(np.unique(got)), 4)
        self.assertTrue((got % 4 == 0).all())

    def test_weights_have_the_scale_that_the_model_gives(self):
        steps = np.random.default_rng(2).integers(-3, 4, (8, 8, 1, 1)).astype(np.int8)
        scales = np.linspace(0.1, 0.8, 8).astype(np.float32)
        nodes = [
            quantize("x", "a"), dequantize("a", "b"),
            dequantize("w", "v", "ws", "wz", axis=0),
            small_models.node("Conv", ["b", "v"], ["c"], kernel_shape=[1, 1]),
            quantize("c", "d"), dequantize("d", "y"),
        ]
        model = round_trip(nodes, {"w": steps, "ws": scales, "wz": np.zeros(8, np.int8)})
        self.assert_defined(model, self.sample(size=10), halves=1)

    def test_unsigned_weights_with_any_zero_point(self):
        steps = np.random.default_rng(3).integers(0, 256, (8, 8, 1, 1)).astype(np.uint8)
        for zero in (128, 100):
            nodes = [
                quantize("x", "a"), dequantize("a", "b"), dequantize("w", "v", "ws", "wz"),
                small_models.node("Conv", ["b", "v"], ["c"], kernel_shape=[1, 1]),
                quantize("c", "d"), dequantize("d", "y"),
            ]
            model = round_trip(
                nodes, {"w": steps, "ws": np.float32(0.004), "wz": np.uint8(zero)}
            )
            self.assert_defined(model, self.sample())  # 255 - 100 needs nine bits

    def test_reading_with_another_scale_and_zero_point(self):
        nodes = [quantize("x", "a"), dequantize("a", "y", "t", "u")]
        model = round_trip(nodes, {"t": np.float32(0.25), "u": np.int8(-7)})
        self.assert_defined(model, self.sample())

    def assert_bytes(self, nodes, constants, x, types, shape=(1, 8, 4, 4), steps=0.0, size=None,
                     wanted=None):  # fmt: skip
        """Compares the results in float and compiled; a result may be off by `steps`."""
        model = small_models.model(
            nodes, {"x": shape}, {"y": size or shape}, constants, types=types
        )
        if wanted is None:
            wanted = float_reference.Network(model).run({"x": x})["y"]
        path = self.compile(model)
        for file in (path, path.with_suffix(".onnx")):
            got = run(file, {"x": x}, self.directory)["y"]
            np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=steps + 1e-6, err_msg=file.name)
        return path

    def test_inputs_of_bytes_are_bytes(self):
        for array, kind in ((np.uint8, TensorProto.UINT8), (np.int8, TensorProto.INT8)):
            low = np.iinfo(array).min
            x = np.arange(128, dtype=np.float32).reshape(1, 8, 4, 4) * 2 + low
            constants = {"s": np.float32(0.02), "z": array(low + 100)}
            nodes = [dequantize("x", "y")]
            with self.subTest(kind=kind):
                path = self.assert_bytes(nodes, constants, x.astype(array), {"x": kind})
                (tensor,) = info(path)["inputs"]
                self.assertEqual(tensor["data_type"], np.dtype(array).name)
                # These are moved before they are read, and read twice.
                nodes = [
                    small_models.node("Transpose", ["x"], ["t"], perm=[0, 2, 3, 1]),
                    dequantize("t", "d"), dequantize("t", "e", "s2", "z2"),
                    small_models.node("Add", ["d", "e"], ["f"]),
                    quantize("f", "g", "s2", "z2"), dequantize("g", "y", "s2", "z2"),
                ]
                constants |= {"s2": np.float32(0.04), "z2": array(low + 110)}
                self.assert_bytes(nodes, constants, x.astype(array), {"x": kind},
                                  steps=0.04, size=(1, 4, 4, 8))  # fmt: skip

    def test_inputs_of_bytes_that_are_cast(self):
        x = np.arange(128).reshape(1, 8, 4, 4).astype(np.uint8)
        nodes = [
            small_models.node("Cast", ["x"], ["c"], to=TensorProto.FLOAT),
            small_models.node("Mul", ["c", "h"], ["y"]),
        ]
        self.assert_bytes(nodes, {"h": np.float32(0.5)}, x, {"x": TensorProto.UINT8},
                          steps=0.5, wanted=x / 2)  # fmt: skip

    def test_batches_of_bytes_are_read_on_the_cpu(self):
        x = np.arange(256).reshape(2, 8, 4, 4).astype(np.uint8)
        constants = {"s": np.float32(0.02), "z": np.uint8(100)}
        nodes = [dequantize("x", "d"), small_models.node("Softmax", ["d"], ["y"], axis=1)]
        self.assert_bytes(nodes, constants, x, {"x": TensorProto.UINT8}, shape=(2, 8, 4, 4))

    def test_outputs_of_bytes_are_bytes(self):
        for array, kind in ((np.uint8, TensorProto.UINT8), (np.int8, TensorProto.INT8)):
            constants = {"s": np.float32(0.5), "z": array(np.iinfo(array).min + 100)}
            with self.subTest(kind=kind):
                # Some inputs are beyond what a byte holds; halves round to even.
                x = np.linspace(-100, 150, 128, dtype=np.float32).reshape(1, 8, 4, 4)
                x.flat[:4] = [0.25, 0.75, 1.25, -0.25]
                nodes = [quantize("x", "y")]
                model = small_models.model(
                    nodes, {"x": x.shape}, {"y": x.shape}, constants, types={"y": kind}
                )
                wanted = np.clip(np.rint(x / 0.5) + int(constants["z"]), *self.limits(array))
                path = self.compile(model)
                for file in (path, path.with_suffix(".onnx")):
                    got = run(file, {"x": x}, self.directory)["y"]
                    np.testing.assert_array_equal(got, wanted)

    @staticmethod
    def limits(array):
        return np.iinfo(array).min, np.iinfo(array).max

    def test_outputs_of_operators_over_bytes_are_bytes(self):
        weights = np.random.default_rng(5).integers(-100, 100, (8, 8, 1, 1)).astype(np.int8)
        nodes = [small_models.node(
            "QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["y"], kernel_shape=[1, 1]
        )]  # fmt: skip
        constants = {
            "xs": np.float32(0.02), "xz": np.uint8(120), "w": weights, "ws": np.float32(0.01),
            "wz": np.int8(0), "ys": np.float32(0.1), "yz": np.uint8(90),
        }  # fmt: skip
        x = np.random.default_rng(6).integers(0, 256, (1, 8, 4, 4)).astype(np.uint8)
        real = np.einsum("oc,chw->ohw", weights[..., 0, 0] * 0.01, (x[0] - 120.0) * 0.02)[None]
        wanted = np.clip(np.rint(real / 0.1) + 90, 0, 255)
        self.assertGreater(wanted.max() - wanted.min(), 100)
        types = {"x": TensorProto.UINT8, "y": TensorProto.UINT8}
        self.assert_bytes(nodes, constants, x, types, steps=1.0, wanted=wanted)

    def test_outputs_of_bytes_may_be_read_inside_too(self):
        x = self.sample(size=20)
        constants = {"s": np.float32(0.5), "z": np.uint8(128)}
        model = small_models.model(
            [quantize("x", "q"), small_models.node("Relu", ["x"], ["r"]),
             quantize("r", "y"), dequantize("y", "w")],
            {"x": x.shape}, {"y": x.shape, "w": x.shape, "q": x.shape}, constants,
            types={"y": TensorProto.UINT8, "q": TensorProto.UINT8},
        )  # fmt: skip
        path = self.compile(model)
        got = {name: array.astype(float) for name, array in run(path, {"x": x}, self.directory).items()}
        np.testing.assert_array_equal(got["w"], (got["y"] - 128) / 2)
        np.testing.assert_array_equal(got["w"], np.maximum(got["q"] - 128, 0) / 2)

    def test_bytes_that_are_computed_with_are_refused(self):
        nodes = [small_models.node("Add", ["x", "x"], ["y"])]
        model = small_models.model(
            nodes, {"x": (1, 8)}, {"y": (1, 8)}, types={n: TensorProto.UINT8 for n in "xy"}
        )
        self.assertIn("only operators that move elements", self.refusal(model))

    def test_an_input_that_is_read_in_float_too_is_not_quantised_for_all(self):
        nodes = [
            quantize("x", "q", "fine"), dequantize("q", "y", "fine"),
            small_models.node("Relu", ["x"], ["other"]),
        ]  # fmt: skip
        x = np.linspace(-40, 40, 128, dtype=np.float32).reshape(1, 8, 4, 4)
        model = round_trip(nodes, {"fine": np.float32(0.01)},
                           outputs={"y": x.shape, "other": x.shape})  # fmt: skip
        np.save(self.directory / "x.npy", x)
        path = self.compile(model, "--calibration", self.directory / "x.npy")
        got = run(path, {"x": x}, self.directory)
        np.testing.assert_allclose(got["other"], np.maximum(x, 0), atol=0.2)
        self.assertLessEqual(got["y"].max(), 1.25)

    def test_a_bias_of_up_to_31_bits(self):
        bias = np.array([1500000000, -1500000000, 1000, 0], np.int32)
        nodes = [
            quantize("x", "a"), dequantize("a", "b"), dequantize("w", "v", "ws", "zero"),
            dequantize("bias", "c", "bs", "none"),
            small_models.node("Gemm", ["b", "v", "c"], ["d"], transB=1),
            quantize("d", "e", "coarse", "zero"), dequantize("e", "y", "coarse", "zero"),
        ]
        weights = np.random.default_rng(4).integers(-100, 100, (4, 8)).astype(np.int8)
        model = round_trip(
            nodes,
            {"w": weights, "ws": np.float32(1e-6), "zero": np.int8(0), "bias": bias,
             "bs": np.float32(0.5e-6), "none": np.int32(0), "coarse": np.float32(8)},
            shape=(1, 8), outputs={"y": (1, 4)},
        )  # fmt: skip
        self.assert_defined(model, self.sample((1, 8)))

    def test_concat_of_tensors_with_other_scales_rounds_as_defined(self):
        nodes = [
            quantize("x", "a"), dequantize("a", "b"),
            small_models.node("Relu", ["b"], ["c"]),
            quantize("c", "d", "fine", "low"), dequantize("d", "e", "fine", "low"),
            small_models.node("Concat", ["b", "e"], ["f"], axis=1),
            quantize("f", "g", "wide", "z"), dequantize("g", "y", "wide", "z"),
        ]
        model = round_trip(
            nodes,
            {"fine": np.float32(0.3), "low": np.int8(-128), "wide": np.float32(0.75)},
            outputs={"y": (1, 16, 4, 4)},
        )
        self.assert_defined(model, self.sample())

    def test_bytes_in_and_bytes_out(self):
        constants = {"s": np.float32(0.5), "z": np.uint8(7), "t": np.float32(1), "v": np.uint8(0)}
        graph = helper.make_graph(
            [
                helper.make_node("DequantizeLinear", ["x", "s", "z"], ["b"]),
                helper.make_node("Relu", ["b"], ["c"]),
                helper.make_node("QuantizeLinear", ["c", "t", "v"], ["y"]),
            ],
            "bytes",
            [helper.make_tensor_value_info("x", TensorProto.UINT8, (1, 8, 4, 4))],
            [helper.make_tensor_value_info("y", TensorProto.UINT8, (1, 8, 4, 4))],
            [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 7
        x = np.arange(128, dtype=np.uint8).reshape(1, 8, 4, 4)
        got = run(self.compile(model), {"x": x}, self.directory)["y"]
        np.testing.assert_array_equal(got, np.rint(np.maximum(x - np.float32(7), 0) / 2))

    def test_a_constant_that_is_quantised_in_the_model(self):
        weights = np.random.default_rng(4).normal(0, 1, (8, 8, 1, 1)).astype(np.float32)
        nodes = [
            quantize("x", "a"), dequantize("a", "b"),
            quantize("w", "wq", "ws", "wz"), dequantize("wq", "v", "ws", "wz"),
            small_models.node("Conv", ["b", "v"], ["c"], kernel_shape=[1, 1]),
            quantize("c", "d"), dequantize("d", "y"),
        ]
        model = round_trip(nodes, {"w": weights, "ws": np.float32(0.02), "wz": np.int8(0)})
        self.assert_defined(model, self.sample(size=5), halves=1)


class Refusals(Case):
    def dynamic_product(self, nodes, outputs=None, product=("a", "w", "z")):
        """Returns the refusal of a product of integers that were quantised at run time, and these
        nodes."""
        nodes = [
            small_models.node("DynamicQuantizeLinear", ["x"], ["a", "s", "z"]),
            small_models.node("MatMulInteger", list(product), ["m"]),
        ] + nodes
        inits = {"w": np.eye(4, dtype=np.int8), "b": np.ones(4, np.float32), "i": np.ones(4, np.int32)}
        return self.refusal(
            small_models.model(nodes, {"x": (1, 4)}, outputs or {"y": (1, 4)}, inits)
        )

    def test_a_scale_made_at_run_time_that_is_an_output(self):
        nodes = [
            small_models.node("Cast", ["m"], ["f"], to=1),
            small_models.node("Mul", ["f", "s"], ["y"]),
            small_models.node("Identity", ["s"], ["t"]),
        ]
        stderr = self.dynamic_product(nodes, {"y": (1, 4), "t": ()})
        self.assertIn("node 'my_dynamicquantizelinear' (DynamicQuantizeLinear)", stderr)
        self.assertIn("its scale is output 't'", stderr)

    def test_bias_between_a_product_and_the_scale_made_at_run_time(self):
        of_floats = [
            small_models.node("Cast", ["m"], ["f"], to=1),
            small_models.node("Add", ["f", "b"], ["g"]),
            small_models.node("Mul", ["g", "s"], ["y"]),
        ]
        of_integers = [
            small_models.node("Add", ["m", "i"], ["f"]),
            small_models.node("Cast", ["f"], ["g"], to=1),
            small_models.node("Mul", ["g", "s"], ["y"]),
        ]
        for nodes in (of_floats, of_integers):
            self.assertIn("its product is read by node 'my_add' (Add)", self.dynamic_product(nodes))

    def test_a_bias_that_is_divided_by_the_scale_made_at_run_time(self):
        """ONNX Runtime's quantiser once wrote this: the bias is in integer steps of the product."""
        random = np.random.default_rng(8)
        x = random.normal(0, 1, (2, 4, 6, 6)).astype(np.float32)
        w, bias = random.integers(-100, 100, (5, 4, 1, 1)).astype(np.int8), random.normal(0, 3, 5).astype(np.float32)
        nodes = [
            small_models.node("DynamicQuantizeLinear", ["x"], ["a", "s", "z"]),
            small_models.node("Mul", ["s", "ws"], ["both"], name="scales"),
            small_models.node("Div", ["b", "both"], ["steps"]), small_models.node("Floor", ["steps"], ["whole"]),
            small_models.node("Cast", ["whole"], ["integers"], to=6),
            small_models.node("Reshape", ["integers", "shape"], ["wide"]),
            small_models.node("ConvInteger", ["a", "w", "z"], ["m"]), small_models.node("Add", ["m", "wide"], ["sum"]),
            small_models.node("Cast", ["sum"], ["f"], to=1, name="to_float"), small_models.node("Mul", ["f", "both"], ["y"]),
        ]  # fmt: skip
        constants = {"w": w, "ws": np.float32(0.02), "b": bias, "shape": np.array([1, 5, 1, 1])}
        proto = small_models.model(nodes, {"x": x.shape}, {"y": (2, 5, 6, 6)}, constants)
        wanted = np.einsum("nchw,oc->nohw", x, w[:, :, 0, 0] * np.float32(0.02)) + bias[:, None, None]
        path = small_models.save(proto, self.directory / "m.onnx")
        np.save(self.directory / "x.npy", x)
        succeed("run", path, "--input", self.directory / "x.npy", "--output-dir", self.directory, "-q")
        np.testing.assert_allclose(np.load(self.directory / "y.npy"), wanted, rtol=1e-4, atol=1e-4)
        # A bias in other steps, or one that is read by itself, is no such bias.
        for number in (7, 9):
            other = small_models.model(nodes, {"x": x.shape}, {"y": (2, 5, 6, 6)}, constants | {"i": np.int32(3)})
            other.graph.node[number].input[1] = "i" if number == 7 else "wide"
            self.assertIn("its product is read by", self.refusal(other))

    def test_product_without_the_zero_point_made_at_run_time(self):
        nodes = [
            small_models.node("Cast", ["m"], ["f"], to=1),
            small_models.node("Mul", ["f", "s"], ["y"]),
        ]
        stderr = self.dynamic_product(nodes, product=("a", "w"))
        self.assertIn("node 'my_matmulinteger' (MatMulInteger)", stderr)
        self.assertIn("without the zero point", stderr)

    def test_activations_with_a_scale_for_each_channel(self):
        nodes = [
            small_models.node("QuantizeLinear", ["x", "m", "n"], ["a"], axis=1),
            small_models.node("DequantizeLinear", ["a", "m", "n"], ["y"], axis=1),
        ]
        model = round_trip(nodes, {"m": np.ones(8, np.float32), "n": np.zeros(8, np.int8)})
        self.assertIn("one scale for each channel", self.refusal(model))

    def test_a_scale_that_means_nothing(self):
        for scale in (0.0, -1.0, np.inf, np.nan):
            with self.subTest(scale=scale):
                model = round_trip([quantize("x", "a"), dequantize("a", "y")], {})
                model.graph.initializer[0].CopyFrom(
                    numpy_helper.from_array(np.float32(scale), "s")
                )
                self.assertIn("means nothing", self.refusal(model))

    def test_scales_that_are_computed(self):
        nodes = [
            small_models.node("GlobalMaxPool", ["x"], ["s2"]),
            quantize("x", "a", "s2"), dequantize("a", "y", "s2"),
        ]
        self.assertIn("must be a float32 constant", self.refusal(round_trip(nodes, {})))


if __name__ == "__main__":
    unittest.main()
