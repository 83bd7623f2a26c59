# SPDX-License-Identifier: MIT
"""Runs networks of the zoo: in float, and compiled to int8 on the embedded device."""

import pathlib
import sys
import tempfile
from dataclasses import dataclass, field

import numpy as np

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/compiler"))

from overtake_command import info, overtake

MAX_TIME_PER_FC_US = 1000


class Refused(Exception):
    """The command refuses the network; the message names the reason."""


@dataclass
class Network:
    """One ONNX file and how it is to be compiled."""

    name: str
    shapes: dict = field(default_factory=dict)  # shapes of inputs that have open dimensions
    values: dict = field(default_factory=dict)  # values of inputs that are frozen
    options: list = field(default_factory=list)  # options of overtake compile
    states: dict = field(default_factory=dict)  # by output: the input that it is next

    def fixed(self):
        """Returns the options that close its shapes."""
        shapes = [["--input-shape", f"{name}={shape}"] for name, shape in self.shapes.items()]
        values = [["--set-input", f"{name}={value}"] for name, value in self.values.items()]
        return sum(shapes + values, [])


def _states(network):
    return sum((["--state", f"{output}={name}"] for output, name in network.states.items()), [])


def _told(result, path):
    """Returns the command's complaint, without the file's name."""
    lines = [line for line in result.stderr.splitlines() if line.startswith("overtake:")]
    lines = lines or result.stderr.splitlines() or [f"exit status {result.returncode}"]
    return lines[-1].replace("overtake: ", "", 1).replace(f"{path}: ", "", 1)


class Runner:
    """Keeps networks and their compiled models in one directory."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)

    def onnx(self, network):
        return self.directory / f"{network.name}.onnx"

    def compiled(self, network, limit_us=MAX_TIME_PER_FC_US):
        """Returns the model file; without a limit, it has one FC per BPU segment."""
        return self.directory / f"{network.name}{f'-{limit_us}us' if limit_us else ''}.ovm"

    def compile(self, network, calibration, limit_us=MAX_TIME_PER_FC_US):
        """Returns the JSON of `overtake info` for the model file. Raises Refused."""
        path = self.compiled(network, limit_us)
        with tempfile.TemporaryDirectory() as folder:
            arguments = self._samples("--calibration", calibration, folder)
            result = overtake(
                "compile", self.onnx(network), *network.fixed(), *network.options,
                *_states(network), *arguments,
                "--max-time-per-fc", limit_us, "-o", path, "-q",
            )  # fmt: skip
        if result.returncode != 0:
            raise Refused(_told(result, self.onnx(network)))
        return info(path)

    def float(self, network, samples):
        """Returns outputs by name; their first axis counts samples."""
        return self._run(self.onnx(network), samples, network.fixed() + _states(network))

    def int8(self, network, samples):
        options = ["--device", "embedded", *_states(network)]
        return self._run(self.compiled(network), samples, options)

    @staticmethod
    def _samples(option, arrays, folder):
        arguments = []
        for index, (name, array) in enumerate(arrays.items()):
            path = pathlib.Path(folder) / f"in{index}.npy"
            np.save(path, array)
            arguments += [option, f"{name}={path}"]
        return arguments

    def _run(self, path, samples, options):
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder) / "out"
            arguments = self._samples("--input", samples, folder)
            result = overtake("run", path, *options, *arguments, "--output-dir", output, "-q")
            if result.returncode != 0:
                raise Refused(_told(result, path))
            return {file.stem: np.load(file) for file in sorted(output.glob("*.npy"))}
