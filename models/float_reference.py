#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs an ONNX network in float32 with numpy alone.

It shares no code with the compiler or the device, so it is the independent answer their results
are compared with. It favours being obviously right over being fast: every convolution is an
explicit window gather and one matrix product. Tensors are NCHW with a batch of one.

    float_reference.py MODEL.onnx --input NAME=FILE.npy --output-dir DIR [--every-tensor]

FILE.npy holds N images (N, C, H, W) of any numeric type; each is cast to float32 and run alone.
Each output NAME becomes DIR/NAME.npy, the N results stacked along the first axis.
"""

import argparse
import functools
import math
import pathlib
import sys

import numpy as np
import onnx
from onnx import numpy_helper


def _spatial_padding(attributes, size, kernel, strides, dilations):
    """Returns ((top, bottom), (left, right)) from `pads` or `auto_pad`."""
    auto_pad = attributes.get("auto_pad", "NOTSET")
    if auto_pad == "NOTSET":
        pads = attributes.get("pads", [0, 0, 0, 0])
        return (pads[0], pads[2]), (pads[1], pads[3])
    padding = []
    for length, kernel_length, stride, dilation in zip(size, kernel, strides, dilations):
        reach = dilation * (kernel_length - 1) + 1
        total = max((-(-length // stride) - 1) * stride + reach - length, 0)
        if auto_pad == "VALID":
            total = 0
        small, large = total // 2, total - total // 2
        padding.append((small, large) if auto_pad == "SAME_UPPER" else (large, small))
    return tuple(padding)


def _windows(data, kernel, strides, dilations):
    """Returns a view (N, C, output H, output W, kernel H, kernel W) of padded data."""
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilations)]
    view = np.lib.stride_tricks.sliding_window_view(data, reach, axis=(2, 3))
    return view[:, :, :: strides[0], :: strides[1], :: dilations[0], :: dilations[1]]


def _convolution(attributes, data, weights, bias=None):
    group = attributes.get("group", 1)
    strides = attributes.get("strides", [1, 1])
    dilations = attributes.get("dilations", [1, 1])
    kernel = weights.shape[2:]
    padding = _spatial_padding(attributes, data.shape[2:], kernel, strides, dilations)
    windows = _windows(np.pad(data, ((0, 0), (0, 0)) + padding), kernel, strides, dilations)
    batch, channels, height, width = windows.shape[:4]
    # (batch, group, channels of the group x kernel, pixels)
    columns = windows.transpose(0, 1, 4, 5, 2, 3).reshape(batch, group, -1, height * width)
    rows = weights.reshape(group, weights.shape[0] // group, columns.shape[2])
    result = np.matmul(rows, columns).reshape(batch, weights.shape[0], height, width)
    return result if bias is None else result + bias.reshape(1, -1, 1, 1)


def _pool(attributes, data, fill, reduce_windows):
    kernel = attributes["kernel_shape"]
    strides = attributes.get("strides", [1, 1])
    dilations = attributes.get("dilations", [1, 1])
    padding = _spatial_padding(attributes, data.shape[2:], kernel, strides, dilations)
    if attributes.get("ceil_mode", 0):
        padding = tuple(
            (before, after + (-(length + before + after - d * (k - 1) - 1)) % stride)
            for (before, after), length, k, d, stride in zip(
                padding, data.shape[2:], kernel, dilations, strides
            )
        )
    padded = np.pad(data, ((0, 0), (0, 0)) + padding, constant_values=fill)
    return reduce_windows(_windows(padded, kernel, strides, dilations))


def _max_pool(attributes, data):
    return _pool(attributes, data, -np.inf, lambda windows: windows.max(axis=(4, 5)))


def _average_pool(attributes, data):
    """Padding added by ceil_mode never counts; explicit padding counts if the attribute is set."""
    total = _pool(attributes, data, 0, lambda windows: windows.sum(axis=(4, 5)))
    ones = np.ones_like(data)
    if attributes.get("count_include_pad", 0):
        pads = attributes.get("pads", [0, 0, 0, 0])
        ones = np.pad(
            ones, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])), constant_values=1
        )
        attributes = {**attributes, "pads": [0, 0, 0, 0]}
    return total / _pool(attributes, ones, 0, lambda windows: windows.sum(axis=(4, 5)))


def _batch_normalization(attributes, data, scale, bias, mean, variance):
    factor = scale / np.sqrt(variance + np.float32(attributes.get("epsilon", 1e-5)))
    shape = (1, -1) + (1,) * (data.ndim - 2)
    return data * factor.reshape(shape) + (bias - mean * factor).reshape(shape)


def _clip(attributes, data, low=None, high=None):
    low = attributes.get("min") if low is None else low
    high = attributes.get("max") if high is None else high
    return data if low is None and high is None else np.clip(data, low, high)


def _gemm(attributes, left, right, addend=None):
    left = left.T if attributes.get("transA", 0) else left
    right = right.T if attributes.get("transB", 0) else right
    result = np.float32(attributes.get("alpha", 1.0)) * (left @ right)
    if addend is None:
        return result
    return result + np.float32(attributes.get("beta", 1.0)) * addend


def _flatten(attributes, data):
    axis = attributes.get("axis", 1)
    axis += data.ndim if axis < 0 else 0
    return data.reshape(int(np.prod(data.shape[:axis], dtype=np.int64)), -1)


def _reshape(attributes, data, shape):
    keeps_zero = attributes.get("allowzero", 0)
    sizes = [
        data.shape[axis] if size == 0 and not keeps_zero else int(size)
        for axis, size in enumerate(shape)
    ]
    return data.reshape(sizes)


def _softmax(attributes, data):
    axis = attributes.get("axis", -1)
    exponentials = np.exp(data - data.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _leaky_relu(attributes, data):
    return np.where(data < 0, data * np.float32(attributes.get("alpha", 0.01)), data)


def _transposed_convolution(attributes, data, weights, bias=None):
    """Scatter form: every input adds its kernel to the output; then the padding is cut off."""
    group = attributes.get("group", 1)
    strides = attributes.get("strides", [1, 1])
    dilations = attributes.get("dilations", [1, 1])
    extra = attributes.get("output_padding", [0, 0])
    kernel = weights.shape[2:]
    batch, inputs = data.shape[:2]
    outputs = weights.shape[1]
    full = [
        (size - 1) * s + d * (k - 1) + 1 + more
        for size, s, d, k, more in zip(data.shape[2:], strides, dilations, kernel, extra)
    ]
    result = np.zeros((batch, group * outputs, *full), np.result_type(data, weights))
    grouped = data.reshape(batch, group, inputs // group, *data.shape[2:])
    matrices = weights.reshape(group, inputs // group, outputs, *kernel)
    for ky in range(kernel[0]):
        for kx in range(kernel[1]):
            part = np.einsum("bgihw,gio->bgohw", grouped, matrices[..., ky, kx])
            top, left = ky * dilations[0], kx * dilations[1]
            result[
                :,
                :,
                top : top + (data.shape[2] - 1) * strides[0] + 1 : strides[0],
                left : left + (data.shape[3] - 1) * strides[1] + 1 : strides[1],
            ] += part.reshape(batch, group * outputs, *data.shape[2:])
    pads = attributes.get("pads", [0, 0, 0, 0])
    auto_pad = attributes.get("auto_pad", "NOTSET")
    if "output_shape" in attributes or auto_pad.startswith("SAME"):
        wanted = attributes.get(
            "output_shape", [size * s for size, s in zip(data.shape[2:], strides)]
        )
        pads = [0] * 4
        for axis in range(2):
            total = max(full[axis] - wanted[axis], 0)
            small, large = total // 2, total - total // 2
            upper = auto_pad == "SAME_UPPER"
            pads[axis], pads[axis + 2] = (small, large) if upper else (large, small)
            missing = wanted[axis] - full[axis]
            if missing > 0:
                after = [(0, 0)] * 4
                after[axis + 2] = (0, missing)
                result = np.pad(result, after)
    height, width = result.shape[2:]
    result = result[:, :, pads[0] : height - pads[2], pads[1] : width - pads[3]]
    return result if bias is None else result + bias.reshape(1, -1, 1, 1)


def _reduce_mean(attributes, data):
    axes = attributes.get("axes")
    axes = None if axes is None else tuple(axes)
    return data.mean(axis=axes, keepdims=bool(attributes.get("keepdims", 1)))


def _concat(attributes, *tensors):
    return np.concatenate(tensors, axis=attributes["axis"])


def _slice(attributes, data, starts, ends, axes=None, steps=None):
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    index = [slice(None)] * data.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps):
        # A backward slice that ends before the first element has no such end in Python.
        end = int(end)
        if step < 0 and end < -data.shape[axis]:
            end = None
        index[axis] = slice(int(start), end, int(step))
    return data[tuple(index)]


def _split(attributes, data, sizes=None):
    axis = attributes.get("axis", 0)
    sizes = attributes.get("split") if sizes is None else sizes
    if sizes is None:
        sizes = [data.shape[axis] // attributes["num_outputs"]] * attributes["num_outputs"]
    return tuple(np.split(data, np.cumsum(sizes)[:-1], axis=axis))


def _resize_positions(attributes, length, scale, outputs):
    """Where each output lies on the input's axis, in pixels."""
    index = np.arange(outputs, dtype=np.float64)
    mode = attributes.get("coordinate_transformation_mode", "half_pixel")
    if mode == "asymmetric":
        return index / scale
    if mode == "align_corners":
        return index * (length - 1) / max(outputs - 1, 1)
    if mode == "tf_half_pixel_for_nn":
        return (index + 0.5) / scale
    if mode == "pytorch_half_pixel" and outputs == 1:
        return np.zeros(1)
    return (index + 0.5) / scale - 0.5


def _nearest(attributes, positions):
    mode = attributes.get("nearest_mode", "round_prefer_floor")
    return {
        "floor": np.floor(positions),
        "ceil": np.ceil(positions),
        "round_prefer_floor": np.ceil(positions - 0.5),
        "round_prefer_ceil": np.floor(positions + 0.5),
    }[mode]


def _resize(attributes, data, region=None, scales=None, sizes=None):
    """Modes nearest and linear, one axis after the other."""
    if sizes is None or len(sizes) == 0:
        sizes = [int(np.floor(length * s)) for length, s in zip(data.shape, scales)]
    else:
        scales = [size / length for size, length in zip(sizes, data.shape)]
    result = data
    for axis, (length, scale, outputs) in enumerate(zip(data.shape, scales, sizes)):
        if outputs == length and scale == 1:
            continue
        positions = _resize_positions(attributes, length, scale, int(outputs))
        if attributes.get("mode", "nearest") == "nearest":
            index = np.clip(_nearest(attributes, positions), 0, length - 1).astype(np.int64)
            result = np.take(result, index, axis=axis)
            continue
        positions = np.clip(positions, 0, length - 1)
        before = np.floor(positions).astype(np.int64)
        after = np.minimum(before + 1, length - 1)
        shape = [1] * data.ndim
        shape[axis] = -1
        weight = (positions - before).reshape(shape).astype(np.float32)
        result = np.take(result, before, axis=axis) * (1 - weight) + (
            np.take(result, after, axis=axis) * weight
        )
    return result


def _pad(attributes, data, pads=None, value=0):
    if pads is None:  # opset 10 and before
        pads, value = attributes["pads"], attributes.get("value", 0)
    count = data.ndim
    widths = [(int(pads[axis]), int(pads[axis + count])) for axis in range(count)]
    mode = attributes.get("mode", "constant")
    extra = {"constant_values": value} if mode == "constant" else {}
    return np.pad(data, widths, mode=mode, **extra)


def _per_channel(attributes, data, parameter):
    """Shapes a scale or zero point, one or one a channel, so that it broadcasts."""
    if parameter.size == 1:
        return parameter.reshape(())
    shape = [1] * data.ndim
    shape[attributes.get("axis", 1)] = -1
    return parameter.reshape(shape)


def _quantize(attributes, data, scale, zero=np.uint8(0)):
    """Rounds half to even, adds the zero point, saturates to its type."""
    limits = np.iinfo(zero.dtype)
    steps = np.rint(data / _per_channel(attributes, data, scale))
    steps = steps + _per_channel(attributes, data, zero).astype(np.float32)
    return np.clip(steps, limits.min, limits.max).astype(zero.dtype)


def _dequantize(attributes, data, scale, zero=np.uint8(0)):
    steps = data.astype(np.int64) - _per_channel(attributes, data, zero).astype(np.int64)
    return steps.astype(np.float32) * _per_channel(attributes, data, scale)


OPERATORS = {
    "Add": lambda attributes, left, right: left + right,
    "AveragePool": _average_pool,
    "BatchNormalization": _batch_normalization,
    "Clip": _clip,
    "Concat": _concat,
    "Conv": _convolution,
    "ConvTranspose": _transposed_convolution,
    "DequantizeLinear": _dequantize,
    "Div": lambda attributes, left, right: left / right,
    "Erf": lambda attributes, data: np.vectorize(math.erf, otypes=[np.float32])(data),
    "Flatten": _flatten,
    "Gather": lambda attributes, data, index: np.take(data, index, axis=attributes.get("axis", 0)),
    "Gemm": _gemm,
    "GlobalAveragePool": lambda attributes, data: data.mean(axis=(2, 3), keepdims=True),
    "GlobalMaxPool": lambda attributes, data: data.max(axis=(2, 3), keepdims=True),
    "Identity": lambda attributes, data: data,
    "LeakyRelu": _leaky_relu,
    "MatMul": lambda attributes, left, right: left @ right,
    "Max": lambda attributes, *tensors: functools.reduce(np.maximum, tensors),
    "MaxPool": _max_pool,
    "Min": lambda attributes, *tensors: functools.reduce(np.minimum, tensors),
    "Mul": lambda attributes, left, right: left * right,
    "Pad": _pad,
    "Pow": lambda attributes, left, right: left**right,
    "QuantizeLinear": _quantize,
    "ReduceMean": _reduce_mean,
    "Relu": lambda attributes, data: np.maximum(data, 0),
    "Reshape": _reshape,
    "Resize": _resize,
    "Sigmoid": lambda attributes, data: 1 / (1 + np.exp(-np.maximum(data, -80))),
    "Slice": _slice,
    "Softmax": _softmax,
    "Split": _split,
    "Sqrt": lambda attributes, data: np.sqrt(data),
    "Sub": lambda attributes, left, right: left - right,
    "Tanh": lambda attributes, data: np.tanh(data),
    "Transpose": lambda attributes, data: data.transpose(attributes.get("perm")),
}


def evaluate(operator, attributes, inputs):
    """Runs one operator. `inputs` are arrays, None where an optional one is absent.

    Returns the first output, or for Split a tuple of all. Raises KeyError for an operator outside
    OPERATORS.
    """
    result = OPERATORS[operator](attributes, *inputs)
    if isinstance(result, tuple):
        return result
    if operator in ("QuantizeLinear", "DequantizeLinear"):
        return result
    return np.ascontiguousarray(result, dtype=np.result_type(inputs[0]))


def _attributes(node):
    values = {}
    for attribute in node.attribute:
        value = onnx.helper.get_attribute_value(attribute)
        values[attribute.name] = value.decode() if isinstance(value, bytes) else value
    if node.op_type == "Split":
        values["num_outputs"] = len(node.output)  # an attribute from opset 18 on
    return values


class Network:
    """An ONNX graph ready to run. Running changes nothing in it, so threads may share one."""

    def __init__(self, model):
        """`model` is an onnx.ModelProto or the path of one."""
        if not isinstance(model, onnx.ModelProto):
            model = onnx.load(str(model))
        graph = model.graph
        self.constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        self.nodes = []
        for node in graph.node:
            if node.op_type == "Constant":
                (attribute,) = node.attribute
                self.constants[node.output[0]] = numpy_helper.to_array(attribute.t)
            else:
                self.nodes.append((node, _attributes(node)))
        self.input_names = [i.name for i in graph.input if i.name not in self.constants]
        self.output_names = [o.name for o in graph.output]
        unknown = {node.op_type for node, _ in self.nodes} - set(OPERATORS)
        if unknown:
            raise NotImplementedError("no float reference for " + ", ".join(sorted(unknown)))

    def run(self, inputs):
        """Returns every tensor of the graph by name, computed from `inputs` (name -> array)."""
        tensors = {"": None, **self.constants, **inputs}
        for node, attributes in self.nodes:
            arguments = [tensors[name] for name in node.input]
            result = evaluate(node.op_type, attributes, arguments)
            results = result if isinstance(result, tuple) else (result,)
            tensors.update(zip(node.output, results))
        return tensors

    def run_images(self, inputs, wanted=None):
        """Runs N images one after the other: arrays (N, ...) in, outputs stacked along N."""
        counts = {len(array) for array in inputs.values()}
        if len(counts) != 1:
            raise ValueError("the inputs hold different numbers of images")
        results = {}
        for index in range(counts.pop()):
            image = {
                name: array[index : index + 1].astype(np.float32) for name, array in inputs.items()
            }
            tensors = self.run(image)
            for name in wanted or self.output_names:
                results.setdefault(name, []).append(tensors[name])
        return {name: np.concatenate(arrays) for name, arrays in results.items()}


def main():
    parser = argparse.ArgumentParser(description="Runs an ONNX network in float32 with numpy.")
    parser.add_argument("model")
    parser.add_argument("--input", action="append", required=True, metavar="NAME=FILE.npy")
    parser.add_argument("--output-dir", type=pathlib.Path, required=True)
    parser.add_argument(
        "--every-tensor", action="store_true", help="write intermediate tensors as well"
    )
    options = parser.parse_args()
    pairs = [item.partition("=") for item in options.input]
    inputs = {name: np.load(path) for name, _, path in pairs}
    network = Network(options.model)
    if set(inputs) != set(network.input_names):
        sys.exit("float_reference: the network's inputs are " + ", ".join(network.input_names))
    wanted = network.output_names
    if options.every_tensor:
        wanted = [name for node, _ in network.nodes for name in node.output]
    options.output_dir.mkdir(parents=True, exist_ok=True)
    for name, array in network.run_images(inputs, wanted).items():
        np.save(options.output_dir / (name.replace("/", "_") + ".npy"), array)


if __name__ == "__main__":
    main()
