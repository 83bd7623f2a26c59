#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Random quantised networks, compiled, against what ONNX defines (quantised_definition.py).

Every network (random_qdq.py) runs on the embedded device.  Its codes, after each QuantizeLinear or
operator over codes, are compared with the definition, which starts each operator from the codes
that the device made.  Prints one row for each operator: in how many tensors and elements it was,
how many differ and by how many steps.  BOUNDS are the limits that docs/reference/operators.md promises; an
operator that exceeds them fails.

    quantised_exactness.py [--seed N] [--count N] [--jobs N] [--table]
"""

import argparse
import collections
import dataclasses
import multiprocessing
import os
import pathlib
import sys
import tempfile
import traceback

import numpy as np
import onnx

import agreement
import quantised_definition
import random_qdq
from overtake_command import SOURCE

DOCUMENT = SOURCE / "docs/reference/operators.md"

# By the operator that makes codes: the greatest difference in steps, and how near to a half, in
# steps, the exact result lies wherever there is a difference.
EXACT = (0, 0.0)
NEAR_A_HALF = (1, 1e-4)  # sums and factors are not rounded as in float32
NEAR_BIAS = (1, 0.05)  # a bias is a whole number of the accumulator's steps
INTERPOLATION = (2, 2.0)  # has weights of 8 bits
BOUNDS = {
    **dict.fromkeys(
        [
            "QuantizeLinear", "Concat", "QLinearConcat", "Pad", "Transpose", "Slice", "Reshape",
            "Gather", "Expand", "Tile", "Split", "MaxPool", "GlobalMaxPool", "ReduceMax",
            "Resize, nearest", "Relu", "Relu of codes read otherwise", "Concat, Relu", "Clip",
            "Abs", "Neg", "Round",
        ],
        EXACT,
    ),
    **dict.fromkeys(
        [
            "LeakyRelu", "QLinearLeakyRelu", "Sigmoid", "QLinearSigmoid", "Tanh", "Elu",
            "HardSigmoid", "HardSigmoid, Mul", "Erf", "Softplus", "Exp", "Sqrt", "Log",
            "Add", "QLinearAdd", "Add, Relu", "Sub", "Mul", "QLinearMul", "Max", "Min", "Div",
            "PRelu",
            "AveragePool", "QLinearAveragePool", "GlobalAveragePool", "QLinearGlobalAveragePool",
            "ReduceMean", "ReduceSum", "QLinearConv", "QLinearMatMul",
            "QLinearMatMul of computed tensors", "QGemm", "MatMul", "MatMul of computed tensors",
            "Softmax", "LogSoftmax", "LayerNormalization (in parts)", "Conv, Sigmoid",
            "Conv, Sigmoid, Mul",
        ],
        NEAR_A_HALF,
    ),
    **dict.fromkeys(
        ["Conv", "Conv, Relu", "ConvTranspose", "Gemm", "Add of a constant", "Sub of a constant"],
        NEAR_BIAS,
    ),
    "Resize, linear": INTERPOLATION,
}  # fmt: skip


@dataclasses.dataclass
class Row:
    tensors: int = 0
    elements: int = 0
    differ: int = 0
    greatest: int = 0  # the greatest difference, in steps
    excess: float = 0.0  # how far the code is from the exact result, beyond half a step

    def add(self, other):
        self.tensors += other.tensors
        self.elements += other.elements
        self.differ += other.differ
        self.greatest = max(self.greatest, other.greatest)
        self.excess = max(self.excess, other.excess)


class Checker:
    """Checks cases one after the other in one directory."""

    def __init__(self, server, directory):
        self._server = server
        self._directory = pathlib.Path(directory)
        self.rows = collections.defaultdict(Row)

    def _run(self, case):
        path = self._directory / "model.ovm"
        onnx.save(case.model, str(self._directory / "model.onnx"))
        self._server("compile", self._directory / "model.onnx", "-o", path, "-q")
        arguments = []
        for name, array in case.inputs.items():
            np.save(self._directory / f"{name}.npy", array)
            arguments += ["--input", f"{name}={self._directory / name}.npy"]
        output = self._directory / "out"
        for old in output.glob("*.npy"):
            old.unlink()
        self._server("run", path, *arguments, "--output-dir", output, "--device", "embedded", "-q")
        return {file.stem: np.load(file) for file in output.glob("*.npy")}

    @staticmethod
    def _codes(shown, scale, zero, like):
        """Returns the codes of one sample from what the network put out."""
        if scale is not None:
            numbers = shown.astype(np.float64) / scale
            if np.abs(numbers - np.rint(numbers)).max() > 1e-3:
                raise AssertionError("numbers that are no codes dequantised")
            shown = np.rint(numbers) + float(zero)
        limits = np.iinfo(like.dtype)
        if not ((shown >= limits.min) & (shown <= limits.max) & (shown == np.rint(shown))).all():
            raise AssertionError("numbers that are no codes")
        return shown.astype(like.dtype).reshape(like.shape)

    def check(self, case):
        """Returns the rows of one network, and counts them."""
        found = self._run(case)
        network = quantised_definition.Definition(case.model)
        rows = collections.defaultdict(Row)
        for sample in range(random_qdq.SAMPLES):
            inputs = {name: array[sample : sample + 1] for name, array in case.inputs.items()}
            network.run(inputs)
            made = {
                name: self._codes(
                    found[shown][sample : sample + 1], scale, zero, network.tensors[name]
                )
                for name, (shown, scale, zero) in case.outputs.items()
            }
            for result in network.run(inputs, made):
                if result.output in made:
                    rows[result.label].add(self._compare(result, made[result.output]))
        for label, row in rows.items():
            self.rows[label].add(row)
        return rows

    @staticmethod
    def _compare(result, got):
        difference = np.abs(got.astype(int) - result.codes.astype(int))
        excess = np.abs(got - result.exact).max() - 0.5
        return Row(1, got.size, int((difference > 0).sum()), int(difference.max()), float(excess))


def check_seed(seed, checker):
    """Returns the rows of a network, and why there are none if there are none."""
    try:
        return checker.check(random_qdq.make(seed)), ""
    except AssertionError as failure:
        return {}, str(failure)
    except Exception:  # a judge's own mistake is no agreement either
        return {}, traceback.format_exc()


def _check_chunk(seeds):
    with tempfile.TemporaryDirectory() as directory, agreement.make_server() as server:
        checker = Checker(server, directory)
        failures, worst = {}, {}
        for seed in seeds:
            rows, why = check_seed(seed, checker)
            if why:
                failures[seed] = why
            for label, row in rows.items():
                if row.greatest > worst.get(label, (0, 0))[0]:
                    worst[label] = row.greatest, seed
        return dict(checker.rows), failures, worst


def run(first, count, jobs):
    """Returns rows by operator, failures by seed, and where the greatest differences are."""
    seeds = range(first, first + count)
    chunks = [seeds[start : start + 20] for start in range(0, count, 20)]
    total, failures, worst = collections.defaultdict(Row), {}, {}
    with multiprocessing.Pool(jobs) as pool:
        for rows, failed, greatest in pool.imap_unordered(_check_chunk, chunks):
            failures.update(failed)
            for label, row in rows.items():
                total[label].add(row)
            for label, where in greatest.items():
                worst[label] = max(worst.get(label, (0, 0)), where)
    return total, failures, worst


def beyond_bounds(rows):
    """Returns, by operator, the differences that are greater than their bounds."""
    result = {}
    for label, row in rows.items():
        steps, nearness = BOUNDS[label]
        if row.greatest > steps:
            result[label] = f"{label}: off by {row.greatest} steps, {steps} are the bound"
        elif row.differ and row.excess > nearness:
            result[label] = (
                f"{label}: off though {row.excess:.2g} from a half, {nearness} is the bound"
            )
    return result


def print_rows(rows, worst):
    print(f"{'made by':42} tensors elements  differ  steps  from a half")
    for label, row in sorted(rows.items()):
        where = f"  seed {worst[label][1]}" if label in worst else ""
        print(
            f"{label:42} {row.tensors:7} {row.elements:8} {row.differ:7} {row.greatest:6} "
            f"{max(row.excess, 0) if row.differ else 0:12.1e}{where}"
        )


def print_table(rows):
    """Prints the table as docs/reference/operators.md has it."""
    print("| made by | bound, steps | codes compared | of these differ | by at most |")
    print("|---|--:|--:|--:|--:|")
    for label, (steps, _) in BOUNDS.items():
        row = rows.get(label, Row())
        print(f"| {label} | {steps} | {row.elements:,} | {row.differ:,} | {row.greatest} |")


def main():
    parser = argparse.ArgumentParser(description="Quantised networks: device against definition.")
    parser.add_argument("--seed", type=int, default=1, help="number of the first network")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--table", action="store_true", help="print the table of the documentation")
    options = parser.parse_args()
    rows, failures, worst = run(options.seed, options.count, options.jobs)
    if options.table:
        print_table(rows)
    else:
        print_rows(rows, worst)
    wrong = beyond_bounds(rows)
    for why in wrong.values():
        print(why)
    for seed, why in sorted(failures.items()):
        print(f"seed {seed}: {why.strip()}")
    sys.exit(1 if failures or wrong else 0)


if __name__ == "__main__":
    main()
