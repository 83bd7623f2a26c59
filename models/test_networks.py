#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Checks the checked-in classifier and the generated networks."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx

import float_reference
import glyph_images

KINDS = ["detector", "large", "mobilenetv2", "resnet18", "unet", "vit", "yolo"]
# Kind, image size, parameters, multiply-accumulates. ResNet-18 and MobileNetV2: torchvision's table
# of models. YOLOv5n: 4.5 G operations at 640 x 640, two to a multiply-accumulate. No cost of the
# U-Net is published.
PUBLISHED = [
    ("resnet18", 224, 11_689_512, 1.81e9),
    ("mobilenetv2", 224, 3_504_872, 0.30e9),
    ("yolo", 320, 1_872_157, 4.5e9 / 2 / 4),
    ("unet", 32, 7_763_041, None),
]
# Deviation of outputs from their mean over images, against their size.
LEAST_OWN = 0.15
HERE = pathlib.Path(__file__).resolve().parent
GLYPHS = HERE / "glyphs"


def assert_well_formed(test, model, inputs):
    """The checker accepts the model, and strict inference gives every tensor the shape it has."""
    onnx.checker.check_model(model, full_check=True)
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    shapes = {
        value.name: tuple(d.dim_value for d in value.type.tensor_type.shape.dim)
        for value in [*inferred.graph.value_info, *inferred.graph.output]
    }
    network = float_reference.Network(model)
    tensors = network.run(inputs)
    for node, _ in network.nodes:
        test.assertEqual(tensors[node.output[0]].shape, shapes[node.output[0]], node.name)
    return network, tensors


def count(model):
    """Parameters and multiply-accumulates, from the file alone."""
    constants = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True).graph
    shapes = dict(constants)
    for value in [*inferred.input, *inferred.value_info, *inferred.output]:
        shapes[value.name] = tuple(d.dim_value for d in value.type.tensor_type.shape.dim)
    parameters = macs = 0
    for node in model.graph.node:
        learnt = {"Conv": 3, "ConvTranspose": 3, "Gemm": 3, "BatchNormalization": 3}
        for name in node.input[1 : learnt.get(node.op_type, 0)]:
            parameters += int(np.prod(shapes[name]))
        # Every element of one side of the product meets a slice of the weights.
        if node.op_type in ("Conv", "Gemm"):
            weights = shapes[node.input[1]]
            macs += int(np.prod(shapes[node.output[0]]) * np.prod(weights[1:]))
        elif node.op_type == "ConvTranspose":
            weights = shapes[node.input[1]]
            macs += int(np.prod(shapes[node.input[0]]) * np.prod(weights[1:]))
    return parameters, macs


class GlyphClassifier(unittest.TestCase):
    def setUp(self):
        self.images = np.load(GLYPHS / "heldout_images.npy")
        self.labels = np.load(GLYPHS / "heldout_labels.npy")

    def test_held_out_set_is_balanced_and_covers_every_class(self):
        self.assertEqual(self.images.shape, (640, 1, glyph_images.SIZE, glyph_images.SIZE))
        counts = np.bincount(self.labels, minlength=len(glyph_images.CLASSES))
        self.assertEqual(counts.tolist(), [40] * len(glyph_images.CLASSES))

    def test_calibration_shares_no_image_with_the_held_out_set(self):
        calibration = {image.tobytes() for image in np.load(GLYPHS / "calibration.npy")}
        self.assertEqual(len(calibration), 64)
        self.assertFalse(calibration & {image.tobytes() for image in self.images})

    def test_model_is_well_formed(self):
        model = onnx.load(str(GLYPHS / "glyphs.onnx"))
        assert_well_formed(self, model, {"image": self.images[:1].astype(np.float32)})

    def test_float_accuracy_on_held_out_fonts_is_at_least_95_percent(self):
        network = float_reference.Network(GLYPHS / "glyphs.onnx")
        probabilities = network.run_images({"image": self.images})["probabilities"]
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
        correct = int((probabilities.argmax(axis=1) == self.labels).sum())
        print(f"float: {correct} of {len(self.labels)} held-out images right")
        self.assertGreaterEqual(correct, 0.95 * len(self.labels))


def generate(path, kind, *options):
    """Generates a narrow network, quick to evaluate but with the full graph."""
    command = [sys.executable, HERE / "generate.py", kind, path, "--width", "8", "--input", "96x128"]
    subprocess.run([*command, *options], check=True, stderr=subprocess.DEVNULL)
    return path


class GeneratedNetworks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        folder = pathlib.Path(folder.name)
        cls.of_every_kind = {}
        for kind in KINDS:
            samples = folder / f"{kind}.npy"
            path = generate(folder / f"{kind}.onnx", kind, "--samples", samples)
            cls.of_every_kind[kind] = path, np.load(samples)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_activations_neither_vanish_nor_explode_on_unseen_images(self):
        for kind in KINDS:
            with self.subTest(kind=kind):
                path, images = self.of_every_kind[kind]
                self.assertEqual(images.shape, (4, 3, 96, 128))
                network, tensors = assert_well_formed(
                    self, onnx.load(str(path)), {"image": images[1:2]}
                )
                for node, _ in network.nodes:
                    # Of a transformer, the residual stream: what it divides by is small.
                    if kind == "vit" and not node.name.endswith((".add1", ".add2", "logits")):
                        continue
                    if node.op_type in ("Relu", "Clip", "Mul", "Add", "Concat", "Gemm"):
                        deviation = float(tensors[node.output[0]].std())
                        self.assertTrue(0.1 < deviation < 10, f"{node.name}: {deviation}")

    def test_the_libraries_of_its_products_are_the_reference_ones(self):
        """Another library of that name, which the system has for all programs, would make other weights."""
        (reference,) = pathlib.Path("/usr/lib").glob("*-linux-gnu/blas/libblas.so.3")
        (self.folder / "libblas.so.3").write_bytes(reference.read_bytes())
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.folder), "LD_DEBUG": "files",
                       "LD_DEBUG_OUTPUT": str(self.folder / "loaded")}  # fmt: skip
        command = [sys.executable, HERE / "generate.py", "vit", self.folder / "vit.onnx"]
        command += ["--width", "8", "--input", "32x32"]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL, env=environment)
        (loaded,) = self.folder.glob("loaded.*")  # of one process, which began anew
        calls = [line.split()[-1] for line in loaded.read_text().splitlines()
                 if "calling init" in line and "libblas.so.3" in line]  # fmt: skip
        self.assertEqual(calls[-1], str(reference))

    def test_outputs_depend_on_the_image(self):
        for kind in KINDS:
            with self.subTest(kind=kind):
                path, images = self.of_every_kind[kind]
                outputs = float_reference.Network(path).run_images({"image": images})
                for name, values in outputs.items():
                    values = values.reshape(len(values), -1)
                    own = values - values.mean(axis=0)
                    share = float(np.sqrt((own**2).mean() / (values**2).mean()))
                    print(f"{kind} {name}: {share:.2f} of the outputs' size is the image's own")
                    self.assertGreater(share, LEAST_OWN)

    def full_size(self, kind, size):
        """The one that the build has made, or a new one: what counts is the size."""
        if "NETWORKS" in os.environ:
            return pathlib.Path(os.environ["NETWORKS"]) / f"{kind}.onnx"
        path = self.folder / f"{kind}.onnx"
        command = [sys.executable, HERE / "generate.py", kind, path, "--input", str(size)]
        subprocess.run([*command, "--probes", "1"], check=True, stderr=subprocess.DEVNULL)
        return path

    def test_sizes_are_the_published_ones(self):
        for kind, size, parameters, macs in PUBLISHED:
            with self.subTest(kind=kind):
                counted = count(onnx.load(str(self.full_size(kind, size))))
                self.assertEqual(counted[0], parameters)
                if macs is not None:  # published with two or three digits
                    self.assertAlmostEqual(counted[1] / macs, 1, delta=0.01)

    def test_generator_tells_the_sizes(self):
        path = self.folder / "detector.onnx"
        command = [sys.executable, HERE / "generate.py", "detector", path, "--width", "8"]
        report = subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True)
        parameters, macs = count(onnx.load(str(path)))
        self.assertIn(f"{parameters:,} parameters", report.stderr)
        self.assertIn(f"{macs:,} multiply-accumulates", report.stderr)

    def test_detector_has_three_heads_at_strides_8_16_and_32(self):
        network = float_reference.Network(self.of_every_kind["detector"][0])
        image = np.zeros((1, 3, 96, 128), np.float32)
        tensors = network.run({"image": image})
        shapes = [tensors[name].shape for name in network.output_names]
        self.assertEqual(shapes, [(1, 16, 12, 16), (1, 16, 6, 8), (1, 16, 3, 4)])

    def test_seed_decides_the_weights(self):
        first = generate(self.folder / "first.onnx", "detector", "--seed", "7").read_bytes()
        again = generate(self.folder / "again.onnx", "detector", "--seed", "7").read_bytes()
        other = generate(self.folder / "other.onnx", "detector", "--seed", "8").read_bytes()
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)


if __name__ == "__main__":
    unittest.main()
