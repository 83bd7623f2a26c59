# SPDX-License-Identifier: MIT
"""Operators of a program's own domain: compiled with a shared object that registers them, computed
on the CPU between segments of the device, refused where they are not registered."""

import os
import pathlib
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from overtake_command import info
# A process that has loaded a library keeps it.
from overtake_command import overtake_alone as overtake

LIBRARY = os.environ["OVERTAKE_CUSTOM_OPERATORS"]
DOMAIN = "com.example"
SHAPE = [1, 4, 6, 6]


def affine(name="affine", **changes):
    attributes = {
        "factor": 2.0, "offsets": [0.25, 0.5], "sign": -1, "times": [3, 4], "mode": "on",
        "modes": ["one", "two"],
        "table": numpy_helper.from_array(np.array([[0.5, -0.5]], np.float32)), **changes,
    }
    return helper.make_node("Affine", ["x"], ["a"], name=name, domain=DOMAIN, **attributes)


def expected(x):
    table = np.resize(np.array([0.5, -0.5], np.float32), x.size).reshape(x.shape)
    return -(2 * x + table + 0.75) + 7


class CustomOperators(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def save(self, nodes, output="y", shapes=True):
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            nodes, "g", [value("x", TensorProto.FLOAT, SHAPE)],
            [value(output, TensorProto.FLOAT, SHAPE if shapes else None)],
            value_info=[value("a", TensorProto.FLOAT, SHAPE)] if output != "a" and shapes else [])
        opsets = [helper.make_opsetid("", 13), helper.make_opsetid(DOMAIN, 1)]
        path = self.directory / "m.onnx"
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=7), path)
        return path

    def compile(self, path, *options, domain=True, library=True):
        return overtake(
            "compile", path, "-o", self.directory / "m.ovm",
            *(("--custom-op-domain", DOMAIN) if domain else ()),
            *(("--custom-op-library", LIBRARY) if library else ()), *options)

    def run_model(self, x, library=True):
        np.save(self.directory / "x.npy", x)
        done = overtake(
            "run", self.directory / "m.ovm", "--device", "embedded", "--input",
            f"x={self.directory / 'x.npy'}", "--output-dir", self.directory,
            *(("--custom-op-library", LIBRARY) if library else ()))
        return done

    def test_attributes_of_every_kind_arrive_and_it_computes(self):
        done = self.compile(self.save([affine()], "a"))
        self.assertEqual(done.returncode, 0, done.stderr)
        x = np.random.default_rng(3).uniform(-2, 2, SHAPE).astype(np.float32)
        done = self.run_model(x)
        self.assertEqual(done.returncode, 0, done.stderr)
        np.testing.assert_allclose(np.load(self.directory / "a.npy"), expected(x), rtol=1e-5)

    def test_it_stands_between_segments_of_the_device(self):
        weights = numpy_helper.from_array(np.eye(4, dtype=np.float32).reshape(4, 4, 1, 1), "w")
        nodes = [
            helper.make_node("Conv", ["x", "w"], ["c"]),
            helper.make_node("Fails", ["c"], ["d"], name="middle", domain=DOMAIN),
            helper.make_node("Conv", ["d", "w"], ["y"]),
        ]
        path = self.save(nodes)
        network = onnx.load(path)
        network.graph.initializer.append(weights)
        network.graph.value_info.append(
            helper.make_tensor_value_info("d", TensorProto.FLOAT, SHAPE))
        onnx.save(network, path)
        done = self.compile(path)
        self.assertEqual(done.returncode, 0, done.stderr)
        kinds = [s["processor"] for s in info(self.directory / "m.ovm")["segments"]]
        self.assertEqual(kinds, ["BPU", "CPU", "BPU"])
        x = np.random.default_rng(4).uniform(-1, 1, SHAPE).astype(np.float32)
        done = self.run_model(x)
        self.assertEqual(done.returncode, 0, done.stderr)
        np.testing.assert_allclose(np.load(self.directory / "y.npy"), x, atol=0.05)

    def test_a_failure_is_the_tasks(self):
        node = helper.make_node("Fails", ["x"], ["a"], name="failing", domain=DOMAIN)
        done = self.compile(self.save([node], "a"))
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.run_model(np.full(SHAPE, 101, np.float32))
        self.assertEqual(done.returncode, 1)
        self.assertIn("an input above 100", done.stderr)

    def test_without_the_domain_it_is_refused(self):
        done = self.compile(self.save([affine()], "a"), domain=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the operator is not supported", done.stderr)

    def save_branches(self, is_constant):
        """Saves an If with the operator in the branch that is taken for positive sums, or
        always."""
        value = helper.make_tensor_value_info
        taken = helper.make_graph(
            [affine(), helper.make_node("Relu", ["a"], ["t"])], "then", [], [value("t", TensorProto.FLOAT, SHAPE)],
            value_info=[value("a", TensorProto.FLOAT, SHAPE)])
        other = helper.make_graph(
            [helper.make_node("Neg", ["x"], ["e"])], "else", [], [value("e", TensorProto.FLOAT, SHAPE)])
        choice = helper.make_node("If", ["p"], ["y"], name="choice", then_branch=taken, else_branch=other)
        nodes = [] if is_constant else [helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
                                        helper.make_node("Greater", ["s", "z"], ["p"])]
        path = self.save([*nodes, choice])
        network = onnx.load(path)
        del network.graph.value_info[:]
        constants = {"p": np.array(True)} if is_constant else {"z": np.float32(0)}
        network.graph.initializer.extend(
            numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items())
        onnx.save(network, path)
        return path

    def test_in_a_branch(self):
        x = np.random.default_rng(3).uniform(-2, 2, SHAPE).astype(np.float32)
        for is_constant, sign in ((True, 1), (True, -1), (False, 1), (False, -1)):
            path = self.save_branches(is_constant)
            given = sign * np.abs(x)
            with self.subTest(is_constant=is_constant, sign=sign):
                done = self.compile(path)
                self.assertEqual(done.returncode, 0, done.stderr)
                done = self.run_model(given)
                self.assertEqual(done.returncode, 0, done.stderr)
                wanted = np.maximum(expected(given), 0) if is_constant or sign > 0 else -given
                np.testing.assert_allclose(np.load(self.directory / "y.npy"), wanted, atol=0.2)

    def test_in_a_loop(self):
        value = helper.make_tensor_value_info
        trip = affine()
        trip.input[0] = "v"
        body = helper.make_graph(
            [helper.make_node("Identity", ["go"], ["on"]), trip, helper.make_node("Relu", ["a"], ["w"])], "body",
            [value("i", TensorProto.INT64, []), value("go", TensorProto.BOOL, []), value("v", TensorProto.FLOAT, SHAPE)],
            [value("on", TensorProto.BOOL, []), value("w", TensorProto.FLOAT, SHAPE)],
            value_info=[value("a", TensorProto.FLOAT, SHAPE)])
        path = self.save([helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)])
        network = onnx.load(path)
        del network.graph.value_info[:]
        network.graph.initializer.append(numpy_helper.from_array(np.array(2), "n"))
        onnx.save(network, path)
        done = self.compile(path)
        self.assertEqual(done.returncode, 0, done.stderr)
        x = np.random.default_rng(3).uniform(-2, 2, SHAPE).astype(np.float32)
        self.assertEqual(self.run_model(x).returncode, 0)
        once = np.maximum(expected(x), 0)
        np.testing.assert_allclose(np.load(self.directory / "y.npy"), np.maximum(expected(once), 0), atol=0.5)

    def test_without_the_domain_the_remedy_is_the_same_in_a_branch(self):
        remedy = ("(Affine): the operator is not supported; it is of domain 'com.example', so export it as operators "
                  "of ONNX, or leave it to the program with --custom-op-domain\n")
        for saved, place in ((lambda: self.save([affine()], "a"), "node 'affine' "),
                             (lambda: self.save_branches(True), "node 'affine' "),
                             (lambda: self.save_branches(False), "node 'choice' (If): its branch has node 'affine' ")):
            done = self.compile(saved(), domain=False, library=False)
            self.assertEqual(done.returncode, 1)
            self.assertTrue(done.stderr.endswith(f"m.onnx: {place}{remedy}"), done.stderr)

    def test_without_the_library_it_is_refused_with_the_remedy(self):
        path = self.save([affine()], "a")
        done = self.compile(path, library=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--custom-op-library", done.stderr)
        self.assertEqual(self.compile(path).returncode, 0)
        done = self.run_model(np.zeros(SHAPE, np.float32), library=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("node 'affine'", done.stderr)
        self.assertIn("com.example.Affine", done.stderr)

    def test_a_missing_attribute_is_the_factorys_to_refuse(self):
        node = helper.make_node("Affine", ["x"], ["a"], name="bare", domain=DOMAIN, factor=1.0)
        done = self.compile(self.save([node], "a"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("has no attribute offsets", done.stderr)

    def test_an_unknown_shape_is_refused(self):
        node = helper.make_node("Fails", ["x"], ["a"], domain=DOMAIN)
        done = self.compile(self.save([node, helper.make_node("Relu", ["a"], ["y"])], shapes=False))
        self.assertEqual(done.returncode, 1)
        self.assertIn("shape", done.stderr)

    def test_several_outputs_are_refused(self):
        node = helper.make_node("Fails", ["x"], ["a", "b"], domain=DOMAIN)
        done = self.compile(self.save([node], "a"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("one output", done.stderr)

    def test_no_shared_object_is_refused(self):
        done = overtake("compile", self.save([affine()], "a"), "-o", self.directory / "m.ovm",
                        "--custom-op-domain", DOMAIN, "--custom-op-library", __file__)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--custom-op-library", done.stderr)

    def test_the_configuration_says_it_too(self):
        self.save([affine()], "a")
        configuration = self.directory / "c.yaml"
        configuration.write_text(
            "model_parameters: {onnx_model: m.onnx, working_dir: out}\n"
            f"custom_op: {{domains: {DOMAIN}, library: {LIBRARY}}}\n")
        done = overtake("compile", "-c", configuration)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.directory / "out/m.ovm").exists())


if __name__ == "__main__":
    unittest.main()
