#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The float executor against ONNX Runtime (onnx_runtime.py), which shares no code with it.

    agreement_onnx_runtime.py [--seed N] [--count N] [--jobs N] [--opset N] [--zoo]

runs the random networks N, N + 1, ... (random_graphs.py) on both, with --opset those of opset 13 or
newer as they are written in that one (newer_opset.py), and with --zoo the trained networks of
build/zoo too, on the samples of their tasks; `make zoo` puts them there. agreement_onnx_runtime.py prints
the networks that differ by more than rounding, and those that ONNX Runtime did not take. The exit status is 1
if a network differs for another reason than KNOWN_DIFFERENCES has. Without ONNX Runtime,
agreement_onnx_runtime.py prints one line about that.

OVERTAKE names the command, COMMAND_SERVER the binary of command_server.cpp.
"""

import argparse
import collections
import functools
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

import agreement
import newer_opset
import onnx_runtime
import random_graphs
from overtake_command import SOURCE

import float_operators  # noqa: F401, makes float_reference know all operators
import float_reference

# The share of a tensor's elements that may differ if rounding decides which way a node jumps.
JUMPS = 0.1


def _has_negative_pads(node, attributes):
    window = zip(attributes.get("kernel_shape", []), attributes.get("strides", []))
    return (
        node.op_type in ("AveragePool", "MaxPool")
        and attributes.get("auto_pad") == b"SAME_UPPER"
        and any(stride - kernel > 1 for kernel, stride in window)
    )


def _counts_beyond_pads(node, attributes):
    both = attributes.get("ceil_mode") and attributes.get("count_include_pad")
    return node.op_type == "AveragePool" and bool(both)


def _suppresses(node, _):
    return node.op_type == "NonMaxSuppression"


def _has_ties(node, attributes):
    return node.op_type == "Resize" and attributes.get("mode", b"nearest") == b"nearest"


# The reasons for which ONNX Runtime 1.23 may differ from Overtake, each with the condition on a node.
KNOWN_DIFFERENCES = {
    "SAME_UPPER with a stride beyond the kernel: ONNX Runtime pads below 0": _has_negative_pads,
    "ceil_mode with count_include_pad: ONNX Runtime counts beyond the padding": _counts_beyond_pads,
    "NonMaxSuppression: overtake fills the rows of boxes that there are not with -1": _suppresses,
    "Resize to the nearest: a tie, which ONNX Runtime's float32 scale moves aside": _has_ties,
}  # fmt: skip


# From opset 19 on, ONNX Runtime divides by the elements in front of the end only. Before opset 19, it did not.
SKIPS_PADDING = "count_include_pad from opset 19 on: ONNX Runtime leaves out the padding behind"


def known_difference(model, opset=None):
    """Returns the reason for which results of this network may differ, or nothing."""
    for node in model.graph.node:
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        for reason, applies in KNOWN_DIFFERENCES.items():
            if applies(node, attributes):
                return reason
        if (opset or 0) >= 19 and node.op_type == "AveragePool" and any(attributes.get("pads", [])):
            if attributes.get("count_include_pad"):
                return SKIPS_PADDING
    return ""


# The reason for networks in which rounding decides which way a node jumps.
JUMPED = "a jump that rounding decides, and numpy agrees with neither or with overtake"


def difference(got, want, is_rough=False):
    """Returns the difference in a few words, or nothing."""
    if got.size != want.size:
        return f"{got.size} elements, not {want.size}"
    got = got.reshape(want.shape).astype(np.float64)
    want = want.astype(np.float64)
    finite = np.abs(want[np.isfinite(want)])
    limit = 1e-4 * finite.max(initial=1e-3) + 1e-3 * np.abs(np.where(np.isfinite(want), want, 0))
    with np.errstate(invalid="ignore"):
        wrong = ~((np.abs(got - want) <= limit) | (got == want) | (np.isnan(got) & np.isnan(want)))
    if wrong.mean() <= (JUMPS if is_rough else 0):
        return ""
    worst = np.nanmax(np.abs(got - want)[wrong], initial=0)
    return f"{wrong.sum()} of {wrong.size} elements differ, by up to {worst:.3g}"


def run_one_by_one(runtime, path, samples):
    """Returns outputs by name, with samples along the first axis."""
    count = len(next(iter(samples.values())))
    results = collections.defaultdict(list)
    for index in range(count):
        one = {name: array[index : index + 1] for name, array in samples.items()}
        for name, array in runtime.run(path, one).items():
            results[name].append(array)
    return {name: np.stack(arrays) for name, arrays in results.items()}


class Disputed(AssertionError):
    """ONNX Runtime is alone, or each of the three judges has a result of its own."""


class Checker:
    """Checks networks one after the other in one directory."""

    def __init__(self, overtake, runtime, directory):
        self._overtake = overtake
        self._runtime = runtime
        self._directory = pathlib.Path(directory)

    def check(self, case, opset=None):
        """Raises AssertionError if the two disagree, Refused if ONNX Runtime refuses the
        network."""
        path = self._directory / "model.onnx"
        onnx.save(newer_opset.write(case.model, opset) if opset else case.model, str(path))
        wanted = run_one_by_one(self._runtime, path, case.samples)
        found = self._float(path, case.samples)
        for name, want in wanted.items():
            words = difference(found[name.replace("/", "_")], want, case.is_rough)
            if words:
                raise self._judged(case, name, want, words)

    def _float(self, path, samples):
        arguments = []
        for name, array in samples.items():
            file = self._directory / f"{name}.npy"
            np.save(file, array)
            arguments += ["--input", f"{name}={file}"]
        output = self._directory / "out"
        for old in output.glob("*.npy"):
            old.unlink()
        self._overtake("run", path, *arguments, "--output-dir", output, "-q")
        return {file.stem: np.load(file) for file in output.glob("*.npy")}

    @staticmethod
    def _judged(case, name, want, words):
        """Compares the reference in numpy: if it agrees with ONNX Runtime, the mistake is Overtake's."""
        third = float_reference.Network(case.model).run_images(case.samples)[name]
        its_words = difference(third, want, case.is_rough)
        if not its_words:
            return AssertionError(f"{name}: {words}; numpy agrees with ONNX Runtime")
        return Disputed(f"{name}: {words}; of numpy's, {its_words}")


def _reason(refused):
    """Returns the reason without the node's name, so that reasons can be counted."""
    words = str(refused).splitlines()[0].replace("Non-zero status code returned while running ", "")
    return re.sub(r"( node\.) Name:'[^']*' Status Message:", r"\1", words)[:120]


def _check_chunk(seeds, opset=None):
    """Runs in a process of its own. Returns the differences by seed, and the refusals by reason."""
    failures, refusals = {}, collections.Counter()
    with (
        tempfile.TemporaryDirectory() as directory,
        agreement.make_server() as overtake,
        onnx_runtime.OnnxRuntime() as runtime,
    ):
        checker = Checker(overtake, runtime, directory)
        for seed in seeds:
            case = None
            try:
                case = random_graphs.make(seed)
                if case.is_quantised:
                    refusals["quantised networks, which have no float results"] += 1
                    continue
                if opset and case.model.opset_import[0].version < newer_opset.OLDEST:
                    refusals[f"older than opset {newer_opset.OLDEST}"] += 1
                    continue
                checker.check(case, opset)
            except onnx_runtime.Refused as refused:
                refusals[_reason(refused)] += 1
            except Disputed as failure:
                known = known_difference(case.model, opset) or (JUMPED if case.is_rough else "")
                if known:
                    refusals[f"differs as is known. {known}"] += 1
                else:
                    failures[seed] = str(failure)
            except AssertionError as failure:
                failures[seed] = str(failure)
            except Exception:  # a judge's own mistake is no agreement either
                known = known_difference(case.model, opset) if case else ""
                if known:  # rows that only one of the two fills, so that they cannot be compared
                    refusals[f"differs as is known. {known}"] += 1
                else:
                    failures[seed] = traceback.format_exc()
    return failures, refusals, len(seeds)


def check_random(first, count, jobs, opset):
    """Returns how many networks disagree."""
    begin, chunk = time.monotonic(), 20
    seeds = range(first, first + count)
    chunks = [seeds[start : start + chunk] for start in range(0, count, chunk)]
    failed, refusals, done = 0, collections.Counter(), 0
    with multiprocessing.Pool(jobs) as pool:
        for failures, refused, size in pool.imap_unordered(
            functools.partial(_check_chunk, opset=opset), chunks
        ):
            failed += len(failures)
            refusals.update(refused)
            done += size
            for seed, why in failures.items():
                print(f"seed {seed}: {why}", flush=True)
            if sys.stderr.isatty():
                print(f"\r{done} of {count}", end="", file=sys.stderr, flush=True)
    compared = count - sum(refusals.values())
    print(f"{compared - failed} of {compared} random networks agree with ONNX Runtime, "
          f"{time.monotonic() - begin:.0f} s")  # fmt: skip
    for reason, number in refusals.most_common():
        print(f"  {number} not compared: {reason}")
    return failed


def check_zoo():
    """Returns how many of the trained networks that are there disagree."""
    sys.path.insert(0, str(SOURCE / "tests/zoo"))
    import zoo_agreement

    with onnx_runtime.OnnxRuntime() as runtime:
        return zoo_agreement.check(functools.partial(run_one_by_one, runtime))


def main():
    parser = argparse.ArgumentParser(description="The float executor against ONNX Runtime.")
    parser.add_argument("--seed", type=int, default=1, help="number of the first network")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--opset", type=int, choices=range(18, 24), help="write them in this one")
    parser.add_argument("--zoo", action="store_true", help="the networks of build/zoo as well")
    options = parser.parse_args()
    missing = onnx_runtime.missing()
    if missing:
        print(f"agreement with ONNX Runtime: skipped, as {missing}")
        return
    failed = check_random(options.seed, options.count, options.jobs, options.opset)
    if options.zoo:
        failed += check_zoo()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
