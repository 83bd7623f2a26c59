# SPDX-License-Identifier: MIT
"""States that go round: outputs that are inputs of the next step, in runs and in calibration."""

import pathlib
import tempfile
import unittest

import numpy as np

from overtake_command import cosine, info, overtake, succeed
from recurrences import recurrence
from small_models import model, node, save

STEPS, BATCH, FEATURES, HIDDEN = 12, 1, 3, 4
RANDOM = np.random.default_rng(40)


def real(*shape):
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


W, R, B = real(1, 4 * HIDDEN, FEATURES), real(1, 4 * HIDDEN, HIDDEN), real(1, 8 * HIDDEN)
X = real(STEPS, BATCH, FEATURES)  # files have samples along axis 0 instead of its 1


def one_step():
    """Makes an LSTM for one step, with its state and cell as inputs and outputs."""
    state = (1, BATCH, HIDDEN)
    nodes = [node("LSTM", ["x", "w", "r", "b", "", "h", "c"], ["", "hn", "cn"], hidden_size=HIDDEN)]
    return model(nodes, {"x": (1, BATCH, FEATURES), "h": state, "c": state},
                 {"hn": state, "cn": state}, {"w": W, "r": R, "b": B}, opset=14)  # fmt: skip


def accumulator(weight):
    """Makes s = x * weight + s, on the device."""
    shape = (1, 8, 4, 4)
    weights = np.eye(8, dtype=np.float32).reshape(8, 8, 1, 1) * weight
    nodes = [node("Conv", ["x", "w"], ["t"]), node("Add", ["t", "s"], ["y/sum"])]
    return model(nodes, {"x": shape, "s": shape}, {"y/sum": shape}, {"w": weights})


class States(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.directory = pathlib.Path(holder.name)

    def file(self, name, array):
        np.save(self.directory / f"{name}.npy", array)
        return f"{name}={self.directory / name}.npy"

    def run_model(self, path, *arguments):
        succeed("run", path, "-q", "--output-dir", self.directory / "out", *arguments)
        return {file.stem: np.load(file) for file in (self.directory / "out").iterdir()}

    def test_steps_make_a_sequence(self):
        wanted, _, _ = recurrence("LSTM", X, W, R, B)
        path = save(one_step(), self.directory / "m.onnx")
        states = ["--state", "hn=h", "--state", "cn=c"]
        x = ["--input", self.file("x", X)]
        in_float = self.run_model(path, *x, *states)["hn"]
        np.testing.assert_allclose(in_float.ravel(), wanted.ravel(), atol=1e-5)
        succeed("compile", path, "-q", "--calibration", self.file("x", X), *states)
        for device in (["--device", "embedded"], ["--device", "embedded", "--processors", "npu,cpu"]):
            compiled = self.run_model(path.with_suffix(".ovm"), *x, *states, *device)
            np.testing.assert_allclose(compiled["hn"], in_float, atol=1e-5)

    def test_the_device_keeps_what_goes_on_for_long_in_16_bits(self):
        """The gates keep nearly all of a state for hundreds of steps; in 8 bits, the change by one step
        would be lost."""
        steps, features, hidden = 400, 8, 32
        random = np.random.default_rng(41)
        x = random.normal(0, 1, (steps, 1, features)).astype(np.float32)
        for kind, gates, kept, bias in (("LSTM", 4, 2, 3.5), ("GRU", 3, 0, 4.0)):
            with self.subTest(kind):
                w = random.normal(0, 0.3, (1, gates * hidden, features)).astype(np.float32)
                r = random.normal(0, 0.02, (1, gates * hidden, hidden)).astype(np.float32)
                b = np.zeros((1, 2 * gates * hidden), np.float32)
                b[0, kept * hidden : (kept + 1) * hidden] = bias
                shape = (1, 1, hidden)
                names = {"h": "hn", "c": "cn"} if kind == "LSTM" else {"h": "hn"}
                nodes = [node(kind, ["x", "w", "r", "b", "", *names], ["", *names.values()], name="it", hidden_size=hidden)]
                proto = model(nodes, {"x": (1, 1, features)} | dict.fromkeys(names, shape),
                              dict.fromkeys(names.values(), shape), {"w": w, "r": r, "b": b}, opset=14)  # fmt: skip
                path = save(proto, self.directory / "m.onnx")
                wanted, _, _ = recurrence(kind, x, w, r, b)
                states = [part for state, name in names.items() for part in ("--state", f"{name}={state}")]
                given = self.file("x", x)
                succeed("compile", path, "-q", "--calibration", given, *states, "--run-on-bpu", "it")
                self.assertEqual([s["processor"] for s in info(path.with_suffix(".ovm"))["segments"]], ["BPU"])
                compiled = self.run_model(path.with_suffix(".ovm"), "--input", given, *states, "--device", "embedded")
                # In 8 bits, the cosines are 0.997 and 0.996.
                self.assertGreater(cosine(compiled["hn"], wanted), 0.999)

    def test_a_sequence_begins_with_what_is_given(self):
        h, c = real(1, BATCH, HIDDEN), real(1, BATCH, HIDDEN)
        wanted, _, _ = recurrence("LSTM", X, W, R, B, state=h, cell=c)
        path = save(one_step(), self.directory / "m.onnx")
        given = [part for name, array in (("x", X), ("h", h), ("c", c)) for part in ("--input", self.file(name, array))]
        results = self.run_model(path, *given, "--state", "hn=h", "--state", "cn=c")
        np.testing.assert_allclose(results["hn"].ravel(), wanted.ravel(), atol=1e-5)

    def test_calibration_follows_the_sequence(self):
        """The sums reach thirty times what one step adds; if the state were zeros, they would be
        cut off."""
        x = np.abs(RANDOM.normal(size=(30, 8, 4, 4))).astype(np.float32)
        wanted = np.cumsum(x * 2, axis=0)
        path = save(accumulator(2), self.directory / "m.onnx")
        succeed("compile", path, "-q", "--calibration", self.file("x", x), "--state", "y/sum=s")
        self.assertEqual(info(path.with_suffix(".ovm"))["segments"][0]["processor"], "BPU")
        results = self.run_model(path.with_suffix(".ovm"), "--input", self.file("x", x), "--state", "y/sum=s",
                                 "--device", "embedded")  # fmt: skip
        error = np.abs(results["y_sum"].reshape(wanted.shape)[-1] - wanted[-1]).max()
        self.assertLess(error, 0.15 * wanted.max())

    def test_refusals(self):
        path = save(one_step(), self.directory / "m.onnx")
        x, h = self.file("x", X), self.file("h", real(2, BATCH, HIDDEN))
        for arguments, said in (
            (["--state", "hn"], "--state hn: is not OUTPUT=INPUT"),
            (["--state", "z=h"], "--state z=h: the model has no output 'z'; it has 'hn', 'cn'"),
            (["--state", "hn=z"], "--state hn=z: the model has no input 'z'; it has 'x', 'h', 'c'"),
            (["--state", "hn=x"], "--state hn=x: the output has 4 elements, the input 3"),
            (["--state", "hn=h", "--state", "cn=h"],
             "--state cn=h: the input 'h' takes another output already"),
        ):  # fmt: skip
            for command in (["run", path, "--output-dir", self.directory, "--input", x], ["compile", path]):
                with self.subTest(command[0], said=said):
                    result = overtake(*command, *arguments)
                    self.assertNotEqual(result.returncode, 0)
                    self.assertIn(said, result.stderr)
        states = ["--state", "hn=h", "--state", "cn=c"]
        result = overtake("run", path, "--output-dir", self.directory, "--input", x, "--input", h, *states)
        self.assertIn("--input h: is a state (--state), and has 2 samples; give one", result.stderr)
        result = overtake("compile", path, "--calibration", x, "--calibration", h, *states)
        self.assertIn("input 'h' is a state (--state), and has 2 samples; give one", result.stderr)

    def test_the_name_of_the_only_input_may_be_left_out(self):
        path = save(one_step(), self.directory / "m.onnx")
        self.file("x", X)
        states = ["--state", "hn=h", "--state", "cn=c"]
        alone = self.run_model(path, "--input", self.directory / "x.npy", *states)["hn"]
        named = self.run_model(path, "--input", self.file("x", X), *states)["hn"]
        np.testing.assert_array_equal(alone, named)
        result = overtake("run", path, "--output-dir", self.directory, "--input", self.directory / "x.npy")
        self.assertIn("names no input, and the model has 'x', 'h', 'c'; write NAME=FILE", result.stderr)

    def test_a_network_of_states_alone_takes_one_step(self):
        proto = model([node("Neg", ["s"], ["y"])], {"s": (1, 3)}, {"y": (1, 3)})
        path = save(proto, self.directory / "m.onnx")
        results = self.run_model(path, "--input", self.file("s", np.float32([[1, 2, 3]])), "--state", "y=s")
        np.testing.assert_array_equal(results["y"], [[-1, -2, -3]])


if __name__ == "__main__":
    unittest.main()
