# SPDX-License-Identifier: MIT
"""Tests compile, info and run as a user meets them: files, exit statuses, messages, JSON."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np

from overtake_command import BINARY, fc_times, info, overtake, run, succeed
from small_models import model, node, ones, relu, save, two_inputs

SHAPE = (8, 4, 4)


class Command(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.random = np.random.default_rng(5)

    def assert_fails(self, status, result, *parts):
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertRegex(result.stderr, r"\Aovertake: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(part, result.stderr)
        self.assertEqual(result.stdout, "")

    def compile_two(self):
        source = save(two_inputs(), self.directory / "two.onnx")
        samples = self.directory / "samples"
        samples.mkdir()
        for index in range(3):
            np.save(samples / f"{index}.npy", self.random.uniform(-2, 2, SHAPE).astype("f4"))
        succeed(
            "compile", source, "--calibration", f"a={samples}", "--calibration", f"b={samples}"
        )
        return source.with_suffix(".ovm")

    def inputs(self, *leading):
        """Returns inputs well inside those that compile_two() calibrates with, so that nothing
        saturates."""
        return {n: self.random.uniform(-1, 1, (*leading, *SHAPE)).astype("f4") for n in "ab"}

    def test_an_fc_that_takes_the_host_long_is_warned_of_with_the_value_to_use(self):
        """The FC has 2.9 GMAC and runs without AVX2: it takes more than a second of the two that a
        driver allows."""
        shape = (1, 64, 280, 280)
        weights = {"w": self.random.uniform(-1, 1, (64, 64, 3, 3)).astype("f4")}
        nodes = [node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])]
        source = save(model(nodes, {"x": shape}, {"y": shape}, weights), self.directory / "long.onnx")
        samples = self.directory / "samples.npy"
        np.save(samples, self.random.uniform(-1, 1, shape).astype("f4"))

        def compiled(simd, *arguments):
            command = [BINARY, "compile", source, "--calibration", samples, *arguments]
            environment = {**os.environ, "OVERTAKE_SIMD": simd}
            return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

        advice = r"about 1\.\d s to compute \(an estimate, without AVX2; longer on a busy host\).*--max-time-per-fc 2000 "
        result = compiled("off", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, rf"\Aovertake: [^\n]*{advice}[^\n]*\n\Z")
        self.assertRegex(json.loads(result.stdout)["warnings"][0], advice)
        self.assertEqual(compiled("off", "--strict").returncode, 1)
        self.assertEqual(compiled("off", "--max-time-per-fc", "2000").stderr, "")
        if "avx2" in pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").split():
            self.assertEqual(compiled("auto").stderr, "")

    def test_bad_usage_exits_with_2(self):
        for arguments in [
            ["nonsense"],
            ["compile"],
            ["compile", "a.onnx", "b.onnx"],
            ["compile", "a.onnx", "--max-time-per-fc", "-1"],
            ["compile", "a.onnx", "--max-time-per-fc", "4294967296"],
            ["compile", "a.onnx", "--percentile", "101"],
            ["info"],
            ["run", "a.ovm"],
            ["run", "a.ovm", "--input", "x=x.npy", "--output-dir", "o", "--priority", "256"],
        ]:
            with self.subTest(arguments=arguments):
                self.assert_fails(2, overtake(*arguments), "--help")

    def test_every_subcommand_has_help(self):
        for arguments in [[], ["compile"], ["info"], ["run"]]:
            self.assertIn("--help", succeed(*arguments, "--help"))

    def test_compile_without_calibration_warns(self):
        source = save(relu(), self.directory / "m.onnx")
        result = overtake("compile", source, "-o", self.directory / "m.ovm")
        self.assertEqual(result.returncode, 0)
        self.assertIn("--calibration", result.stderr)

    def test_closed_streams_and_limits_of_file_sizes_do_not_matter_to_the_rest(self):
        source = save(relu(), self.directory / "m.onnx")
        path = self.directory / "m.ovm"
        for how in ["<&- >&-", "2>&-", "<&- >&- 2>&-"]:
            with self.subTest(how=how):
                command = f'exec "$0" compile "$1" -o "$2" -q {how}'
                subprocess.run(["sh", "-c", command, BINARY, source, path], check=True)
                self.assertEqual(info(path)["inputs"][0]["name"], "x")
                path.unlink()
        command = 'ulimit -f 1; exec "$0" compile "$1" -o "$2" -q'
        big = save(relu((1, 3, 64, 64)), self.directory / "big.onnx")
        result = subprocess.run(["bash", "-c", command, BINARY, big, path], check=False,
                                capture_output=True, text=True)  # fmt: skip
        self.assertNotIn("libonnx", result.stderr)

    def test_the_model_may_come_after_its_options(self):
        source = save(relu(), self.directory / "m.onnx")
        np.save(self.directory / "x.npy", ones(3, 4, 4))
        succeed("compile", "--calibration", self.directory / "x.npy", source)
        path = source.with_suffix(".ovm")
        succeed("run", "--input", f"x={self.directory / 'x.npy'}", path,
                "--output-dir", self.directory, "--device", "embedded")  # fmt: skip

    def test_compile_never_overwrites_its_source_and_leaves_nothing_behind(self):
        source = save(relu(), self.directory / "m.onnx")
        before = source.read_bytes()
        self.assert_fails(1, overtake("compile", source, "-o", source), "-o")
        self.assertEqual(source.read_bytes(), before)
        nowhere = self.directory / "absent/m.ovm"
        self.assert_fails(1, overtake("compile", source, "-o", nowhere), str(nowhere))
        self.assertEqual(list(self.directory.iterdir()), [source])

    def test_info_agrees_with_itself(self):
        path = self.compile_two()
        summary = info(path)
        self.assertEqual([t["name"] for t in summary["inputs"]], ["a", "b"])
        self.assertEqual([t["name"] for t in summary["outputs"]], ["y/out", "z"])
        self.assertEqual(summary["outputs"][0]["shape"], [1, *SHAPE])
        layout = summary["inputs"][0]["layout"]
        self.assertEqual((layout["row_stride"], layout["pixel_stride"]), (32, 8))
        self.assertAlmostEqual(sum(fc_times(path)), summary["total"]["us"])
        (segment,) = summary["segments"]
        cycles = sum(fc["cycles"] for fc in segment["fcs"])
        nodes = sum(entry["us"] for entry in summary["nodes"])
        profile = summary["profile"]
        overhead = segment["fc_count"] * profile["fc_overhead_cycles"]
        self.assertAlmostEqual(nodes, (cycles - overhead) * 1000 / profile["clock_khz"])
        for entry in summary["nodes"]:
            self.assertGreaterEqual(entry["cosine"], 0.99)
            # For vectors that differ little, error^2 is about 2 (1 - cosine), or more because of
            # their lengths.
            self.assertGreaterEqual(entry["error"] ** 2, 0.99 * 2 * (1 - entry["cosine"]) - 1e-6)
            self.assertLess(entry["error"], 0.2)
        self.assertIn("y/out", succeed("info", path))

    def test_info_refuses_what_is_no_model_file(self):
        path = self.compile_two()
        whole = path.read_bytes()
        for data in (b"", whole[:100], whole[: len(whole) // 2], b"\0" * len(whole)):
            path.write_bytes(data)
            self.assert_fails(1, overtake("info", path), str(path))
        self.assert_fails(1, overtake("info", self.directory / "absent.ovm"), "absent.ovm")

    def test_run_takes_several_samples_and_names_files_after_outputs(self):
        path = self.compile_two()
        batch = self.inputs(7)
        results = run(path, batch, self.directory / "batch")
        self.assertEqual(set(results), {"y_out", "z"})
        self.assertEqual(results["y_out"].shape, (7, *SHAPE))
        self.assertEqual(results["z"].shape, (7, 8, 1, 1))
        np.testing.assert_allclose(
            results["y_out"], np.maximum(batch["a"] + batch["b"], 0), atol=0.05
        )
        for index in (0, 6):  # each sample by itself, without a sample axis
            one = {name: array[index] for name, array in batch.items()}
            single = run(path, one, self.directory / "one")
            for name, values in single.items():
                np.testing.assert_array_equal(values[0], results[name][index])

    def test_run_refuses_wrong_inputs(self):
        path = self.compile_two()
        files = {}
        for name, array in {
            **self.inputs(2),
            "other_count": np.zeros((3, *SHAPE), "f4"),
            "other_shape": np.zeros((2, 8, 4, 5), "f4"),
        }.items():
            files[name] = self.directory / f"{name}.npy"
            np.save(files[name], array)
        good = ["--input", f"a={files['a']}"]
        output = self.directory / "out"
        for arguments, parts in [
            (good, ["'b' is missing"]),
            ([*good, "--input", f"b={files['other_count']}"], ["3 samples"]),
            ([*good, "--input", f"b={files['other_shape']}"], ["other_shape.npy", "2x8x4x5"]),
            ([*good, "--input", f"b={files['b']}", "--input", "c=c.npy"], ["c", "no such input"]),
            ([*good, "--input", "b=absent.npy"], ["absent.npy"]),
        ]:
            with self.subTest(arguments=arguments):
                result = overtake("run", path, *arguments, "--output-dir", output)
                self.assert_fails(1, result, *parts)
                self.assertFalse(output.exists())

    def test_softmax_runs_on_the_cpu(self):
        proto = model(
            [
                node("MatMul", ["x", "w"], ["scores"]),
                node("Softmax", ["scores"], ["p"], axis=1),
            ],
            {"x": (1, 5)},
            {"p": (1, 4)},
            {"w": self.random.standard_normal((5, 4)).astype("f4")},
        )
        source = save(proto, self.directory / "m.onnx")
        samples = self.directory / "x.npy"
        np.save(samples, self.random.standard_normal((9, 5)).astype("f4"))
        path = source.with_suffix(".ovm")
        succeed("compile", source, "--calibration", samples)
        self.assertEqual([s["processor"] for s in info(path)["segments"]], ["BPU", "CPU"])
        result = run(path, {"x": np.load(samples)}, self.directory / "run")["p"]
        np.testing.assert_allclose(result.sum(axis=1), 1, atol=1e-5)

    def test_a_segment_on_the_cpu_may_come_first_in_the_middle_and_last(self):
        nodes = [
            node("Softmax", ["x"], ["first"], name="a", axis=1),
            node("Conv", ["first", "v"], ["second"], name="b"),
            node("Softmax", ["second"], ["third"], name="c", axis=1),
            node("Conv", ["third", "w"], ["fourth"], name="d"),
            node("Softmax", ["fourth"], ["y"], name="e", axis=3),
        ]
        weights = {n: self.random.standard_normal((8, 8, 1, 1)).astype("f4") for n in "vw"}
        shape = (1, *SHAPE)
        source = save(model(nodes, {"x": shape}, {"y": shape}, weights), self.directory / "m.onnx")
        samples = self.random.uniform(-2, 2, (6, *SHAPE)).astype("f4")
        np.save(self.directory / "x.npy", samples)
        succeed("compile", source, "--calibration", self.directory / "x.npy")
        path = source.with_suffix(".ovm")
        processors = [s["processor"] for s in info(path)["segments"]]
        self.assertEqual(processors, ["CPU", "BPU", "CPU", "BPU", "CPU"])

        def softmax(values, axis):
            exponentials = np.exp(values - values.max(axis=axis, keepdims=True))
            return exponentials / exponentials.sum(axis=axis, keepdims=True)

        def convolve(values, name):
            return np.einsum("oi,nihw->nohw", weights[name][:, :, 0, 0], values)

        wanted = softmax(convolve(softmax(convolve(softmax(samples, 1), "v"), 1), "w"), 3)
        got = run(path, {"x": samples}, self.directory / "run")["y"]
        np.testing.assert_allclose(got, wanted, atol=0.02)

    def test_old_opsets_mean_what_they_meant(self):
        for opset in (7, 9, 11, 12, 13, 15, 17):
            with self.subTest(opset=opset):
                nodes = [
                    node("Conv", ["x", "w"], ["c"]),
                    node("Relu", ["c"], ["r"]),
                    node("MaxPool", ["r"], ["y"], kernel_shape=[2, 2]),
                ]
                proto = model(
                    nodes,
                    {"x": (1, 3, 6, 6)},
                    {"y": (1, 4, 3, 3)},
                    {"w": ones(4, 3, 3, 3)},
                    opset=opset,
                )
                source = save(proto, self.directory / "m.onnx")
                samples = self.directory / "x.npy"
                np.save(samples, ones(1, 3, 6, 6))
                succeed("compile", source, "--calibration", samples)
                path = source.with_suffix(".ovm")
                result = run(path, {"x": ones(1, 3, 6, 6)}, self.directory / "run")["y"]
                np.testing.assert_allclose(result, np.full((1, 4, 3, 3), 27), rtol=0.01)


if __name__ == "__main__":
    unittest.main()
