# SPDX-License-Identifier: MIT
"""Compiles and runs ONNX's own test models on the embedded device and prints, for each operator,
how many pass, are refused by name, are excepted here, are wrong, or crash. Exits with 1 if any is wrong or crashes,
or if fewer than --least pass.

A model is run in float, where the output has to be ONNX's to float precision, and compiled with
its test's input as calibration. Where everything then runs on the CPU the output again has to be
ONNX's to float precision; where the device takes part, to 3 % of the greatest element or an 8-bit
step of the greatest input, and a cosine similarity of 0.99.

Models of one node have all their parameters as inputs. A model that is refused in this form is tried
again with the first input, then the first two, and the others as constants, as exporters write it. A
loop, whose data come last, is tried again with the last input."""

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
SUITES = ["simple", "pytorch-operator", "node"]
VERDICTS = ["pass", "refused", "excepted", "wrong", "crash"]
# For these operators an 8-bit step of the input is more than 3 % of the output, near a pole or at a
# jump. They are judged in float alone.
STEEP = {"Acosh", "Ceil", "Floor", "Log", "Round", "Sign", "Tan", "ThresholdedRelu"}
# ONNX's test data stretch a size that is not yet rounded down; ONNX's text, PyTorch and Overtake
# stretch the rounded size.
ROUNDED = "its data stretch a size that is not rounded down"
# ONNX's test data have 20 for -236; by ONNX's text the product saturates at the least int8.
WRAPPED = "its data wrap around where ONNX's text has them saturate"
EXCEPTED = {
    "test_resize_downsample_scales_cubic_align_corners": ROUNDED,
    "test_resize_downsample_scales_linear_align_corners": ROUNDED,
    "test_qlinearmatmul_2D_int8_float16": WRAPPED,
    "test_qlinearmatmul_2D_int8_float32": WRAPPED,
    "test_qlinearmatmul_3D_int8_float16": WRAPPED,
    "test_qlinearmatmul_3D_int8_float32": WRAPPED,
}


class UnknownTypeError(Exception):
    """The data have a type that the Python package for ONNX on this machine is too old to read."""


def load(path):
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    try:
        array = numpy_helper.to_array(tensor)
    except (KeyError, TypeError, ValueError) as error:
        raise UnknownTypeError(tensor.data_type) from error
    return widened(array) if tensor.data_type == onnx.TensorProto.BFLOAT16 else array


def widened(array):
    """Returns BFLOAT16 numbers, given by their bits, as float32."""
    if array.dtype == np.float32:
        return array
    return (array.astype(np.uint32) << 16).view(np.float32)


def is_bfloat16(value):
    return value.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16


def is_refusal(result):
    """Returns whether the result is an error of one line, warnings left out, that names, for an operator, the
    operator and the node."""
    lines = [line for line in result.stderr.splitlines() if not line.endswith(" are computed in float32")]
    return result.returncode == 1 and len(lines) == 1 and lines[0].startswith("overtake: ")


def without_unused_rows(got, wanted):
    """Leaves out the rows that NonMaxSuppression fills with -1 because there is no box for them."""
    if got.ndim == 2 and wanted.ndim == 2 and len(got) > len(wanted):
        return got[~(got == -1).all(axis=1)]
    return got


def is_close(got, wanted, exactly, digits, step):
    got = without_unused_rows(got, wanted)
    if got.size != wanted.size:
        return False
    wanted = wanted.astype(np.float64)
    got = got.astype(np.float64).reshape(wanted.shape)
    if exactly:
        return np.allclose(got, wanted, rtol=digits, atol=1e-4, equal_nan=True)
    got, wanted = np.nan_to_num(got), np.nan_to_num(wanted)
    limit = max(0.03 * np.abs(wanted).max(), step) + 1e-6
    return np.abs(got - wanted).max() <= limit and cosine(got, wanted) >= 0.99


def with_constants(model, inputs, kept):
    """Returns the model with all inputs as constants except those in `kept`."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    for name, array in inputs.items():
        if name in kept:
            continue
        value = next(value for value in result.graph.input if value.name == name)
        result.graph.input.remove(value)
        result.graph.initializer.append(numpy_helper.from_array(array, name))
    return result


def read_inputs(model, data):
    constants = {tensor.name for tensor in model.graph.initializer}
    values = [value for value in model.graph.input if value.name not in constants]
    try:
        arrays = [load(data / f"input_{i}.pb") for i in range(len(values))]
        for array in arrays:
            array.astype(np.float32)
    except Exception as error:  # protobuf's own errors have no common base
        del error
        return {}  # text, or a sequence: nothing that the compiler would take
    return {
        value.name: widened(array) if is_bfloat16(value) else array
        for value, array in zip(values, arrays)
    }


def judge_outputs(model, data, directory, exactly, step=0.0):
    for i, output in enumerate(model.graph.output):
        if not output.name:
            continue
        got = np.load(directory / f"{output.name.replace('/', '_')}.npy")
        digits = 2**-8 if is_bfloat16(output) else 1e-3
        wanted = load(data / f"output_{i}.pb")
        if is_bfloat16(output) and wanted.dtype == np.uint16:  # some data call themselves integers
            wanted = widened(wanted)
        if not is_close(got, wanted, exactly, digits, step):
            return "wrong", f"output {output.name}" + ("" if exactly else " of the device")
    return "pass", ""


def judge(model, inputs, data, directory):
    """Returns (verdict, reason) of a model with one set of data."""
    path = directory / "m.onnx"
    onnx.save(model, str(path))
    feed, calibration = [], []
    for name, array in inputs.items():
        file = directory / f"in_{name.replace('/', '_')}.npy"
        np.save(file, array.astype(np.float32))
        feed += ["--input", f"{name}={file}"]
        calibration += ["--calibration", f"{name}={file}"]
    results = directory / "out"
    compiled = overtake("compile", path, "-o", directory / "m.ovm", "-q", *calibration)
    if compiled.returncode != 0:
        return "refused" if is_refusal(compiled) else "crash", compiled.stderr.strip()
    ran = overtake("run", path, *feed, "-q", "--output-dir", results)
    if ran.returncode != 0:
        return "crash", ran.stderr.strip()
    verdict = judge_outputs(model, data, results, True)
    if verdict[0] != "pass":
        return verdict
    ran = overtake(
        "run", directory / "m.ovm", *feed, "-q", "--output-dir", results, "--device", "embedded"
    )
    if ran.returncode != 0:
        return "crash", ran.stderr.strip()
    on_cpu = all(s["processor"] == "CPU" for s in info(directory / "m.ovm")["segments"])
    if not on_cpu and STEEP & {node.op_type for node in model.graph.node}:
        return verdict
    greatest = [np.abs(array.astype(np.float32)).max(initial=0) for array in inputs.values()]
    return judge_outputs(model, data, results, on_cpu, max(greatest, default=0) / 255)


def judge_folder(folder, is_node):
    """Returns (verdict, reason) of one model over all its data sets."""
    model = onnx.load(str(folder / "model.onnx"))
    verdict = ("refused", "no data")
    for data in sorted(folder.glob("test_data_set_*")):
        inputs = read_inputs(model, data)
        names = list(inputs)
        attempts = [names]
        if is_node:
            attempts += [names[:kept] for kept in (1, 2) if kept < len(names)]
        if any(node.op_type == "Loop" for node in model.graph.node):
            attempts.append(names[-1:])
        first = None
        for kept in attempts:
            with tempfile.TemporaryDirectory() as directory:
                verdict = judge(
                    with_constants(model, inputs, kept), {name: inputs[name] for name in kept}, data,
                    pathlib.Path(directory),
                )  # fmt: skip
            first = first or verdict
            if verdict[0] != "refused":
                break
        if verdict[0] != "pass":
            return first if verdict[0] == "refused" else verdict
    return verdict


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--least", type=int, help="passes needed; of all suites 690")
    parser.add_argument("--data", type=pathlib.Path, default=DATA,
                        help="backend/test/data of another release of ONNX")  # fmt: skip
    parser.add_argument("--match", default="*", help="names of models, for example test_add*")
    parser.add_argument("suites", nargs="*", default=SUITES)
    options = parser.parse_args()
    is_whole = (options.match, options.suites, options.data) == ("*", SUITES, DATA)
    least = options.least if options.least is not None else 690 * is_whole
    counts = collections.defaultdict(collections.Counter)
    total = collections.Counter()
    for suite in options.suites:
        for folder in sorted((options.data / suite).glob(options.match)):
            model = onnx.load(str(folder / "model.onnx"))
            if folder.name in EXCEPTED:
                verdict, reason = "excepted", EXCEPTED[folder.name]
            else:
                try:
                    verdict, reason = judge_folder(folder, suite == "node")
                except UnknownTypeError as error:
                    verdict, reason = "excepted", f"this machine reads no data of type {error}"
            total[verdict] += 1
            for operator in {node.op_type for node in model.graph.node}:
                counts[operator][verdict] += 1
            print(f"{verdict:<8} {folder.name:<52} {reason[:160]}", flush=True)
    print(f"\n{'operator':<24}" + "".join(f"{verdict:>9}" for verdict in VERDICTS))
    for operator in sorted(counts):
        print(f"{operator:<24}" + "".join(f"{counts[operator][v]:>9}" for v in VERDICTS))
    print(f"{'models':<24}" + "".join(f"{total[v]:>9}" for v in VERDICTS))
    failed = total["wrong"] + total["crash"] > 0 or total["pass"] < least
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
