# SPDX-License-Identifier: MIT
"""Steps of random quantised networks with weights: convolutions and products of matrices."""

import numpy as np
from onnx import helper

import quantised_definition as definition


def quantised_constant(b, array, kind=None, symmetric=False, axis=None, only_real=True):
    """Returns DequantizeLinear of a constant, or the names of its codes, scale and zero point."""
    kind = np.dtype(kind or b.kind)
    limits = np.iinfo(kind)
    axes = None if axis is None else tuple(i for i in range(array.ndim) if i != axis)
    low = np.minimum(array.min(axis=axes, keepdims=True), 0)
    high = np.maximum(array.max(axis=axes, keepdims=True), 0)
    scale = np.maximum((high - low) / 255, 1e-6).astype(np.float32)
    zero = np.rint(limits.min - low / scale)
    if symmetric:
        scale = np.maximum(np.maximum(high, -low) / 127, 1e-6).astype(np.float32)
        zero = np.full(scale.shape, (limits.min + limits.max + 1) // 2)
    zero = np.clip(zero, limits.min, limits.max)
    codes = np.clip(np.rint(array / scale) + zero, limits.min, limits.max).astype(kind)
    size = () if axis is None else (-1,)
    scale, zero = scale.reshape(size), zero.astype(kind).reshape(size)
    names = [b.constant(codes, "codes"), b.constant(scale, "scale"), b.constant(zero, "zero")]
    if not only_real:
        return names, definition.dequantised(codes, scale, zero, axis or 0), scale
    real = f"weights{len(b.nodes)}"
    attributes = {} if axis is None else {"axis": axis}
    b.nodes.append(helper.make_node("DequantizeLinear", names, [real], **attributes))
    b.values[real] = definition.dequantised(codes, scale, zero, axis or 0)
    return real, scale


def window(b, shape, strides=True):
    kernel = [b.below(1, min(4, size + 1)) for size in shape[2:]]
    pads = [b.below(0, (k + 1) // 2) if k > 1 else 0 for k in kernel]
    attributes = {"kernel_shape": kernel, "pads": [*pads, *pads]}
    if strides:
        attributes["strides"] = [b.below(1, 3), b.below(1, 3)]
    return attributes


def _weights(b, array, axis, only_real=True):
    """Makes weights as quantisers write them: of either type, per channel or not, with any zero
    point."""
    axis = axis if b.chance(0.6) else None
    symmetric = b.chance(0.6)
    kind = b.pick(np.int8, np.int8, np.uint8)
    return quantised_constant(b, array.astype(np.float32), kind, symmetric, axis, only_real)


def _bias(b, x, scale, size, beta=1.0):
    """Makes a bias: int32 in steps of the product of both scales, or float, or none."""
    kind = b.below(4)
    if kind == 0:
        return []
    step = np.float64(x.scale) * scale
    steps = b.random.integers(-20000, 20000, size)
    if kind == 1:
        return [b.constant((steps * step * 1.01).astype(np.float32))]
    step = step.astype(np.float32)
    names = [b.constant(steps.astype(np.int32)), b.constant(step),
             b.constant(np.zeros(np.shape(step), np.int32))]  # fmt: skip
    real = f"bias{len(b.nodes)}"
    attributes = {"axis": 0} if np.size(step) > 1 else {}
    b.nodes.append(helper.make_node("DequantizeLinear", names, [real], **attributes))
    b.values[real] = definition.dequantised(b.values[names[0]], step, np.int32(0), 0)
    return [real]


def _convolution_attributes(b, x, same=False):
    shape = b.shape(x)
    if same:
        return {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    attributes = window(b, shape)
    if b.chance(0.2):
        attributes["dilations"] = [
            d if (k - 1) * d < size else 1
            for d, k, size in zip([2, 2], attributes["kernel_shape"], shape[2:])
        ]
    return attributes


def _group(b, channels):
    return b.pick(1, 1, channels, b.pick(*[d for d in range(1, channels + 1) if channels % d == 0]))


def _convolved(b, x, outputs, operator, same=False):
    channels = b.shape(x)[1]
    attributes = _convolution_attributes(b, x, same)
    group = 1 if same else _group(b, channels)
    outputs = outputs if same else group * b.below(1, 5)
    shape = (outputs, channels // group, *attributes["kernel_shape"])
    real, scale = _weights(b, b.random.normal(0, 0.5, shape), 0)
    return b.float(operator, [x.real, real, *_bias(b, x, scale, outputs)], group=group,
                   **attributes)  # fmt: skip


def _conv(b):
    x = b.some(rank=4)
    real = _convolved(b, x, 0, "Conv")
    label = "Conv"
    if b.chance(0.3):
        real, label = b.float("Relu", [real]), "Conv, Relu"
    b.quantise(real, label)


def _conv_and_function(b):
    """Adds a convolution and a function; the model gives no quantisation between the two."""
    x = b.some(rank=4)
    real = _convolved(b, x, 0, "Conv")
    if b.chance(0.5):
        b.quantise(b.float("Sigmoid", [real]), "Conv, Sigmoid")
    else:
        b.quantise(b.float("Mul", [real, b.float("Sigmoid", [real])]), "Conv, Sigmoid, Mul")


def _transposed(b):
    x = b.some(rank=4)
    channels = b.shape(x)[1]
    group = _group(b, channels)
    kernel = [b.below(2, 4), b.below(2, 4)]
    outputs = b.below(1, 5)
    array = b.random.normal(0, 0.5, (channels, outputs, *kernel))
    real, scale = _weights(b, array, 1 if group == 1 else None)
    strides = [b.below(1, 3), b.below(1, 3)]
    bias = _bias(b, x, scale, group * outputs)
    result = b.float("ConvTranspose", [x.real, real, *bias], group=group, strides=strides,
                     kernel_shape=kernel)  # fmt: skip
    b.quantise(result, "ConvTranspose")


def _gemm(b):
    x = b.some(rank=2)
    outputs, features = b.below(1, 12), b.shape(x)[1]
    transposed = b.chance(0.6)
    shape = (outputs, features) if transposed else (features, outputs)
    real, scale = _weights(b, b.random.normal(0, 0.5, shape), 0 if transposed else 1)
    attributes = {"transB": 1} if transposed else {}
    b.quantise(b.float("Gemm", [x.real, real, *_bias(b, x, scale, outputs)], **attributes), "Gemm")


def _mat_mul(b):
    x = b.some(rank=b.pick(2, 3))
    real, _ = _weights(b, b.random.normal(0, 0.5, (b.shape(x)[-1], b.below(1, 12))), 1)
    b.quantise(b.float("MatMul", [x.real, real]), "MatMul")


def _mat_mul_computed(b):
    x = b.some(rank=3)
    y = b.input((1, b.shape(x)[-1], b.below(1, 8)))
    b.quantise(b.float("MatMul", [x.real, y.real]), "MatMul of computed tensors")


def _conv_quantised(b):
    x = b.some(rank=4)
    channels = b.shape(x)[1]
    attributes = _convolution_attributes(b, x)
    group = _group(b, channels)
    outputs = group * b.below(1, 5)
    shape = (outputs, channels // group, *attributes["kernel_shape"])
    names, weights, scale = _weights(b, b.random.normal(0, 0.5, shape), 0, only_real=False)
    inputs = [b.values[x.real], weights]
    after = []
    if b.chance(0.7):
        steps = b.random.integers(-20000, 20000, outputs).astype(np.int32)
        after = [b.constant(steps)]
        inputs.append(steps * (np.float64(x.scale) * scale))
    attributes["group"] = group
    real = definition.evaluate("Conv", attributes, inputs)[0]
    b.quantised_operator("QLinearConv", [*b.operand(x), *names], real, domain="", after=after,
                         **attributes)  # fmt: skip


def _mat_mul_quantised(b):
    x = b.some(rank=b.pick(2, 3))
    if b.chance(0.3):
        y = b.input((*([1] * (b.values[x.name].ndim - 2)), b.shape(x)[-1], b.below(1, 8)))
        if b.values[x.name].ndim == 3:
            real = b.values[x.real] @ b.values[y.real]
            label = "QLinearMatMul of computed tensors"
            b.quantised_operator("QLinearMatMul", b.operand(x) + b.operand(y), real, label,
                                 domain="")  # fmt: skip
            return
    shape = (b.shape(x)[-1], b.below(1, 12))
    names, weights, _ = _weights(b, b.random.normal(0, 0.5, shape), 1, only_real=False)
    real = definition.evaluate("MatMul", {}, [b.values[x.real], weights])[0]
    b.quantised_operator("QLinearMatMul", [*b.operand(x), *names], real, domain="")


def _gemm_quantised(b):
    x = b.some(rank=2)
    outputs, features = b.below(1, 12), b.shape(x)[1]
    transposed = b.chance(0.6)
    shape = (outputs, features) if transposed else (features, outputs)
    names, weights, scale = _weights(
        b, b.random.normal(0, 0.5, shape), 0 if transposed else 1, only_real=False
    )
    attributes = {"transB": int(transposed), "alpha": float(b.pick(1.0, 1.0, 0.5))}
    inputs = [b.values[x.real], weights]
    bias = ""
    if b.chance(0.7):
        steps = b.random.integers(-20000, 20000, outputs).astype(np.int32)
        bias = b.constant(steps)
        inputs.append(steps * (np.float64(x.scale) * scale * attributes["alpha"]))
    real = definition.evaluate("Gemm", attributes, inputs)[0]
    b.quantised_operator("QGemm", [*b.operand(x), *names, bias], real, **attributes)


def _residual(b):
    x = b.some(rank=4)
    channels = b.shape(x)[1]
    conv = b.quantise(_convolved(b, x, channels, "Conv", same=True), "Conv")
    total = b.float("Add", [conv.real, x.real])
    if b.chance(0.6):
        total = b.float("Relu", [total])
        b.quantise(total, "Add, Relu")
    else:
        b.quantise(total, "Add")


STEPS = {
    "residual": _residual,
    "Conv": _conv,
    "Conv and function": _conv_and_function,
    "ConvTranspose": _transposed,
    "Gemm": _gemm,
    "MatMul": _mat_mul,
    "MatMul of computed tensors": _mat_mul_computed,
    "QLinearConv": _conv_quantised,
    "QLinearMatMul": _mat_mul_quantised,
    "QGemm": _gemm_quantised,
}
