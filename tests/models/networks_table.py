#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compiles the five networks at their full size, runs them on the embedded device and prints a line
for each; exit status 1 if one misses its bounds or a command fails, 2 for a wrong argument.

    networks_table.py [--fcs] [--max-time-per-fc US] [--calibration-method METHOD] [NETWORK...]

Bounds: less than 60 s and 1 GB for a compilation, and for every output a cosine against float of at
least 0.99 (vit: 0.98) over images that calibration never saw; with --max-time-per-fc no FC may be
longer than US. Float is models/float_reference.py.  "own" is the cosine after the mean over the
images is subtracted from both sides; it tells nothing of a network whose outputs hardly depend on
the image.  --fcs lists placement and FCs as well.

OVERTAKE names the command, OVERTAKE_MODELS the folder of the networks.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests/compiler"), str(SOURCE / "models")]

from overtake_command import BINARY, cosine, counted, info, print_details, run
from synthetic_images import synthetic_images

MODELS = pathlib.Path(os.environ.get("OVERTAKE_MODELS", SOURCE / "build/release/models"))
LEAST_COSINE = {"resnet18": 0.99, "mobilenetv2": 0.99, "yolo": 0.99, "unet": 0.99, "vit": 0.98}
MOST_SECONDS = 60
MOST_BYTES = 10**9
IMAGES = 2


def measured(arguments):
    """Runs a command; returns its seconds and the most memory it had, in bytes.

    The memory that this process has at that moment counts as the command's, so other processes do
    work that takes much.
    """
    start = time.monotonic()
    child = os.posix_spawn(arguments[0], arguments, os.environ)
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"networks_table: {' '.join(arguments)} failed")
    return time.monotonic() - start, usage.ru_maxrss * 1024


def compile_network(name, path, options):
    """Returns seconds and bytes."""
    arguments = [BINARY, "compile", str(MODELS / f"{name}.onnx"), "-q", "-o", str(path)]
    arguments += ["--calibration", str(MODELS / f"{name}_calibration.npy")]
    return measured(arguments + options)


def similarities(name, model, folder):
    """Cosine, and cosine without the mean over the images, of each output by name."""
    shape = np.load(MODELS / f"{name}_calibration.npy", mmap_mode="r").shape
    images = {"image": synthetic_images(IMAGES, *shape[2:], np.random.default_rng(7))}
    device = run(model, images, folder)
    reference = pathlib.Path(folder) / "float"
    subprocess.run(
        [SOURCE / "models/float_reference.py", MODELS / f"{name}.onnx", "--output-dir", reference,
         "--input", f"image={pathlib.Path(folder) / 'in_image.npy'}"],
        check=True,
    )  # fmt: skip
    result = {}
    for path in sorted(reference.glob("*.npy")):
        wanted = np.load(path)
        got = device[path.stem].reshape(wanted.shape)
        own = cosine(got - got.mean(axis=0), wanted - wanted.mean(axis=0))
        result[path.stem] = cosine(got, wanted), own
    return result


def placement(summary):
    """Nodes on the BPU and on the CPU, those by type."""
    counts = {kind: sum(types.values()) for kind, types in counted(summary).items()}
    return f"{counts['BPU']} BPU, {counts['CPU']} CPU"


def check(name, options):
    """Prints the line of one network; returns whether it keeps its bounds."""
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / f"{name}.ovm"
        arguments = ["--max-time-per-fc", str(options.max_time_per_fc)]
        if options.calibration_method:
            arguments += ["--calibration-method", options.calibration_method]
        seconds, memory = compile_network(name, model, arguments)
        summary = info(model)
        near = similarities(name, model, folder)
    total = summary["total"]
    outputs = ", ".join(f"{output} {all_:.4f} ({own:.4f})" for output, (all_, own) in near.items())
    print(f"{name:12} {seconds:6.1f} s {memory / 1e6:6.0f} MB  {placement(summary):>16} "
          f"{len(summary['segments']):3} segments {total['fc_count']:4} FCs {total['us']:9.1f} us  "
          f"{outputs}", flush=True)  # fmt: skip
    if options.fcs:
        print_details(summary)
    misses = [f"{output}: cosine {all_:.4f} is below {LEAST_COSINE[name]}"
              for output, (all_, _) in near.items() if not all_ >= LEAST_COSINE[name]]  # fmt: skip
    if seconds >= MOST_SECONDS:
        misses.append(f"compiling took {seconds:.1f} s")
    if memory >= MOST_BYTES:
        misses.append(f"compiling took {memory} bytes")
    if options.max_time_per_fc and total["longest_fc_us"] > options.max_time_per_fc:
        misses.append(f"an FC of {total['longest_fc_us']} us")
    for miss in misses:
        print(f"{name} MISSES: {miss}", flush=True)
    return not misses


def main():
    parser = argparse.ArgumentParser(description="Prints what the five networks compile to.")
    parser.add_argument("networks", nargs="*", metavar="NETWORK", default=list(LEAST_COSINE))
    parser.add_argument("--fcs", action="store_true", help="list placement and FCs too")
    parser.add_argument("--max-time-per-fc", type=int, default=0, metavar="US")
    parser.add_argument("--calibration-method", default="", metavar="METHOD")
    options = parser.parse_args()
    unknown = set(options.networks) - set(LEAST_COSINE)
    if unknown:
        parser.error(f"no network {', '.join(sorted(unknown))}")
    kept = [check(name, options) for name in options.networks]
    sys.exit(0 if all(kept) else 1)


if __name__ == "__main__":
    main()
