# SPDX-License-Identifier: MIT
"""Networks with open shapes, inputs that the user sets, unsorted nodes, conditions, or types other than float32."""

import pathlib
import tempfile
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from overtake_command import info, overtake, succeed
from small_models import model, node, ones, save

X = np.random.default_rng(5).normal(size=(2, 3, 4)).astype(np.float32)


def open_shapes(proto, name="x", axes=None):
    """Makes dimensions of an input symbolic."""
    for info in proto.graph.input:
        if info.name == name:
            for axis, dimension in enumerate(info.type.tensor_type.shape.dim):
                if axes is None or axis in axes:
                    dimension.dim_param = f"n{axis}"
    return proto


OPEN = (None, None, None)  # three dimensions of unknown size


def graph(nodes, outputs, constants=None):
    """A subgraph, for an attribute of a node."""
    infos = [helper.make_tensor_value_info(o, TensorProto.FLOAT, OPEN) for o in outputs]
    constants = [numpy_helper.from_array(a, n) for n, a in (constants or {}).items()]
    return helper.make_graph(nodes, "branch", [], infos, constants)


def choose(condition, then_nodes, else_nodes, outputs, **attributes):
    return node("If", [condition], outputs, then_branch=graph(then_nodes, ["t"]),
                else_branch=graph(else_nodes, ["e"]), **attributes)  # fmt: skip


def integer(value):
    return np.array(value, np.int64)


class OpenNetworks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def save(self, proto):
        return save(proto, self.folder / "net.onnx")

    def run_float(self, proto, inputs, *options):
        path = self.save(proto)
        arguments = []
        for name, array in inputs.items():
            np.save(self.folder / f"in_{name}.npy", array)
            arguments += ["--input", f"{name}={self.folder / f'in_{name}.npy'}"]
        succeed("run", path, *arguments, "--output-dir", self.folder / "out", *options)
        return {p.stem: np.load(p) for p in (self.folder / "out").glob("*.npy")}

    def refusal(self, proto, *options):
        result = overtake("compile", self.save(proto), *options)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        return result.stderr

    # Inputs

    def test_run_takes_shapes_of_inputs(self):
        proto = open_shapes(model([node("Relu", ["x"], ["y"])], {"x": X.shape}, {"y": OPEN}))
        got = self.run_float(proto, {"x": X}, "--input-shape", "x=2x3x4")
        np.testing.assert_array_equal(got["y"], np.maximum(X, 0))

    def test_a_missing_shape_names_the_open_axes(self):
        proto = open_shapes(model([node("Softmax", ["x"], ["y"])], {"x": X.shape}, {"y": OPEN}, opset=9),
                            axes=(1, 2))  # fmt: skip
        self.assertIn("input 'x' has no static shape (it leaves axis 1, 2 open); give one with "
                      "--input-shape x=2x?x?", self.refusal(proto))  # fmt: skip

    def test_all_missing_shapes_are_named_at_once(self):
        nodes = [node("Add", ["x", "z"], ["s"]), node("Add", ["s", "w"], ["y"])]
        proto = model(nodes, {"x": X.shape, "z": X.shape, "w": X.shape}, {"y": OPEN}, opset=13)
        open_shapes(proto, axes=(1, 2))
        proto.graph.input[1].CopyFrom(proto.graph.input[0])
        proto.graph.input[1].name = "z"
        proto.graph.input[2].type.tensor_type.ClearField("shape")
        self.assertIn(
            "input 'x' has no static shape (it leaves axis 1, 2 open), input 'z' has no static shape (it "
            "leaves axis 1, 2 open), input 'w' has no static shape; give them with --input-shape x=2x?x? "
            "--input-shape z=2x?x? --input-shape w=...", self.refusal(proto))  # fmt: skip

    def test_a_shape_in_the_place_of_a_fixed_one_is_warned_of(self):
        path = self.save(model([node("Relu", ["x"], ["y"])], {"x": X.shape}, {"y": X.shape}))
        said = "input 'x': the shape given replaces the fixed 2x3x4 of the model; what the model computes"
        for shape, is_said in (("x=2x3x5", True), ("x=2x3x4", False), ("x=5x3x4", False)):
            result = overtake("compile", path, "--input-shape", shape, "-q")
            self.assertEqual((result.returncode, said in result.stderr), (0, is_said), result.stderr)

    def test_the_warning_comes_with_a_refusal_too(self):
        nodes = [node("Reshape", ["x", "to"], ["y"])]
        proto = model(nodes, {"x": X.shape}, {"y": (12, 2)}, {"to": np.array([12, 2], np.int64)})
        result = overtake("compile", self.save(proto), "--input-shape", "x=2x3x5")
        self.assertEqual(result.returncode, 1)
        first, last = result.stderr.splitlines()
        self.assertIn("the shape given replaces the fixed 2x3x4 of the model", first)
        self.assertIn("my_reshape", last)

    def test_outputs_and_inputs_may_say_nothing_of_their_shape(self):
        proto = model([node("Relu", ["x"], ["y"])], {"x": X.shape}, {"y": OPEN})
        proto.graph.output[0].type.tensor_type.ClearField("shape")
        np.testing.assert_array_equal(self.run_float(proto, {"x": X})["y"], np.maximum(X, 0))
        proto.graph.input[0].type.tensor_type.ClearField("shape")
        got = self.run_float(proto, {"x": X}, "--input-shape", "x=2x3x4")
        np.testing.assert_array_equal(got["y"], np.maximum(X, 0))
        self.assertIn(
            "input 'x' has no static shape; give one with --input-shape x=", self.refusal(proto)
        )

    def test_a_set_input_is_a_constant(self):
        nodes = [node("Mul", ["x", "factor"], ["scaled"]), node("Add", ["scaled", "steps"], ["y"])]
        proto = model(nodes, {"x": X.shape, "factor": (), "steps": (4,)}, {"y": X.shape})
        got = self.run_float(proto, {"x": X}, "--set-input", "factor=2.5", "--set-input", "steps=1,2,3,4")
        np.testing.assert_allclose(got["y"], X * 2.5 + np.float32([1, 2, 3, 4]), rtol=1e-6)
        succeed("compile", self.folder / "net.onnx", "-q", "--set-input", "factor=2.5", "--set-input", "steps=1")

    def test_values_that_an_input_cannot_have(self):
        proto = model([node("Mul", ["x", "s"], ["y"])], {"x": X.shape, "s": (4,)}, {"y": X.shape})
        for value, text in [
            ("s=1,2", "the input has 4 elements, and 2 numbers are given"),
            ("s=one", "'one' is not a number"),
            ("z=1", "has no such input"),
        ]:
            with self.subTest(value=value):
                self.assertIn(text, self.refusal(proto, "--set-input", value))

    # Order

    def test_nodes_in_any_order(self):
        nodes = [node("Relu", ["b"], ["y"], name="last"), node("Add", ["a", "x"], ["b"], name="middle"),
                 node("Neg", ["x"], ["a"], name="first")]  # fmt: skip
        got = self.run_float(model(nodes, {"x": X.shape}, {"y": X.shape}), {"x": X})
        np.testing.assert_array_equal(got["y"], np.zeros_like(X))

    def test_a_cycle_is_refused_by_name(self):
        nodes = [node("Add", ["x", "b"], ["a"], name="one"), node("Neg", ["a"], ["b"], name="two"),
                 node("Relu", ["a"], ["y"], name="three")]  # fmt: skip
        self.assertIn("nodes wait for each other in a cycle: 'one', 'two'",
                      self.refusal(model(nodes, {"x": X.shape}, {"y": X.shape})))  # fmt: skip

    # Softmax and its kin before opset 13

    def test_softmax_of_old_opsets_runs_over_all_axes_behind_its_own(self):
        def flat(axis, function):
            matrix = X.reshape(int(np.prod(X.shape[:axis])), -1).astype(np.float64)
            return function(matrix).reshape(X.shape)

        def softmax(m):
            powers = np.exp(m - m.max(1, keepdims=True))
            return powers / powers.sum(1, keepdims=True)

        functions = {"Softmax": softmax, "LogSoftmax": lambda m: np.log(softmax(m)),
                     "Hardmax": lambda m: np.eye(m.shape[1])[m.argmax(1)]}  # fmt: skip
        for operator, function in functions.items():
            for opset, axis in [(9, 0), (9, 1), (9, 2), (11, -2), (12, 1)]:
                # These are behind a Reshape to a computed shape, which libonnx does not know.
                nodes = [node("Shape", ["x"], ["s"]), node("Reshape", ["x", "s"], ["r"]),
                         node(operator, ["r"], ["y"], axis=axis)]  # fmt: skip
                with self.subTest(operator=operator, opset=opset, axis=axis):
                    proto = model(nodes, {"x": X.shape}, {"y": OPEN}, opset=opset)
                    got = self.run_float(open_shapes(proto), {"x": X}, "--input-shape", "x=2x3x4")
                    np.testing.assert_allclose(got["y"], flat(axis % 3, function), rtol=1e-5, atol=1e-6)

    # Constants

    def test_bounds_of_clip_that_are_computed(self):
        nodes = [
            node("Constant", [], ["low"], name="a", value_int=-1),
            node("Cast", ["low"], ["real_low"], name="b", to=TensorProto.FLOAT),
            node("Constant", [], ["highs"], name="c", value_floats=[0.25, 0.5]),
            node("ReduceMax", ["highs"], ["high"], name="d", keepdims=0),
            node("Clip", ["x", "real_low", "high"], ["y"]),
        ]
        got = self.run_float(model(nodes, {"x": X.shape}, {"y": X.shape}), {"x": X})
        np.testing.assert_allclose(got["y"], X.clip(-1, 0.5))

    def test_bounds_of_clip_that_are_only_known_at_run_time(self):
        nodes = [
            node("ReduceMax", ["x"], ["peak"], keepdims=0),
            node("Sub", ["peak", "one"], ["low"]),
            node("Clip", ["x", "low"], ["y"]),
        ]
        constants = {"one": np.array(1, np.float32)}
        proto = model(nodes, {"x": X.shape}, {"y": X.shape}, constants)
        got = self.run_float(proto, {"x": X})
        np.testing.assert_allclose(got["y"], np.maximum(X, X.max() - 1), rtol=1e-6)

    def test_bounds_of_clip_that_are_several_are_refused(self):
        proto = model([node("Clip", ["x", "low"], ["y"])], {"x": (1, 8)}, {"y": (1, 8)}, {"low": ones(2)})
        self.assertIn("its bounds must be single numbers", self.refusal(proto))

    def test_constants_in_every_form(self):
        nodes = [
            node("Constant", [], ["a"], name="a", value_float=2.0),
            node("Constant", [], ["b"], name="b", value_floats=[1.0, 2.0, 3.0, 4.0]),
            node("Constant", [], ["c"], name="c", value_int=3),
            node("Cast", ["c"], ["d"], name="d", to=TensorProto.FLOAT),
            node("Constant", [], ["e"], name="e", value_ints=[4, 6]),
            node("Mul", ["x", "a"], ["xa"], name="f"), node("Add", ["xa", "b"], ["xb"], name="g"),
            node("Sub", ["xb", "d"], ["xd"], name="h"), node("Reshape", ["xd", "e"], ["y"], name="i"),
        ]  # fmt: skip
        got = self.run_float(model(nodes, {"x": X.shape}, {"y": (4, 6)}), {"x": X})
        np.testing.assert_allclose(got["y"], (X * 2 + np.float32([1, 2, 3, 4]) - 3).reshape(4, 6), rtol=1e-5, atol=1e-6)

    # Half precision

    def test_half_precision_is_computed_in_float32(self):
        weights = np.random.default_rng(6).normal(size=(4, 5)).astype(np.float16)
        small = np.array([6e-8, -0.0, 65504, 1, -2], np.float16)  # subnormal, and the largest
        nodes = [node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16), node("MatMul", ["h", "w"], ["m"]),
                 node("Add", ["m", "b"], ["y"])]  # fmt: skip
        proto = model(nodes, {"x": X.shape}, {"y": (2, 3, 5)}, {"w": weights, "b": small},
                      types={"y": TensorProto.FLOAT16})  # fmt: skip
        got = self.run_float(proto, {"x": X})
        exact = X @ weights.astype(np.float32) + small.astype(np.float32)
        self.assertEqual(got["y"].dtype, np.float16)  # as the network says, rounded once
        np.testing.assert_allclose(got["y"], exact, rtol=2**-10, atol=1e-6)
        result = overtake("compile", self.folder / "net.onnx", "--report", self.folder / "net.txt")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("its FLOAT16 or BFLOAT16 tensors are computed in float32", result.stderr)
        self.assertIn("its FLOAT16 or BFLOAT16 tensors are computed in float32", (self.folder / "net.txt").read_text())

    def test_half_precision_inputs(self):
        proto = model([node("Relu", ["x"], ["y"])], {"x": X.shape}, {"y": X.shape},
                      types={"x": TensorProto.FLOAT16, "y": TensorProto.FLOAT16})  # fmt: skip
        np.testing.assert_array_equal(self.run_float(proto, {"x": X})["y"], np.maximum(X, 0).astype(np.float16))

    # Quantised at run time

    def test_quantisation_at_run_time_is_float_with_quantised_weights(self):
        random = np.random.default_rng(7)
        weights = random.integers(0, 256, (4, 3, 3, 3)).astype(np.uint8)
        matrix = random.integers(-128, 128, (6, 5)).astype(np.int8)
        zeros = random.integers(-9, 9, 5).astype(np.int8)
        nodes = [
            node("DynamicQuantizeLinear", ["x"], ["q", "qs", "qz"]),
            node("ConvInteger", ["q", "w", "qz", "wz"], ["i"], name="conv"),
            node("Cast", ["i"], ["f"], name="cast", to=TensorProto.FLOAT),
            node("Mul", ["qs", "ws"], ["s"], name="scale"), node("Mul", ["f", "s"], ["c"], name="mul"),
            node("DynamicQuantizeLinear", ["c"], ["r", "rs", "rz"], name="again"),
            node("MatMulInteger", ["r", "m", "rz", "mz"], ["j"]),
            node("Cast", ["j"], ["g"], name="cast2", to=TensorProto.FLOAT),
            node("Mul", ["g", "rs"], ["y"], name="mul2"),
        ]  # fmt: skip
        constants = {"w": weights, "wz": np.uint8(120), "ws": np.float32(0.01), "m": matrix, "mz": zeros}
        constants = {name: np.asarray(array) for name, array in constants.items()}
        proto = model(nodes, {"x": (1, 3, 8, 8)}, {"y": (1, 4, 6, 5)}, constants)
        x = random.normal(size=(1, 3, 8, 8)).astype(np.float32)
        got = self.run_float(proto, {"x": x})
        windows = np.lib.stride_tricks.sliding_window_view(x[0], (3, 3), axis=(1, 2))
        convolved = np.einsum("chwij,ocij->ohw", windows, (weights.astype(np.float32) - 120) * np.float32(0.01))
        np.testing.assert_allclose(got["y"][0], convolved @ (matrix.astype(np.float32) - zeros), rtol=1e-4, atol=1e-2)

    # Conditions

    def test_a_condition_on_a_shape(self):
        """The test has an If as PyTorch exports squeeze: the branch that runs, and with it the
        rank, follows from shapes."""
        for opset in (11, 13):
            for size, wanted in ((1, X[:, :1].squeeze(1)), (3, X)):
                squeeze = (node("Squeeze", ["x"], ["t"], axes=[1]) if opset < 13
                           else node("Squeeze", ["x", "one"], ["t"]))  # fmt: skip
                nodes = [
                    node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "axis"], ["size"]),
                    node("Equal", ["size", "axis"], ["is_one"]),
                    choose("is_one", [squeeze], [node("Identity", ["x"], ["e"])], ["s"]),
                    node("Relu", ["s"], ["y"]),
                ]  # fmt: skip
                proto = model(nodes, {"x": (2, size, 4)}, {"y": wanted.shape},
                              {"axis": integer(1), "one": integer([1])}, opset=opset)  # fmt: skip
                with self.subTest(opset=opset, size=size):
                    got = self.run_float(proto, {"x": X[:, :size]})
                    np.testing.assert_array_equal(got["y"], np.maximum(wanted, 0))

    def test_conditions_within_conditions_and_names_used_twice(self):
        """Both branches of both If nodes use the same names; `x` comes from the graph around them."""
        def branch(factor, result):
            return [node("Constant", [], ["f"], name="f", value_float=factor),
                    node("Mul", ["x", "f"], [result])]  # fmt: skip

        inner = choose("rate_is_8", branch(2.0, "t"), branch(3.0, "e"), ["t"], name="inner")
        nodes = [
            node("Equal", ["rate", "eight"], ["rate_is_8"]), node("Not", ["rate_is_8"], ["other"]),
            choose("yes", [inner], branch(9.0, "e"), ["a"], name="outer"),
            choose("other", branch(5.0, "t"), branch(7.0, "e"), ["b"], name="second"),
            node("Add", ["a", "b"], ["y"]),
        ]  # fmt: skip
        proto = model(nodes, {"x": X.shape, "rate": ()}, {"y": X.shape},
                      {"eight": integer(8), "yes": np.array(True)}, types={"rate": TensorProto.INT64})  # fmt: skip
        for rate, factor in ((8, 2 + 7), (16, 3 + 5)):
            got = self.run_float(proto, {"x": X}, "--set-input", f"rate={rate}")
            np.testing.assert_allclose(got["y"], X * factor, rtol=1e-6)
        for rate, factor in ((8, 2 + 7), (16, 3 + 5)):
            got = self.run_float(proto, {"x": X, "rate": np.int64(rate)})
            np.testing.assert_allclose(got["y"], X * factor, rtol=1e-6)

    def test_conditions_on_data_run_both_branches(self):
        """The condition selects between the results of both branches; a warning says that both run."""
        for shape, keeps in (((), 0), ((1,) * X.ndim, 1)):  # the condition's shape
            inner = choose("more", [node("Neg", ["x"], ["t"])], [node("Identity", ["x"], ["e"])], ["u"], name="inner")
            nodes = [
                node("ReduceSum", ["x"], ["sum"], keepdims=keeps),
                node("Greater", ["sum", "zero"], ["p"]), node("Greater", ["sum", "many"], ["more"]),
                choose("p", [node("Relu", ["x"], ["t"])], [inner, node("Add", ["u", "x"], ["e"])], ["a"], name="outer"),
                node("Add", ["a", "x"], ["y"]),
            ]  # fmt: skip
            proto = model(nodes, {"x": X.shape}, {"y": X.shape},
                          {"zero": np.float32(0), "many": np.float32(-5)})  # fmt: skip
            for offset in (1, -1 / X[0].size, -3):
                x = (X - X.mean() + offset * (0.1 if offset != -3 else 1)).astype(np.float32)
                total = x.sum()
                branch = np.maximum(x, 0) if total > 0 else (-x if total > -5 else x) + x
                with self.subTest(shape=shape, total=total):
                    got = self.run_float(proto, {"x": x})
                    np.testing.assert_allclose(got["y"], branch + x, rtol=1e-5, atol=1e-6)
            result = overtake("compile", self.save(proto), "-o", self.folder / "m.ovm")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertRegex(result.stderr, r"node 'outer' \(If\): both branches run each time, as its condition 'p' is "
                             r"only known at run time, from 'x'; if that is always the same, give it with --set-input")

    def test_branches_of_two_shapes_are_refused(self):
        nodes = [
            node("ReduceSum", ["x"], ["sum"], keepdims=0), node("Greater", ["sum", "zero"], ["p"]),
            choose("p", [node("Relu", ["x"], ["t"])], [node("ReduceMax", ["x"], ["e"], axes=[1])], ["y"]),
        ]  # fmt: skip
        proto = model(nodes, {"x": X.shape}, {"y": OPEN}, {"zero": np.float32(0)})
        self.assertIn("its condition 'p' is only known at run time, from 'x'; if that is always the same, "
                      "give it with --set-input x=VALUE", self.refusal(proto))  # fmt: skip

    def test_a_branch_that_is_not_taken_may_hold_anything(self):
        unknown = helper.make_node("Mystery", ["x"], ["e"], domain="com.example")
        proto = model([choose("yes", [node("Relu", ["x"], ["t"])], [unknown], ["y"])],
                      {"x": X.shape}, {"y": X.shape}, {"yes": np.array(True)})  # fmt: skip
        proto.opset_import.append(helper.make_opsetid("com.example", 1))
        np.testing.assert_array_equal(self.run_float(proto, {"x": X})["y"], np.maximum(X, 0))

    def taken(self, nodes, constants, inputs=None):
        """Returns whether an If takes its then-branch, on the condition `c` that `nodes` compute,
        or the error message."""
        proto = model([*nodes, choose("c", [node("Relu", ["x"], ["t"])], [node("Neg", ["x"], ["e"])], ["y"])],
                      {"x": X.shape, **(inputs or {})}, {"y": OPEN}, constants)  # fmt: skip
        result = overtake("run", self.save(proto), *self.random_inputs(proto), "--output-dir", self.folder)
        if result.returncode != 0:
            return result.stderr
        return bool(np.load(self.folder / "y.npy").min() == 0)

    def random_inputs(self, proto):
        np.save(self.folder / "in.npy", X)
        return ["--input", f"x={self.folder / 'in.npy'}"]

    def test_conditions_on_integers_are_exact(self):
        """float32 holds neither 2^24 + 1 nor a product of two large odd numbers."""
        edge = 2**24
        number = np.int64
        for operator, a, b, compare, constant, wanted in [
            ("Add", edge, 1, "Greater", edge, True), ("Sub", edge + 3, 2, "Equal", edge, False),
            ("Mul", 97 * 257, 673, "Equal", edge, False), ("Mul", 4097, 4097, "Equal", 16785408, False),
            ("Div", -7, 2, "Equal", -3, True), ("Mod", -7, 2, "Equal", 1, True),
            ("Add", 2**53, 1, "Less", 2**53 + 1, False),
        ]:  # fmt: skip
            nodes = [node(operator, ["a", "b"], ["d"]), node(compare, ["d", "k"], ["c"])]
            with self.subTest(operator=operator, a=a, b=b):
                self.assertEqual(self.taken(nodes, {"a": number(a), "b": number(b), "k": number(constant)}), wanted)
        nodes = [node("Cast", ["a"], ["d"], to=TensorProto.INT8), node("Less", ["d", "k"], ["c"])]
        self.assertEqual(self.taken(nodes, {"a": number(200), "k": np.int8(0)}), True)
        ones_of = np.ones((3, 1), np.int64) * np.array([97, 257, 673])
        for operator, wanted in [("ReduceProd", edge + 1), ("ReduceMax", 673)]:
            nodes = [node(operator, ["a"], ["d"], axes=[1], keepdims=0), node("Equal", ["d", "k"], ["q"]),
                     node("Cast", ["q"], ["f"], to=TensorProto.INT64),
                     node("ReduceMin", ["f"], ["g"], keepdims=0), node("Cast", ["g"], ["c"], to=TensorProto.BOOL)]  # fmt: skip
            with self.subTest(operator=operator):
                self.assertEqual(self.taken(nodes, {"a": ones_of, "k": number(wanted)}), True)
                self.assertEqual(self.taken(nodes, {"a": ones_of, "k": number(wanted - 1)}), False)

    def test_conditions_on_doubles_are_exact_or_refused(self):
        for name, nodes, a, b in [
            ("equal", [node("Equal", ["a", "b"], ["c"])], 16777217, 16777216),
            ("less", [node("Less", ["a", "b"], ["c"])], 0.1, 0.1 + 1e-12),
            ("sum", [node("Add", ["a", "a"], ["d"]), node("Less", ["d", "b"], ["c"])], 8388609.5, 16777219),
            ("ratio", [node("Div", ["a", "b"], ["d"]), node("Equal", ["d", "b"], ["c"])], 1, 3),
        ]:
            with self.subTest(name=name):
                self.assertIn("its condition 'c' follows from constants, but cannot be computed exactly here",
                              self.taken(nodes, {"a": np.float64(a), "b": np.float64(b)}))  # fmt: skip
        nodes = [node("Add", ["a", "b"], ["d"]), node("Less", ["d", "a"], ["c"])]
        self.assertEqual(self.taken(nodes, {"a": np.float64(5), "b": np.float64(-2)}), True)

    def test_names_of_graphs_within_a_branch_are_not_captured(self):
        """A tensor of the inner branch has the name of the outer If's output, or the name that another
        tensor of the branch would get to make it unique."""
        inner = choose("yes", [node("Add", ["s", "one"], ["y"]), node("Mul", ["y", "one"], ["t"])],
                       [node("Neg", ["s"], ["e"])], ["m"], name="inner")  # fmt: skip
        outer = node("If", ["yes"], ["y", "w"], then_branch=graph([node("Relu", ["x"], ["s"]), inner], ["s", "m"]),
                     else_branch=graph([node("Neg", ["x"], ["a"]), node("Neg", ["x"], ["b"])], ["a", "b"]))  # fmt: skip
        constants = {"yes": np.array(True), "one": ones(1)}
        got = self.run_float(model([outer], {"x": X.shape}, {"y": X.shape, "w": X.shape}, constants), {"x": X})
        np.testing.assert_array_equal(got["y"], np.maximum(X, 0))
        np.testing.assert_array_equal(got["w"], np.maximum(X, 0) + 1)
        inner = choose("yes", [node("Neg", ["l"], ["l_"]), node("Add", ["l", "l_"], ["t"])],
                       [node("Neg", ["l"], ["e"])], ["t"], name="inner")  # fmt: skip
        nodes = [choose("yes", [node("Relu", ["x"], ["l"]), inner], [node("Neg", ["x"], ["e"])], ["y"]),
                 node("Exp", ["y"], ["l"], name="later"), node("Identity", ["l"], ["out"], name="end")]  # fmt: skip
        got = self.run_float(model(nodes, {"x": X.shape}, {"out": X.shape}, constants), {"x": X})
        np.testing.assert_array_equal(got["out"], np.ones_like(X))

    def test_a_branch_that_is_not_taken_says_nothing_of_shapes(self):
        scales = np.array([1, 1, 2, 2], np.float32)
        x = X.reshape(1, 1, 4, 6)
        for opset, inputs in ((10, ["x", "s"]), (13, ["x", "", "s"])):
            resize = node("Resize", inputs, ["t"], mode="linear")
            nodes = [choose("yes", [resize], [node("Neg", ["x"], ["e"])], ["y"]), node("Shape", ["y"], ["shape"])]
            for branch in nodes[0].attribute:
                dimension = branch.g.output[0].type.tensor_type.shape.dim
                dimension.add()
            proto = model(nodes, {"x": x.shape}, {"y": (None,) * 4}, {"yes": np.array(True), "s": scales}, opset=opset)
            with self.subTest(opset=opset):
                self.assertEqual(self.run_float(proto, {"x": x})["y"].shape, (1, 1, 8, 12))

    # Texts of refusals

    def test_counts_and_shapes_are_reported_by_node_and_operator(self):
        x, four = {"x": (1, 4, 6, 6)}, ones(4)
        resize = node("Resize", ["x", "", "s"], ["y"], nearest_mode="before opset 11")
        for proto, text in [
            (model([node("BatchNormalization", ["x", "s", "s", "s"], ["y"])], x, {"y": OPEN}, {"s": four}, opset=9),
             "node 'my_batchnormalization' (BatchNormalization): has 4 inputs, and BatchNormalization has 5"),
            (model([resize], x, {"y": (1, 4, 12, 12)}, {"s": np.float32([1, 1, 2, 2])}),
             "nearest mode 'before opset 11' is not supported"),
        ]:  # fmt: skip
            with self.subTest(text=text):
                self.assertIn(text, self.refusal(proto))

    def test_a_shape_that_the_model_declares_wrongly(self):
        proto = model([node("Relu", ["x"], ["y"])], {"x": (1, 4, 6, 6)}, {"y": (1, 4, 6, 7)})
        compiled = self.folder / "net.ovm"
        result = overtake("compile", self.save(proto), "-o", compiled)
        if result.returncode == 0:  # libonnx of Debian 13 accepts it; the file then has the computed shape
            self.assertEqual(info(compiled)["outputs"][0]["shape"], [1, 4, 6, 6])
            return
        self.assertIn(
            "node 'my_relu' (Relu): its output has 6 elements along axis 3, and the model says 7",
            result.stderr,
        )

    def test_only_so_many_reasons_are_told(self):
        nodes = [node("Resize", ["x", "", "s"], [f"y{i}"], name=f"r{i}", nearest_mode=f"m{i}") for i in range(50)]
        outputs = {f"y{i}": (1, 1, 8, 8) for i in range(50)}
        text = self.refusal(model(nodes, {"x": (1, 1, 4, 4)}, outputs, {"s": np.float32([1, 1, 2, 2])}))
        self.assertTrue(text.endswith("; and 30 more reasons for 30 nodes\n"), text)


if __name__ == "__main__":
    unittest.main()
