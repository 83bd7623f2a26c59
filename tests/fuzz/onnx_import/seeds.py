# SPDX-License-Identifier: MIT
"""Writes ONNX models as the fuzzer's first inputs into a directory: what the compiler's tests know
of each operator, of what is refused and of networks, and ONNX's own test models (not with --few).

    seeds.py [--few] DIRECTORY"""

import argparse
import pathlib
import sys

import numpy as np
import onnx

COMPILER = pathlib.Path(__file__).resolve().parents[2] / "compiler"
sys.path.insert(0, str(COMPILER))

import random_graphs  # noqa: E402
import small_models  # noqa: E402
import test_cpu_operators  # noqa: E402
import test_prequantised  # noqa: E402
import test_refusals  # noqa: E402

LARGEST = 16384
SUITES = ["simple", "pytorch-operator", "pytorch-converted", "node"]


def operators():
    for cases in test_cpu_operators.CASES:
        for nodes, inputs, constants, wanted in cases():
            nodes = nodes if isinstance(nodes, list) else [nodes]
            opset = test_cpu_operators.OPSETS.get(nodes[0].op_type, 13)
            shapes = {name: array.shape for name, array in inputs.items()}
            yield small_models.model(nodes, shapes, {"y": wanted.shape}, constants, opset=opset)


def older(proto, opset):
    """The same nodes in an opset that the import has to convert."""
    result = onnx.ModelProto()
    result.CopyFrom(proto)
    result.opset_import[0].version = opset
    return result


def quantised():
    nodes = [
        test_prequantised.quantize("x", "q"),
        test_prequantised.dequantize("q", "d"),
        test_prequantised.dequantize("w", "v"),
        small_models.node("Conv", ["d", "v"], ["c"], kernel_shape=[1, 1]),
        test_prequantised.quantize("c", "r"),
        test_prequantised.dequantize("r", "y"),
    ]
    weights = np.arange(64, dtype=np.int8).reshape(8, 8, 1, 1)
    yield test_prequantised.round_trip(nodes, {"w": weights})
    for operator, inputs in [
        ("QLinearConv", ["q", "s", "z", "w", "s", "z", "s", "z"]),
        ("QLinearMatMul", ["q", "s", "z", "m", "s", "z", "s", "z"]),
        ("QLinearAdd", ["q", "s", "z", "q", "s", "z", "s", "z"]),
        ("QLinearConcat", ["s", "z", "q", "s", "z", "q", "s", "z"]),
    ]:
        attributes = {"axis": 1} if operator == "QLinearConcat" else {}
        nodes = [
            test_prequantised.quantize("x", "q"),
            small_models.node(operator, inputs, ["r"], **attributes),
            test_prequantised.dequantize("r", "y"),
        ]
        matrix = np.arange(16, dtype=np.int8).reshape(4, 4)
        yield test_prequantised.round_trip(nodes, {"w": weights, "m": matrix})


def few():
    yield small_models.relu()
    yield small_models.two_inputs()
    for proto in operators():
        yield proto
    for _, proto, _ in test_refusals.CASES + test_refusals.BPU_CASES:
        yield proto
    yield from quantised()
    for proto in list(operators())[::9]:
        yield older(proto, 9)
    for seed in range(8):
        yield random_graphs.make(seed)


def many():
    for seed in range(8, 60):
        yield random_graphs.make(seed)
    for proto in operators():
        for opset in (8, 11, 15):
            yield older(proto, opset)
    data = pathlib.Path(onnx.__file__).parent / "backend/test/data"
    for suite in SUITES:
        for folder in sorted((data / suite).iterdir()):
            yield onnx.load(str(folder / "model.onnx"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--few", action="store_true", help="without ONNX's own")
    parser.add_argument("directory", type=pathlib.Path)
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    count = 0
    for source in [few] if options.few else [few, many]:
        for proto in source():
            data = proto.SerializeToString()
            if len(data) <= LARGEST:
                name = f"{source.__name__}-{count:04}"
                (options.directory / name).write_bytes(data)
                count += 1
    print(f"{count} models")


if __name__ == "__main__":
    main()
