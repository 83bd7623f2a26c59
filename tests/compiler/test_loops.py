# SPDX-License-Identifier: MIT
"""Loops whose number of trips follows from constants and shapes. The expected values are computed
here trip by trip, as ONNX's text defines a loop."""

import pathlib
import tempfile
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from overtake_command import info, overtake, run, succeed
from small_models import model, node, save

X = np.random.default_rng(17).normal(size=(2, 3)).astype(np.float32)
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
MOST = np.iinfo(np.int64).max


def infos(names, types=None):
    types = types or {}
    return [helper.make_tensor_value_info(n, types.get(n, FLOAT), None) for n in names]


def body(nodes, inputs, outputs, constants=None, types=None):
    """Makes a body, whose first two inputs are the trip and the condition, and whose first output
    is the condition."""
    types = {inputs[0]: INT64, inputs[1]: BOOL, outputs[0]: BOOL, **(types or {})}
    constants = [numpy_helper.from_array(np.asarray(a), n) for n, a in (constants or {}).items()]
    graph = helper.make_graph(nodes, "body", infos(inputs, types), infos(outputs, types), constants)
    for value in graph.input[:2]:
        value.type.tensor_type.shape.SetInParent()
    return graph


def loop(inputs, outputs, graph, name="loop"):
    return node("Loop", inputs, outputs, name=name, body=graph)


PASSES = [node("Identity", ["go"], ["on"], name="pass")]


class Loops(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_float(self, nodes, outputs, constants, inputs=None, opset=13, types=None):
        inputs = inputs or {"x": X}
        proto = model(nodes, {n: a.shape for n, a in inputs.items()}, dict.fromkeys(outputs),
                      {n: np.asarray(a) for n, a in constants.items()}, opset=opset, types=types)  # fmt: skip
        path = save(proto, self.folder / "loop.onnx")
        given = []
        for name, array in inputs.items():
            np.save(self.folder / f"{name}.npy", array)
            given += ["--input", f"{name}={self.folder / f'{name}.npy'}"]
        succeed("run", path, *given, "-q", "--output-dir", self.folder)
        return [np.load(self.folder / f"{name}.npy") for name in outputs]

    def refusal(self, nodes, constants, inputs=("x",), outputs=("y",), opset=13):
        proto = model(nodes, {n: () if n != "x" else X.shape for n in inputs}, dict.fromkeys(outputs),
                      {n: np.asarray(a) for n, a in constants.items()}, opset=opset,
                      types={"n": INT64, "b": BOOL})  # fmt: skip
        result = overtake("compile", save(proto, self.folder / "loop.onnx"), "-q")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        return result.stderr

    def test_carried_values_and_what_each_trip_gives(self):
        """Two values are carried, one of them without a change. The body reads what lies around the
        loop, and the loop gives one tensor for each trip."""
        nodes = PASSES + [
            node("Cast", ["i"], ["t"], name="cast", to=FLOAT), node("Mul", ["a", "k"], ["m"], name="mul"),
            node("Add", ["m", "t"], ["s"], name="add"), node("Add", ["s", "x"], ["u"], name="add2"),
        ]  # fmt: skip
        graph = body(nodes, ["i", "go", "a", "c"], ["on", "s", "c", "u"], {"k": np.float32(0.5)})
        for opset in (11, 13, 17):
            for trips in (1, 2, 5):
                a, rows = X, []
                for trip in range(trips):
                    a = a * np.float32(0.5) + np.float32(trip)
                    rows.append(a + X)
                with self.subTest(opset=opset, trips=trips):
                    final, same, each = self.run_float(
                        [loop(["n", "b", "x", "z"], ["y", "same", "each"], graph)], ["y", "same", "each"],
                        {"n": np.int64(trips), "b": True, "z": X + 1}, opset=opset)  # fmt: skip
                    np.testing.assert_allclose(final, a, rtol=1e-6)
                    np.testing.assert_array_equal(same, X + 1)
                    np.testing.assert_allclose(each, np.stack(rows), rtol=1e-6)

    def test_no_trip_gives_what_the_loop_was_given(self):
        graph = body(PASSES + [node("Neg", ["a"], ["s"])], ["i", "go", "a"], ["on", "s", "s"])
        for trips, condition in ((0, True), (-3, True), (4, False)):
            with self.subTest(trips=trips):
                (y,) = self.run_float([node("Relu", ["x"], ["r"]), loop(["n", "b", "r"], ["q"], graph),
                                       node("Identity", ["q"], ["y"])], ["y"],
                                      {"n": np.int64(trips), "b": condition})  # fmt: skip
                np.testing.assert_array_equal(y, np.maximum(X, 0))
        said = self.refusal([loop(["n", "b", "x"], ["q", "y"], graph)], {"n": np.int64(0), "b": True})
        self.assertIn("node 'loop' (Loop): it makes no trip, and its output 'y' would be empty", said)

    def test_trips_of_a_shape(self):
        """PyTorch writes a loop over the rows of a tensor like this."""
        nodes = PASSES + [node("Gather", ["x", "i"], ["row"], axis=0), node("Mul", ["a", "two"], ["d"], name="twice"),
                          node("Add", ["d", "row"], ["s"])]  # fmt: skip
        graph = body(nodes, ["i", "go", "a"], ["on", "s"], {"two": np.float32(2)})
        around = [node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "zero"], ["n"], name="rows"),
                  loop(["n", "b", "start"], ["y"], graph)]  # fmt: skip
        x = np.random.default_rng(3).normal(size=(6, 4)).astype(np.float32)
        (y,) = self.run_float(around, ["y"], {"zero": np.int64(0), "b": True, "start": np.zeros(4, np.float32)}, {"x": x})
        wanted = np.zeros(4, np.float32)
        for row in x:
            wanted = wanted * 2 + row
        np.testing.assert_allclose(y, wanted, rtol=1e-5)

    def test_a_condition_that_follows_from_the_trips(self):
        """The condition depends on the number of the trip, on what is carried, or on nothing; the
        loop has a count or none."""
        doubled = [node("Add", ["a", "a"], ["s"], name="double")]
        of_trip = [node("Less", ["i", "last"], ["on"])] + doubled
        of_value = [node("Add", ["v", "three"], ["w"], name="count"), node("Less", ["w", "ten"], ["on"])] + doubled
        constants = {"last": np.int64(3), "three": np.float32(3), "ten": np.float32(10), "never": False}
        for opset in (11, 13):
            for nodes, most, trips in (
                (of_trip, None, 4), (of_trip, MOST, 4), (of_trip, 2, 2), (of_value, None, 4), (of_value, 3, 3),
                ([node("Identity", ["never"], ["on"])] + doubled, None, 1),
            ):  # fmt: skip
                graph = body(nodes, ["i", "go", "a", "v"], ["on", "s", "w" if nodes is of_value else "v"], constants)
                around = [loop(["" if most is None else "n", "b", "x", "zero"], ["y", ""], graph)]
                given = {"b": True, "zero": np.float32(0), "n": np.int64(most or 0)}
                with self.subTest(opset=opset, trips=trips, most=most):
                    (y,) = self.run_float(around, ["y"], given, opset=opset)
                    np.testing.assert_array_equal(y, X * np.float32(2**trips))

    def test_loops_and_conditions_in_loops(self):
        """The inner loop makes as many trips as the outer one has made."""
        inner = body([node("Identity", ["goes"], ["on2"]), node("Add", ["v", "x"], ["w"])], ["j", "goes", "v"], ["on2", "w"])
        branches = {
            f"{name}_branch": helper.make_graph([node(operator, ["l"], [name])], name, [], infos([name]))
            for name, operator in (("then", "Neg"), ("else", "Identity"))
        }
        outer = body([
            node("Identity", ["go"], ["on"]), loop(["i", "b", "a"], ["l"], inner, name="inner"),
            node("Equal", ["i", "one"], ["is_second"]), node("If", ["is_second"], ["s"], **branches),
        ], ["i", "go", "a"], ["on", "s"])  # fmt: skip
        (y,) = self.run_float([loop(["n", "b", "x"], ["y"], outer)], ["y"],
                              {"n": np.int64(4), "b": True, "one": np.int64(1)})  # fmt: skip
        wanted = X
        for trip in range(4):
            wanted = wanted + trip * X
            wanted = -wanted if trip == 1 else wanted
        np.testing.assert_allclose(y, wanted, rtol=1e-6)

    def test_outputs_that_share_a_tensor_and_trips_with_a_dimension(self):
        nodes = PASSES + [node("Gather", ["table", "i"], ["row"]), node("Add", ["a", "row"], ["s"])]
        graph = body(nodes, ["i", "go", "a", "c"], ["on", "s", "s", "s", "row"])
        graph.input[0].type.tensor_type.shape.dim.add().dim_value = 1
        table = np.float32([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
        one, two, rows = self.run_float(
            [loop(["n", "", "x", "x"], ["one", "two", "", "rows"], graph)], ["one", "two", "rows"],
            {"n": np.int64([3]), "table": table})  # fmt: skip
        np.testing.assert_allclose(one, X + table.sum(axis=0), rtol=1e-6)
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(rows, table[:, None])

    def test_a_sequence_that_grows(self):
        """PyTorch writes a list that a loop appends to like this."""
        nodes = PASSES + [node("Cast", ["i"], ["t"], name="cast", to=FLOAT), node("Mul", ["x", "t"], ["row"], name="mul"),
                          node("SequenceInsert", ["list", "row"], ["longer"])]  # fmt: skip
        graph = body(nodes, ["i", "go", "list"], ["on", "longer"])
        for value in (graph.input[2], graph.output[1]):
            value.CopyFrom(helper.make_tensor_sequence_value_info(value.name, FLOAT, None))
        around = [node("SequenceEmpty", [], ["empty"]), loop(["n", "b", "empty"], ["all"], graph),
                  node("ConcatFromSequence", ["all"], ["y"], axis=1)]  # fmt: skip
        (y,) = self.run_float(around, ["y"], {"n": np.int64(4), "b": True})
        np.testing.assert_allclose(y, np.concatenate([X * trip for trip in range(4)], axis=1), rtol=1e-6)

    def test_it_runs_on_the_device_as_its_trips_written_out(self):
        x = np.random.default_rng(9).normal(size=(1, 4, 8, 8)).astype(np.float32)
        weights = np.random.default_rng(8).normal(size=(4, 4, 3, 3)).astype(np.float32) / 4
        nodes = [node("Identity", ["go"], ["on"]), node("Conv", ["a", "w"], ["c"], pads=[1] * 4), node("Relu", ["c"], ["s"])]
        graph = body(nodes, ["i", "go", "a"], ["on", "s"], {"w": weights})
        looped = model([loop(["n", "b", "x"], ["y"], graph)], {"x": x.shape}, {"y": x.shape},
                       {"n": np.array(3), "b": np.array(True)})  # fmt: skip
        written = []
        for trip in range(3):
            written += [node("Conv", [f"a{trip}" if trip else "x", "w"], [f"c{trip}"], pads=[1] * 4, name=f"conv{trip}"),
                        node("Relu", [f"c{trip}"], [f"a{trip + 1}" if trip < 2 else "y"], name=f"relu{trip}")]  # fmt: skip
        plain = model(written, {"x": x.shape}, {"y": x.shape}, {"w": weights})
        np.save(self.folder / "x.npy", x)
        results = []
        for name, proto in (("looped", looped), ("plain", plain)):
            path = save(proto, self.folder / f"{name}.onnx")
            succeed("compile", path, "-q", "--calibration", self.folder / "x.npy")
            self.assertEqual([s["processor"] for s in info(path.with_suffix(".ovm"))["segments"]], ["BPU"])
            results.append(run(path.with_suffix(".ovm"), {"x": x}, self.folder / name)["y"])
        np.testing.assert_array_equal(*results)
        self.assertLess((self.folder / "looped.ovm").stat().st_size, 1.1 * (self.folder / "plain.ovm").stat().st_size)

    def test_nodes_of_a_trip_have_its_number_in_their_names(self):
        graph = body(PASSES + [node("Softmax", ["a"], ["s"], name="soft")], ["i", "go", "a"], ["on", "s"])
        proto = model([loop(["n", "b", "x"], ["y"], graph)], {"x": X.shape}, {"y": X.shape},
                      {"n": np.array(2), "b": np.array(True)})  # fmt: skip
        report = self.folder / "report.json"
        succeed("compile", save(proto, self.folder / "l.onnx"), "-q", "--report", report)
        for name in ("loop/0/soft", "loop/1/soft"):
            self.assertIn(f'"{name}"', report.read_text())

    def test_a_condition_of_data_that_has_no_effect(self):
        """The loop has one trip, or no condition, so that ONNX ignores the condition that its body makes."""
        nodes = [node("ReduceSum", ["a"], ["t"], keepdims=0), node("Less", ["t", "least"], ["on"]),
                 node("Cast", ["go"], ["truth"], to=FLOAT), node("Add", ["a", "truth"], ["s"])]  # fmt: skip
        graph = body(nodes, ["i", "go", "a"], ["on", "s"], {"least": np.float32(-1e9)})
        for condition, trips, added in (("b", 1, 1), ("", 1, 1), ("", 3, 1), ("", 0, 0)):
            with self.subTest(condition=condition, trips=trips):
                (y,) = self.run_float([node("Relu", ["x"], ["r"]), loop(["n", condition, "r"], ["q"], graph),
                                       node("Identity", ["q"], ["y"])], ["y"],
                                      {"n": np.int64(trips), "b": True})  # fmt: skip
                # The body gets a condition all the same: true at first, then what it made.
                np.testing.assert_allclose(y, np.maximum(X, 0) + np.float32(added), rtol=1e-6)

    def test_names_and_nodes_are_bounded_in_bytes(self):
        graph = body(PASSES + [node("Neg", ["a"], ["s"])], ["i", "go", "a"], ["on", "s"])
        long = "y" * 200_000
        said = self.refusal([loop(["n", "b", "x"], [long], graph), node("Identity", [long], ["y"])],
                            {"n": np.int64(2000), "b": True})  # fmt: skip
        self.assertIn("node 'loop' (Loop): it makes ", said)
        self.assertIn("loops are unrolled to at most 256 MiB in all; export it with fewer trips or shorter names", said)

    def test_constants_of_a_body_count_once(self):
        table = np.ones((2000, 2000), np.float32)
        nodes = [node("Constant", [], ["k"], value=numpy_helper.from_array(table)), node("Gather", ["k", "i"], ["row"]),
                 node("Gather", ["row", "i"], ["number"], name="pick"), node("Add", ["a", "number"], ["s"])]  # fmt: skip
        graph = body(PASSES + nodes, ["i", "go", "a"], ["on", "s"])
        (y,) = self.run_float([loop(["n", "b", "x"], ["y"], graph)], ["y"], {"n": np.int64(100), "b": True})
        np.testing.assert_allclose(y, X + np.float32(100), rtol=1e-5)

    def test_what_is_computed_of_conditions_is_bounded(self):
        ends = [node("Less", ["i", "last"], ["on"]), node("Neg", ["a"], ["s"])]
        long = body(ends, ["i", "go", "a"], ["on", "s"], {"last": np.int64(5000)})
        wide = [node("Cast", ["i"], ["t"], to=FLOAT), node("Add", ["table", "t"], ["moved"]),
                node("ReduceMax", ["moved"], ["m"], keepdims=0), node("Less", ["m", "most"], ["on"]),
                node("Neg", ["a"], ["s"])]  # fmt: skip
        wide = body(wide, ["i", "go", "a"], ["on", "s"],
                    {"table": np.zeros(1 << 20, np.float32), "most": np.float32(100)})  # fmt: skip
        for graph in (long, wide):
            said = self.refusal([loop(["n", "b", "x"], ["y"], graph)], {"n": np.int64(MOST), "b": True})
            self.assertIn("node 'loop' (Loop): its condition changes from trip to trip, and conditions of loops are "
                          "computed for at most 4096 trips and 16777216 numbers in all", said)  # fmt: skip

    def test_loops_on_data_are_refused(self):
        graph = body(PASSES + [node("Neg", ["a"], ["s"])], ["i", "go", "a"], ["on", "s"])
        on_data = body([node("ReduceSum", ["a"], ["t"], keepdims=0), node("Less", ["t", "ten"], ["on"]),
                        node("Neg", ["a"], ["s"])], ["i", "go", "a"], ["on", "s"], {"ten": np.float32(10)})  # fmt: skip
        given = {"n": np.int64(2), "b": True}
        for nodes, inputs in (
            ([loop(["n", "b", "x"], ["y"], graph)], ("x", "n")),
            ([loop(["n", "b", "x"], ["y"], graph)], ("x", "b")),
            ([loop(["n", "b", "x"], ["y"], on_data)], ("x",)),
            ([loop(["", "b", "x"], ["y"], on_data)], ("x",)),
            ([loop(["", "", "x"], ["y"], on_data)], ("x",)),
        ):
            said = self.refusal(nodes, {k: v for k, v in given.items() if k not in inputs}, inputs)
            self.assertIn("node 'loop' (Loop): loops are not supported", said)

    def test_refusals_of_what_cannot_be_unrolled(self):
        graph = body(PASSES + [node("Neg", ["a"], ["s"])], ["i", "go", "a"], ["on", "s"])
        ends = body([node("Less", ["i", "i"], ["on"]), node("Neg", ["a"], ["s"])], ["i", "go", "a"], ["on", "s"])
        inner = body([node("Identity", ["goes"], ["on2"]), loop(["n", "b", "v"], ["w"], graph, name="inner")],
                     ["j", "goes", "v"], ["on2", "w"])  # fmt: skip
        for inputs, of, trips, said in (
            (["n", "b", "x"], graph, 32769, "it makes 32769 trips or more of 2 nodes, and loops are unrolled to at "
             "most 65536 nodes in all; export it with fewer trips"),
            (["n", "b", "x"], graph, MOST, "it makes 32769 trips or more of 2 nodes"),
            (["", "b", "x"], graph, 1, "it makes 32769 trips or more of 2 nodes"),
            (["n", "b", "x"], inner, 400, "loops are unrolled to at most 65536 nodes in all"),
            (["n", "", "x"], ends, 2, "its body ends it, but ONNX ignores that of a loop without a condition; export it "
             "with one"),
            (["n", "b", "x", "x"], graph, 2, "its body does not fit its inputs and outputs; is the file damaged?"),
        ):  # fmt: skip
            with self.subTest(said=said):
                self.assertIn(said, self.refusal([loop(inputs, ["y"], of)], {"n": np.int64(trips), "b": True}))


if __name__ == "__main__":
    unittest.main()
