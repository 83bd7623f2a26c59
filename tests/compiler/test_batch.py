# SPDX-License-Identifier: MIT
"""Networks for a batch: they run where the network for one image runs, and give the bits that it
gives image by image."""

import collections
import itertools
import os
import pathlib
import tempfile
import unittest

import numpy as np
import onnx

import agreement
import float_reference
import model_file
import random_batches
import random_graphs
import random_quantised
import small_models
from graph_builder import GraphBuilder

GRAPHS = int(os.environ.get("OVERTAKE_BATCH_GRAPHS", 40))
SAMPLES = 2

# If the device runs these for one image, it runs them for several.
OF_IMAGES = {
    "AveragePool", "BatchNormalization", "Conv", "ConvTranspose", "DepthToSpace",
    "GlobalAveragePool", "GlobalMaxPool", "MaxPool", "Relu", "Resize", "SpaceToDepth",
}  # fmt: skip


def weights(*shape):
    random = np.random.default_rng(sum(shape))
    return (random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)


def classifier(count):
    """Has convolutions with and without padding, a residual, a gate, pools and fully connected
    layers."""

    def node(operator, inputs, outputs, **attributes):
        return small_models.node(operator, inputs, outputs, name=outputs[0], **attributes)

    nodes = [
        node("Conv", ["image", "w1"], ["wide"], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("Relu", ["wide"], ["relu"]),
        node("Conv", ["relu", "w2"], ["depthwise"], pads=[1, 1, 1, 1], group=12),
        node("Add", ["relu", "depthwise"], ["sum"]),
        node("GlobalAveragePool", ["sum"], ["mean"]),
        node("Sigmoid", ["mean"], ["gate"]),
        node("Mul", ["sum", "gate"], ["gated"]),
        node("MaxPool", ["gated"], ["pooled"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", ["pooled"], ["flat"]),
        node("Gemm", ["flat", "w3"], ["hidden"], transB=1),
        node("Relu", ["hidden"], ["active"]),
        node("Gemm", ["active", "w4"], ["classes"], transB=1),
    ]
    constants = {
        "w1": weights(12, 3, 3, 3), "w2": weights(12, 1, 3, 3), "w3": weights(20, 12 * 9),
        "w4": weights(7, 20),
    }  # fmt: skip
    shapes = {"image": (count, 3, 12, 12)}, {"classes": (count, 7), "gated": (count, 12, 6, 6)}
    return small_models.model(nodes, *shapes, constants)


def in_batches(images, count):
    return {name: array.reshape(-1, count, *array.shape[1:]) for name, array in images.items()}


def with_scales(case):
    """Returns the case quantised, so that its results do not depend on how float sums round; None
    if the case cannot be quantised."""
    model = case.model
    if case.is_rough or not random_batches.is_for_one_image(model):
        return None
    if not case.is_quantised:
        opset = model.opset_import[0].version
        if opset < 13:
            return None
        graph = GraphBuilder(np.random.default_rng(case.seed), opset)
        case.model = random_quantised.quantised(graph, model, case.samples)
        if not random_quantised.is_finite(case.model, case.samples):
            return None
    case.input_parameters = {}
    return case


def mixes_images(model, count):
    """Returns whether an image of a batch gives another result than the image alone, in float."""
    random = np.random.default_rng(1)
    batch = {
        info.name: random.standard_normal(
            [count, *[dim.dim_value for dim in info.type.tensor_type.shape.dim][1:]]
        ).astype(np.float32)
        for info in model.graph.input
    }
    wanted = float_reference.Network(model).run_images(batch)
    many = random_batches.batched(model, count)
    try:
        onnx.shape_inference.infer_shapes(many, check_type=True, strict_mode=True)
        found = float_reference.Network(many).run(batch)
    except Exception:  # the shapes do not fit any more
        return True
    return any(
        found[name].shape != want.shape or not np.allclose(found[name], want, 1e-3, 1e-3)
        for name, want in wanted.items()
    )


def case_of(model, samples, options=(), seed=1):
    return random_graphs.Case(seed, model, samples, False, False, list(options))


class Batch(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.server = agreement.make_server()
        self.addCleanup(self.server.stop)
        self.checker = agreement.Checker(self.server, directory.name)

    def compile(self, case, name, *options):
        """Returns the model file."""
        self.checker._case = case
        onnx.save(case.model, str(self.directory / "model.onnx"))
        return self.checker._compile(name, *options)

    def compare(self, one, many, images, count, options=()):
        """Compiles both networks, runs both on `images` (by input, samples first), and returns the
        model files. No bit of an output may differ."""
        batches = in_batches(images, count)
        single = self.compile(case_of(one, images, options), "one.ovm")
        wanted = self.checker._run(single, images, "one")
        batch = self.compile(case_of(many, batches, options), "many.ovm")
        found = self.checker._run(batch, batches, "many")
        for name, want in wanted.items():
            got = found[name].reshape(want.shape)
            np.testing.assert_array_equal(got, want, err_msg=name)
        return model_file.ModelFile(single), model_file.ModelFile(batch)

    def images_for(self, model, count, seed=1):
        random = np.random.default_rng(seed)
        shapes = {
            info.name: [dim.dim_value for dim in info.type.tensor_type.shape.dim][1:]
            for info in model.graph.input
        }
        return {
            name: random.standard_normal((SAMPLES * count, *shape)).astype(np.float32)
            for name, shape in shapes.items()
        }

    def test_a_batch_runs_on_the_bpu_and_gives_the_bits_of_one_image_after_another(self):
        for count in (2, 3, 5):
            with self.subTest(count=count):
                one, many = classifier(1), classifier(count)
                single, batch = self.compare(one, many, self.images_for(one, count), count)
                self.assertTrue(all(on_bpu for _, on_bpu in batch.nodes), batch.nodes)
                self.assertEqual(len(batch.segments), 1)
                self.assertEqual(single.nodes, batch.nodes)
                # The file has the weights once, whatever the batch.
                self.assertEqual(len(single.weights), len(batch.weights))

    def test_a_dynamic_batch_is_chosen_with_input_shape(self):
        count = 4
        model = classifier(1)
        for info in [*model.graph.input, *model.graph.output]:
            info.type.tensor_type.shape.dim[0].dim_param = "N"
        one = classifier(1)
        images = self.images_for(one, count)
        batches = in_batches(images, count)
        single = self.compile(case_of(one, images), "one.ovm")
        wanted = self.checker._run(single, images, "one")
        shape = ["--input-shape", f"image={count}x3x12x12"]
        path = self.compile(case_of(model, batches), "many.ovm", *shape)
        found = self.checker._run(path, batches, "many")
        for name, want in wanted.items():
            np.testing.assert_array_equal(found[name].reshape(want.shape), want, err_msg=name)
        self.assertTrue(all(on_bpu for _, on_bpu in model_file.ModelFile(path).nodes))

    def test_function_calls_of_a_batch_keep_the_limit(self):
        model = classifier(3)
        case = case_of(model, in_batches(self.images_for(model, 3), 3))
        case.limit_us = 2000
        values = self.checker._check_bits(self.compile(case, "whole.ovm"))
        self.checker._check_split(case.limit_us, values)
        self.assertEqual(self.checker.covered["split into several"], 1)

    def test_what_mixes_images_goes_to_the_cpu_and_is_right(self):
        node = small_models.node
        for name, mixing, shape in (
            ("over the batch", node("ReduceMean", ["conv"], ["y"], axes=[0]), (1, 8, 4, 4)),
            ("of one image", node("Slice", ["conv", "first", "last", "axes"], ["y"]), (1, 8, 4, 4)),
        ):
            with self.subTest(name):
                nodes = [node("Conv", ["x", "w"], ["conv"], pads=[1, 1, 1, 1]), mixing]
                constants = {"w": weights(8, 3, 3, 3)}
                constants |= {
                    key: np.array([value], np.int64)
                    for key, value in (("first", 1), ("last", 2), ("axes", 0))
                    if name == "of one image"
                }
                model = small_models.model(nodes, {"x": (2, 3, 4, 4)}, {"y": shape}, constants)
                samples = {"x": np.random.default_rng(1).standard_normal((2, 2, 3, 4, 4))}
                case = case_of(model, {"x": samples["x"].astype(np.float32)})
                path = self.compile(case, "mixed.ovm")
                self.checker._check_bits(path)
                placed = dict(model_file.ModelFile(path).nodes)
                self.assertTrue(placed["Conv"])
                self.assertFalse(placed[mixing.op_type])
                got = self.checker._run(path, case.samples, "out")["y"]
                want = self.checker._run(self.directory / "model.onnx", case.samples, "float")["y"]
                self.assertGreater(agreement.cosine(got, want), 0.99)

    def test_transposes_of_a_batch_are_right_in_float(self):
        node = small_models.node
        for count in (2, 4):
            for rank in (3, 4):
                shape = (count, 4, 6, 5)[:rank]
                for order in itertools.permutations(range(rank)):
                    with self.subTest(count=count, order=order):
                        nodes = [node("Relu", ["x"], ["r"]), node("Transpose", ["r"], ["t"], perm=list(order)),
                                 node("Relu", ["t"], ["y"])]  # fmt: skip
                        after = tuple(shape[axis] for axis in order)
                        model = small_models.model(nodes, {"x": shape}, {"y": after})
                        onnx.save(model, self.directory / "model.onnx")
                        values = np.random.default_rng(rank).standard_normal(shape).astype(np.float32)
                        got = self.checker._run(self.directory / "model.onnx", {"x": values[None]}, "float")["y"]
                        np.testing.assert_array_equal(got.reshape(after), np.maximum(values, 0).transpose(order))

    def test_random_networks(self):
        checked = collections.Counter()
        for seed in range(1, 20 * GRAPHS):
            case = with_scales(random_graphs.make(seed))
            count = 2 + seed % 4
            if case is None or mixes_images(case.model, count):
                continue
            with self.subTest(seed=seed, count=count):
                self.check_random(case, count, checked)
            checked["networks"] += 1
            if checked["networks"] == GRAPHS:
                break
        print(dict(checked))
        self.assertEqual(checked["networks"], GRAPHS)
        self.assertGreater(checked["networks without the CPU"], GRAPHS // 10)

    def check_random(self, case, count, checked):
        images = self.images_for(case.model, count, case.seed)
        batches = in_batches(images, count)
        single = self.compile(case_of(case.model, images, case.options), "one.ovm")
        many = case_of(random_batches.batched(case.model, count), batches, case.options, case.seed)
        batch = self.compile(many, "many.ovm")
        alone = collections.Counter(model_file.ModelFile(single).nodes)
        together = collections.Counter(model_file.ModelFile(batch).nodes)
        for (operator, on_bpu), number in alone.items():
            if on_bpu and operator in OF_IMAGES:
                self.assertGreaterEqual(together[operator, True], number, operator)
        if all(on_bpu for _, on_bpu in together):
            checked["networks without the CPU"] += 1
            wanted = self.checker._run(single, images, "one")
            found = self.checker._run(batch, batches, "many")
            for name, want in wanted.items():
                got = found[name].reshape(want.shape)
                np.testing.assert_array_equal(got, want, err_msg=name)
        self.checker._case = many
        values = self.checker._check_bits(batch)
        if case.limit_us:
            self.checker._check_split(case.limit_us, values)
            checked["split networks"] += 1


if __name__ == "__main__":
    unittest.main()
