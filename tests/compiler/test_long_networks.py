# SPDX-License-Identifier: MIT
"""The time to compile a network grows with its size, not with the square of its size."""

import os
import pathlib
import tempfile
import unittest

import numpy as np
from overtake_command import BINARY
from small_models import model, node, ones, relu, save

SHAPE = (1, 8, 4, 4)


def chain(operators, count):
    """Makes a chain of nodes in which the operators take turns."""
    nodes = []
    for index in range(count):
        operator = operators[index % len(operators)]
        inputs = [f"t{index}"] + (["w"] if operator == "Conv" else [])
        attributes = {"kernel_shape": [1, 1]} if operator in ("Conv", "MaxPool") else {}
        nodes.append(node(operator, inputs, [f"t{index + 1}"], name=f"n{index}", **attributes))
    weights = {"w": np.eye(8, dtype=np.float32).reshape(8, 8, 1, 1)} if "Conv" in operators else {}
    return model(nodes, {"t0": SHAPE}, {f"t{count}": SHAPE}, weights)


class Cost(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def cost(self, *arguments):
        """Returns seconds of CPU time of this process and its children, and MiB of memory at its
        peak."""
        quiet = [(os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
        command = [BINARY, *map(str, arguments)]
        child = os.posix_spawn(command[0], command, os.environ, file_actions=quiet)
        _, status, usage = os.wait4(child, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)
        return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024

    def compile(self, proto, *options):
        return self.cost("compile", save(proto, self.folder / "net.onnx"), "-q", *options)

    def test_four_times_the_nodes_take_no_eight_times_the_time(self):
        for operators in (["Conv"], ["Conv", "Softmax"]):
            with self.subTest(operators=operators):
                seconds = [self.compile(chain(operators, count))[0] for count in (2000, 8000)]
                self.assertLess(seconds[1] / seconds[0], 7.5)

    def test_nor_do_they_where_a_plan_for_several_cores_is_searched(self):
        """Convolutions of points have no halo, so a block of layers could be as long as the
        network."""
        seconds = [self.compile(chain(["Conv"], count), "--cores", "8")[0] for count in (750, 3000)]
        self.assertLess(seconds[1] / seconds[0], 7.5)

    def test_segments_take_memory_for_what_they_touch(self):
        few, many = (self.compile(chain(["Conv", "Softmax"], count))[1] for count in (1000, 4000))
        self.assertLess(many - few, 120)

    def test_a_large_tensor_is_held_a_few_times(self):
        """The tensor has 64 MiB; the bounds include the share of the CPU and room for the program
        itself."""
        shape = (1, 16, 1024, 1024)
        proto = relu(shape)
        self.assertLess(self.compile(proto)[1], 64 * 9)
        np.save(self.folder / "x.npy", ones(*shape))
        path = self.folder / "net.onnx"
        _, peak = self.cost("run", path, "-q", "--input", f"x={self.folder / 'x.npy'}",
                            "--output-dir", self.folder / "out")  # fmt: skip
        self.assertLess(peak, 64 * 4.8)


if __name__ == "__main__":
    unittest.main()
