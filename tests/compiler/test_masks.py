# SPDX-License-Identifier: MIT
"""Masked attention in int8 against the same network in float."""

import pathlib
import tempfile
import unittest

import numpy as np
from onnx import TensorProto, helper

import float_operators  # noqa: F401, which float_reference then knows
import float_reference
import masked_attention as masked
from overtake_command import cosine, info, run, succeed
from small_models import model, node, save


def placed(path, processor):
    return {node["name"] for node in info(path)["nodes"] if node["processor"] == processor}


class Masks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def samples(self, proto, count, seed=3):
        """Returns samples by input: words, rows of features, and masks that hide a few tokens at
        the end."""
        random = np.random.default_rng(seed)
        result = {}
        for value in proto.graph.input:
            shape = [dimension.dim_value for dimension in value.type.tensor_type.shape.dim]
            if value.name == "mask":
                hidden = random.integers(0, masked.TOKENS // 2, (count, 1))
                array = np.arange(masked.TOKENS)[None, :] < masked.TOKENS - hidden
            elif value.type.tensor_type.elem_type == TensorProto.INT64:
                array = random.integers(0, masked.WORDS, (count, *shape[1:]))
            else:
                array = random.standard_normal((count, *shape[1:]))
            is_float = value.type.tensor_type.elem_type == TensorProto.FLOAT
            result[value.name] = array.astype(np.float32 if is_float else np.int64)
        return result

    def compile(self, proto, samples=None, *options):
        path = save(proto, self.folder / "m.onnx")
        for name, array in (samples or {}).items():
            np.save(self.folder / f"{name}.npy", array)
            options += ("--calibration", f"{name}={self.folder / f'{name}.npy'}")
        succeed("compile", path, *options)
        return path.with_suffix(".ovm")

    def nearness(self, proto, path, count=2):
        """Returns the least cosine with numpy over inputs that calibration has not seen."""
        network = float_reference.Network(self.folder / "m.onnx")
        inputs, worst = self.samples(proto, count, seed=4), 1.0
        for index in range(count):
            one = {name: array[index : index + 1] for name, array in inputs.items()}
            got = run(path, one, self.folder / "run")
            with np.errstate(divide="ignore", over="ignore"):
                wanted = network.run(one)
            for name in network.output_names:
                worst = min(worst, cosine(got[name], wanted[name]))
        return worst

    def test_bert_stays_near_float(self):
        for build in (masked.bert, masked.bert_of_words):
            proto = build()
            with self.subTest(build=build.__name__):
                path = self.compile(proto, self.samples(proto, 8))
                self.assertGreater(self.nearness(proto, path), 0.99)

    def test_bert_stays_near_float_when_calibrated_with_noise(self):
        proto = masked.bert()
        self.assertGreater(self.nearness(proto, self.compile(proto)), 0.99)

    def test_a_decoder_stays_near_float_whatever_its_mask(self):
        for name, mask in masked.MASKS.items():
            proto = masked.decoder(mask)
            with self.subTest(mask=name):
                path = self.compile(proto, self.samples(proto, 8))
                self.assertGreater(self.nearness(proto, path), 0.99)

    def test_a_mask_may_be_a_constant_node(self):
        proto = masked.decoder(next(iter(masked.MASKS.values())))
        nodes = [
            helper.make_node("Constant", [], [tensor.name], value=tensor)
            for tensor in proto.graph.initializer
        ]
        nodes += proto.graph.node
        del proto.graph.initializer[:], proto.graph.node[:]
        proto.graph.node.extend(nodes)
        path = self.compile(proto, self.samples(proto, 8))
        self.assertGreaterEqual(self.nearness(proto, path), 0.99)

    def test_rows_that_see_nothing_are_as_in_float(self):
        proto = masked.bert()
        path = self.compile(proto, self.samples(proto, 8))
        x = self.samples(proto, 1, seed=5)["x"]
        inputs = {"x": x, "mask": np.zeros((1, masked.TOKENS), np.float32)}
        network = float_reference.Network(proto)
        wanted, got = network.run(inputs), run(path, inputs, self.folder / "run")
        for name in network.output_names:
            self.assertGreater(cosine(got[name], wanted[name]), 0.99)

    def test_a_node_that_is_to_run_on_the_device_does(self):
        proto = masked.decoder(masked.MASKS["-1e9"])
        adds = [n for n in proto.graph.node if n.op_type == "Add"]
        (mask,) = [n for n in adds if n.input[0].startswith("div")]
        path = self.compile(proto, None, "--run-on-bpu", mask.name)
        self.assertIn(mask.name, placed(path, "BPU"))
        self.assertNotIn(mask.name, placed(self.compile(proto), "BPU"))

    def test_the_report_shows_the_error_where_it_arises(self):
        """The error shows at Softmax if what it reads was added on the device. Behind it, the
        report shows the error that comes from there, and hardly any that nodes add."""
        proto = masked.decoder(masked.MASKS["-1e4"])
        adds = [n for n in proto.graph.node if n.op_type == "Add"]
        (mask,) = [n.name for n in adds if n.input[0].startswith("div")]
        folder = self.folder / "report"
        path = self.compile(proto, self.samples(proto, 8), "--run-on-bpu", mask, "--report", folder)
        nodes = info(path)["nodes"]
        place = [n["type"] for n in nodes].index("Softmax")
        self.assertGreater(nodes[place]["own_error"], 0.2)
        for entry in nodes[:place] + nodes[place + 1 :]:
            self.assertLess(entry["own_error"], 0.1, entry["name"])
        (mixed,) = [n for n in nodes[place + 1 :] if n["type"] == "MatMul"][:1]
        self.assertGreater(mixed["error"], 0.2)
        self.assertLess(mixed["own_error"], 0.03)
        self.assertRegex((folder / "m.txt").read_text(), r"cosine +error +own\n")
        page = (folder / "m.html").read_text()
        self.assertIn(f"<td class=\"n\">{100 * mixed['own_error']:.3f}%</td>", page)

    def features(self, *shape):
        return np.random.default_rng(7).standard_normal(shape).astype(np.float32)

    def check(self, nodes, inputs, outputs, constants, samples=None):
        """Returns outputs of nodes behind y = conv(x), by name: those of the device, and those of float."""
        constants = {"w": self.features(6, 4, 1, 1), **constants}
        nodes = [node("Conv", ["x", "w"], ["y"], name="conv"), *nodes]
        shapes = {name: array.shape for name, array in inputs.items()}
        proto = model(nodes, shapes, outputs, constants, types={"best": TensorProto.INT64})
        path = self.compile(proto, samples)
        wanted = float_reference.Network(proto).run(inputs)
        return path, run(path, inputs, self.folder / "run"), wanted

    def test_softmax_in_parts_is_masked_exactly(self):
        nodes = [
            node("Add", ["y", "mask"], ["sum"]),
            node("ReduceMax", ["sum"], ["most"], axes=[3]),
            node("Sub", ["sum", "most"], ["below"]),
            node("Exp", ["below"], ["powers"]),
            node("ReduceSum", ["powers", "axes"], ["total"], keepdims=1),
            node("Div", ["powers", "total"], ["p"]),
        ]
        mask = np.where(np.arange(8) < 5, 0, -1e9).astype(np.float32).reshape(1, 1, 1, 8)
        shape = (1, 6, 3, 8)
        _, got, wanted = self.check(
            nodes, {"x": self.features(1, 4, 3, 8)}, {"p": shape},
            {"mask": mask, "axes": np.array([3], np.int64)},
        )  # fmt: skip
        self.assertGreater(cosine(got["p"], wanted["p"]), 0.999)

    def test_masked_numbers_that_are_chosen_from_or_handed_out_keep_their_steps(self):
        nodes = [
            node("Sub", ["one", "allowed"], ["forbidden"]),
            node("Mul", ["forbidden", "least"], ["mask"]),
            node("Add", ["y", "mask"], ["z"]),
            node("ArgMax", ["z"], ["best"], axis=3, keepdims=1),
        ]
        allowed = (np.arange(8) % 3 > 0).astype(np.float32).reshape(1, 1, 1, 8)
        constants = {"one": np.float32(1), "least": np.float32(-1e9)}
        inputs = {"x": self.features(1, 4, 3, 8), "allowed": allowed}
        samples = {name: np.concatenate([array, array]) for name, array in inputs.items()}
        shape = (1, 6, 3, 8)
        outputs = {"z": shape, "best": (1, 6, 3, 1)}
        _, got, wanted = self.check(nodes, inputs, outputs, constants, samples)
        seen = np.broadcast_to(allowed > 0, shape)
        span = np.ptp(wanted["z"][seen])
        self.assertLess(np.abs(got["z"] - wanted["z"])[seen].max(), 0.01 * span)
        self.assertGreater(np.mean(got["best"].ravel() == wanted["best"].ravel()), 0.9)

    def test_what_stops_a_mask_sees_the_rest_exactly(self):
        shape = (1, 6, 3, 8)
        mask = np.where(np.arange(24).reshape(1, 1, 3, 8) % 5 < 3, 0, -1e9).astype(np.float32)
        cases = {
            "ReduceMax": (node("ReduceMax", ["sum"], ["z"], axes=[3]), (1, 6, 3, 1)),
            "GlobalMaxPool": (node("GlobalMaxPool", ["sum"], ["z"]), (1, 6, 1, 1)),
            "MaxPool": (node("MaxPool", ["sum"], ["z"], kernel_shape=[1, 4], strides=[1, 4]),
                        (1, 6, 3, 2)),
            "Sigmoid": (node("Sigmoid", ["sum"], ["z"]), shape),
            "Tanh": (node("Tanh", ["sum"], ["z"]), shape),
        }  # fmt: skip
        for name, (last, out) in cases.items():
            with self.subTest(name):
                nodes = [node("Add", ["y", "mask"], ["sum"]), last]
                inputs = {"x": self.features(1, 4, 3, 8)}
                _, got, wanted = self.check(nodes, inputs, {"z": out}, {"mask": mask})
                off = np.abs(got["z"] - wanted["z"]).max()
                self.assertLess(off, 0.03 * np.ptp(wanted["z"]))

    def test_a_mask_made_of_features(self):
        """Gates of 8 bits are exact where they are 1, and nearly so where they are 0."""
        nodes = [
            node("Conv", ["x", "v"], ["steep"], name="second"),
            node("Sigmoid", ["steep"], ["gate"]),
            node("Sub", ["one", "gate"], ["closed"]),
            node("Mul", ["closed", "least"], ["mask"]),
            node("Add", ["y", "mask"], ["sum"]),
            node("Softmax", ["sum"], ["p"], axis=3),
        ]
        constants = {"one": np.float32(1), "least": np.float32(-1e3)}
        constants["v"] = 100 * self.features(6, 4, 1, 1)
        shape = (1, 6, 3, 8)
        x = self.features(1, 4, 3, 8)
        _, got, wanted = self.check(nodes, {"x": x}, {"p": shape}, constants, {"x": x})
        self.assertGreater(cosine(got["p"], wanted["p"]), 0.99)

    def test_a_masked_sum_that_others_read_as_well(self):
        mask = np.where(np.arange(8) < 5, 0, -1e4).astype(np.float32).reshape(1, 1, 1, 8)
        nodes = [
            node("Add", ["mask", "y"], ["sum"]),
            node("Softmax", ["sum"], ["p"], axis=3),
            node("Conv", ["sum", "v"], ["z"], name="other"),
        ]
        shape = (1, 6, 3, 8)
        constants = {"mask": mask, "v": self.features(2, 6, 1, 1)}
        path, got, wanted = self.check(
            nodes, {"x": self.features(1, 4, 3, 8)}, {"p": shape, "z": (1, 2, 3, 8)}, constants
        )
        self.assertGreater(cosine(got["p"], wanted["p"]), 0.999)
        self.assertIn("other", placed(path, "BPU"))

    def test_a_mask_that_is_an_input_is_exact_without_samples_of_it(self):
        nodes = [node("Add", ["y", "mask"], ["sum"]), node("Softmax", ["sum"], ["p"], axis=3)]
        mask = np.where(np.arange(8) < 5, 0, masked.FLOAT_MIN).astype(np.float32)
        inputs = {"x": self.features(1, 4, 3, 8), "mask": mask.reshape(1, 1, 1, 8)}
        _, got, wanted = self.check(nodes, inputs, {"p": (1, 6, 3, 8)}, {})
        self.assertGreater(cosine(got["p"], wanted["p"]), 0.99)

    def test_a_sum_that_the_model_rounds_itself_is_rounded_where_it_is_added(self):
        mask = np.where(np.arange(8) < 5, 0, -100).astype(np.float32).reshape(1, 1, 1, 8)
        nodes = [
            node("Add", ["y", "mask"], ["sum"], name="sum"),
            node("QuantizeLinear", ["sum", "scale", "zero"], ["q"]),
            node("DequantizeLinear", ["q", "scale", "zero"], ["rounded"]),
            node("Softmax", ["rounded"], ["p"], axis=3),
        ]
        constants = {"mask": mask, "scale": np.float32(0.1), "zero": np.int8(10)}
        inputs = {"x": self.features(1, 4, 3, 8)}
        path, got, wanted = self.check(
            nodes, inputs, {"p": (1, 6, 3, 8)}, constants, samples={"x": inputs["x"]}
        )
        self.assertIn("sum", placed(path, "BPU"))
        self.assertGreater(cosine(got["p"], wanted["p"]), 0.99)

    def test_an_input_that_masks_scores_and_features_is_exact_for_the_scores(self):
        nodes = [
            node("Mul", ["y", "mask"], ["kept"]),
            node("Conv", ["kept", "v"], ["z"], name="other"),
            node("Sub", ["one", "mask"], ["hidden"]),
            node("Mul", ["hidden", "least"], ["additive"], name="additive"),
            node("Add", ["y", "additive"], ["sum"]),
            node("Softmax", ["sum"], ["p"], axis=3),
        ]
        constants = {"one": np.float32(1), "least": np.float32(masked.FLOAT_MIN)}
        constants["v"] = self.features(2, 6, 1, 1)
        mask = (np.arange(8) < 5).astype(np.float32).reshape(1, 1, 1, 8)
        inputs = {"x": self.features(1, 4, 3, 8), "mask": mask}
        outputs = {"p": (1, 6, 3, 8), "z": (1, 2, 3, 8)}
        path, got, wanted = self.check(nodes, inputs, outputs, constants)
        self.assertGreater(cosine(got["p"], wanted["p"]), 0.999)
        self.assertIn("other", placed(path, "BPU"))

    def test_features_that_are_added_before_softmax_stay_on_the_device(self):
        nodes = [
            node("Conv", ["x", "v"], ["other"], name="second"),
            node("Add", ["x", "other"], ["sum"]), node("Softmax", ["sum"], ["p"], axis=3),
        ]  # fmt: skip
        x = self.features(1, 4, 3, 8)
        constants = {"v": self.features(4, 4, 1, 1)}
        path, _, _ = self.check(nodes, {"x": x}, {"p": x.shape}, constants)
        (tensor,) = info(path)["inputs"]
        self.assertTrue(tensor["on_device"])

    def test_what_masks_nothing_stays_on_the_device(self):
        shape = (1, 6, 3, 8)
        bias = self.features(1, 1, 3, 8)
        cases = {
            "bias": [node("Add", ["y", "bias"], ["sum"]), node("Softmax", ["sum"], ["z"], axis=3)],
            "residual": [node("Add", ["y", "x6"], ["z"], name="sum")],
            "two features": [
                node("Conv", ["x", "v"], ["other"], name="second"),
                node("Add", ["y", "other"], ["sum"]), node("Softmax", ["sum"], ["z"], axis=3),
            ],
            "bound": [
                node("Max", ["y", "least"], ["m"]), node("Add", ["m", "bias"], ["sum"]),
                node("Softmax", ["sum"], ["z"], axis=3),
            ],
        }  # fmt: skip
        for name, nodes in cases.items():
            inputs = {"x": self.features(1, 4, 3, 8)}
            if name == "residual":
                inputs["x6"] = self.features(*shape)
            constants = {"bias": bias, "v": self.features(6, 4, 1, 1), "least": np.float32(-1e9)}
            with self.subTest(name):
                path, _, _ = self.check(nodes, inputs, {"z": shape}, constants)
                self.assertNotIn("Add", [o["type"] for s in info(path)["segments"]
                                         for o in s.get("ops", [])])  # fmt: skip
                self.assertTrue({"my_add", "sum"} & placed(path, "BPU"))


if __name__ == "__main__":
    unittest.main()
