# SPDX-License-Identifier: MIT
"""Runs the overtake command for tests; OVERTAKE names the binary."""

import collections
import json
import os
import pathlib
import subprocess
import sys

import numpy as np

import command_server

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("OVERTAKE", str(SOURCE / "build/bin/overtake"))
sys.path.insert(0, str(SOURCE / "models"))
# Threads of float convolutions that wait for each other then take no time from other tests.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


# The default device at a thousandth of its clock: small networks are split at limits that are allowed.
SLOW = SOURCE / "tests/compiler/slow-device.yaml"


# One process can run all of these commands: they leave nothing in it except a library of operators.
SERVED = ("compile", "run", "info", "sim", "pack", "compare")


def make_server():
    """Makes a server of the process that COMMAND_SERVER names; None if it is not set."""
    path = os.environ.get("COMMAND_SERVER")
    return command_server.CommandServer(path) if path else None


server = make_server()


def is_served(arguments):
    return server is not None and str(arguments[0]) in SERVED and "--custom-op-library" not in arguments


def overtake(*arguments):
    """Runs the command; returns the finished process with text output."""
    if arguments and is_served(arguments):
        return server.run(*arguments)
    return overtake_alone(*arguments)


def overtake_alone(*arguments):
    """Runs the command in a process of its own, and returns the same as overtake()."""
    command = [BINARY, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, errors="backslashreplace", check=False
    )


def succeed(*arguments):
    result = overtake(*arguments)
    if result.returncode != 0:
        raise AssertionError(f"{arguments} failed: status {result.returncode}: {result.stderr}")
    return result.stdout


def info(model):
    return json.loads(succeed("info", model, "--json"))


def fc_times(model):
    """Returns the modelled microseconds of every FC."""
    segments = info(model)["segments"]
    return [fc["us"] for s in segments if s["processor"] == "BPU" for fc in s["fcs"]]


def run(model, inputs, directory):
    """Runs a model on the embedded device; `inputs` are by name. Returns arrays by output file's
    stem."""
    directory = pathlib.Path(directory)
    directory.mkdir(exist_ok=True)
    arguments = []
    for name, array in inputs.items():
        np.save(directory / f"in_{name}.npy", array)
        arguments += ["--input", f"{name}={directory / f'in_{name}.npy'}"]
    output = directory / "out"
    succeed("run", model, *arguments, "--output-dir", output, "--device", "embedded", "-q")
    return {path.stem: np.load(path) for path in output.glob("*.npy")}


def float_and_compiled(path, inputs, names, directory, *options):
    """Runs a network in float, compiles it with `inputs` as its samples, and runs the result.
    Returns both runs' arrays by output's name."""
    directory = pathlib.Path(directory)
    given, samples = [], []
    for name, array in inputs.items():
        file = directory / f"{name}.npy"
        np.save(file, array)
        given += ["--input", f"{name}={file}"]
        samples += ["--calibration", f"{name}={file}"]
    succeed("run", path, *given, "-q", "--output-dir", directory)
    in_float = {name: np.load(directory / f"{name}.npy") for name in names}
    succeed("compile", path, "-q", *samples, *options)
    return in_float, run(path.with_suffix(".ovm"), inputs, directory / "run")


def cosine(left, right):
    left, right = left.astype(np.float64).ravel(), right.astype(np.float64).ravel()
    length = np.sqrt((left @ left) * (right @ right))
    return 1.0 if length == 0 else float(left @ right / length)


def counted(summary):
    """Counts operators on each processor, by type."""
    counts = {"BPU": collections.Counter(), "CPU": collections.Counter()}
    for node in summary["nodes"]:
        counts[node["processor"]][node["type"]] += 1
    return counts


def print_details(summary):
    """Prints placement and FCs, one line for each segment."""
    for processor, types in counted(summary).items():
        listed = ", ".join(f"{count} {kind}" for kind, count in types.most_common())
        print(f"    {processor}: {listed or 'nothing'}")
    for number, segment in enumerate(summary["segments"]):
        if segment["processor"] == "CPU":
            print(f"    segment {number}: CPU, {len(segment['ops'])} operators")
            continue
        times = " ".join(f"{fc['us']:.1f}" for fc in segment["fcs"])
        print(f"    segment {number}: BPU, {segment['us']:.1f} us: FCs of {times} us")
