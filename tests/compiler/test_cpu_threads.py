# SPDX-License-Identifier: MIT
"""--cpu-threads of run and perf: threads that compute operators of the CPU, and what stays the same."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np

from overtake_command import BINARY, overtake, succeed
from small_models import model, node, save


def network():
    """Has convolutions of several kinds, a sum, and a product with a long inner dimension."""
    random = np.random.default_rng(7)
    nodes = [
        node("Conv", ["x", "w3"], ["a"], name="three_by_three", pads=[1, 1, 1, 1]),
        node("Relu", ["a"], ["b"], name="activation"),
        node("Conv", ["b", "w1"], ["c"], name="one_by_one"),
        node("Add", ["b", "c"], ["d"], name="sum"),
        node("Conv", ["d", "wd"], ["e"], name="depthwise", pads=[1, 1, 1, 1], group=64),
        node("ConvTranspose", ["e", "wt"], ["f"], name="transposed", strides=[2, 2]),
        node("MaxPool", ["f"], ["g"], name="pool", kernel_shape=[4, 4], strides=[4, 4]),
        node("Flatten", ["g"], ["h"], name="flat"),
        node("Gemm", ["h", "wg"], ["y"], name="product"),
        node("Reshape", ["d", "rows"], ["r"], name="rows"),
        node("MatMul", ["r", "wm"], ["z"], name="wide"),
    ]
    constants = {
        "w3": random.standard_normal((64, 48, 3, 3)) / 20,
        "w1": random.standard_normal((64, 64, 1, 1)) / 8,
        "wd": random.standard_normal((64, 1, 3, 3)) / 3,
        "wt": random.standard_normal((64, 64, 2, 2)) / 16,
        "wg": random.standard_normal((64 * 16 * 16, 10)) / 128,
    }
    constants["wm"] = random.standard_normal((192, 768)) / 14
    constants = {name: value.astype(np.float32) for name, value in constants.items()}
    constants["rows"] = np.array([1, -1, 192], np.int64)
    return model(nodes, {"x": (1, 48, 33, 32)}, {"y": (1, 10), "z": (1, 352, 768)}, constants)


class CpuThreads(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.network = self.folder / "network.onnx"
        save(network(), self.network)
        self.model = self.folder / "network.ovm"
        succeed("compile", "--cpu", self.network, "-o", self.model)
        self.samples = self.folder / "x.npy"
        np.save(self.samples, np.random.default_rng(3).standard_normal((3, 48, 33, 32)).astype(np.float32))

    def output(self, *options, what=None, **environment):
        """Runs in a process of its own, because OpenMP reads its environment once."""
        directory = self.folder / "out"
        command = [BINARY, "run", what or self.model, "--input", f"x={self.samples}", "--output-dir", directory,
                   "--device", "embedded", "-q", *options]  # fmt: skip
        subprocess.run([str(word) for word in command], check=True, env={**os.environ, **environment})
        return np.concatenate([np.load(directory / name).ravel() for name in ("y.npy", "z.npy")])

    def test_results_differ_by_rounding_at_most(self):
        one = self.output()
        np.testing.assert_array_equal(self.output("--cpu-threads", 1), one)
        for count in (2, 3, 8, 64):
            wanted = self.output("--cpu-threads", count)
            np.testing.assert_allclose(wanted, one, rtol=1e-4, atol=1e-4)
            for layout in ("auto", "planes", "blocked"):
                np.testing.assert_array_equal(self.output("--cpu-threads", count, "--cpu-layout", layout), wanted)
        np.testing.assert_array_equal(self.output("--cpu-threads", 3, what=self.network),
                                      self.output("--cpu-threads", 3))  # fmt: skip

    def test_fewer_threads_than_asked_for_compute_the_same(self):
        one = self.output()
        for variable, value in (("OMP_THREAD_LIMIT", "1"), ("OMP_THREAD_LIMIT", "2"), ("OMP_DYNAMIC", "true"),
                                ("OMP_MAX_ACTIVE_LEVELS", "0"), ("OMP_NUM_THREADS", "1")):  # fmt: skip
            np.testing.assert_allclose(self.output("--cpu-threads", 4, **{variable: value}), one, rtol=1e-4, atol=1e-4,
                                       err_msg=f"{variable}={value}")  # fmt: skip

    def most_threads(self, count):
        """Returns the most threads that the process has while it runs."""
        process = subprocess.Popen([BINARY, "perf", self.model, "--device", "embedded", "--frames", "300",
                                    "--cpu-threads", str(count)], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)  # fmt: skip
        most = 0
        while process.poll() is None:
            try:
                most = max(most, len(os.listdir(f"/proc/{process.pid}/task")))
            except FileNotFoundError:
                break
        self.assertEqual(process.wait(), 0)
        return most

    def test_so_many_threads_compute(self):
        self.assertEqual(self.most_threads(4), self.most_threads(1) + 3)

    def test_other_counts_are_refused(self):
        for command in (["perf", self.model], ["run", self.model, "--input", "x=x.npy", "--output-dir", "o"]):
            for count in (0, 65, "two"):
                result = overtake(*command, "--cpu-threads", count)
                self.assertEqual(result.returncode, 2)
                self.assertIn("--cpu-threads", result.stderr)


if __name__ == "__main__":
    unittest.main()
