# SPDX-License-Identifier: MIT
"""examples/read_text.cpp, built against the installed library, with networks that are small enough
to understand: one finds what is bright, the other tells red from green."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import helper, numpy_helper
from PIL import Image

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/compiler"))

from overtake_command import BINARY, succeed

BUILD = pathlib.Path(os.environ.get("OVERTAKE_BUILD", SOURCE / "build/release"))


def save(path, nodes, constants, input_shape, output_shape):
    float_ = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes, path.stem, [helper.make_tensor_value_info("x", float_, input_shape)],
        [helper.make_tensor_value_info("y", float_, output_shape)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
    onnx.save(model, str(path))


def save_detection(path):
    """Saves a network that finds bright pixels as text."""
    weights = {"w": np.full((1, 3, 1, 1), 4, np.float32), "b": np.array([4], np.float32)}
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["s"]), helper.make_node("Sigmoid", ["s"], ["y"])]
    save(path, nodes, weights, [1, 3, 64, 128], [1, 1, 64, 128])


def save_recognition(path):
    """Saves a network that reads each 8 columns: nothing, "g" or "r", the greater of green and red
    (blue comes first), a space."""
    weights = np.zeros((4, 3, 48, 8), np.float32)
    weights[1, 1] = weights[2, 2] = 1 / 64
    weights[1, 2] = weights[2, 1] = -1 / 64
    weights[3] = -1 / 1024
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], strides=[8, 8]),
        helper.make_node("Squeeze", ["c", "axes"], ["s"]),
        helper.make_node("Transpose", ["s"], ["t"], perm=[0, 2, 1]),
        helper.make_node("Softmax", ["t"], ["y"], axis=2),
    ]
    constants = {"w": weights, "axes": np.array([2], np.int64)}
    save(path, nodes, constants, [1, 3, 48, 96], [1, 12, 4])


class ReadText(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        prefix, examples = cls.folder / "prefix", cls.folder / "examples"
        for command in (
            ["cmake", "--install", BUILD, "--prefix", prefix],
            ["cmake", "-S", SOURCE / "examples", "-B", examples, f"-DCMAKE_PREFIX_PATH={prefix}"],
            ["cmake", "--build", examples, "--target", "read_text"],
        ):
            subprocess.run(command, check=True, capture_output=True)
        cls.program = examples / "read_text"
        random = np.random.default_rng(1)
        cls.models = []
        for name, save_it, shape in (
            ("detection", save_detection, (4, 3, 64, 128)),
            ("recognition", save_recognition, (4, 3, 48, 96)),
        ):
            network = cls.folder / f"{name}.onnx"
            save_it(network)
            samples = cls.folder / f"{name}.npy"
            np.save(samples, random.uniform(-2, 2, shape).astype(np.float32))
            model = network.with_suffix(".ovm")
            succeed("compile", network, "--calibration", samples, "-o", model, "-q")
            cls.models.append(model)
        (cls.folder / "characters.txt").write_text("g\nr\n")

    def page(self, name, *colours):
        """Makes a page with bars of these colours, one below the other."""
        pixels = np.zeros((64, 128, 3), np.uint8)
        for index, colour in enumerate(colours):
            pixels[8 + 20 * index : 16 + 20 * index, 20:80] = colour
        path = self.folder / name
        Image.fromarray(pixels).save(path)
        return path

    def read(self, *pages, characters="characters.txt", models=None):
        models = models or self.models
        return subprocess.run(
            [self.program, *models, self.folder / characters, "--device", "embedded", *pages],
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    def test_lines_come_from_top_to_bottom(self):
        result = self.read(self.page("page.png", (255, 200, 200), (200, 255, 200)))
        self.assertEqual(result.stderr, "")
        self.assertEqual(result.stdout, "r\ng\n")

    def test_each_page_is_named_if_there_are_several(self):
        one = self.page("one.png", (200, 255, 200))
        two = self.page("two.png", (255, 200, 200), (255, 200, 200))
        self.assertEqual(self.read(one, two).stdout, f"{one}:\ng\n{two}:\nr\nr\n")

    def test_an_empty_page_has_no_lines(self):
        result = self.read(self.page("empty.png"))
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_what_is_no_picture_is_refused_in_one_line(self):
        (self.folder / "broken.png").write_bytes(b"not a picture")
        result = self.read(self.folder / "broken.png")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"\Aread_text: .*broken\.png: .*\n\Z")

    def test_what_is_missing_is_named(self):
        page, folder = self.page("page.png"), self.folder
        for result, name in (
            (self.read(folder / "none.png"), "none.png"),
            (self.read(page, characters="none.txt"), "none.txt"),
            (self.read(page, models=[folder / "none.ovm", self.models[1]]), "none.ovm"),
        ):
            with self.subTest(name=name):
                self.assertEqual(result.returncode, 1)
                self.assertRegex(result.stderr, rf"\Aread_text: .*{name}: (cannot open: )?No such file or directory[^\n]*\n\Z")

    def test_networks_in_the_wrong_order_are_refused(self):
        result = self.read(self.page("page.png"), models=self.models[::-1])
        self.assertEqual(result.returncode, 1)
        self.assertIn("recognition.ovm: finds no text, give a detection first", result.stderr)
        result = self.read(self.page("page.png"), models=self.models[:1] * 2)
        self.assertIn("detection.ovm: reads no lines, give a recognition second", result.stderr)

    def test_characters_of_another_network_are_refused(self):
        (self.folder / "few.txt").write_text("g\n")
        result = self.read(self.page("page.png"), characters="few.txt")
        self.assertEqual(result.returncode, 1)
        self.assertIn("few.txt: 1 characters, but the network tells 2 apart", result.stderr)


if __name__ == "__main__":
    unittest.main()
