# SPDX-License-Identifier: MIT
"""Writes ONNX models as the fuzzer's first inputs into a directory: the models of the compiler's tests (each operator,
refused models and networks), and ONNX's own test models (not with --few).

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
import test_decomposed  # noqa: E402
import test_loops  # noqa: E402
import test_places  # noqa: E402
import test_prequantised  # noqa: E402
import test_recurrence  # noqa: E402
import test_regions  # noqa: E402
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


def typed(nodes, inputs, constants, outputs):
    """Returns a model of opset 17, whose inputs may be integers."""
    types = {name: onnx.TensorProto.INT64 for name, array in inputs.items() if array.dtype == np.int64}
    shapes = {name: array.shape for name, array in inputs.items()}
    return small_models.model(nodes, shapes, outputs, constants, opset=17, types=types)


def recurrences():
    for seed in range(12):
        drawn = test_recurrence.Drawn(seed)
        inputs, wanted = drawn.inputs_and_outputs()
        constants = drawn.fixed | {name: inputs.pop(name) for name in ("l", "b") if name in inputs}
        outputs = {name: array.shape for name, array in zip(["y", "y_h", "y_c"], wanted)}
        # The device computes nodes of this name, where it can (run_import.cpp).
        name = "recurrence" if seed % 2 else ""
        nodes = [small_models.node(drawn.kind, drawn.names, list(outputs), name=name, **drawn.attributes)]
        yield typed(nodes, inputs, constants, outputs)


def written_as_others():
    for cases in (test_decomposed.normalisations, test_decomposed.pools, test_decomposed.matrices,
                  test_decomposed.positions, test_decomposed.fused_functions,
                  test_decomposed.fused_products, test_decomposed.fused_normalisations):  # fmt: skip
        for nodes, inputs, constants, wanted in list(cases())[::3]:
            outputs = {name: array.shape for name, array in wanted.items()}
            yield typed(nodes, inputs, constants, outputs)
    for equation, *shapes in (("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("...ii->...i", (2, 3, 3)),
                              ("bld,dhk->blhk", (2, 3, 4), (4, 2, 3))):  # fmt: skip
        inputs = {f"x{i}": test_decomposed.real(*shape) for i, shape in enumerate(shapes)}
        nodes = [small_models.node("Einsum", list(inputs), ["y"], equation=equation)]
        yield typed(nodes, inputs, {}, {"y": None})


def at_places():
    real, node = test_places.real, small_models.node
    places = {"i": np.array([[1, 0], [2, -1]], np.int64)}
    yield typed([node("ScatterElements", ["x", "i", "u"], ["y"], axis=0, reduction="add")],
                {"x": real(3, 2), "u": real(2, 2)}, places, {"y": (3, 2)})  # fmt: skip
    yield typed([node("ScatterND", ["x", "i", "u"], ["y"])], {"x": real(3, 2), "u": real(2)}, places,
                {"y": (3, 2)})  # fmt: skip
    yield typed([node("CumSum", ["x", "a"], ["y"], reverse=1)], {"x": real(3, 4)},
                {"a": np.array(1, np.int64)}, {"y": (3, 4)})  # fmt: skip
    for mode in ("bilinear", "bicubic"):
        yield typed([node("GridSample", ["x", "g"], ["y"], mode=mode, padding_mode="reflection")],
                    {"x": real(1, 2, 3, 4), "g": real(1, 2, 2, 2)}, {}, {"y": (1, 2, 2, 2)})  # fmt: skip


def regions():
    real, node = test_regions.real, small_models.node
    for mode in ("avg", "max"):
        inputs = {"x": real(2, 3, 5, 4), "r": test_regions.REGIONS[:3], "i": np.array([0, 1, -1])}
        yield typed([node("RoiAlign", ["x", "r", "i"], ["y"], output_height=2, output_width=3, mode=mode)],
                    inputs, {}, {"y": None})  # fmt: skip
    pool = {"kernel_shape": [2, 2], "strides": [2, 2]}
    yield typed([node("MaxPool", ["x"], ["p", "i"], storage_order=1, **pool),
                 node("MaxUnpool", ["p", "i", "s"], ["y"], **pool)],
                {"x": real(1, 2, 4, 6)}, {"s": np.array([1, 2, 5, 7])}, {"y": None})  # fmt: skip


def quantised_at_run_time():
    node = small_models.node
    yield typed([node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
                 node("DequantizeLinear", ["q", "s", "z"], ["y"])],
                {"x": test_regions.real(2, 3, 4)}, {}, {"y": None})  # fmt: skip


def loops():
    """Yields a loop with an output for each trip, and a loop whose condition depends on the number of the trip."""
    node = small_models.node
    nodes = [node("Identity", ["go"], ["on"]), node("Mul", ["a", "k"], ["s"])]
    graph = test_loops.body(nodes, ["i", "go", "a"], ["on", "s", "s"], {"k": np.float32(0.5)})
    constants = {"n": np.array(3), "b": np.array(True)}
    yield typed([test_loops.loop(["n", "b", "x"], ["y", "z"], graph)], {"x": test_loops.X}, constants,
                {"y": None, "z": None})  # fmt: skip
    nodes = [node("Less", ["i", "last"], ["on"]), node("Neg", ["a"], ["s"])]
    graph = test_loops.body(nodes, ["i", "go", "a"], ["on", "s"], {"last": np.int64(2)})
    yield typed([test_loops.loop(["", "b", "x"], ["y"], graph)], {"x": test_loops.X}, constants, {"y": None})


def older(proto, opset):
    """Returns the same nodes in an opset that the import has to convert."""
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


def one_node(operator, constants=None, shape=(1, 2, 4, 4), opset=13, **attributes):
    constants = constants or {}
    nodes = [small_models.node(operator, ["x", *constants], ["y"], **attributes)]
    return small_models.model(nodes, {"x": shape}, {"y": (1, None, None, None)}, constants, opset)


def whole(*numbers):
    return np.array(numbers, np.int64)


def hostile():
    """Models that the fuzzer once found, or would have found: the compiler must refuse each, and not crash."""
    scales = {"r": np.zeros(0, np.float32), "s": np.ones(4, np.float32)}
    # Raw data that is no whole number of elements: libonnx copies it beyond the end of an array.
    for proto, index in [
        (one_node("Resize", scales), 1),
        (one_node("Reshape", {"s": whole(1, 32)}), 0),
        (one_node("Expand", {"s": whole(1, 2, 4, 4)}, opset=9), 0),
    ]:
        tensor = proto.graph.initializer[index]
        tensor.raw_data = tensor.raw_data + b"123"
        yield proto
    # Names that no value has: libonnx's conversion follows null pointers.
    proto = one_node("Relu", opset=9)
    proto.graph.output[0].name = "absent"
    yield proto
    proto = one_node("Relu", opset=9)
    proto.graph.value_info.add().CopyFrom(proto.graph.input[0])
    proto.graph.value_info[0].name = "absent"
    yield proto
    # Weights of too few dimensions, in the weights themselves or in the stated shape of an input.
    yield one_node("ConvTranspose", {"w": np.ones(3, np.float32)})
    yield one_node("Conv", {"w": np.ones((2, 2), np.float32)}, opset=9)
    proto = one_node("ConvTranspose", {"w": np.ones((2, 2, 3, 3), np.float32)})
    proto.graph.value_info.add(name="w").type.tensor_type.elem_type = 1
    proto.graph.value_info[0].type.tensor_type.shape.dim.add().dim_value = 3
    yield proto
    # A node of another domain may have no inputs, even if its operator's name is a known one.
    proto = one_node("Pow")
    proto.graph.node[0].domain = "com.example"
    proto.opset_import.append(onnx.helper.make_opsetid("com.example", 1))
    yield proto
    # A graph in a node.
    proto = one_node("Scan")
    attribute = proto.graph.node[0].attribute.add(name="body", type=onnx.AttributeProto.GRAPH)
    attribute.g.CopyFrom(small_models.relu().graph)
    yield proto
    # Weights that are NaN, in neighbouring convolutions whose channels the compiler makes equal.
    weights = {"w": np.full((2, 2, 1, 1), np.nan, np.float32), "v": np.ones((2, 2, 1, 1), np.float32)}
    nodes = [small_models.node("Conv", ["x", "v"], ["c"], name="first"),
             small_models.node("Relu", ["c"], ["d"]),
             small_models.node("Conv", ["d", "w"], ["y"], name="second")]
    yield small_models.model(nodes, {"x": (1, 2, 4, 4)}, {"y": (1, 2, 4, 4)}, weights)
    # Names with line ends: messages must still have one line.
    yield one_node("Relu", name="two\nlines")
    yield one_node("Resize", scales, mode="two\nlines")
    # Products and sums beyond 64 bits, and sizes that would take more memory than there is.
    most, least = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    for number in (most, least, 1 << 40, -1):
        yield one_node("Pad", {"p": whole(0, 0, number, 0, 0, 0, 1, 1)})
        yield one_node("Tile", {"t": whole(1, 1, number, 2)})
        yield one_node("Expand", {"s": whole(1, 2, number, 4)})
        yield one_node("Slice", {"b": whole(number), "e": whole(least), "a": whole(2), "s": whole(-1)})
        yield one_node("Slice", {"b": whole(0, 0), "e": whole(4, 4), "a": whole(2, 2), "s": whole(2, 2)})
        yield one_node("Split", axis=1, split=[number])
        yield one_node("MaxPool", kernel_shape=[2, number], strides=[1, 1])
        yield one_node("MaxPool", kernel_shape=[2, 2], strides=[number, 1], pads=[0, number, 0, 0])
        yield one_node("Conv", {"w": np.ones((2, 2, 2, 2), np.float32)}, dilations=[1, number])
        yield one_node("ConvTranspose", {"w": np.ones((2, 2, 2, 2), np.float32)},
                       output_padding=[0, number], strides=[2, 2])
        yield one_node("DepthToSpace", blocksize=number)
    for scale in (0.0, -1.0, 1e-38, 1e38, np.nan):
        yield one_node("Resize", {"r": np.zeros(0, np.float32),
                                  "s": np.array([1, 1, scale, 1], np.float32)})
    nodes = [small_models.node("ConstantOfShape", ["s"], ["c"]),
             small_models.node("Add", ["x", "c"], ["y"])]
    shape = {"s": whole(1 << 24, 1 << 24, 1 << 16)}
    yield small_models.model(nodes, {"x": (1, 2)}, {"y": (1, None)}, shape)
    # An index beyond the axis from which it chooses.
    yield one_node("Gather", {"i": whole(7)}, axis=1)


def few():
    yield small_models.relu()
    yield small_models.two_inputs()
    for proto in operators():
        yield proto
    for _, proto, _ in test_refusals.CASES + test_refusals.BPU_CASES:
        yield proto
    yield from quantised()
    for source in (recurrences, written_as_others, at_places, loops, regions, quantised_at_run_time):
        yield from source()
    for proto in list(operators())[::9]:
        yield older(proto, 9)
    for seed in range(8):
        yield random_graphs.make(seed).model


def many():
    for seed in range(8, 60):
        yield random_graphs.make(seed).model
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
    for source in [few, hostile] if options.few else [few, hostile, many]:
        for proto in source():
            data = proto.SerializeToString()
            if len(data) <= LARGEST:
                name = f"{source.__name__}-{count:04}"
                (options.directory / name).write_bytes(data)
                count += 1
    print(f"{count} models")


if __name__ == "__main__":
    main()
