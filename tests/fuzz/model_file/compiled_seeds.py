# SPDX-License-Identifier: MIT
"""Compiles small random networks with build/bin/overtake and writes the model files as inputs of
the fuzzer of model files.

    compiled_seeds.py DIRECTORY"""

import os
import pathlib
import subprocess
import sys
import tempfile

import onnx

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/compiler"))

import random_graphs  # noqa: E402

OVERTAKE = os.environ.get("OVERTAKE", str(ROOT / "build/bin/overtake"))
LARGEST = 32768


def main():
    directory = pathlib.Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        source = pathlib.Path(scratch) / "network.onnx"
        for seed in range(24):
            onnx.save(random_graphs.make(seed).model, str(source))
            made = source.with_suffix(".ovm")
            subprocess.run([OVERTAKE, "compile", source, "-o", made, "-q"], check=True)
            if made.stat().st_size <= LARGEST:
                (directory / f"compiled-{seed:02}").write_bytes(made.read_bytes())


if __name__ == "__main__":
    main()
