# SPDX-License-Identifier: MIT
"""Compiles and runs ONNX's own test models on the embedded device and prints, for each operator,
how many pass, are refused by name, are wrong, or crash. Exits with 1 if any is wrong or crashes,
or if fewer than --least pass.

A model is compiled with its test's input as calibration. Where everything runs on the CPU the
output has to be ONNX's to float precision; where the device takes part, to 3 % of the greatest
element and a cosine similarity of 0.99."""

import argparse
import collections
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

from overtake_command import cosine, info, overtake

DATA = pathlib.Path(onnx.__file__).parent / "backend/test/data"
SUITES = ["simple", "pytorch-operator"]
VERDICTS = ["pass", "refused", "wrong", "crash"]


def load(path):
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(tensor)


def is_refusal(result, model):
    """One line that names the model; for an operator, the operator and its node."""
    lines = result.stderr.splitlines()
    return result.returncode == 1 and len(lines) == 1 and lines[0].startswith("overtake: ")


def is_close(got, wanted, on_cpu):
    wanted = wanted.astype(np.float64)
    got = got.astype(np.float64).reshape(wanted.shape)
    if on_cpu:
        return np.allclose(got, wanted, rtol=1e-3, atol=1e-4, equal_nan=True)
    limit = 0.03 * np.abs(wanted).max() + 1e-6
    return np.abs(got - wanted).max() <= limit and cosine(got, wanted) >= 0.99


def compile_model(folder, directory, inputs):
    arguments = ["compile", folder / "model.onnx", "-o", directory / "m.ovm", "-q"]
    for name, array in inputs.items():
        np.save(directory / f"{name}.npy", array.astype(np.float32))
        arguments += ["--calibration", f"{name}={directory / f'{name}.npy'}"]
    return overtake(*arguments)


def judge(folder, directory):
    """(verdict, reason) of one model over all its data sets."""
    model = onnx.load(str(folder / "model.onnx"))
    constants = {tensor.name for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in constants]
    for data in sorted(folder.glob("test_data_set_*")):
        try:
            arrays = [load(data / f"input_{i}.pb") for i in range(len(names))]
            inputs = {n: a.astype(np.float32) for n, a in zip(names, arrays)}
        except (ValueError, TypeError, onnx.onnx_cpp2py_export.checker.ValidationError):
            inputs = {}  # text, or a sequence: nothing that the compiler would take
        except Exception as error:  # protobuf's own errors have no common base
            inputs = {}
            del error
        compiled = compile_model(folder, directory, inputs)
        if compiled.returncode != 0:
            refused = is_refusal(compiled, folder)
            return "refused" if refused else "crash", compiled.stderr.strip()
        arguments = []
        for name in inputs:
            arguments += ["--input", f"{name}={directory / f'{name}.npy'}"]
        ran = overtake(
            "run", directory / "m.ovm", *arguments, "--output-dir", directory, "--device", "embedded"
        )
        if ran.returncode != 0:
            return "crash", ran.stderr.strip()
        on_cpu = all(s["processor"] == "CPU" for s in info(directory / "m.ovm")["segments"])
        for i, output in enumerate(model.graph.output):
            got = np.load(directory / f"{output.name.replace('/', '_')}.npy")
            wanted = load(data / f"output_{i}.pb")
            if got.size != wanted.size or not is_close(got, wanted, on_cpu):
                return "wrong", f"output {output.name}"
    return "pass", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--least", type=int, default=40, help="passes needed")
    parser.add_argument("suites", nargs="*", default=SUITES)
    options = parser.parse_args()
    counts = collections.defaultdict(collections.Counter)
    total = collections.Counter()
    with tempfile.TemporaryDirectory() as directory:
        for folder in (f for suite in options.suites for f in sorted((DATA / suite).iterdir())):
            model = onnx.load(str(folder / "model.onnx"))
            verdict, reason = judge(folder, pathlib.Path(directory))
            total[verdict] += 1
            for operator in {node.op_type for node in model.graph.node}:
                counts[operator][verdict] += 1
            print(f"{verdict:<8} {folder.name:<52} {reason[:160]}")
    print(f"\n{'operator':<24}" + "".join(f"{verdict:>9}" for verdict in VERDICTS))
    for operator in sorted(counts):
        print(f"{operator:<24}" + "".join(f"{counts[operator][v]:>9}" for v in VERDICTS))
    print(f"{'models':<24}" + "".join(f"{total[v]:>9}" for v in VERDICTS))
    failed = total["wrong"] + total["crash"] > 0 or total["pass"] < options.least
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
