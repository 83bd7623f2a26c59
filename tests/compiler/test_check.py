# SPDX-License-Identifier: MIT
"""overtake compile --check, and refusals that name all nodes at once."""

import json
import pathlib
import tempfile
import unittest

import numpy as np
from onnx import TensorProto, helper

from overtake_command import overtake
from small_models import model, node, ones, save

IMAGE = (1, 3, 8, 8)


def mixed():
    """Two operators that nobody has, of ONNX and not, a sound node behind each, and a Softmax."""
    nodes = [
        node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Mystery", ["c"], ["m"], name="first", domain="com.example"),
        helper.make_node("Mystery", ["c"], ["n"], name="second", domain="com.example"),
        node("Det", ["x"], ["d"]),
        node("Relu", ["m"], ["r"]),
        node("Softmax", ["c"], ["s"]),
        node("Add", ["c", "c"], ["a"]),
    ]
    shapes = {"r": (1, 4, 6, 6), "n": (1, 4, 6, 6), "d": (1, 3), "s": (1, 4, 6, 6), "a": (1, 4, 6, 6)}
    proto = model(nodes, {"x": IMAGE}, shapes, {"w": ones(4, 3, 3, 3)})
    proto.opset_import.append(helper.make_opsetid("com.example", 1))
    return proto


class Check(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "net.onnx"

    def check(self, proto, *options):
        save(proto, self.path)
        result = overtake("compile", self.path, "--check", "--json", *options)
        self.assertEqual(result.stderr, "")
        report = json.loads(result.stdout)
        self.assertEqual(result.returncode, 0 if report["compiles"] else 1)
        return report, {row["operator"]: row for row in report["operators"]}

    def test_lists_each_operator_with_count_place_and_reason(self):
        report, rows = self.check(mixed())
        self.assertFalse(report["compiles"])
        self.assertEqual([rows["Conv"][key] for key in ("nodes", "bpu", "cpu", "refused")], [1, 1, 0, 0])
        self.assertEqual([rows["Softmax"][key] for key in ("nodes", "bpu", "cpu")], [1, 0, 1])
        self.assertEqual(rows["Mystery"]["refusals"],
                         [{"reason": "the operator is not supported", "nodes": ["first", "second"]}])  # fmt: skip
        self.assertEqual(rows["Det"]["refused"], 1)
        self.assertEqual(rows["Relu"]["not_looked_at"], 1)  # nobody knows what the first gives
        self.assertEqual(rows["Add"]["bpu"], 1)
        self.assertFalse(self.path.with_suffix(".ovm").exists())

    def test_text(self):
        save(mixed(), self.path)
        result = overtake("compile", self.path, "--check")
        self.assertEqual(result.returncode, 1)
        self.assertIn("refused: 2 Mystery ('first', 'second'): the operator is not supported", result.stdout)
        self.assertIn("does not compile: 3 of 7 nodes are refused", result.stdout)

    def test_a_sound_network(self):
        proto = model([node("Relu", ["x"], ["y"])], {"x": IMAGE}, {"y": IMAGE})
        report, rows = self.check(proto)
        self.assertTrue(report["compiles"])
        self.assertEqual(rows["Relu"]["bpu"], 1)

    def test_a_network_refused_as_a_whole(self):
        proto = model([node("Relu", ["x"], ["y"])], {"x": IMAGE}, {"y": (1, 3, None, 8)})
        proto.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "height"
        report, _ = self.check(proto)
        self.assertIn("--input-shape x=1x3x?x8", report["refusal"])
        report, _ = self.check(proto, "--input-shape", "x=1x3x8x8")
        self.assertTrue(report["compiles"])

    def test_why_the_cpu(self):
        proto = model([node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2])], {"x": (300, 3, 4, 4)}, {"y": (300, 3, 3, 3)})
        _, rows = self.check(proto)
        self.assertEqual(rows["MaxPool"]["cpu"], 1)
        self.assertEqual(rows["MaxPool"]["reasons_for_cpu"][0]["nodes"], ["my_maxpool"])

    def test_compiling_names_all_that_is_refused(self):
        save(mixed(), self.path)
        result = overtake("compile", self.path)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertIn("3 of 7 nodes are refused: 2 Mystery ('first', 'second'): the operator is not "
                      "supported; 1 Det ('my_det'): the operator is not supported", result.stderr)  # fmt: skip

    def test_recurrence_and_loops_by_name(self):
        weights = {"w": ones(1, 8, 3), "r": ones(1, 8, 2)}
        proto = model([node("LSTM", ["x", "w", "r"], ["y"], hidden_size=2)], {"x": (5, 1, 3)},
                      {"y": (5, 1, 1, 2)}, weights)  # fmt: skip
        _, rows = self.check(proto)
        self.assertEqual(rows["LSTM"]["refusals"][0]["reason"], "recurrent operators are not supported")
        info = helper.make_tensor_value_info
        body = helper.make_graph(
            [node("Identity", ["go"], ["still"]), node("Neg", ["a"], ["b"])], "body",
            [info("i", TensorProto.INT64, []), info("go", TensorProto.BOOL, []), info("a", 1, [3])],
            [info("still", TensorProto.BOOL, []), info("b", 1, [3])])  # fmt: skip
        proto = model([node("Loop", ["n", "", "x"], ["y"], body=body)], {"x": (3,)}, {"y": (3,)},
                      {"n": np.array(2, np.int64)})  # fmt: skip
        _, rows = self.check(proto)
        self.assertEqual(rows["Loop"]["refusals"][0]["reason"], "loops are not supported")


if __name__ == "__main__":
    unittest.main()
