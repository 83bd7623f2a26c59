# SPDX-License-Identifier: MIT
"""Layouts of CPU segments that are chosen when a file is compiled: compile --cpu-layout, --cpu-costs,
calibrate --cpu, and what info says of them."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np

import random_graphs
from overtake_command import BINARY, SOURCE, info
from small_models import model, node, save

LAYOUTS = ("auto", "planes", "blocked")
GRAPHS = int(os.environ.get("OVERTAKE_CPU_GRAPHS", 60))
GLYPHS = SOURCE / "models/glyphs/glyphs.onnx"
HAS_AVX512 = " avx512dq " in pathlib.Path("/proc/cpuinfo").read_text()


def overtake(*arguments, env=None):
    """Runs each command in a process of its own: the block size of a process (8 or 16 channels)
    depends on what it did before."""
    command = [BINARY, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env)


def succeed(*arguments):
    result = overtake(*arguments)
    if result.returncode != 0:
        raise AssertionError(result.stderr)
    return result.stdout


def convolutions():
    """A model of two convolutions of 32 channels, a multiple of each block size, a sum, an activation
    and a softmax."""
    random = np.random.default_rng(5)
    nodes = [
        node("Conv", ["x", "w"], ["a"], name="first", pads=[1, 1, 1, 1]),
        node("Conv", ["a", "v"], ["b"], name="second", pads=[1, 1, 1, 1]),
        node("Add", ["a", "b"], ["c"], name="sum"),
        node("Relu", ["c"], ["d"], name="activation"),
        node("Softmax", ["d"], ["y"], name="last", axis=1),
    ]
    constants = {name: random.standard_normal((32, 32, 3, 3)).astype(np.float32) for name in "wv"}
    return model(nodes, {"x": (1, 32, 9, 9)}, {"y": (1, 32, 9, 9)}, constants)


class CpuPlan(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.network = self.folder / "network.onnx"
        save(convolutions(), self.network)

    def compile(self, *options, environment=None):
        path = self.folder / "compiled.ovm"
        result = overtake("compile", self.network, "--cpu", "-q", "-o", path, *options, env=environment)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return path

    def outputs(self, path, samples, *options, environment=None):
        arguments = []
        for name, array in samples.items():
            np.save(self.folder / f"{name}.npy", array)
            arguments += ["--input", f"{name}={self.folder / f'{name}.npy'}"]
        directory = self.folder / "out"
        result = overtake("run", path, *arguments, "--output-dir", directory, "--device", "embedded", "-q",
                          *options, env=environment)  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)
        arrays = {path.stem: path.read_bytes() for path in directory.glob("*.npy")}
        for path in directory.glob("*.npy"):
            path.unlink()
        return arrays

    def sample(self):
        return {"x": np.random.default_rng(6).standard_normal((1, 32, 9, 9)).astype(np.float32)}

    def test_what_is_chosen_by_the_compiler_is_what_is_chosen_at_load(self):
        sample = self.sample()
        for layout in LAYOUTS:
            at_load = self.outputs(self.compile(), sample, "--cpu-layout", layout)
            stored = self.compile("--cpu-layout", layout)
            self.assertEqual(self.outputs(stored, sample), at_load, layout)
            segment = info(stored)["segments"][0]
            self.assertEqual(segment["layouts"]["chosen"], "by the compiler")
            self.assertEqual(segment["layouts"]["in_blocks"] > 0, layout != "planes")
            self.assertEqual(self.outputs(stored, sample, "--cpu-layout", "planes"), at_load, layout)
        self.assertEqual(info(self.compile())["segments"][0]["layouts"]["chosen"], "at load")

    def test_random_networks_give_the_same_bytes_stored_and_at_load(self):
        compared = 0
        for seed in range(1, GRAPHS // 3 + 1):
            case = random_graphs.make(seed)
            if case.is_quantised or any("--custom" in str(option) for option in case.options):
                continue
            save(case.model, self.network)
            path = self.folder / "compiled.ovm"
            if overtake("compile", self.network, "--cpu", "-o", path, "-q").returncode != 0:
                continue
            with self.subTest(seed=seed):
                at_load = self.outputs(path, case.samples)
                for layout in LAYOUTS:
                    stored = self.compile("--cpu-layout", layout)
                    self.assertEqual(self.outputs(stored, case.samples), at_load, layout)
                compared += 1
        self.assertGreater(compared, GRAPHS / 6)

    @unittest.skipUnless(HAS_AVX512, "needs AVX-512")
    def test_a_file_for_16_channels_in_a_block_runs_with_8_and_the_other_way(self):
        narrow = dict(os.environ, ONEDNN_MAX_CPU_ISA="AVX2")
        sample = self.sample()
        wide_file = self.compile("--cpu-layout", "auto").read_bytes()
        narrow_file = self.compile("--cpu-layout", "auto", environment=narrow).read_bytes()
        self.assertNotEqual(wide_file, narrow_file)
        plain = self.compile()
        path = self.folder / "other.ovm"
        for environment in (dict(os.environ), narrow):
            wanted = self.outputs(plain, sample, environment=environment)
            for file in (wide_file, narrow_file):
                path.write_bytes(file)
                self.assertEqual(self.outputs(path, sample, environment=environment), wanted)

    def test_without_the_option_a_file_does_not_depend_on_the_cpu(self):
        for name in ("network.onnx", "glyphs.onnx"):
            if name == "glyphs.onnx":
                self.network = GLYPHS
            narrow = dict(os.environ, ONEDNN_MAX_CPU_ISA="AVX2")
            self.assertEqual(self.compile().read_bytes(), self.compile(environment=narrow).read_bytes(), name)

    def test_costs_of_this_machine_are_measured_and_used(self):
        costs = self.folder / "host-cpu.yaml"
        text = succeed("calibrate", "--cpu", "-o", costs, "--runs", "3")
        self.assertIn(str(costs), text)
        self.assertIn("cpu_layout_costs:", costs.read_text())
        stored = self.compile("--cpu-layout", "auto", "--cpu-costs", costs)
        self.assertEqual(self.outputs(stored, self.sample()), self.outputs(self.compile(), self.sample()))

    def test_costs_decide(self):
        costs = self.folder / "host-cpu.yaml"
        succeed("calibrate", "--cpu", "-o", costs, "--runs", "1")
        lines = costs.read_text().splitlines()
        dear = [f"  conversion: {1e6}" if "conversion" in line else line for line in lines]
        costs.write_text("\n".join(dear) + "\n")
        layouts = info(self.compile("--cpu-layout", "auto", "--cpu-costs", costs))["segments"][0]["layouts"]
        self.assertLessEqual(len(layouts["conversions"]), 1)

    def test_files_that_are_no_cost_files_are_refused(self):
        costs = self.folder / "host-cpu.yaml"
        succeed("calibrate", "--cpu", "-o", costs, "--runs", "1")
        good = costs.read_text()
        step = next(line for line in good.splitlines() if "step:" in line)
        cases = {
            "": "has no map 'cpu_layout_costs'",
            "[1, 2]": "has no map 'cpu_layout_costs'",
            "a: [": "host-cpu.yaml:",
            good.replace("step:", "stride:"): "key 'stride' is not known",
            good.replace(step, ""): "key 'step' is missing",
            good + step + "\n": "key 'step' is given twice",
            good.replace(step, "  step: -1"): "key 'step' needs a number",
            good.replace(step, "  step: [1]"): "key 'step' needs a number",
            good.replace(step, "  step: nan"): "key 'step' needs a number",
        }
        for text, message in cases.items():
            costs.write_text(text)
            result = overtake("compile", self.network, "--cpu", "--cpu-layout", "auto", "--cpu-costs", costs,
                              "-o", self.folder / "refused.ovm")  # fmt: skip
            self.assertEqual(result.returncode, 1, text)
            self.assertIn(message, result.stderr)
            self.assertIn("calibrate --cpu", result.stderr)
            self.assertFalse((self.folder / "refused.ovm").exists())

    def test_a_directory_of_costs_is_refused(self):
        result = overtake("compile", self.network, "--cpu", "--cpu-layout", "auto", "--cpu-costs", self.folder)
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"--cpu-costs {self.folder}: is a directory", result.stderr)

    def test_options_that_do_not_fit_are_refused(self):
        for arguments, message in (
            (["compile", GLYPHS, "--cpu-costs", "x.yaml"], "--cpu-layout"),
            (["compile", GLYPHS, "--cpu-layout", "NCHW44"], "auto, planes or blocked"),
            (["compile", GLYPHS, "--cpu", "--cpu-layout", "auto", "--cpu-costs", "x.yaml"], "x.yaml"),
            (["calibrate", "--cpu"], "-o FILE.yaml"),
            (["calibrate", "--cpu", "--partition", "-o", "x"], "--partition"),
        ):
            result = overtake(*arguments, "-o", self.folder / "x.ovm") if "calibrate" not in arguments else overtake(
                *arguments)  # fmt: skip
            self.assertNotEqual(result.returncode, 0, arguments)
            self.assertIn(message, result.stderr, arguments)

    def test_info_shows_layouts_and_conversions(self):
        text = succeed("info", self.compile("--cpu-layout", "auto"))
        self.assertRegex(text, r"layouts chosen by the compiler: \d+ of 5 outputs in blocks of (8|16) channels")
        self.assertRegex(text, r"Convolution second, about .* us, blocks of (8|16)")
        self.assertIn("Softmax last", text)
        self.assertRegex(text, r"conversion: .*, from blocks of (8|16) to planes")

    def test_values_of_the_device_are_listed_with_their_layouts(self):
        path = self.folder / "both.ovm"
        succeed("compile", self.network, "-q", "-o", path, "--run-on-cpu", "second", "--cpu-layout", "auto")
        layouts = next(s for s in info(path)["segments"] if s["processor"] == "CPU")["layouts"]
        self.assertEqual(len(layouts["from_device"]), 1)
        self.assertIn("from the device: ", succeed("info", path))


if __name__ == "__main__":
    unittest.main()
