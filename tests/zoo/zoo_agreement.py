# SPDX-License-Identifier: MIT
"""Trained networks in float: the float executor against ONNX Runtime, on samples of their tasks."""

import numpy as np

import tasks
import zoo
from runner import SOURCE, Refused, Runner

SAMPLES = 8
# The most that the difference may be, in length, as a part of the outputs. A network with weights
# of 16 bits rounds what lies between its layers to 16 bits too, in one of the two executors.
MOST, MOST_OF_HALVES = 1e-4, 2e-2
OF_HALVES = {"segmentation_medium"}


def distance(got, want):
    """Returns the length of the difference, as a part of the length of the expected output."""
    want = want.astype(np.float64)
    return float(np.linalg.norm(got.reshape(want.shape) - want) / max(np.linalg.norm(want), 1e-30))


def _distances(runner, run_one_by_one, task):
    """Returns distances by output."""
    chosen = {}
    for name, array in task.samples.items():
        chosen[name] = array[np.linspace(0, len(array) - 1, SAMPLES).astype(int)[-len(array):]]
    found = runner.float(task.network, chosen)
    wanted = run_one_by_one(runner.onnx(task.network), chosen)
    # The command's files have the outputs' names without slashes.
    return {name: distance(found[name.replace("/", "_")], want) for name, want in wanted.items()}


def check(run_one_by_one):
    """Returns how many networks disagree; prints a line for each."""
    runner = Runner(SOURCE / "build/zoo")
    names = [name for name in tasks.NETWORKS if runner.onnx(tasks.NETWORKS[name]).exists()]
    if not names:
        print("there are no trained networks to compare; `make zoo` downloads them")
        return 0
    known, _ = zoo.makers(runner, names)
    failed = 0
    for name in names:
        if name not in known:
            print(f"{name:20} not compared: it is refused, or is used by no task")
            continue
        try:
            distances = _distances(runner, run_one_by_one, known[name](runner))
        except Refused as refused:
            print(f"{name:20} not compared: {refused}", flush=True)
            continue
        most = MOST_OF_HALVES if name in OF_HALVES else MOST
        worst = max(distances, key=distances.get)
        agrees = distances[worst] <= most
        failed += not agrees
        print(f"{name:20} {'agrees' if agrees else 'DIFFERS'}: relative L2 distance to ONNX Runtime "
              f"at most {distances[worst]:.1e}, of {len(distances)} outputs", flush=True)  # fmt: skip
    return failed
