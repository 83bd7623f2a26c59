# SPDX-License-Identifier: MIT
"""Steps of random quantised networks (random_qdq.py): each adds an operator and quantises it."""

import numpy as np

import quantised_definition as definition
import quantised_weights
from quantised_weights import quantised_constant, window


def _function(operator, **choices):
    def step(b):
        x = b.some()
        attributes = {name: b.pick(*values) for name, values in choices.items()}
        b.quantise(b.float(operator, [x.real], **attributes), operator, like=x)

    return step


def _clip(b):
    x = b.some()
    low, high = sorted(b.random.normal(0, 2, 2).astype(np.float32))
    b.quantise(b.float("Clip", [x.real, b.constant(low), b.constant(high)]), "Clip", like=x)


def _bounded(operator, low, high=1e9):
    """Makes a step that computes `operator` of numbers between `low` and `high`."""

    def step(b):
        x = b.some()
        limits = [b.constant(np.float32(low)), b.constant(np.float32(high))]
        clipped = b.float("Clip", [x.real, *limits])
        b.quantise(b.float(operator, [clipped]), operator)

    return step


def _hard_swish(b):
    x = b.some()
    sigmoid = b.float("HardSigmoid", [x.real], alpha=1 / 6, beta=0.5)
    b.quantise(b.float("Mul", [x.real, sigmoid]), "HardSigmoid, Mul", like=x)


def _silu(b):
    """Computes SiLU with a sigmoid that is quantised too."""
    x = b.some()
    sigmoid = b.quantise(b.float("Sigmoid", [x.real]), "Sigmoid")
    b.quantise(b.float("Mul", [x.real, sigmoid.real]), "Mul", like=x)


def _requantise(b):
    x = b.some()
    b.quantise(x.real, "QuantizeLinear", like=x)


def _two_readers(b):
    """Quantises one float tensor in two ways."""
    x = b.some()
    real = b.float("LeakyRelu", [x.real], alpha=0.1)
    b.quantise(real, "LeakyRelu")
    b.quantise(real, "LeakyRelu")


def _read_otherwise(b):
    """Adds a DequantizeLinear whose scale and zero point are not those the codes were made with."""
    x = b.some()
    scale, zero = b.quantisation(b.random.normal(0, 3, 50))
    other = b.codes(x.name, scale, zero)
    b.known.pop()
    b.quantise(b.float("Relu", [other.real]), "Relu of codes read otherwise")


def _other(b, x):
    """Returns an operand of the shape of x, or one that broadcasts to it, and whether it is
    constant."""
    shape = b.shape(x)
    kind = b.below(6)
    if kind < 3:
        same = [t for t in b.known if b.shape(t) == shape and t.name.startswith("q")]
        return (b.pick(*same) if same and b.chance(0.5) else b.input(shape)).real, False
    shape = [(1 if b.chance(0.3) else size) for size in shape]
    if kind == 3 and len(shape) == 4:
        shape = [1, shape[1], 1, 1]
    array = b.random.normal(0, 1, shape).astype(np.float32)
    if kind == 5:
        return b.constant(np.float32(b.random.normal())), True
    return quantised_constant(b, array)[0], True


def _binary(operator):
    def step(b):
        x = b.some()
        other, is_constant = _other(b, x)
        pair = [x.real, other]
        if b.chance(0.5):
            pair.reverse()
        has_bias = is_constant and operator in ("Add", "Sub")
        label = f"{operator} of a constant" if has_bias else operator
        b.quantise(b.float(operator, pair), label, like=x)

    return step


def _div(b):
    x = b.some()
    y = b.input(b.shape(x))
    away = b.quantise(b.float("Abs", [y.real]), "Abs")
    one = b.quantise(b.float("Add", [away.real, b.constant(np.float32(1))]), "Add")
    b.quantise(b.float("Div", [x.real, one.real]), "Div")


def _parametric_relu(b):
    x = b.some(rank=4)
    slope = b.random.uniform(-0.5, 0.9, (b.shape(x)[1], 1, 1)).astype(np.float32)
    b.quantise(b.float("PRelu", [x.real, b.constant(slope)]), "PRelu", like=x)


def _concat(b):
    x = b.some(rank=4)
    axis = b.below(1, 4)
    parts = [x]
    for _ in range(b.below(1, 4)):
        if b.chance(0.25):
            parts.append(b.pick(*[t for t in b.known if b.values[t.real].ndim == 4]))
            if any(p != axis and s != o for p, (s, o) in
                   enumerate(zip(b.shape(parts[-1]), b.shape(x)))):  # fmt: skip
                parts.pop()
            continue
        shape = list(b.shape(x))
        shape[axis] = b.below(1, 6)
        part = b.input(shape)
        if b.chance(0.3):
            part = b.quantise(b.float("Sigmoid", [part.real]), "Sigmoid")
        parts.append(part)
    if len(parts) < 2:
        parts.append(x)
    return x, axis, parts


def _concat_qdq(b):
    x, axis, parts = _concat(b)
    names = [part.real for part in parts]
    if b.chance(0.2):
        shape = list(b.shape(x))
        shape[axis] = 2
        constant = quantised_constant(b, b.random.normal(0, 1, shape).astype(np.float32))
        names.insert(b.below(len(names) + 1), constant[0])
    b.quantise(b.float("Concat", names, axis=axis), "Concat", like=x)


def _concat_quantised(b):
    x, axis, parts = _concat(b)
    inputs = [name for part in parts for name in b.operand(part)]
    real = np.concatenate([b.values[part.real] for part in parts], axis=axis)
    b.quantised_operator("QLinearConcat", inputs, real, output_first=True, like=x, axis=axis)


def _concat_of_two_readers(b):
    """Adds a concatenation that is quantised twice, differently, or that is also read in float."""
    x, axis, parts = _concat(b)
    real = b.float("Concat", [part.real for part in parts], axis=axis)
    b.quantise(real, "Concat")
    b.quantise(b.float("Relu", [real]), "Concat, Relu")


def _max_pool(b):
    x = b.some(rank=4)
    b.quantise(b.float("MaxPool", [x.real], **window(b, b.shape(x))), "MaxPool", like=x)


def _average_attributes(b, x):
    attributes = window(b, b.shape(x))
    if b.chance(0.3):
        attributes["count_include_pad"] = 1
    if b.chance(0.2):
        attributes["ceil_mode"] = 1
        attributes["pads"] = [0, 0, 0, 0]
        attributes["strides"] = [min(pair) for pair in
                                 zip(attributes["strides"], attributes["kernel_shape"])]  # fmt: skip
    return attributes


def _average_pool(b):
    x = b.some(rank=4)
    pooled = b.float("AveragePool", [x.real], **_average_attributes(b, x))
    b.quantise(pooled, "AveragePool", like=x)


def _average_pool_quantised(b):
    x = b.some(rank=4)
    attributes = _average_attributes(b, x)
    real = definition.evaluate("AveragePool", attributes, [b.values[x.real]])[0]
    b.quantised_operator("QLinearAveragePool", b.operand(x), real, like=x, **attributes)


def _global_pool(operator):
    def step(b):
        x = b.some(rank=4)
        b.quantise(b.float(operator, [x.real]), operator, like=x)

    return step


def _global_average_quantised(b):
    x = b.some(rank=4)
    real = definition.evaluate("GlobalAveragePool", {}, [b.values[x.real]])[0]
    b.quantised_operator("QLinearGlobalAveragePool", b.operand(x), real, like=x)


def _reduce(operator):
    def step(b):
        x = b.some(rank=4)
        axes = b.pick([2, 3], [1], [3], [2])
        if operator == "ReduceSum":
            real = b.float(operator, [x.real, b.constant(np.array(axes, np.int64))])
        else:
            real = b.float(operator, [x.real], axes=axes)
        b.quantise(real, operator, like=x)

    return step


def _resize(b):
    x = b.some(rank=4)
    mode = b.pick("nearest", "linear", "linear")
    scales = [1, 1, *[b.pick(2, 2, 3, 1.5, 0.5) for _ in range(2)]]
    shape = [int(np.floor(size * s)) for size, s in zip(b.shape(x), scales)]
    if min(shape) < 1:
        return
    attributes = {"mode": mode}
    attributes["coordinate_transformation_mode"] = b.pick(
        "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"
    )
    if mode == "nearest":
        attributes["nearest_mode"] = b.pick("floor", "round_prefer_floor")
    inputs = [x.real, "", b.constant(np.array(scales, np.float32))]
    real = b.float("Resize", inputs, **attributes)
    b.quantise(real, f"Resize, {mode}", like=x)


def _softmax(operator):
    def step(b):
        x = b.some()
        b.quantise(b.float(operator, [x.real], axis=b.pick(1, -1)), operator)

    return step


def _layer_normalisation(b):
    x = b.some(rank=3)
    size = b.shape(x)[-1]
    mean = b.float("ReduceMean", [x.real], axes=[-1])
    centred = b.float("Sub", [x.real, mean])
    square = b.float("Mul", [centred, centred])
    variance = b.float("ReduceMean", [square], axes=[-1])
    more = b.float("Add", [variance, b.constant(np.float32(1e-5))])
    result = b.float("Div", [centred, b.float("Sqrt", [more])])
    weights = b.random.normal(1, 0.2, size).astype(np.float32)
    b.quantise(b.float("Mul", [result, b.constant(weights)]), "LayerNormalization (in parts)")


def _pad(b):
    x = b.some(rank=4)
    pads = np.array([0, b.pick(0, 0, 1), b.below(3), b.below(2)] + [0, 0, b.below(2), b.below(3)])
    value = np.float32(b.pick(0, b.random.normal(), b.random.normal() * 100))
    real = b.float("Pad", [x.real, b.constant(pads.astype(np.int64)), b.constant(value)])
    b.quantise(real, "Pad", like=x)


def _moved(operator):
    """Makes a step that only moves elements and then quantises them, now and then differently."""

    def step(b):
        x = b.some(rank=4)
        batch, channels, height, width = b.shape(x)
        if operator == "Transpose":
            real = b.float(operator, [x.real], perm=[0, *b.random.permutation([1, 2, 3]).tolist()])
        elif operator == "Slice":
            numbers = [[0, 0], [channels, max(height - 1, 1)], [1, 2]]
            numbers = [b.constant(np.array(n, np.int64)) for n in numbers]
            real = b.float(operator, [x.real, *numbers])
        elif operator == "Reshape":
            shape = np.array([1, channels, height * width], np.int64)
            real = b.float(operator, [x.real, b.constant(shape)])
        elif operator == "Gather":
            index = b.random.integers(0, channels, b.below(1, 5))
            real = b.float(operator, [x.real, b.constant(index)], axis=1)
        elif operator == "Expand":
            mean = b.quantise(b.float("ReduceMax", [x.real], axes=[2, 3]), "ReduceMax", like=x)
            real = b.float(operator, [mean.real, b.constant(np.array([1, channels, 3, 2]))])
        elif operator == "Tile":
            real = b.float(operator, [x.real, b.constant(np.array([1, 1, 2, 1], np.int64))])
        b.quantise(real, operator, like=x)

    return step


def _split(b):
    x = b.some(rank=4, fits=lambda shape: shape[1] > 1)
    channels = b.shape(x)[1]
    if channels < 2:
        return
    first = b.below(1, channels)
    sizes = b.constant(np.array([first, channels - first], np.int64))
    for real in b.float("Split", [x.real, sizes], count=2, axis=1):
        b.quantise(real, "Split", like=x)


def _binary_quantised(operator):
    def step(b):
        x = b.some()
        y = b.input(b.shape(x))
        function = np.add if operator == "QLinearAdd" else np.multiply
        real = function(b.values[x.real].astype(np.float64), b.values[y.real])
        b.quantised_operator(operator, b.operand(x) + b.operand(y), real, like=x)

    return step


def _sigmoid_quantised(b):
    x = b.some()
    real = definition.evaluate("Sigmoid", {}, [b.values[x.real]])[0]
    b.quantised_operator("QLinearSigmoid", b.operand(x), real)


def _leaky_quantised(b):
    x = b.some()
    real = definition.evaluate("LeakyRelu", {"alpha": 0.1}, [b.values[x.real]])[0]
    b.quantised_operator("QLinearLeakyRelu", b.operand(x), real, like=x, alpha=0.1)


STEPS = {
    **quantised_weights.STEPS,
    "Relu": _function("Relu"),
    "LeakyRelu": _function("LeakyRelu", alpha=[0.01, 0.3, 1.5]),
    "Sigmoid": _function("Sigmoid"),
    "Tanh": _function("Tanh"),
    "Elu": _function("Elu", alpha=[1.0, 0.5]),
    "HardSigmoid": _function("HardSigmoid", alpha=[0.2, 0.1666667]),
    "Abs": _function("Abs"),
    "Neg": _function("Neg"),
    "Erf": _function("Erf"),
    "Softplus": _function("Softplus"),
    "Exp": _bounded("Exp", -9, 5),
    "Round": _function("Round"),
    "Clip": _clip,
    "Sqrt": _bounded("Sqrt", 0),
    "Log": _bounded("Log", 0.5),
    "HardSwish": _hard_swish,
    "SiLU": _silu,
    "QuantizeLinear": _requantise,
    "two readers": _two_readers,
    "read otherwise": _read_otherwise,
    "Add": _binary("Add"),
    "Sub": _binary("Sub"),
    "Mul": _binary("Mul"),
    "Max": _binary("Max"),
    "Min": _binary("Min"),
    "Div": _div,
    "PRelu": _parametric_relu,
    "Concat": _concat_qdq,
    "Concat again": _concat_qdq,
    "Concat of two readers": _concat_of_two_readers,
    "QLinearConcat": _concat_quantised,
    "MaxPool": _max_pool,
    "AveragePool": _average_pool,
    "QLinearAveragePool": _average_pool_quantised,
    "GlobalAveragePool": _global_pool("GlobalAveragePool"),
    "GlobalMaxPool": _global_pool("GlobalMaxPool"),
    "QLinearGlobalAveragePool": _global_average_quantised,
    "ReduceMean": _reduce("ReduceMean"),
    "ReduceSum": _reduce("ReduceSum"),
    "ReduceMax": _reduce("ReduceMax"),
    "Resize": _resize,
    "Softmax": _softmax("Softmax"),
    "LogSoftmax": _softmax("LogSoftmax"),
    "LayerNormalization": _layer_normalisation,
    "Pad": _pad,
    "Transpose": _moved("Transpose"),
    "Slice": _moved("Slice"),
    "Reshape": _moved("Reshape"),
    "Gather": _moved("Gather"),
    "Expand": _moved("Expand"),
    "Tile": _moved("Tile"),
    "Split": _split,
    "QLinearAdd": _binary_quantised("QLinearAdd"),
    "QLinearMul": _binary_quantised("QLinearMul"),
    "QLinearSigmoid": _sigmoid_quantised,
    "QLinearLeakyRelu": _leaky_quantised,
}
