#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compiled random networks against judges that share no code with the code that they judge.

For each network (random_graphs.py), agreement.py checks that:
- the graph that the compiler reads from the file, run in float, gives the results of float_reference.py;
- the compiled model, run on the embedded device, gives the right tensors between segments: a tensor
  that a BPU segment writes equals reference.py bit by bit, and a tensor that an operator of the CPU
  writes equals reference_cpu.py (to the bit where the operator only moves elements);
- under a limit for function calls, each call keeps it and no bit changes;
- in int8, outputs stay close to float.

    agreement.py [--seed N] [--count N] [--jobs N] [--shrink]

runs the networks N, N + 1, ... and prints what they covered. COMMAND_SERVER names the binary of
command_server.cpp.
"""

import argparse
import collections
import json
import multiprocessing
import os
import pathlib
import re
import sys
import tempfile
import time
import traceback

import numpy as np
import onnx

from command_server import CommandServer, Refused
from overtake_command import SLOW, SOURCE, cosine

import float_operators  # noqa: F401, makes float_reference know all operators
import float_reference
import model_file
import random_graphs
import reference
import reference_cpu
import reference_device
import shrink

# The least cosine of outputs to float. Some methods cut the ranges of so few samples too far.
LEAST_COSINE = 0.9
LEAST_COSINE_OF_CUT = 0.6


def make_server():
    return CommandServer(os.environ.get("COMMAND_SERVER", SOURCE / "build/release/tests/command_server"))


class Checker:
    """Checks cases one after the other in one directory."""

    def __init__(self, server, directory):
        self._overtake = server
        self._directory = pathlib.Path(directory)
        self.covered = collections.Counter()

    def check(self, case):
        """Raises AssertionError where two disagree."""
        self._case = case
        onnx.save(case.model, str(self._directory / "model.onnx"))
        network = float_reference.Network(case.model)
        wanted = network.run_images(case.samples)
        if not case.is_quantised:
            self._check_import(wanted)
        whole = self._compile("whole.ovm")
        values = self._check_bits(whole)
        if case.limit_us:
            self._check_split(case.limit_us, values)
        if not case.input_parameters:
            self._check_similarity(whole, wanted)

    def _run(self, model, inputs, name):
        """Returns output arrays by name."""
        arguments = []
        for tensor, array in inputs.items():
            np.save(self._directory / f"{tensor}.npy", array)
            arguments += ["--input", f"{tensor}={self._directory / tensor}.npy"]
        output = self._directory / name
        for old in output.glob("*.npy"):
            old.unlink()
        device = [] if model.suffix == ".onnx" else ["--device", "embedded"]
        self._overtake("run", model, *arguments, "--output-dir", output, *device, "-q")
        return {path.stem: np.load(path) for path in output.glob("*.npy")}

    def _compile_configured(self, path, *options):
        lines = ["model_parameters:", "  onnx_model: model.onnx", "input_parameters:"]
        lines += [f"  {key}: {value}" for key, value in self._case.input_parameters.items()]
        configuration = self._directory / "configuration.yaml"
        configuration.write_text("\n".join(lines) + "\n")
        self._overtake("compile", "--config", configuration, *options, "-o", path, "-q")
        return path

    def _compile(self, name, *options):
        if self._case.limit_us:
            # These costs are of a slower device, for which a recurrence might be placed elsewhere.
            options = [*options, "--unroll", "0"]
        if self._case.input_parameters:
            return self._compile_configured(self._directory / name, *options)
        arguments = []
        for tensor, array in self._case.samples.items():
            path = self._directory / f"calibration_{tensor}.npy"
            np.save(path, array)
            arguments += ["--calibration", f"{tensor}={path}"]
        path = self._directory / name
        source = self._directory / "model.onnx"
        arguments += [*self._case.options, *options, "-o", path, "-q"]
        self._overtake("compile", source, *arguments)
        return path

    def _check_import(self, wanted):
        found = self._run(self._directory / "model.onnx", self._case.samples, "imported")
        for name, want in wanted.items():
            got = found[name].reshape(want.shape)
            limit = 1e-4 * np.abs(want).max(initial=1e-3) + 1e-3 * np.abs(want)
            wrong = ~(np.abs(got - want) <= limit)
            # If rounding decides which way a node jumps, a few elements may differ.
            if wrong.mean() > (0.1 if self._case.is_rough else 0):
                worst = np.abs(got - want).max()
                raise AssertionError(f"import of {name}: {wrong.sum()} elements, by {worst}")

    def _check_bits(self, path):
        """Returns the values of all tensors between segments, by number, samples first."""
        opened = self._directory / "open.ovm"
        model_file.write_open(path, opened)
        model = model_file.ModelFile(path)
        random = np.random.default_rng(self._case.seed)
        count = random_graphs.SAMPLES - 1
        values, inputs = {}, {}
        for number in map(int, model.inputs):
            tensor = model.tensors[number]
            if tensor.on_device:
                limits = np.iinfo(tensor.dtype)
                q = random.integers(limits.min, limits.max + 1, (count, *tensor.shape))
                values[number] = q.astype(tensor.dtype)
                user = reference.user_values(tensor, values[number])
            else:
                user = random.standard_normal((count, *tensor.shape)).astype(np.float32)
                values[number] = user
            shape = tensor.shape[1:] if tensor.shape[0] == 1 else tensor.shape
            inputs[f"t{number}"] = user.reshape(count, *shape)
        found = self._run(opened, inputs, "bits")
        for number in model.written:
            tensor = model.tensors[number]
            got = found[f"t{number}"].reshape(count, *tensor.shape)
            if tensor.on_device:
                q = np.rint(got / tensor.scale) + tensor.zero_point
                got = q.astype(tensor.dtype)
            values[number] = got
        for index in range(count):
            self._check_sample(model, {number: all_[index] for number, all_ in values.items()})
        self._count(model)
        return values

    def _check_sample(self, model, values):
        for position, segment in enumerate(model.segments):
            if not isinstance(segment, list):
                for number, want in reference.run_bpu_segment(model, segment, values).items():
                    wrong = values[number] != want
                    if wrong.any():
                        what = model.tensors[number].name
                        at = tuple(int(i[0]) for i in np.nonzero(wrong))
                        raise AssertionError(
                            f"bits of {what} (BPU segment {position}): {wrong.sum()} of "
                            f"{wrong.size} elements differ, the first at {at}: the device has "
                            f"{values[number][at]}, the interpreter {want[at]}"
                        )
                continue
            for op in segment:
                self._check_cpu_op(model, op, values)

    @staticmethod
    def _check_cpu_op(model, op, values):
        tensor, got = model.tensors[op.output], values[op.output]
        want = reference.run_cpu_op(model, op, values)
        with np.errstate(all="ignore"):
            if op.type in reference_cpu.EXACT:
                want = reference.quantise(tensor, want) if tensor.on_device else want
                good = (got == want) | (np.isnan(got) & np.isnan(want))
            elif tensor.on_device:
                steps = want.astype(np.float64) / tensor.scale
                slack = 0.5 + 1e-4 + 1e-5 * np.abs(steps)
                steps = np.where(np.isnan(want), 0, steps) + tensor.zero_point
                limits = np.iinfo(tensor.dtype)
                good = np.abs(got - np.clip(steps, limits.min, limits.max)) <= slack
            else:
                finite = np.where(np.isfinite(want), np.abs(want), 0)
                slack = 1e-5 * finite.max(initial=0) + 1e-5 * finite + 1e-7
                good = (np.abs(got - want) <= slack) | (got == want)
                good |= np.isnan(got) & np.isnan(want)
        if not good.all():
            at = tuple(int(i[0]) for i in np.nonzero(~good))
            raise AssertionError(
                f"operator {reference_cpu.NAMES[op.type]} of the CPU ({op.name}): "
                f"{(~good).sum()} of {good.size} elements differ, the first at {at}: "
                f"the runtime has {got[at]}, the interpreter {want[at]}"
            )

    def _check_split(self, limit, values):
        slow = ["--profile", SLOW, "--max-time-per-fc"]
        try:
            path = self._compile("split.ovm", *slow, limit)
        except Refused as refused:
            smallest = re.search(r"smallest possible value is (\d+)", str(refused))
            if not smallest:
                raise
            limit = int(smallest[1])
            path = self._compile("split.ovm", *slow, limit)
        model = model_file.ModelFile(path)
        longest = 0
        for segment in model.segments:
            if not isinstance(segment, list):
                longest = max(longest, int(segment.fcs["cycles"].max()))
        if longest * 1000 > limit * model.profile["clock_khz"]:
            raise AssertionError(f"split: an FC of {longest} cycles under a limit of {limit} us")
        self.covered[f"split into {'one' if self._calls(model) == 1 else 'several'}"] += 1
        split = self._check_bits(path)
        for number, want in values.items():
            if not np.array_equal(split[number], want, equal_nan=want.dtype.kind == "f"):
                raise AssertionError(f"split at {limit} us changes {model.tensors[number].name}")

    @staticmethod
    def _calls(model):
        return max((len(s.fcs) for s in model.segments if not isinstance(s, list)), default=0)

    def _check_similarity(self, path, wanted):
        found = self._run(path, self._case.samples, "similarity")
        if self._case.is_rough:
            return
        cuts = "kl" in self._case.options or "percentile" in self._case.options
        for name, want in wanted.items():
            similarity = cosine(found[name], want)
            if not similarity >= (LEAST_COSINE_OF_CUT if cuts else LEAST_COSINE):
                raise AssertionError(f"similarity: {name} has cosine {similarity:.4f} to float")

    def _count(self, model):
        for number in model.inputs:
            self.covered[f"input {model_file.TYPES[model.tensors[number].data_type]}"] += 1
        for operator, on_bpu in set(model.nodes):
            self.covered[f"{operator} on the {'BPU' if on_bpu else 'CPU'}"] += 1
        for segment in model.segments:
            self.covered["segment of the " + ("CPU" if isinstance(segment, list) else "BPU")] += 1
            if isinstance(segment, list):
                for op in segment:
                    self.covered[f"CPU operator {reference_cpu.NAMES[op.type]}"] += 1
        for insn in model.program:
            name = reference_device.NAMES[int(insn["opcode"])]
            self.covered[f"instruction {name}"] += 1
            if insn["out"]["type"] or insn["in"]["type"].any():
                self.covered[f"16-bit instruction {name}"] += 1


def check_seed(seed, checker):
    """Returns why the network disagrees; empty if it agrees."""
    try:
        checker.check(random_graphs.make(seed))
    except AssertionError as failure:
        return str(failure)
    except Exception:  # a judge's own mistake is no agreement either
        return traceback.format_exc()
    return ""


def _check_chunk(seeds):
    """Runs in a process of its own. Returns the failures by seed, the covered cases, and the number of seeds."""
    with tempfile.TemporaryDirectory() as directory, make_server() as server:
        checker = Checker(server, directory)
        failures = {seed: why for seed in seeds if (why := check_seed(seed, checker))}
        return failures, checker.covered, len(seeds)


def run(first, count, jobs):
    """Checks the networks of `count` seeds. Returns the failures by seed, and the covered cases."""
    chunk = 20
    seeds = range(first, first + count)
    chunks = [seeds[start : start + chunk] for start in range(0, count, chunk)]
    failures, covered, done = {}, collections.Counter(), 0
    with multiprocessing.Pool(jobs) as pool:
        for failed, seen, size in pool.imap_unordered(_check_chunk, chunks):
            failures.update(failed)
            covered.update(seen)
            done += size
            for seed, why in failed.items():
                print(describe(seed, why), flush=True)
            if sys.stderr.isatty():
                print(f"\r{done} of {count}", end="", file=sys.stderr, flush=True)
    return failures, covered


def describe(seed, why):
    return f"seed {seed}: {why}\n  again: make agreement SEED={seed} COUNT=1 SHRINK=1"


def shrunk(seed):
    """Writes the smallest network that still disagrees, and prints it."""
    with tempfile.TemporaryDirectory() as directory, make_server() as server:
        checker = Checker(server, directory)

        def why(case):
            try:
                checker.check(case)
            except AssertionError as failure:
                return str(failure)
            except Exception:  # a candidate that is no network
                return ""
            return ""

        case = shrink.shrink(random_graphs.make(seed), why)
        path = pathlib.Path(tempfile.gettempdir()) / f"disagreement{seed}.onnx"
        onnx.save(case.model, str(path))
        for name, array in case.samples.items():
            np.save(path.with_name(f"disagreement{seed}_{name}.npy"), array)
        print(f"{path}, options {' '.join(case.options)}, limit {case.limit_us} us: {why(case)}")
        print(onnx.helper.printable_graph(case.model.graph))


def print_covered(covered):
    for kind in ("BPU", "CPU"):
        operators = {k: v for k, v in covered.items() if k.endswith(f" on the {kind}")}
        print(f"{len(operators)} operators on the {kind}, and how many compiled networks had them:")
        print("  " + ", ".join(f"{k.split()[0]} {v}" for k, v in sorted(operators.items())))
    for start in ("instruction ", "16-bit instruction ", "CPU operator ", "segment ", "split ", "input "):
        parts = sorted((k, v) for k, v in covered.items() if k.startswith(start))
        print(f"{start.strip()}s: " + ", ".join(f"{k[len(start):]} {v}" for k, v in parts))


def main():
    parser = argparse.ArgumentParser(description="Random networks: device against interpreter.")
    parser.add_argument("--seed", type=int, default=1, help="number of the first network")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--shrink", action="store_true", help="make networks that fail smaller")
    options = parser.parse_args()
    begin = time.monotonic()
    failures, covered = run(options.seed, options.count, options.jobs)
    print_covered(covered)
    print(
        f"{options.count - len(failures)} of {options.count} networks agree, "
        f"{time.monotonic() - begin:.0f} s"
    )
    if options.shrink:
        for seed in sorted(failures):
            shrunk(seed)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
