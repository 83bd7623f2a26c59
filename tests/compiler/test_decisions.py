# SPDX-License-Identifier: MIT
"""--accuracy of outputs whose greatest number is a choice: decisions, and logits of classifiers."""

import json
import pathlib
import tempfile
import unittest

import numpy as np

from overtake_command import overtake, succeed
from small_models import model, node, save

SHAPE = (1, 4, 8, 8)


class Decisions(unittest.TestCase):
    """Two of four numbers are always the greatest and nearly equal, the others are 0: which one is
    greater is a decision that 16 bits keep, and 8 bits do not."""

    COUNT = 12

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def numbers(self, difference, axis=1):
        """Returns COUNT samples of SHAPE."""
        random = np.random.default_rng(5)
        numbers = np.zeros((self.COUNT, *SHAPE[1:]), np.float32)
        first, second = np.moveaxis(numbers, axis, 0)[:2]
        first[...] = random.uniform(3, 4, first.shape)
        second[...] = first + random.choice([-1, 1], first.shape) * difference
        return numbers

    def compile(self, numbers, *options, softmax=None, kind="Softmax", last=("Identity", {}), shape=SHAPE, other=None, opset=13):
        """Compiles a convolution that keeps x, perhaps Softmax, and `last`; `other` is a second output before y=1."""
        nodes = [node("Conv", ["x", "w"], ["logits"], name="logits")]
        if softmax is not None:
            nodes.append(node(kind, ["logits"], ["softmax"], name="softmax", axis=softmax))
        type_, attributes = last
        more = ["shape"] if type_ == "Reshape" else []
        nodes.append(node(type_, ["logits" if softmax is None else "softmax", *more], ["y=1"], name="last", **attributes))
        weights = {"w": np.eye(4, dtype=np.float32).reshape(4, 4, 1, 1)}
        if more:
            weights["shape"] = np.array(shape, np.int64)
        outputs = {"y=1": shape}
        if other:
            nodes.append(other)
            outputs = {"other": SHAPE, **outputs}
        path = save(model(nodes, {"x": SHAPE}, outputs, weights, opset=opset), self.folder / "m.onnx")
        np.save(self.folder / "x.npy", numbers)
        return overtake("compile", path, "--calibration", self.folder / "x.npy",
                        "-o", self.folder / "m.ovm", *options)  # fmt: skip

    def searched(self, *arguments, **rest):
        result = self.compile(*arguments, "--accuracy", 0.999, "--json", **rest)
        self.assertEqual(result.returncode, 0, result.stderr)
        attempts = json.loads(result.stdout)["accuracy"]["attempts"]
        (chosen,) = [attempt for attempt in attempts if attempt["chosen"]]
        return attempts[0]["outputs"][0], chosen

    def decided_as_in_float(self, axis=1, shape=SHAPE):
        """Returns the share of decisions of the compiled model that are those of float."""
        outputs = []
        for path, options in ((self.folder / "m.onnx", []), (self.folder / "m.ovm", ["--device", "embedded"])):
            target = self.folder / path.suffix
            succeed("run", path, *options, "--input", f"x={self.folder / 'x.npy'}", "--output-dir", target, "-q")
            (file,) = target.glob("y*.npy")
            outputs.append(np.load(file).reshape(self.COUNT, *shape[1:]).argmax(axis=axis))
        return np.mean(outputs[0] == outputs[1])

    def test_a_named_output_decides_as_in_float(self):
        numbers = self.numbers(0.006)
        first, chosen = self.searched(numbers)
        self.assertIsNone(first["same_decisions"])
        self.assertEqual(chosen["in_16_bits"], [])
        self.assertLess(self.decided_as_in_float(), 0.9)
        first, chosen = self.searched(numbers, "--decisions", "y=1")
        self.assertGreater(first["cosine"], 0.9999)
        self.assertLess(first["same_decisions"], 0.9)
        self.assertEqual(chosen["in_16_bits"], ["logits"])
        self.assertGreaterEqual(chosen["outputs"][0]["same_decisions"], 0.999)
        self.assertAlmostEqual(chosen["outputs"][0]["same_decisions"], self.decided_as_in_float(), 5)

    def test_an_axis_may_be_named(self):
        for axis in (2, -1):
            numbers = self.numbers(0.006, axis)
            first, chosen = self.searched(numbers, "--decisions", f"y=1={axis}")
            self.assertLess(first["same_decisions"], 0.9)
            self.assertEqual(chosen["in_16_bits"], ["logits"])
            self.assertGreaterEqual(self.decided_as_in_float(axis), 0.999)

    def test_softmax_decides_along_its_axis(self):
        for axis in (1, 3):
            first, chosen = self.searched(self.numbers(0.006, axis), softmax=axis)
            self.assertGreater(first["cosine"], 0.9999)
            self.assertLess(first["same_decisions"], 0.9)
            self.assertEqual(chosen["in_16_bits"], ["logits"])
            self.assertGreaterEqual(self.decided_as_in_float(axis), 0.999)

    def test_so_do_outputs_that_are_views_of_it(self):
        for last, shape, axis in (
            (("Reshape", {}), (1, 4, 64), 1),
            (("Transpose", {"perm": [0, 2, 3, 1]}), (1, 8, 8, 4), 3),
        ):
            for kind in ("Softmax", "LogSoftmax"):
                with self.subTest(last=last[0], kind=kind):
                    first, chosen = self.searched(self.numbers(0.006), softmax=1, kind=kind, last=last, shape=shape)
                    self.assertGreater(first["cosine"], 0.999)
                    self.assertLess(first["same_decisions"], 0.9)
                    self.assertLess(first["expected_decisions"], 0.99)
                    self.assertGreaterEqual(chosen["outputs"][0]["same_decisions"], 0.999)
                    self.assertGreaterEqual(self.decided_as_in_float(axis, shape), 0.999)

    def test_softmax_of_old_opsets_decides_over_all_that_it_adds_up(self):
        first, _ = self.searched(self.numbers(0.006), softmax=1, opset=11)
        self.assertIsNotNone(first["same_decisions"])
        self.assertEqual(round(first["same_decisions"] * self.COUNT, 4) % 1, 0)

    def test_a_named_axis_goes_before_that_of_softmax(self):
        first, _ = self.searched(self.numbers(0.006, 3), "--decisions", "y=1=3", softmax=1)
        self.assertLess(first["same_decisions"], 0.9)

    def test_one_output_decides_and_another_does_not(self):
        other = node("Relu", ["logits"], ["other"], name="other")
        result = self.compile(self.numbers(0.006), "--accuracy", 0.999, "--decisions", "y=1", "--json", other=other)
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)["accuracy"]
        first, chosen = report["attempts"][0], next(a for a in report["attempts"] if a["chosen"])
        self.assertEqual([output["name"] for output in first["outputs"]], ["other", "y=1"])
        self.assertIsNone(first["outputs"][0]["same_decisions"])
        self.assertLess(first["outputs"][1]["same_decisions"], 0.9)
        self.assertGreaterEqual(chosen["outputs"][1]["same_decisions"], 0.999)
        table = self.compile(self.numbers(0.006), "--accuracy", 0.999, "--decisions", "y=1", other=other).stdout
        self.assertRegex(table, r"(?m)^  min-max .* \d\d\.\d\d % .* y=1$")
        self.assertRegex(table, r"(?m)^\* .* (100\.00|99\.\d\d) % ")

    def test_the_last_axis_of_three_is_that_of_the_choices(self):
        numbers = self.numbers(0.006, 3)
        last = ("Reshape", {})
        first, chosen = self.searched(numbers, "--decisions", "y=1", last=last, shape=(1, 32, 8))
        self.assertLess(first["same_decisions"], 0.9)
        self.assertGreaterEqual(self.decided_as_in_float(2, (1, 32, 8)), 0.999)
        self.assertGreaterEqual(chosen["outputs"][0]["same_decisions"], 0.999)

    def test_a_number_far_below_hides_no_decision(self):
        numbers = self.numbers(0.006)
        numbers[:, 3] = -100
        first, _ = self.searched(numbers, softmax=1, kind="LogSoftmax")
        self.assertLess(first["same_decisions"], 0.9)

    def test_numbers_that_are_about_equal_are_one_choice(self):
        first, chosen = self.searched(self.numbers(0.0009), "--decisions", "y=1")
        self.assertEqual((first["same_decisions"], chosen["in_16_bits"]), (1, []))
        self.assertLess(self.decided_as_in_float(), 0.9)

    def test_few_decisions_need_a_lead_that_errors_rarely_reach(self):
        """A step is 0.0157: rounding loses no lead of 0.021, but adds an error of 0.0074 in the root mean square."""
        first, chosen = self.searched(self.numbers(0.021), "--decisions", "y=1")
        self.assertEqual(first["same_decisions"], 1)
        self.assertTrue(0.99 < first["expected_decisions"] < 0.9985, first)
        self.assertEqual(chosen["in_16_bits"], ["logits"])
        self.assertGreaterEqual(chosen["outputs"][0]["expected_decisions"], 0.999)
        table = self.compile(self.numbers(0.021), "--accuracy", 0.999, "--decisions", "y=1").stdout
        self.assertRegex(table, r"(?m)^  min-max .* 99\.\d\d % .* y=1$")
        refused = self.compile(self.numbers(1.7e-4), "--accuracy", 0.99999, "--decisions", "y=1", "--run-on-bpu", "logits")
        self.assertRegex(refused.stderr, r", and of other samples \d\d\.\d\d % of its decisions would be those of float, with ")

    def test_many_decisions_are_counted(self):
        numbers = np.concatenate([self.numbers(0.021), self.numbers(0.021)])
        first, chosen = self.searched(numbers, "--decisions", "y=1")
        self.assertEqual((first["same_decisions"], first["expected_decisions"], chosen["in_16_bits"]), (1, None, []))

    def search_classifier(self, *options, last=(), shape=(1, 4), moved=0):
        """Four logits of a fully connected layer that keeps its input, and `last` behind it. A fourth logit
        far below makes steps of 0.5, and the first two are 0.3 apart."""
        numbers = self.numbers(0.3)[:, :, :2, :2].transpose(0, 2, 3, 1).reshape(-1, 4)
        numbers[:, :2] -= moved
        numbers[:, 3] = -120
        nodes = [node("Gemm", ["x", "w"], ["logits" if last else "y"], name="gemm"), *last]
        weights = {"w": np.eye(4, dtype=np.float32), "shape": np.array(shape, np.int64)}
        path = save(model(nodes, {"x": (1, 4)}, {"y": shape}, weights), self.folder / "c.onnx")
        np.save(self.folder / "c.npy", numbers)
        result = overtake("compile", path, "--calibration", self.folder / "c.npy", "--accuracy", 0.99,
                          "-o", self.folder / "c.ovm", *options)  # fmt: skip
        return result

    def logits_of(self, *options, **rest):
        """Returns the logits of the first attempt, and the chosen attempt."""
        result = self.search_classifier("--json", *options, **rest)
        self.assertEqual(result.returncode, 0, result.stderr)
        attempts = json.loads(result.stdout)["accuracy"]["attempts"]
        (chosen,) = [attempt for attempt in attempts if attempt["chosen"]]
        return attempts[0]["outputs"][0]["logits"], chosen

    def test_a_classifier_without_softmax_chooses_as_float(self):
        last = [node("Reshape", ["logits", "shape"], ["y"], name="last")]
        for options in ({}, {"last": last, "shape": (1, 4, 1, 1)}, {"last": last, "shape": (1, 1, 4)}):
            first, chosen = self.logits_of(**options)
            self.assertLess(first, 0.99)
            self.assertIn("gemm", chosen["in_16_bits"])
            self.assertGreater(chosen["outputs"][0]["cosine"], 0.9999)
            self.assertGreaterEqual(chosen["outputs"][0]["logits"], 0.99)
        table = self.search_classifier().stdout
        self.assertRegex(table, r"tried +cosine +rarer sign +as logits +device us")
        self.assertRegex(table, r"(?m)^  min-max +0\.99\d+ +[01]\.\d+ +0\.9[0-8]\d+ +\d+\.\d")
        self.assertIn(" of its rarer sign, and 0.99 as logits, over 48 samples", table)

    def test_each_of_few_numbers_of_sigmoid_is_a_decision(self):
        """Logits between -0.5 and 0.5, where the device's steps are 0.5."""
        sigmoid = node("Sigmoid", ["logits"], ["y"], name="last")
        hidden = node("Sigmoid", ["logits"], ["chances"], name="sigmoid")
        for last, shape in (
            ([sigmoid], (1, 4)),
            ([hidden, node("Reshape", ["chances", "shape"], ["y"], name="last")], (1, 2, 2)),
        ):
            result = self.search_classifier("--json", last=last, shape=shape, moved=3.5)
            self.assertEqual(result.returncode, 0, result.stderr)
            attempts = json.loads(result.stdout)["accuracy"]["attempts"]
            (chosen,) = [attempt for attempt in attempts if attempt["chosen"]]
            self.assertLess(attempts[0]["outputs"][0]["same_decisions"], 0.95)
            self.assertGreaterEqual(chosen["outputs"][0]["same_decisions"], 0.99)

    def test_many_numbers_of_sigmoid_are_no_decisions(self):
        result = self.compile(self.numbers(0.006), "--accuracy", 0.99, "--json", last=("Sigmoid", {}))
        self.assertEqual(result.returncode, 0, result.stderr)
        first = json.loads(result.stdout)["accuracy"]["attempts"][0]
        self.assertIsNone(first["outputs"][0]["same_decisions"])

    def test_other_outputs_are_no_logits(self):
        named, _ = self.logits_of("--decisions", "y")
        self.assertIsNone(named)
        for last, shape in (
            (node("Relu", ["logits"], ["y"], name="last"), (1, 4)),
            (node("Sigmoid", ["logits"], ["y"], name="last"), (1, 4)),
            (node("Softmax", ["logits"], ["y"], name="last", axis=1), (1, 4)),
            (node("Reshape", ["logits", "shape"], ["y"], name="last"), (1, 2, 2)),
        ):
            first, _ = self.logits_of(last=[last], shape=shape)
            self.assertIsNone(first, last.op_type)

    def test_the_table_has_a_column_for_decisions(self):
        table = self.compile(self.numbers(0.006), "--accuracy", 0.999, "--decisions", "y=1").stdout
        self.assertIn("wanted of each output, and of 0.99 of its rarer sign, and 99.9 % of decisions as in float, over", table)
        self.assertRegex(table, r"tried +cosine +rarer sign +decisions +device us")
        self.assertRegex(table, r"(?m)^  min-max +0\.99999\d +- +\d+\.\d\d % +\d+\.\d")
        self.assertNotIn("decisions", self.compile(self.numbers(0.006), "--accuracy", 0.99).stdout)

    def test_the_nearest_attempt_is_described(self):
        result = self.compile(self.numbers(2e-5), "--accuracy", 0.9999999, "--decisions", "y=1", "--run-on-bpu", "logits")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"has a cosine of [01]\.\d+, and \d\d\.\d\d % of its decisions are those of float, with ")

    def test_what_cannot_be_is_refused(self):
        numbers = self.numbers(0.006)
        for argument, message in (
            ("z", "--decisions z: the model has no output 'z'; it has 'y=1'"),
            ("z=1", "--decisions z=1: the model has no output 'z'; it has 'y=1'"),
            ("y=1=4", "--decisions y=1=4: the axis is not one of -4 to 3"),
            ("y=1=-5", "--decisions y=1=-5: the axis is not one of -4 to 3"),
            ("y=1=x", "--decisions y=1=x: the axis is not one of -4 to 3"),
            ("y=1=", "--decisions y=1=: the axis is not one of -4 to 3"),
            ("y=1=0", "--decisions y=1=0: the output has one number along axis 0, so there is nothing to decide"),
        ):
            result = self.compile(numbers, "--accuracy", 0.999, "--decisions", argument)
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertEqual(result.stderr, f"overtake: {self.folder / 'm.onnx'}: {message}\n")
        result = self.compile(numbers, "--accuracy", 0.999, "--decisions", "y=1", "--decisions", "y=1=2")
        self.assertIn("--decisions y=1=2: the output is named twice", result.stderr)


if __name__ == "__main__":
    unittest.main()
