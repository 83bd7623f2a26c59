# SPDX-License-Identifier: MIT
"""Tests --int16: tensors that nodes of the device read and write have 16 bits."""

import pathlib
import tempfile
import unittest

import numpy as np

import model_file
from overtake_command import SLOW, SOURCE, cosine, info, overtake, succeed
from small_models import model, node, save

SHAPE = (1, 6, 8, 8)


def branches():
    """Has a convolution, a pool, a table, a product, a sum and a Concat of both kinds of
    operators."""
    random = np.random.default_rng(3)
    weights = lambda *shape: random.normal(0, 0.4, shape).astype(np.float32)  # noqa: E731
    return model(
        [
            node("Conv", ["x", "w", "b"], ["a"], name="first", pads=[1, 1, 1, 1]),
            node("MaxPool", ["a"], ["p"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
            node("Sigmoid", ["p"], ["s"], name="gate"),
            node("Conv", ["s", "v"], ["c"], name="second"),
            node("Mul", ["p", "c"], ["m"], name="product"),
            node("Add", ["c", "m"], ["d"], name="sum"),
            node("Concat", ["d", "p"], ["y"], name="joined", axis=1),
        ],
        {"x": SHAPE}, {"y": (1, 12, 4, 4)},
        {"w": weights(6, 6, 3, 3), "b": weights(6), "v": weights(6, 6, 1, 1)},
    )  # fmt: skip


class Int16(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = save(branches(), self.folder / "m.onnx")
        self.x = np.random.default_rng(4).normal(0, 1, (10, *SHAPE[1:])).astype(np.float32)
        np.save(self.folder / "x.npy", self.x)

    def compile(self, *options, name="m.ovm"):
        result = overtake("compile", self.path, "--calibration", self.folder / "x.npy",
                          "-o", self.folder / name, "-q", *options)  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stderr

    def outputs(self, path, *options):
        target = self.folder / "outputs"
        succeed("run", path, "--input", f"x={self.folder / 'x.npy'}", "--output-dir", target, *options, "-q")
        return np.load(target / "y.npy")

    def similarity(self, name="m.ovm"):
        device = self.outputs(self.folder / name, "--device", "embedded")
        return cosine(device, self.outputs(self.path))

    def wide_outputs(self):
        """Returns by opcode whether the outputs of its instructions have 16 bits."""
        program = model_file.ModelFile(self.folder / "m.ovm").program
        return [(int(insn["opcode"]), bool(insn["out"]["type"])) for insn in program]

    def test_a_whole_network_in_16_bits_is_nearer_to_float(self):
        self.compile()
        self.assertEqual(info(self.folder / "m.ovm")["isa_version"], "1.1")
        self.assertFalse(any(wide for _, wide in self.wide_outputs()))
        narrow = self.similarity()
        self.compile("--int16", "all")
        self.assertTrue(all(wide for _, wide in self.wide_outputs()))
        self.assertEqual(info(self.folder / "m.ovm")["isa_version"], "1.2")
        wide = self.similarity()
        self.assertGreaterEqual(wide, 0.9999)
        # The remaining error comes from weights of 8 bits.
        self.assertLess(1 - wide, (1 - narrow) / 4)

    def test_the_glyphs_in_16_bits(self):
        glyphs = SOURCE / "models/glyphs"
        self.path = glyphs / "glyphs.onnx"
        images = np.load(glyphs / "calibration.npy")
        np.save(self.folder / "x.npy", images)
        self.compile("--int16", "all")
        (name,) = [each["name"] for each in info(self.folder / "m.ovm")["inputs"]]
        found = []
        for path, options in ((self.path, []), (self.folder / "m.ovm", ["--device", "embedded"])):
            succeed("run", path, "--input", f"{name}={self.folder / 'x.npy'}", "--output-dir",
                    self.folder / "o", *options, "-q")  # fmt: skip
            found.append(np.concatenate([np.load(file).ravel() for file in sorted((self.folder / "o").glob("*.npy"))]))
        self.assertGreaterEqual(cosine(found[1], found[0]), 0.9999)

    def test_one_node_and_what_it_shares_its_tensors_with(self):
        """The sum reads what the product and the second convolution write; the pool moves none of
        their tensors."""
        self.compile("--int16", "sum")
        tensors = {tensor.name: tensor.is_int16 for tensor in model_file.ModelFile(self.folder / "m.ovm").tensors}
        self.assertFalse(tensors["x"])
        opcodes = dict(self.wide_outputs())
        self.assertTrue(opcodes[4])  # ADD
        self.assertTrue(opcodes[12])  # MUL
        self.assertFalse(opcodes[5])  # MAX_POOL
        self.assertFalse(opcodes[7])  # TABLE
        self.assertGreater(self.similarity(), 0.999)

    def test_outputs_of_8_bits_keep_them(self):
        warnings = self.compile("--int16", "all", "--int8-outputs")
        self.assertRegex(warnings, r"16 bits: the outputs of 1 node \('joined'\) keep 8 bits, as their scale is fixed")
        (output,) = info(self.folder / "m.ovm")["outputs"]
        self.assertEqual(output["data_type"], "int8")
        self.assertGreater(sum(wide for _, wide in self.wide_outputs()), 3)

    def test_more_products_than_the_device_adds_up_keep_8_bits(self):
        w = np.random.default_rng(1).normal(0, 0.01, (2, 40000)).astype(np.float32)
        save(model([node("Relu", ["x"], ["r"], name="relu"), node("Gemm", ["r", "w"], ["y"], name="dense", transB=1)],
                   {"x": (1, 40000)}, {"y": (1, 2)}, {"w": w}), self.path)  # fmt: skip
        np.save(self.folder / "x.npy", np.random.default_rng(2).normal(0, 1, (3, 40000)).astype(np.float32))
        warnings = self.compile("--int16", "all")
        self.assertRegex(warnings, r"16 bits: the inputs of 1 node \('dense'\) keep 8 bits, as more than 32768 products")
        program = model_file.ModelFile(self.folder / "m.ovm").program
        convolution = program[program["opcode"] <= 3][0]
        self.assertEqual((int(convolution["in"][0]["type"]), int(convolution["out"]["type"])), (0, 1))

    def test_cores_share_a_network_in_16_bits(self):
        self.compile("--int16", "all")
        alone = self.outputs(self.folder / "m.ovm", "--device", "embedded")
        self.compile("--int16", "all", "--cores", "2", "--profile", "ideal", name="two.ovm")
        together = self.outputs(self.folder / "two.ovm", "--device", "embedded")
        np.testing.assert_array_equal(alone, together)

    def test_short_function_calls_compute_the_same(self):
        self.compile("--int16", "all")
        whole = self.outputs(self.folder / "m.ovm", "--device", "embedded")
        self.compile("--int16", "all", "--profile", SLOW, "--max-time-per-fc", "5300", name="split.ovm")
        model = model_file.ModelFile(self.folder / "split.ovm")
        self.assertGreater(max(len(segment.fcs) for segment in model.segments), 4)
        np.testing.assert_array_equal(whole, self.outputs(self.folder / "split.ovm", "--device", "embedded"))

    def test_configuration_files_ask_for_it(self):
        for key, value in (("set_node_data_type", "sum:int16"), ("node_info", "{sum: {InputType: int16}}")):
            file = self.folder / "c.yaml"
            file.write_text(
                f"model_parameters:\n  onnx_model: {self.path}\n  {key}: '{value}'\n".replace(f"'{value}'", value)
                + f"calibration_parameters:\n  cal_data_dir: {self.folder / 'x.npy'}\n"
            )
            result = overtake("compile", "-c", file, "-o", self.folder / "m.ovm", "-q")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            opcodes = dict(self.wide_outputs())
            self.assertTrue(opcodes[4])
            self.assertFalse(opcodes[5])

    def test_a_node_is_called_by_its_output_and_by_what_it_is_a_part_of(self):
        self.compile("--int16", "d")
        by_output = self.wide_outputs()
        self.compile("--int16", "sum")
        self.assertEqual(by_output, self.wide_outputs())
        x, y = {"x": SHAPE}, {"y": SHAPE}
        save(model([node("Conv", ["x", "w"], ["a"], name="c"), node("LRN", ["a"], ["y"], name="lrn", size=3)], x, y,
                   {"w": np.eye(6, dtype=np.float32).reshape(6, 6, 1, 1)}), self.path)  # fmt: skip
        self.compile("--int16", "lrn")
        nodes = [each for each in info(self.folder / "m.ovm")["nodes"] if each["processor"] == "BPU"]
        self.assertGreater(len(nodes), 3)
        self.assertEqual([wide for _, wide in self.wide_outputs()].count(False), 0)

    def test_libraries_before_16_bits_refuse_the_file(self):
        """They refuse it by the version of the file: they would take its tensors for bytes."""
        versions = []
        for options in ((), ("--int16", "all")):
            self.compile(*options)
            data = (self.folder / "m.ovm").read_bytes()
            root = model_file.Table(data, int.from_bytes(data[:4], "little"))
            versions.append(root.scalar(0, "I") >> 16)
        self.assertEqual(versions, [1, 2])

    def test_packs_take_both(self):
        self.compile("--int16", "all")
        wide = self.outputs(self.folder / "m.ovm", "--device", "embedded")
        self.path = save(branches(), self.folder / "n.onnx")
        self.compile(name="other.ovm")
        succeed("pack", self.folder / "m.ovm", self.folder / "other.ovm", "-o", self.folder / "both.ovm")
        for name in ("m", "n"):
            succeed("run", self.folder / "both.ovm", "--model-name", name, "--input", f"x={self.folder / 'x.npy'}",
                    "--device", "embedded", "--output-dir", self.folder / name, "-q")  # fmt: skip
        np.testing.assert_array_equal(np.load(self.folder / "m/y.npy"), wide)
        self.assertGreater(cosine(np.load(self.folder / "n/y.npy"), wide), 0.99)

    def test_a_node_of_the_cpu_has_no_bits_to_choose(self):
        warnings = self.compile("--int16", "sum", "--run-on-cpu", "sum")
        self.assertIn("--int16 sum: the node runs on the CPU, in float32", warnings)

    def test_unknown_nodes_are_refused(self):
        result = overtake("compile", self.path, "--int16", "absent", "-o", self.folder / "m.ovm")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"--int16 absent: .*m\.onnx has no such node")
        self.assertFalse((self.folder / "m.ovm").exists())


if __name__ == "__main__":
    unittest.main()
