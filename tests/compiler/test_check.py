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


OF_ANOTHER_DOMAIN = (
    "the operator is not supported; it is of domain 'com.example', so export it as operators of ONNX, or leave it to the "
    "program with --custom-op-domain"
)


def mixed():
    """Has two nodes of an unknown operator, a Det, a sound node behind one of the two, and a
    Softmax."""
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
                         [{"reason": OF_ANOTHER_DOMAIN, "nodes": ["first", "second"]}])  # fmt: skip
        self.assertEqual(rows["Det"]["refused"], 1)
        self.assertEqual(rows["Relu"]["not_looked_at"], 1)  # its input is not known
        self.assertEqual(rows["Add"]["bpu"], 1)
        self.assertFalse(self.path.with_suffix(".ovm").exists())

    def test_a_foreign_operator_with_a_name_of_onnx(self):
        nodes = [
            helper.make_node("Div", [], ["z"], name="mine", domain="com.example"),
            helper.make_node("DequantizeLinear", [], ["y"], name="too", domain="com.example"),
        ]
        proto = model(nodes, {"x": IMAGE}, {"z": IMAGE, "y": IMAGE})
        proto.opset_import.append(helper.make_opsetid("com.example", 1))
        report, rows = self.check(proto)
        self.assertFalse(report["compiles"])
        self.assertEqual(sorted(rows), ["com.example.DequantizeLinear", "com.example.Div"])
        (refusal,) = rows["com.example.Div"]["refusals"]
        self.assertEqual(refusal["nodes"], ["mine"])
        self.assertIn("not supported; it is of domain 'com.example'", refusal["reason"])

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

    def test_a_quantised_network_goes_where_compile_puts_it(self):
        nodes = [
            node("QuantizeLinear", ["x", "s", "z"], ["xq"], name="xq"),
            node("DequantizeLinear", ["xq", "s", "z"], ["xd"], name="xd"),
            node("DequantizeLinear", ["w", "s", "z"], ["wd"], name="wd"),
            node("Conv", ["xd", "wd"], ["c"]),
            node("QuantizeLinear", ["c", "s", "z"], ["cq"], name="cq"),
            node("DequantizeLinear", ["cq", "s", "z"], ["cd"], name="cd"),
            node("Sigmoid", ["cd"], ["g"]),
            node("Mul", ["g", "cd"], ["y"]),
        ]
        constants = {"s": np.float32(0.02), "z": np.int8(0), "w": np.full((4, 3, 3, 3), 9, np.int8)}
        proto = model(nodes, {"x": IMAGE}, {"y": (1, 4, 6, 6)}, constants)
        save(proto, self.path)
        report = self.path.with_suffix(".json")
        result = overtake("compile", self.path, "-q", "--report", report)
        self.assertIn("no scales for 2 nodes ('my_mul', 'my_sigmoid')", result.stderr)
        compiled = {n["type"]: n["processor"] for n in json.loads(report.read_text())["nodes"]}
        self.assertEqual(compiled, {"Conv": "BPU", "Sigmoid": "CPU", "Mul": "CPU"})
        result = overtake("compile", self.path, "--check", "--json")
        rows = {row["operator"]: row for row in json.loads(result.stdout)["operators"]}
        self.assertEqual({t: "BPU" if r["bpu"] else "CPU" for t, r in rows.items()}, compiled)
        self.assertIn("no scales", rows["Mul"]["reasons_for_cpu"][0]["reason"])

    def test_a_mask_is_the_reason_for_the_cpu(self):
        nodes = [node("Conv", ["x", "w"], ["c"]), node("Add", ["c", "m"], ["a"]), node("Softmax", ["a"], ["y"], axis=1)]
        mask = np.zeros((1, 4, 6, 6), np.float32)
        mask[:, 1] = -1e4
        proto = model(nodes, {"x": IMAGE}, {"y": (1, 4, 6, 6)}, {"w": ones(4, 3, 3, 3), "m": mask})
        _, rows = self.check(proto)
        self.assertIn("mask", rows["Add"]["reasons_for_cpu"][0]["reason"])

    def test_a_cheap_node_follows_its_neighbours_to_the_cpu(self):
        nodes = [
            node("Softmax", ["x"], ["s"]),
            node("Relu", ["s"], ["r"]),
            node("Softmax", ["r"], ["t"]),
        ]
        _, rows = self.check(model(nodes, {"x": IMAGE}, {"t": IMAGE}))
        self.assertEqual(rows["Relu"]["cpu"], 1)
        self.assertIn("its neighbours are on the CPU", rows["Relu"]["reasons_for_cpu"][0]["reason"])

    def test_options_that_it_would_ignore_are_refused(self):
        save(mixed(), self.path)
        for option in (["--quiet"], ["--report", "r.html"], ["--output", "r.ovm"]):
            result = overtake("compile", self.path, "--check", *option)
            self.assertEqual(result.returncode, 2)
            self.assertIn("--check", result.stderr)
            self.assertIn(option[0], result.stderr)

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

    def test_compiling_warns_of_much_work_on_the_cpu(self):
        """The warning names the work's share and the reason; there is none if the user asked for
        the CPU."""
        constants = {"w": ones(4, 3, 3, 3), "v": ones(4, 1, 1, 1), "h": ones(4, 4, 1, 1)}
        nodes = [node("Conv", ["x", "w"], ["a"], name="large"),
                 node("ConvTranspose", ["a", "h"], ["y"], name="strided", strides=[2, 2])]  # fmt: skip
        save(model(nodes, {"x": IMAGE}, {"y": (1, 4, None, None)}, constants), self.path)
        warned = self.warnings("compile", self.path, "-q")
        (line,) = [each for each in warned if "multiply-accumulates" in each]
        self.assertRegex(line, r"node 'strided' \(ConvTranspose\) runs on the CPU, with \d+ % of the "
                               "multiply-accumulates: strides larger than the kernel are not supported")  # fmt: skip
        for options in (["--run-on-cpu", "strided"], ["--cpu"]):
            warned = self.warnings("compile", self.path, "-q", *options)
            self.assertEqual([each for each in warned if "multiply-accumulates" in each], [])

    def warnings(self, *arguments):
        result = overtake(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stderr.splitlines()

    def test_compiling_names_all_that_is_refused(self):
        save(mixed(), self.path)
        result = overtake("compile", self.path)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertIn(f"3 of 7 nodes are refused: 2 Mystery ('first', 'second'): {OF_ANOTHER_DOMAIN}; "
                      "1 Det ('my_det'): the operator is not supported", result.stderr)  # fmt: skip

    def test_loops_by_name(self):
        info = helper.make_tensor_value_info
        body = helper.make_graph(
            [node("Identity", ["go"], ["still"]), node("Neg", ["a"], ["b"])], "body",
            [info("i", TensorProto.INT64, []), info("go", TensorProto.BOOL, []), info("a", 1, [3])],
            [info("still", TensorProto.BOOL, []), info("b", 1, [3])])  # fmt: skip
        proto = model([node("Loop", ["n", "", "x"], ["y"], body=body)], {"x": (3,), "n": ()}, {"y": (3,)},
                      types={"n": TensorProto.INT64})  # fmt: skip
        _, rows = self.check(proto)
        self.assertEqual(rows["Loop"]["refusals"][0]["reason"], "loops are not supported")


if __name__ == "__main__":
    unittest.main()
