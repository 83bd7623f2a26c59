# SPDX-License-Identifier: MIT
"""Attributes, sizes and integers at the edge of what ONNX allows, by the float executor and, where
it matters, compiled; the expected values are from ONNX's text."""

import pathlib
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto

from overtake_command import cosine, info, overtake, run, succeed
from small_models import model, node, ones, save

INT64_MAX = np.iinfo(np.int64).max
UNKNOWN = (1, None, None, None)


def integers(*numbers):
    return np.array(numbers, np.int64)


def with_types(proto, **types):
    """Gives inputs and outputs other types than float."""
    for value in [*proto.graph.input, *proto.graph.output]:
        if value.name in types:
            value.type.tensor_type.elem_type = types[value.name]
    return proto


class CornerCases(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def inputs(self, option, inputs):
        arguments = []
        for name, array in inputs.items():
            np.save(self.directory / f"{name}.npy", array.astype(np.float32))
            arguments += [option, f"{name}={self.directory / f'{name}.npy'}"]
        return arguments

    def in_float(self, proto, inputs):
        """Returns the output y of the model, run in float."""
        path = save(proto, self.directory / "m.onnx")
        succeed("run", path, *self.inputs("--input", inputs), "--output-dir", self.directory / "o")
        return np.load(self.directory / "o/y.npy")

    def compiled(self, proto, inputs, *arguments):
        path = save(proto, self.directory / "m.onnx")
        succeed("compile", path, *self.inputs("--calibration", inputs), *arguments)
        return path.with_suffix(".ovm")

    def on_device(self, proto, inputs, *arguments):
        path = self.compiled(proto, inputs, *arguments)
        return run(path, inputs, self.directory / "run")["y"]

    def assert_refused(self, proto, *parts):
        result = overtake("compile", save(proto, self.directory / "m.onnx"))
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, r"\Aovertake: [^\n]+\n\Z")
        for part in parts:
            choices = [part] if isinstance(part, str) else part
            self.assertTrue(any(choice in result.stderr for choice in choices), result.stderr)

    # Operators

    def test_softmax_of_older_opsets_needs_no_shapes_in_the_file(self):
        x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 3, 4)
        nodes = [node("Relu", ["x"], ["r"]), node("Softmax", ["r"], ["s"], axis=1)]
        proto = model([*nodes, node("Neg", ["s"], ["y"])], {"x": x.shape}, {"y": x.shape}, opset=11)
        e = np.exp(np.maximum(x, 0)).reshape(2, 12)
        wanted = -(e / e.sum(axis=1, keepdims=True)).reshape(x.shape)
        np.testing.assert_allclose(self.in_float(proto, {"x": x}), wanted, rtol=1e-5)

    def test_suppression_without_a_limit_keeps_all_boxes(self):
        boxes = np.array([[[0, 0, 1, 1], [0, 2, 1, 3], [0, 0, 1, 1.1]]], np.float32)
        scores = np.array([[[0.5, 0.9, 0.4]]], np.float32)
        constants = {"n": integers(INT64_MAX), "u": np.float32(0.5)}
        proto = model(
            [node("NonMaxSuppression", ["b", "s", "n", "u"], ["y"])],
            {"b": boxes.shape, "s": scores.shape}, {"y": (None, 3)}, constants,
        )  # fmt: skip
        proto = with_types(proto, y=TensorProto.INT64)
        got = self.in_float(proto, {"b": boxes, "s": scores})
        np.testing.assert_array_equal(got, [[0, 0, 1], [0, 0, 0], [-1, -1, -1]])

    def test_an_integer_cast_to_a_truth_value_is_zero_or_one(self):
        nodes = [
            node("Cast", ["x"], ["i"], to=TensorProto.INT64, name="integer"),
            node("Cast", ["i"], ["b"], to=TensorProto.BOOL, name="truth"),
            node("Cast", ["b"], ["y"], to=TensorProto.FLOAT, name="real"),
        ]
        x = np.array([0, 1, 5, -3, 0.5], np.float32)
        proto = model(nodes, {"x": x.shape}, {"y": x.shape})
        np.testing.assert_array_equal(self.in_float(proto, {"x": x}), [0, 1, 1, 1, 0])

    def test_bfloat16_is_no_integer(self):
        nodes = [
            node("Cast", ["x"], ["h"], to=TensorProto.BFLOAT16, name="short"),
            node("Cast", ["h"], ["y"], to=TensorProto.FLOAT, name="real"),
        ]
        x = np.array([0.5, -1.25], np.float32)
        proto = model(nodes, {"x": x.shape}, {"y": x.shape})
        np.testing.assert_array_equal(self.in_float(proto, {"x": x}), x)

    def test_an_output_of_the_device_may_have_a_dimension_of_one_less(self):
        x = np.random.default_rng(9).normal(size=(2, 5, 3, 4, 1)).astype(np.float32)
        proto = model([node("Relu", ["x"], ["r"]), node("Squeeze", ["r", "a"], ["y"])],
                      {"x": x.shape}, {"y": x.shape[:4]}, {"a": integers(4)})  # fmt: skip
        got = self.on_device(proto, {"x": x})
        np.testing.assert_allclose(got, np.maximum(x[..., 0], 0), atol=0.03)

    def test_two_padded_axes_may_be_one_dimension_on_the_device(self):
        x = np.random.default_rng(9).normal(size=(1, 4, 4, 2, 5)).astype(np.float32)
        for front, behind in (((1, 1, 0, 0, 1), (1, 1, 0, 0, 2)), ((1, 2, 0, 0, 0), (0, 0, 1, 0, 0))):
            wanted = np.pad(x, list(zip(front, behind)))
            proto = model([node("Pad", ["x", "p"], ["y"])], {"x": x.shape}, {"y": wanted.shape},
                          {"p": integers(*front, *behind)})  # fmt: skip
            np.testing.assert_array_equal(self.in_float(proto, {"x": x}), wanted)
            np.testing.assert_allclose(self.on_device(proto, {"x": x}), wanted, atol=0.03)

    def test_infinities_differ_by_their_sign(self):
        x = np.array([np.inf, -np.inf, 1, np.nan], np.float32)
        for attributes, wanted in [
            ({}, [1, 1, 0, 0]),
            ({"detect_negative": 0}, [1, 0, 0, 0]),
            ({"detect_positive": 0}, [0, 1, 0, 0]),
        ]:
            with self.subTest(attributes=attributes):
                nodes = [
                    node("IsInf", ["x"], ["b"], **attributes),
                    node("Cast", ["b"], ["y"], to=TensorProto.FLOAT),
                ]
                proto = model(nodes, {"x": x.shape}, {"y": x.shape})
                np.testing.assert_array_equal(self.in_float(proto, {"x": x}), wanted)

    def test_pools_too_large_for_the_device_run_on_the_cpu(self):
        x = np.random.default_rng(5).uniform(0, 1, (1, 2, 384, 384)).astype(np.float32)
        for operator, attributes, wanted in [
            ("GlobalAveragePool", {}, x.mean(axis=(2, 3))),
            ("GlobalMaxPool", {}, x.max(axis=(2, 3))),
            ("ReduceMean", {"axes": [2, 3]}, x.mean(axis=(2, 3))),
            ("AveragePool", {"kernel_shape": [384, 384]}, x.mean(axis=(2, 3))),
        ]:
            with self.subTest(operator=operator):
                proto = model([node(operator, ["x"], ["y"], **attributes)], {"x": x.shape}, {"y": UNKNOWN})
                path = self.compiled(proto, {"x": x})
                self.assertEqual([s["processor"] for s in info(path)["segments"]], ["CPU"])
                got = run(path, {"x": x}, self.directory / "run")["y"].ravel()
                np.testing.assert_allclose(got, wanted.ravel(), rtol=1e-4)

    def test_a_function_holds_on_where_rounding_leaves_its_domain(self):
        for operator, low, high, function in [
            ("Acosh", 1, 12, np.arccosh),
            ("Acos", -1, 0.83, np.arccos),
            ("Asin", -1, 0.83, np.arcsin),
        ]:
            with self.subTest(operator=operator):
                x = np.linspace(low, high, 64, dtype=np.float32).reshape(1, 1, 8, 8)
                proto = model([node(operator, ["x"], ["y"])], {"x": x.shape}, {"y": x.shape})
                got = self.on_device(proto, {"x": x}, "--run-on-bpu", f"my_{operator.lower()}")
                wanted = function(x)
                at_edge = np.abs(got - wanted).ravel()[0]
                self.assertLess(at_edge, (wanted.max() - wanted.min()) / 20)
                self.assertGreater(cosine(got, wanted), 0.999)

    def test_a_mean_of_what_cancels_out_compiles(self):
        """The output is only the rounding of floats, far below a step of its input."""
        x = np.random.default_rng(2).normal(0, 10, (4, 3, 5, 7)).astype(np.float32)
        nodes = [node("ReduceMean", ["x"], ["m"], name="mean", axes=[2, 3]), node("Sub", ["x", "m"], ["d"], name="rest"),
                 node("ReduceMean", ["d"], ["y"], name="nothing", axes=[2, 3])]  # fmt: skip
        proto = model(nodes, {"x": (1, 3, 5, 7)}, {"y": (1, 3, 1, 1)})
        self.assertLess(np.abs(self.in_float(proto, {"x": x[:1]})).max(), 1e-4)
        for options in ((), ("--int16", "all")):
            found = self.on_device(proto, {"x": x}, *options)
            self.assertLess(np.abs(found).max(), 10 / 127)

    def test_both_forms_of_a_transposed_convolution_cut_the_same_pixels(self):
        x = np.random.default_rng(6).uniform(-1, 1, (1, 2, 4, 4)).astype(np.float32)
        weights = np.random.default_rng(7).uniform(-1, 1, (2, 3, 4, 4)).astype(np.float32)
        whole = np.zeros((1, 3, 10, 10), np.float32)
        for row in range(4):
            for column in range(4):
                part = np.einsum("i,iohw->ohw", x[0, :, row, column], weights)
                whole[0, :, 2 * row : 2 * row + 4, 2 * column : 2 * column + 4] += part
        # (attributes, size, pixels cut in front): if the total is odd, the front has the greater
        # half.
        for attributes, size, front in [
            ({"output_shape": [9, 9]}, 9, 1),
            ({"output_shape": [9, 9], "auto_pad": "SAME_UPPER"}, 9, 0),
            ({"output_shape": [8, 8], "output_padding": [1, 1]}, 8, 2),
        ]:
            wanted = whole[:, :, front : front + size, front : front + size]
            for batch in (1, 2):
                with self.subTest(attributes=attributes, batch=batch):
                    proto = model(
                        [node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2], **attributes)],
                        {"x": (batch, 2, 4, 4)}, {"y": (batch, 3, size, size)}, {"w": weights},
                    )  # fmt: skip
                    got = self.in_float(proto, {"x": np.repeat(x, batch, axis=0)})
                    wide = np.repeat(wanted, batch, axis=0)
                    np.testing.assert_allclose(got, wide, rtol=1e-4, atol=1e-5)

    def test_resize_does_not_guess_scales(self):
        nodes = [node("Abs", ["s"], ["scales"]), node("Resize", ["x", "", "scales"], ["y"])]
        proto = model(nodes, {"x": (1, 1, 1, 2), "s": (4,)}, {"y": (1, 1, 1, 3)})
        self.assert_refused(proto, "(Resize)", "scales must be constants")

    def test_dropout_that_drops_is_refused(self):
        for training, parts in [(False, None), (True, ["(Dropout)", "training"])]:
            constants = {"r": np.float32(0.5), "t": np.array(training)}
            proto = model(
                [node("Dropout", ["x", "r", "t"], ["y"])], {"x": (1, 4)}, {"y": (1, 4)}, constants
            )
            with self.subTest(training=training):
                if parts:
                    self.assert_refused(proto, *parts)
                else:
                    np.testing.assert_array_equal(self.in_float(proto, {"x": ones(1, 4)}), ones(1, 4))

    def test_no_pool_window_begins_in_the_padding_behind(self):
        x = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
        for operator, last in (("MaxPool", 8), ("AveragePool", 6)):
            for side in (2, 3):
                proto = model(
                    [node(operator, ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2],
                          pads=[1, 1, 1, 1], ceil_mode=1)],
                    {"x": (1, 1, 3, 3)}, {"y": (1, 1, side, side)},
                )  # fmt: skip
                with self.subTest(operator=operator, side=side):
                    if side == 3:
                        # The newer libonnx lets the shape pass.
                        self.assert_refused(proto, f"({operator})", ("2 elements along axis 2", "a window lies wholly in the padding"))
                        continue
                    y = self.in_float(proto, {"x": x})
                    self.assertEqual(y.shape, (1, 1, 2, 2))
                    self.assertEqual(y[0, 0, 1, 1], last)

    def test_pools_with_padding_and_dilation_give_what_onnx_gives(self):
        x = np.random.default_rng(8).uniform(-1, 1, (2, 3, 7, 6)).astype(np.float32)
        padded = np.pad(x, ((0, 0), (0, 0), (2, 2), (2, 2)), constant_values=np.nan)
        windows = np.stack(
            [padded[:, :, r : r + 9 : 2, c : c + 6] for r in (0, 2) for c in (0, 2, 4)]
        )
        attributes = {"kernel_shape": [2, 3], "dilations": [2, 2], "strides": [2, 1], "pads": [2] * 4}
        proto = model([node("MaxPool", ["x"], ["y"], **attributes)], {"x": x.shape}, {"y": (2, 3, 5, 6)})
        got = self.in_float(proto, {"x": x})
        np.testing.assert_array_equal(got, np.nanmax(windows, axis=0))
        for counts in (0, 1):
            proto = model(
                [node("AveragePool", ["x"], ["y"], kernel_shape=[3, 3], pads=[2, 1, 0, 1],
                      strides=[2, 2], count_include_pad=counts)],
                {"x": x.shape}, {"y": (2, 3, 4, 3)},
            )  # fmt: skip
            padded = np.pad(x, ((0, 0), (0, 0), (2, 0), (1, 1)), constant_values=np.nan)
            cut = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::2, ::2]
            wanted = np.nansum(cut, axis=(4, 5)) / 9 if counts else np.nanmean(cut, axis=(4, 5))
            np.testing.assert_allclose(self.in_float(proto, {"x": x}), wanted, rtol=1e-5, atol=1e-6)

    # Integers

    def test_integers_stay_integers(self):
        x = np.array([[75, 76, 4]], np.float32)
        to_integer = node("Cast", ["x"], ["i"], to=TensorProto.INT64, name="integer")
        to_real = node("Cast", ["r"], ["y"], to=TensorProto.FLOAT, name="real")
        for middle, wanted in [
            (node("ReduceMean", ["i"], ["r"], axes=[1]), [[51]]),
            (node("ReduceL2", ["i"], ["r"], axes=[1]), [[106]]),
            (node("Pow", ["i", "half"], ["r"]), [[8, 8, 2]]),
            (node("MatMul", ["i", "column"], ["p"]), [[2]]),
        ]:
            with self.subTest(operator=middle.op_type):
                nodes = [to_integer, middle, to_real]
                if middle.op_type == "MatMul":
                    nodes.insert(2, node("Div", ["p", "many"], ["r"]))
                constants = {
                    "half": np.float32(0.5), "column": np.array([[1], [1], [1]], np.int64),
                    "many": integers(60),
                }  # fmt: skip
                used = {name for entry in nodes for name in entry.input}
                proto = model(
                    nodes, {"x": x.shape}, {"y": np.shape(wanted)},
                    {name: array for name, array in constants.items() if name in used},
                )  # fmt: skip
                np.testing.assert_array_equal(self.in_float(proto, {"x": x}), wanted)

    def test_constants_beyond_2_to_24_may_be_moved(self):
        nodes = [
            node("Unsqueeze", ["end", "zero"], ["ends"], name="unsqueeze"),
            node("Concat", ["ends", "ends"], ["both"], axis=0, name="concat"),
            node("Gather", ["both", "zero"], ["last"], name="gather"),
            node("Slice", ["x", "start", "last", "axis"], ["y"], name="slice"),
        ]
        constants = {
            "end": np.array(INT64_MAX, np.int64), "zero": integers(0), "start": integers(2),
            "axis": integers(1),
        }  # fmt: skip
        x = np.arange(5, dtype=np.float32).reshape(1, 5)
        proto = model(nodes, {"x": x.shape}, {"y": (1, 3)}, constants)
        np.testing.assert_array_equal(self.in_float(proto, {"x": x}), [[2, 3, 4]])

    def test_constants_beyond_2_to_24_may_not_be_computed_with(self):
        nodes = [node("Add", ["big", "one"], ["sum"], name="sum"), node("Mul", ["x", "sum"], ["y"])]
        constants = {"big": integers(1 << 25), "one": integers(1)}
        proto = model(nodes, {"x": (1,)}, {"y": (1,)}, constants)
        self.assert_refused(with_types(proto, x=TensorProto.INT64, y=TensorProto.INT64),
                            "'my_mul' (Mul)", "33554433", "2^24")  # fmt: skip

    # Shapes

    def test_expand_keeps_what_minus_one_names(self):
        x = np.arange(3, dtype=np.float32).reshape(3, 1)
        proto = model([node("Expand", ["x", "s"], ["y"])], {"x": x.shape}, {"y": (3, 4)},
                      {"s": integers(-1, 4)})  # fmt: skip
        np.testing.assert_array_equal(self.in_float(proto, {"x": x}), np.broadcast_to(x, (3, 4)))

    def test_tile_repeats_any_number_of_axes(self):
        for shape, repeats in [
            ((1, 2, 1, 3, 2), (2, 2, 3, 2, 2)),
            ((2, 1, 2, 1, 1, 2, 1, 2), (1, 2, 1, 3, 2, 1, 2, 2)),
            ((2, 3), (1, 1)),
            ((2, 3, 2), (1, 1, 4)),
        ]:
            with self.subTest(shape=shape, repeats=repeats):
                x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
                wanted = np.tile(x, repeats)
                proto = model([node("Tile", ["x", "r"], ["y"])], {"x": shape}, {"y": wanted.shape},
                              {"r": integers(*repeats)})  # fmt: skip
                np.testing.assert_array_equal(self.in_float(proto, {"x": x}), wanted)

    def test_a_constant_may_be_a_list_of_reals(self):
        nodes = [
            onnx.helper.make_node("Constant", [], ["c"], name="c", value_floats=[1.5, -2.0]),
            node("Mul", ["x", "c"], ["y"]),
        ]
        proto = model(nodes, {"x": (3, 2)}, {"y": (3, 2)})
        got = self.in_float(proto, {"x": ones(3, 2)})
        np.testing.assert_array_equal(got, [[1.5, -2.0]] * 3)

    def test_shapes_of_the_file_give_way_to_input_shape(self):
        proto = model(
            [node("Relu", ["x"], ["r"]), node("Neg", ["r"], ["y"])], {"x": (1, 3, 8, 8)},
            {"y": (1, 3, 8, 8)},
        )  # fmt: skip
        proto.graph.value_info.append(
            onnx.helper.make_tensor_value_info("r", TensorProto.FLOAT, (1, 3, 8, 8))
        )
        path = save(proto, self.directory / "m.onnx")
        succeed("compile", path, "--input-shape", "x=1x3x4x6")
        got = run(path.with_suffix(".ovm"), {"x": ones(1, 3, 4, 6)}, self.directory / "run")["y"]
        self.assertEqual(got.shape, (1, 3, 4, 6))

    # Files that ask for more than there is

    def test_a_small_file_cannot_ask_for_any_amount_of_memory_or_time(self):
        huge = 1 << 62
        one = {"x": (1, 1, 8, 8)}
        for what, nodes, inputs, constants, parts in [
            ("expanded constant", [node("Expand", ["c", "s"], ["e"]), node("Add", ["x", "e"], ["y"])],
             {"x": (1 << 31,)}, {"c": ones(1), "s": integers(1 << 31)}, ["(Expand)", "huge"]),
            ("many zeros", [node("ConstantOfShape", ["s"], ["e"]), node("Add", ["x", "e"], ["y"])],
             one, {"s": integers(1 << 22, 1 << 22, 1 << 22)}, ["(ConstantOfShape)", "huge"]),
            ("repeats", [node("Tile", ["x", "r"], ["y"])], one, {"r": integers(1, 1, huge, 4)},
             ["(Tile)", str(huge)]),
            ("pads", [node("Pad", ["x", "p"], ["y"])], one, {"p": integers(0, 0, huge, 0, 0, 0, huge, 0)},
             ["(Pad)", str(huge)]),
            ("dilations", [node("Conv", ["x", "w"], ["y"], dilations=[huge, huge])],
             {"x": (2, 1, 8, 8)}, {"w": ones(1, 1, 3, 3)}, []),
            ("window", [node("MaxPool", ["x"], ["y"], kernel_shape=[huge, 1])],
             {"x": (2, 1, 8, 8)}, {}, []),
        ]:  # fmt: skip
            with self.subTest(what=what):
                shape = [None for _ in inputs["x"]]
                proto = model(nodes, inputs, {"y": shape}, constants)
                self.assert_refused(proto, *parts)

    def test_a_pool_costs_what_its_tensor_has(self):
        x = np.random.default_rng(9).uniform(0, 1, (2, 1, 8, 8)).astype(np.float32)
        side = 1_000_000
        attributes = {"kernel_shape": [side] * 2, "pads": [side // 2] * 4, "strides": [9, 9]}
        for operator, wanted in [("MaxPool", x.max(axis=(2, 3))), ("AveragePool", x.mean(axis=(2, 3)))]:
            proto = model([node(operator, ["x"], ["y"], **attributes)], {"x": x.shape}, {"y": (2, 1, 1, 1)})
            path = self.compiled(proto, {"x": x})
            got = run(path, {"x": x}, self.directory / "run")["y"].ravel()
            np.testing.assert_allclose(got, wanted.ravel(), rtol=1e-5)

    def test_an_average_over_more_than_the_device_takes_is_the_cpus(self):
        proto = model(
            [node("AveragePool", ["x"], ["y"], kernel_shape=[30000] * 2, pads=[15000] * 4,
                  strides=[9, 9])],
            {"x": (1, 1, 8, 8)}, {"y": (1, 1, 1, 1)},
        )  # fmt: skip
        x = np.arange(64, dtype=np.float32).reshape(1, 1, 8, 8)
        np.testing.assert_allclose(self.on_device(proto, {"x": x}), [[[[31.5]]]])

    # Messages

    def test_numbers_that_are_not_finite_are_named(self):
        weights = ones(1, 3, 1, 1)
        weights[0, 1] = np.nan
        for nodes, constants, parts in [
            ([node("Conv", ["x", "c"], ["y"])], {"c": weights}, ["'my_conv' (Conv)"]),
            ([node("Div", ["x", "c"], ["y"])], {"c": np.float32(0)}, ["'my_div' (Div)"]),
        ]:
            name = nodes[0].name
            proto = model(nodes, {"x": (1, 3, 4, 4)}, {"y": UNKNOWN}, constants)
            path = save(proto, self.directory / "m.onnx")
            result = overtake("compile", path, "--run-on-bpu", name)
            self.assertEqual(result.returncode, 1)
            for part in [*parts, "not finite"]:
                self.assertIn(part, result.stderr)
            result = overtake("compile", path, "-q")
            if name == "my_conv":
                self.assertEqual(result.returncode, 1)
                self.assertIn("'c' holds NaN or infinity", result.stderr)
            else:  # the CPU divides by zero
                self.assertEqual(result.returncode, 0)

    def test_an_index_out_of_its_tensor_names_its_node(self):
        nodes = [
            node("Cast", ["x"], ["i"], to=TensorProto.INT64, name="cast"),
            node("Gather", ["c", "i"], ["y"], name="choose"),
        ]
        proto = model(nodes, {"x": (2,)}, {"y": (2,)}, {"c": ones(4)})
        path = self.compiled(proto, {"x": np.zeros(2)})
        for file, wanted in [
            (self.directory / "m.onnx", "'choose' (Gather)"),
            (path, "operator 'choose'"),
        ]:
            far = self.inputs("--input", {"x": np.array([0, 9])})
            result = overtake("run", file, *far, "--output-dir", self.directory / "o")
            self.assertEqual(result.returncode, 1)
            self.assertIn(wanted, result.stderr)
            self.assertIn("4 elements", result.stderr)

    def test_an_empty_input_is_called_empty(self):
        self.assert_refused(model([node("Relu", ["x"], ["y"])], {"x": (1, 0)}, {"y": (1, 0)}), "'x'", "empty")

    def test_a_directory_is_no_picture(self):
        (self.directory / "d.png").mkdir()
        proto = model([node("Relu", ["x"], ["y"])], {"x": (1, 3, 4, 4)}, {"y": (1, 3, 4, 4)})
        path = save(proto, self.directory / "m.onnx")
        picture = f"x={self.directory / 'd.png'}"
        result = overtake("run", path, "--input", picture, "--output-dir", self.directory / "o")
        self.assertIn("directory", result.stderr)
        self.assertNotIn("Success", result.stderr)


if __name__ == "__main__":
    unittest.main()
