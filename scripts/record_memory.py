#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Prints the resident memory of a process that runs a network, at record levels 0, 1 and 2.

    record_memory.py OVERTAKE MODEL.ovm ...

Figures are in KiB, except "gave back" in bytes. Each level has the median of five processes `overtake perf
MODEL --device embedded --frames 20 --record-level LEVEL --json`, which measure at their ends. "file" is the
size of the model file, "weights" the size of the weights that the device has.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys

PROCESSES = 5
LEVELS = (0, 1, 2)


def measured(overtake, model, level):
    result = subprocess.run(
        [overtake, "perf", model, "--device", "embedded", "--frames", "20", "--record-level", str(level), "--json"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return json.loads(result.stdout)


def kib(values):
    return round(statistics.median(values) / 1024)


def row(overtake, model):
    runs = {level: [] for level in LEVELS}
    for _ in range(PROCESSES):
        for level in LEVELS:
            runs[level].append(measured(overtake, model, level))
    resident = {level: kib(run["resident_bytes"]["all"] for run in runs[level]) for level in LEVELS}
    files = {level: kib(run["resident_bytes"]["files"] for run in runs[level]) for level in LEVELS}
    report = runs[2][0]["models"][0]
    return [
        pathlib.Path(model).stem,
        os.path.getsize(model) // 1024,
        report["memory_bytes"]["weights"] // 1024,
        *resident.values(),
        resident[1] - resident[2],
        files[1] - files[2],
        report["gave_back_bytes"],
    ]


def main():
    overtake, *models = sys.argv[1:]
    print("| network | file | weights | level 0 | level 1 | level 2 | 2 less than 1 | in mapped files | gave back, bytes |")
    print("|---|---|---|---|---|---|---|---|---|")
    for model in models:
        print("| " + " | ".join(map(str, row(overtake, model))) + " |", flush=True)


if __name__ == "__main__":
    main()
