#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares a classifier's outputs with the labels, and optionally with another run's outputs.

    accuracy.py SCORES.npy LABELS.npy [--reference OTHER_SCORES.npy]

Scores are (N, classes) of any type, labels (N). The reference is typically float_reference.py's
output for the same images; the last line then says how far the accuracies lie apart.
"""

import argparse
import sys

import numpy as np


def correct_count(scores, labels):
    return int((scores.reshape(len(labels), -1).argmax(axis=1) == labels).sum())


def main():
    parser = argparse.ArgumentParser(description="Prints a classifier's accuracy.")
    parser.add_argument("scores")
    parser.add_argument("labels")
    parser.add_argument("--reference", metavar="OTHER_SCORES.npy")
    options = parser.parse_args()
    labels = np.load(options.labels)
    runs = [("accuracy", np.load(options.scores))]
    if options.reference:
        runs.append(("reference accuracy", np.load(options.reference)))
    shares = []
    for name, scores in runs:
        if len(scores) != len(labels):
            sys.exit(f"accuracy: {len(scores)} results for {len(labels)} labels")
        correct = correct_count(scores, labels)
        shares.append(100 * correct / len(labels))
        print(f"{name}: {correct} of {len(labels)}, {shares[-1]:.2f} %")
    if options.reference:
        print(f"difference: {shares[0] - shares[1]:+.2f} points")


if __name__ == "__main__":
    main()
