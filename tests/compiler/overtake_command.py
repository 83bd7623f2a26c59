# SPDX-License-Identifier: MIT
"""Runs the overtake command for tests; OVERTAKE names the binary."""

import atexit
import collections
import json
import os
import pathlib
import subprocess
import sys

import numpy as np

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("OVERTAKE", str(SOURCE / "build/bin/overtake"))
sys.path.insert(0, str(SOURCE / "models"))
# Threads of float convolutions that wait for each other take no time from other tests.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


# The default device at a thousandth of its clock: small networks are split at limits that are allowed.
SLOW = SOURCE / "tests/compiler/slow-device.yaml"


def overtake(*arguments):
    """Returns the finished process with text output."""
    command = [BINARY, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, errors="backslashreplace", check=False
    )


class CommandServer:
    """One process for many commands that are to succeed: a process of its own takes most of the time of a small
    one.  COMMAND_SERVER names the binary of command_server.cpp; without it there is none."""

    def __init__(self):
        self._path = os.environ.get("COMMAND_SERVER")
        self._process = None

    def takes(self, arguments):
        # Help is main()'s, and an operator's library would stay for the commands that follow.
        alone = {"--help", "--custom-op-library"}
        return (self._path is not None and arguments[0] in ("compile", "run", "info", "sim")
                and not alone.intersection(arguments))  # fmt: skip

    def __call__(self, arguments):
        if self._process is None:
            self._process = subprocess.Popen([self._path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                             stderr=subprocess.DEVNULL, text=True)  # fmt: skip
            atexit.register(self._process.communicate)
        self._process.stdin.write(json.dumps([str(argument) for argument in arguments]) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise AssertionError(f"{arguments}: overtake died with {self._process.wait()}")
        answer = json.loads(answer)
        if answer["error"]:
            raise AssertionError(f"{arguments} failed: {answer['error']}")
        return answer["output"]


server = CommandServer()


def succeed(*arguments):
    if server.takes(arguments):
        return server(arguments)
    result = overtake(*arguments)
    if result.returncode != 0:
        raise AssertionError(f"{arguments} failed: {result.stderr}")
    return result.stdout


def info(model):
    return json.loads(succeed("info", model, "--json"))


def fc_times(model):
    """Modelled microseconds of every FC."""
    segments = info(model)["segments"]
    return [fc["us"] for s in segments if s["processor"] == "BPU" for fc in s["fcs"]]


def run(model, inputs, directory):
    """Runs on the embedded device; `inputs` by name. Returns arrays by output file's stem."""
    directory = pathlib.Path(directory)
    directory.mkdir(exist_ok=True)
    arguments = []
    for name, array in inputs.items():
        np.save(directory / f"in_{name}.npy", array)
        arguments += ["--input", f"{name}={directory / f'in_{name}.npy'}"]
    output = directory / "out"
    succeed("run", model, *arguments, "--output-dir", output, "--device", "embedded", "-q")
    return {path.stem: np.load(path) for path in output.glob("*.npy")}


def cosine(left, right):
    left, right = left.astype(np.float64).ravel(), right.astype(np.float64).ravel()
    length = np.sqrt((left @ left) * (right @ right))
    return 1.0 if length == 0 else float(left @ right / length)


def counted(summary):
    """Operators on each processor, by type."""
    counts = {"BPU": collections.Counter(), "CPU": collections.Counter()}
    for node in summary["nodes"]:
        counts[node["processor"]][node["type"]] += 1
    return counts


def print_details(summary):
    """Placement and FCs, a segment a line."""
    for processor, types in counted(summary).items():
        listed = ", ".join(f"{count} {kind}" for kind, count in types.most_common())
        print(f"    {processor}: {listed or 'nothing'}")
    for number, segment in enumerate(summary["segments"]):
        if segment["processor"] == "CPU":
            print(f"    segment {number}: CPU, {len(segment['ops'])} operators")
            continue
        times = " ".join(f"{fc['us']:.1f}" for fc in segment["fcs"])
        print(f"    segment {number}: BPU, {segment['us']:.1f} us: FCs of {times} us")
