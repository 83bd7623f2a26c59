# SPDX-License-Identifier: MIT
"""The units of networks for classes of processors, and their results: every class gives the bits of
segments. UNIT_BITS names the program that computes both."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import random_graphs
from overtake_command import SLOW, SOURCE, info, overtake, succeed

MODELS = pathlib.Path(os.environ.get("OVERTAKE_MODELS", SOURCE / "build/release/models"))
UNIT_BITS = os.environ.get("UNIT_BITS", str(SOURCE / "build/release/tests/unit_bits"))
GLYPHS = SOURCE / "models/glyphs"
# This core is a quarter as fast and lacks operators that most networks have somewhere.
LITTLE = """name: little
clock_khz: 250000
macs_per_cycle: 128
vector_per_cycle: 64
bytes_per_cycle: 32
insn_overhead_cycles: 200
fc_overhead_cycles: 1000
without: [ADD, MAX_POOL, RESIZE_NEAREST, RESIZE_BILINEAR, TABLE]
"""


def alternating(turns):
    """Makes a product on the device, then a softmax on the CPU, and so on."""
    graph = []
    initializers = []
    tensor = "x"
    for turn in range(turns):
        weights = np.random.default_rng(turn).normal(size=(8, 8)).astype(np.float32)
        initializers.append(numpy_helper.from_array(weights, f"w{turn}"))
        graph.append(helper.make_node("MatMul", [tensor, f"w{turn}"], [f"m{turn}"], f"m{turn}"))
        graph.append(helper.make_node("Softmax", [f"m{turn}"], [f"s{turn}"], f"s{turn}", axis=-1))
        tensor = f"s{turn}"
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 8])]
    outputs = [helper.make_tensor_value_info(tensor, TensorProto.FLOAT, [1, 4, 8])]
    model = helper.make_model(
        helper.make_graph(graph, "alternating", inputs, outputs, initializers),
        opset_imports=[helper.make_opsetid("", 13)],
    )
    model.ir_version = 8
    return model


def branches(count, join):
    """Makes branches of a pool and a product each, which a chain of Add or one Concat joins."""
    initializers, nodes = [], []
    for branch in range(count):
        weights = np.random.default_rng(branch).normal(size=(8, 8, 1, 1)).astype(np.float32)
        initializers.append(numpy_helper.from_array(weights, f"w{branch}"))
        nodes.append(helper.make_node("MaxPool", ["x"], [f"p{branch}"], f"p{branch}", kernel_shape=[3, 3],
                                      pads=[1, 1, 1, 1]))  # fmt: skip
    for branch in range(count):
        nodes.append(helper.make_node("Conv", [f"p{branch}", f"w{branch}"], [f"c{branch}"], f"c{branch}"))
    total, channels = "c0", 8
    if join == "Add":
        for branch in range(1, count):
            nodes.append(helper.make_node("Add", [total, f"c{branch}"], [f"a{branch}"], f"a{branch}"))
            total = f"a{branch}"
    else:
        nodes.append(helper.make_node("Concat", [f"c{branch}" for branch in range(count)], ["all"], "all", axis=1))
        total, channels = "all", 8 * count
    model = helper.make_model(
        helper.make_graph(
            nodes, "branches",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, 6, 6])],
            [helper.make_tensor_value_info(total, TensorProto.FLOAT, [1, channels, 6, 6])], initializers,
        ),
        opset_imports=[helper.make_opsetid("", 13)],
    )  # fmt: skip
    model.ir_version = 8
    return model


class Units(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.little = self.folder / "little.yaml"
        self.little.write_text(LITTLE)
        self.three = ["--class", "npu=default", "--class", f"little={self.little}", "--class", "cpu"]

    def save(self, model, name="network"):
        path = self.folder / f"{name}.onnx"
        onnx.save(model, str(path))
        return path

    def compile(self, network, name, *options):
        """Returns the model file and the messages of the compiler."""
        path = self.folder / f"{name}.ovm"
        result = overtake("compile", network, "-o", path, "-q", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return path, result.stderr

    def units(self, model):
        units = info(model)["units"]
        for unit in units["units"]:
            unit["classes"] = [work["class"] for work in unit["work"]]
        return units

    def check_bits(self, *models):
        environment = dict(os.environ, OVERTAKE_UNIT_MODELS=":".join(map(str, models)))
        result = subprocess.run([UNIT_BITS], env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_five_networks_compute_the_same_bits(self):
        unet = self.folder / "unet.onnx"
        subprocess.run(
            [sys.executable, "-B", SOURCE / "models/generate.py", "unet", unet, "--input", "64x64", "--width", "8"],
            check=True, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        networks = [MODELS / f"{name}.onnx" for name in ("resnet18", "mobilenetv2", "yolo", "vit")] + [unet]
        models = []
        for network in networks:
            options = ["--max-time-per-fc", 2000, "--min-unit", 1, *self.three]
            model, _ = self.compile(network, network.stem, *options)
            models.append(model)
            units = self.units(model)
            self.assertGreater(len(units["units"]), 1, network.stem)
            for unit in units["units"]:
                self.assertIn("cpu", unit["classes"])
                for work in unit["work"]:
                    self.assertLessEqual(work.get("longest_fc_us", 0), 2000)
        self.check_bits(*models)

    def test_random_networks_compute_the_same_bits(self):
        models = []
        for seed in range(40):
            network = self.save(random_graphs.make(seed).model, f"random{seed}")
            options = ["--min-unit", 1 + seed % 4, *self.three]
            if seed % 2:
                options += ["--max-time-per-fc", 2000, "--profile", SLOW]
                options[options.index("npu=default")] = f"npu={SLOW}"
            model, _ = self.compile(network, f"random{seed}", *options)
            models.append(model)
        self.check_bits(*models)

    def test_classes_are_cores_of_the_profile_and_the_cpu(self):
        model, _ = self.compile(GLYPHS / "glyphs.onnx", "glyphs")
        units = self.units(model)
        self.assertEqual(
            units["classes"],
            [
                {"name": "npu", "processor": "BPU", "profile": "default", "clock_khz": 1000000},
                {"name": "cpu", "processor": "CPU"},
            ],
        )
        # The device can run the whole network, so that units have the nodes of segments.
        summary = info(model)
        last = summary["segments"][-1]["processor"] == "CPU"
        self.assertEqual(units["units"][0]["classes"], ["npu", "cpu"])
        self.assertEqual(len(units["units"]), 1 + last)
        self.assertAlmostEqual(units["units"][0]["work"][0]["us"], summary["total"]["us"], places=2)
        self.assertEqual(units["added_bytes"], 0)

    def test_segments_do_not_depend_on_classes(self):
        one, _ = self.compile(GLYPHS / "glyphs.onnx", "one", "--max-time-per-fc", 2000, "--profile", SLOW)
        three, _ = self.compile(GLYPHS / "glyphs.onnx", "three", "--max-time-per-fc", 2000, "--profile", SLOW,
                                "--min-unit", 1, "--class", f"slow={SLOW}", *self.three[4:])  # fmt: skip
        self.assertEqual(info(one)["segments"], info(three)["segments"])

    def test_what_is_too_small_is_the_cpus(self):
        network = self.save(alternating(2))
        model, _ = self.compile(network, "small", "--min-unit", 1)
        self.assertEqual([unit["classes"] for unit in self.units(model)["units"]], [["npu", "cpu"], ["cpu"]] * 2)
        self.assertEqual([unit["after"] for unit in self.units(model)["units"]], [[], [0], [1], [2]])
        model, _ = self.compile(network, "large")
        units = self.units(model)["units"]
        self.assertEqual([unit["classes"] for unit in units], [["cpu"]])
        self.check_bits(model)

    def test_more_than_64_are_joined_and_the_compiler_says_it(self):
        network = self.save(alternating(40))
        model, said = self.compile(network, "joined", "--min-unit", 1)
        self.assertIn("its 80 units are joined to 64, the most that schedulers take", said)
        self.assertEqual(len(self.units(model)["units"]), 64)
        self.check_bits(model)

    def test_a_unit_that_crosses_more_than_a_job_can_name_is_halved(self):
        self.little.write_text(LITTLE.replace("ADD, ", ""))
        # The twenty pools are one front with twenty outputs.
        model, _ = self.compile(self.save(branches(20, "Add")), "halved", *self.three)
        units = self.units(model)["units"]
        self.assertGreater(len(units), 2)
        self.assertEqual(units[0]["classes"], ["npu", "cpu"])
        self.assertEqual(units[-1]["classes"], ["npu", "little", "cpu"])
        self.check_bits(model)

    def test_a_network_that_cannot_have_units_for_its_classes_is_refused(self):
        self.little.write_text(LITTLE.replace("ADD, ", ""))
        network = self.save(branches(20, "Concat"))
        result = overtake("compile", network, "-o", self.folder / "no.ovm", *self.three)
        self.assertEqual(result.returncode, 1)
        self.assertIn("node 'all' (Concat): has more inputs and outputs than the 13 that a job can name", result.stderr)
        # With the default's classes, no front ends in front of the Concat.
        model, said = self.compile(network, "one")
        self.assertNotIn("units", said)
        self.assertEqual(len(self.units(model)["units"]), 1)

    def test_cores_get_nothing_that_they_lack(self):
        pool = helper.make_node("MaxPool", ["x"], ["y"], "pool", kernel_shape=[2, 2])
        convolution = helper.make_node("Conv", ["y", "w"], ["z"], "conv")
        weights = numpy_helper.from_array(np.ones((4, 4, 3, 3), np.float32), "w")
        model = helper.make_model(
            helper.make_graph(
                [pool, convolution], "pool",
                [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 12, 12])],
                [helper.make_tensor_value_info("z", TensorProto.FLOAT, [1, 4, 9, 9])], [weights],
            ),
            opset_imports=[helper.make_opsetid("", 13)],
        )  # fmt: skip
        model.ir_version = 8
        network = self.save(model)
        path, _ = self.compile(network, "pool", "--min-unit", 1, *self.three)
        self.assertEqual([unit["classes"] for unit in self.units(path)["units"]],
                         [["npu", "cpu"], ["npu", "little", "cpu"]])  # fmt: skip
        self.check_bits(path)
        # If the segments' own cores lack an operator, it runs on the CPU.
        path, said = self.compile(network, "moved", "--profile", self.little, "--min-unit", 1)
        self.assertIn("lack instructions of 1 node ('pool'), which run on the CPU in float", said)
        self.assertEqual([segment["processor"] for segment in info(path)["segments"]], ["CPU", "BPU"])
        self.assertEqual([unit["classes"] for unit in self.units(path)["units"]], [["cpu"], ["npu", "cpu"]])

    def test_a_network_needs_a_class_for_each_of_its_nodes(self):
        network = self.save(alternating(1))
        result = overtake("compile", network, "-o", self.folder / "no.ovm", "--class", "npu=default")
        self.assertEqual(result.returncode, 1)
        self.assertIn("node 's0' (Softmax): runs on none of the classes of processors; add --class cpu", result.stderr)

    def test_wrong_classes_are_refused(self):
        for arguments, text in (
            (["--class", "a b"], "'a b' is neither NAME=PROFILE nor NAME"),
            (["--class", "npu="], "'npu=' names no profile"),
            (["--class", "npu", "--class", "npu=default"], "'npu' is given twice"),
            (["--class", "npu=nothing"], "nothing"),
            (["--min-unit", "0"], "0"),
        ):
            with self.subTest(arguments=arguments):
                result = overtake("compile", GLYPHS / "glyphs.onnx", "-o", self.folder / "no.ovm", *arguments)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(text, result.stderr)
        self.little.write_text(LITTLE.replace("TABLE", "TABEL"))
        result = overtake("compile", GLYPHS / "glyphs.onnx", "-o", self.folder / "no.ovm", *self.three)
        self.assertIn(f"{self.little}:8: key 'without': no opcode 'TABEL'; did you mean 'TABLE'?", result.stderr)

    def test_a_pack_keeps_units(self):
        network = self.save(alternating(2), "first")
        first, _ = self.compile(network, "first", "--min-unit", 1)
        second, _ = self.compile(GLYPHS / "glyphs.onnx", "second", *self.three)
        pack = self.folder / "pack.ovm"
        succeed("pack", first, second, "-o", pack)
        for model, name in ((first, "first"), (second, "glyphs")):
            packed = json.loads(succeed("info", pack, "--model-name", name, "--json"))
            self.assertEqual(packed["units"], info(model)["units"])

    def test_reports_show_units_by_class(self):
        model, _ = self.compile(self.save(alternating(2)), "report", "--min-unit", 1)
        text = succeed("info", model)
        self.assertIn("units for npu (cores of default), cpu (workers); their borders add", text)
        self.assertIn("unit        after     operations output bytes        npu us   FCs        cpu us", text)
        succeed("info", model, "--report", self.folder / "page.html")
        self.assertIn("<h2>Units</h2>", (self.folder / "page.html").read_text())


if __name__ == "__main__":
    unittest.main()
