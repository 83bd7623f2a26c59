# SPDX-License-Identifier: MIT
"""Whole networks on the CPU, in float: compile --cpu, run and perf of ONNX files, and --cpu-layout."""

import json
import os
import pathlib
import tempfile
import unittest

import numpy as np

import random_graphs
from overtake_command import SOURCE, info, overtake, succeed
from small_models import model, node, relu, save

LAYOUTS = ("auto", "planes", "blocked")
GRAPHS = int(os.environ.get("OVERTAKE_CPU_GRAPHS", 60))
GLYPHS = SOURCE / "models/glyphs/glyphs.onnx"


class OnCpu(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def save(self, proto):
        path = self.folder / "network.onnx"
        save(proto, path)
        return path

    def outputs(self, network, samples, *options):
        """Returns the output's bytes by name."""
        arguments = []
        for name, array in samples.items():
            np.save(self.folder / f"{name}.npy", array)
            arguments += ["--input", f"{name}={self.folder / f'{name}.npy'}"]
        directory = self.folder / "out"
        result = overtake("run", network, *arguments, "--output-dir", directory, "--device", "embedded",
                          "-q", *options)  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)
        arrays = {path.stem: np.load(path) for path in directory.glob("*.npy")}
        for path in directory.glob("*.npy"):
            path.unlink()
        return arrays

    def test_a_node_with_a_name_is_called_by_its_output_too(self):
        weights = {"w": np.eye(4, dtype=np.float32).reshape(4, 4, 1, 1)}
        nodes = [node("Conv", ["x", "w"], ["a"], name="first"), node("Conv", ["a", "w"], ["y"], name="second")]
        network = self.save(model(nodes, {"x": (1, 4, 8, 8)}, {"y": (1, 4, 8, 8)}, weights))
        compiled = self.folder / "one.ovm"
        for called in ("first", "a"):
            succeed("compile", network, "-o", compiled, "-q", "--run-on-cpu", called)
            placed = {each["name"]: each["processor"] for each in info(compiled)["nodes"]}
            self.assertEqual(placed, {"first": "CPU", "second": "BPU"})

    def check_layouts(self, network, samples, compiled):
        wanted = self.outputs(network, samples)
        got = {layout: self.outputs(compiled, samples, "--cpu-layout", layout) for layout in LAYOUTS}
        for name, array in wanted.items():
            for layout in LAYOUTS:
                self.assertEqual(got[layout][name].tobytes(), got["planes"][name].tobytes(), (name, layout))
            np.testing.assert_allclose(got["planes"][name], array, rtol=2e-3, atol=2e-4, err_msg=name)

    def test_random_networks_give_the_same_bytes_in_each_layout(self):
        compiled = self.folder / "network.ovm"
        compared = 0
        for seed in range(1, GRAPHS + 1):
            case = random_graphs.make(seed)
            if case.is_quantised or any("--custom" in str(option) for option in case.options):
                continue
            network = self.save(case.model)
            result = overtake("compile", network, "--cpu", "-o", compiled, "-q")
            if result.returncode != 0:
                self.assertIn("has no form on the CPU", result.stderr)
                continue
            with self.subTest(seed=seed):
                self.assertEqual({node["processor"] for node in info(compiled)["nodes"]} - {"CPU"}, set())
                self.check_layouts(network, case.samples, compiled)
                compared += 1
        self.assertGreater(compared, GRAPHS / 2)

    def test_all_nodes_are_on_the_cpu_and_nothing_is_calibrated(self):
        path = self.folder / "glyphs.ovm"
        result = overtake("compile", GLYPHS, "--cpu", "-o", path)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual({segment["processor"] for segment in info(path)["segments"]}, {"CPU"})

    def test_options_of_the_device_are_refused_beside_it(self):
        for option in (["--cores", "2"], ["--run-on-bpu", "x"], ["--calibration", "x.npy"]):
            result = overtake("compile", GLYPHS, "--cpu", *option, "-o", self.folder / "x.ovm")
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("--cpu", result.stderr)

    def test_an_onnx_file_runs_in_a_layout_that_is_named(self):
        images = {"image": np.load(SOURCE / "models/glyphs/heldout_images.npy")[:3].astype(np.float32)}
        wanted = self.outputs(GLYPHS, images)["probabilities"]
        planes = self.outputs(GLYPHS, images, "--cpu-layout", "planes")["probabilities"]
        np.testing.assert_allclose(planes, wanted, rtol=1e-3, atol=1e-5)
        for layout in LAYOUTS:
            got = self.outputs(GLYPHS, images, "--cpu-layout", layout)["probabilities"]
            self.assertEqual(got.tobytes(), planes.tobytes(), layout)

    def test_extremes_keep_what_is_no_number_whichever_operand_is_constant(self):
        sample = np.ones((1, 16, 1, 9), np.float32)
        sample[0, :, 0, 1] = np.nan
        bound = np.full((16, 1, 1), 1.5, np.float32)
        for operator, function in (("Min", np.minimum), ("Max", np.maximum)):
            for operands in (["c", "x"], ["x", "c"]):
                network = self.save(model([node(operator, operands, ["y"], name="extreme")],
                                          {"x": sample.shape}, {"y": sample.shape}, {"c": bound}))  # fmt: skip
                for options in ([], ["--cpu-layout", "auto"], ["--record-level", "2"]):
                    got = self.outputs(network, {"x": sample}, *options)["y"]
                    np.testing.assert_array_equal(got, function(sample, bound), f"{operands} {options}")

    def test_perf_measures_an_onnx_file(self):
        for layout in LAYOUTS:
            result = json.loads(succeed("perf", GLYPHS, "--device", "embedded", "--frames", "20",
                                        "--cpu-layout", layout, "--json"))  # fmt: skip
            self.assertEqual((result["models"][0]["requests"], result["models"][0]["failed"]), (20, 0))

    def test_perf_takes_shapes_that_the_file_leaves_open(self):
        proto = relu()
        proto.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "height"
        network = self.save(proto)
        result = overtake("perf", network, "--device", "embedded", "--frames", "5")
        self.assertEqual(result.returncode, 1)
        self.assertIn("--input-shape", result.stderr)
        self.assertIn(str(network), result.stderr)
        succeed("perf", network, "--device", "embedded", "--frames", "5", "--input-shape", "x=1x3x8x8")

    def test_a_layout_that_is_none_is_refused(self):
        for command in (["perf", GLYPHS], ["run", GLYPHS, "--input", "x=x.npy", "--output-dir", "x"]):
            result = overtake(*command, "--cpu-layout", "NCHW44")
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("auto, planes or blocked", result.stderr)

    def test_a_network_with_both_processors_gives_the_same_bytes_in_each_layout(self):
        nodes = [
            node("Conv", ["x", "w"], ["a"], name="device", pads=[1, 1, 1, 1]),
            node("Conv", ["a", "v"], ["b"], name="first", pads=[1, 1, 1, 1]),
            node("Tanh", ["b"], ["c"], name="second"),
            node("MaxPool", ["c"], ["d"], name="third", kernel_shape=[2, 2], strides=[2, 2]),
            node("Conv", ["d", "u"], ["y"], name="last"),
        ]
        random = np.random.default_rng(3)
        constants = {
            "w": random.standard_normal((12, 3, 3, 3)).astype(np.float32),
            "v": random.standard_normal((20, 12, 3, 3)).astype(np.float32),
            "u": random.standard_normal((8, 20, 1, 1)).astype(np.float32),
        }
        network = self.save(model(nodes, {"x": (1, 3, 8, 8)}, {"y": (1, 8, 4, 4)}, constants))
        path = self.folder / "both.ovm"
        succeed("compile", network, "-o", path, "-q", "--run-on-cpu", "first", "--run-on-cpu", "second",
                "--run-on-cpu", "third")  # fmt: skip
        self.assertEqual([s["processor"] for s in info(path)["segments"]], ["BPU", "CPU", "BPU"])
        sample = {"x": random.standard_normal((4, 3, 8, 8)).astype(np.float32)}
        wanted = self.outputs(path, sample, "--cpu-layout", "planes")["y"]
        for layout in LAYOUTS:
            self.assertEqual(self.outputs(path, sample, "--cpu-layout", layout)["y"].tobytes(),
                             wanted.tobytes(), layout)  # fmt: skip


if __name__ == "__main__":
    unittest.main()
