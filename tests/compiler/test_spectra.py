# SPDX-License-Identifier: MIT
"""Logarithms of powers, as spectrograms of sound have them: they are exact in front of the
logarithm, and run on the device behind it."""

import pathlib
import tempfile
import unittest

import numpy as np
from onnx import numpy_helper

import float_operators  # noqa: F401, which float_reference then knows
import float_reference
from overtake_command import info, run, succeed
from small_models import model, node, save

SAMPLES, WINDOW, STEP, LINES, BANDS = 1024, 64, 32, 33, 8
FRAMES = (SAMPLES - WINDOW) // STEP + 1


def waves():
    """Returns cosines and sines under a window, as kernels of a convolution."""
    phase = 2 * np.pi * np.outer(np.arange(LINES), np.arange(WINDOW)) / WINDOW
    window = np.hanning(WINDOW)
    return [(wave(phase) * window)[:, None].astype(np.float32) for wave in (np.cos, np.sin)]


def spectrogram(behind=(), outputs=None):
    """Makes a network for decibels of the bands of a sound, and what comes behind them."""
    cosines, sines = waves()
    bands = np.zeros((BANDS, LINES), np.float32)
    for line in range(LINES):
        bands[line * BANDS // LINES, line] = 1
    nodes = [
        node("Conv", ["sound", "cosines"], ["real"], strides=[STEP], name="real"),
        node("Conv", ["sound", "sines"], ["imaginary"], strides=[STEP], name="imaginary"),
        node("Pow", ["real", "two"], ["real2"], name="real2"),
        node("Mul", ["imaginary", "imaginary"], ["imaginary2"], name="imaginary2"),
        node("Add", ["real2", "imaginary2"], ["power"], name="power"),
        node("MatMul", ["bands", "power"], ["summed"], name="summed"),
        node("Clip", ["summed", "floor"], ["floored"], name="floored"),
        node("Log", ["floored"], ["log"], name="log"),
        *behind,
    ]
    constants = {
        "cosines": cosines, "sines": sines, "bands": bands, "two": np.array(2, np.float32),
        "floor": np.array(1e-9, np.float32),
    }  # fmt: skip
    return model(nodes, {"sound": (1, 1, SAMPLES)}, outputs or {"log": (1, BANDS, FRAMES)}, constants)


def sounds(count, seed):
    """Returns tones above noise that is a thousand times softer."""
    random = np.random.default_rng(seed)
    time = np.arange(SAMPLES)
    tones = np.sin(random.uniform(0.2, 3, (count, 1)) * time) * 1000
    return (tones + random.standard_normal((count, SAMPLES)))[:, None].astype(np.float32)


class Spectra(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def compile(self, proto, *options):
        path = save(proto, self.folder / "m.onnx")
        np.save(self.folder / "sounds.npy", sounds(8, 1))
        succeed("compile", path, "--calibration", self.folder / "sounds.npy", *options)
        return path.with_suffix(".ovm")

    def on_device(self, path):
        return {node["name"] for node in info(path)["nodes"] if node["processor"] == "BPU"}

    def test_soft_bands_beside_a_loud_one_are_as_in_float(self):
        path = self.compile(spectrogram())
        network = float_reference.Network(self.folder / "m.onnx")
        for sound in sounds(4, 2):
            got = run(path, {"sound": sound[None]}, self.folder / "run")["log"]
            wanted = network.run({"sound": sound[None]})["log"]
            self.assertLess(np.abs(got - wanted).max(), 0.01)

    def test_what_is_behind_the_logarithm_stays_on_the_device(self):
        behind = [
            node("Conv", ["log", "w"], ["features"], name="features"),
            node("Relu", ["features"], ["y"]),
        ]
        proto = spectrogram(behind, {"y": (1, 16, FRAMES - 2)})
        weights = np.random.default_rng(3).standard_normal((16, BANDS, 3)).astype(np.float32)
        proto.graph.initializer.append(numpy_helper.from_array(weights, "w"))
        self.assertEqual(self.on_device(self.compile(proto)), {"features"})

    def test_features_that_are_squared_stay_on_the_device(self):
        cosines, _ = waves()
        nodes = [
            node("Conv", ["sound", "cosines"], ["waves"], strides=[STEP], name="waves"),
            node("Relu", ["waves"], ["features"], name="features"),
            node("Mul", ["features", "features"], ["squares"], name="squares"),
            node("Add", ["squares", "floor"], ["floored"], name="floored"),
            node("Log", ["floored"], ["log"], name="log"),
        ]
        proto = model(
            nodes, {"sound": (1, 1, SAMPLES)}, {"log": (1, LINES, FRAMES)},
            {"cosines": cosines, "floor": np.array(1e-3, np.float32)},
        )  # fmt: skip
        self.assertIn("waves", self.on_device(self.compile(proto)))

    def test_a_function_of_each_element_stays_on_the_device(self):
        nodes = [
            node("Mul", ["sound", "sound"], ["squares"], name="squares"),
            node("Add", ["squares", "one"], ["more"], name="more"),
            node("Log", ["more"], ["log"], name="log"),
        ]
        shape = (1, 1, SAMPLES)
        proto = model(nodes, {"sound": shape}, {"log": shape}, {"one": np.array(1, np.float32)})
        self.assertIn("log", self.on_device(self.compile(proto)))

    def test_a_node_that_is_to_run_on_the_device_does(self):
        path = self.compile(spectrogram(), "--run-on-bpu", "real")
        self.assertEqual(self.on_device(path), {"real"})


if __name__ == "__main__":
    unittest.main()
