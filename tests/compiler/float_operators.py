# SPDX-License-Identifier: MIT
"""Float operators of ONNX for random networks, beside those of models/float_reference.py.

Importing this makes float_reference know them: windows over any number of axes, and what the
networks of models/ do not need. Truth values and positions are reals here.
"""

import functools

import numpy as np
import onnx

import overtake_command  # noqa: F401, where float_reference is
import float_reference
from recurrences import recurrence


def _padding(attributes, sizes, reach, strides):
    """Returns the numbers of elements in front and behind, axis by axis."""
    axes = len(sizes)
    automatic = attributes.get("auto_pad", "NOTSET")
    pads = attributes.get("pads", [0] * 2 * axes)
    result = []
    for axis in range(axes):
        before, behind = pads[axis], pads[axis + axes]
        if automatic != "NOTSET":
            wanted = -(-sizes[axis] // strides[axis])
            total = max((wanted - 1) * strides[axis] + reach[axis] - sizes[axis], 0)
            total = 0 if automatic == "VALID" else total
            before = total // 2 if automatic == "SAME_UPPER" else total - total // 2
            behind = total - before
        result.append((before, behind))
    return result


class _Window:
    """The windows that convolutions and pools have in common."""

    def __init__(self, attributes, sizes, kernel):
        axes = len(sizes)
        self.kernel = list(kernel)
        self.strides = attributes.get("strides", [1] * axes)
        self.dilations = attributes.get("dilations", [1] * axes)
        self.reach = [(k - 1) * d + 1 for k, d in zip(kernel, self.dilations)]
        self.padding = _padding(attributes, sizes, self.reach, self.strides)
        self.beyond = [0] * axes  # elements that ceil_mode looks at behind the padding
        if attributes.get("ceil_mode", 0):
            self.beyond = [
                -(size + sum(pads) - reach) % stride
                for size, pads, reach, stride in zip(
                    sizes, self.padding, self.reach, self.strides
                )
            ]

    def of(self, data, fill=0.0, beyond=None):
        """Returns the windows' elements as (batch, channels, windows..., kernel...)."""
        widths = [(0, 0), (0, 0), *self.padding]
        data = np.pad(data, widths, constant_values=fill)
        widths = [(0, 0), (0, 0), *[(0, more) for more in self.beyond]]
        data = np.pad(data, widths, constant_values=fill if beyond is None else beyond)
        axes = tuple(range(2, data.ndim))
        view = np.lib.stride_tricks.sliding_window_view(data, self.reach, axis=axes)
        step = [slice(None, None, stride) for stride in self.strides]
        tap = [slice(None, None, dilation) for dilation in self.dilations]
        return view[(slice(None), slice(None), *step, *tap)]


def _convolution(attributes, data, weights, bias=None):
    if data.ndim == 4:
        return float_reference._convolution(attributes, data, weights, bias)
    group = attributes.get("group", 1)
    windows = _Window(attributes, data.shape[2:], weights.shape[2:]).of(data)
    batch, channels, *rest = windows.shape
    windows = windows.reshape(batch, group, channels // group, *rest)
    weights = weights.reshape(group, -1, *weights.shape[1:])
    axes = data.ndim - 2
    places, taps = "xyz"[:axes], "klm"[:axes]
    result = np.einsum(f"bgi{places}{taps},goi{taps}->bgo{places}", windows, weights)
    result = result.reshape(batch, -1, *rest[:axes])
    return result if bias is None else result + bias.reshape(-1, *[1] * axes)


def _transposed_convolution(attributes, data, weights, bias=None):
    if data.ndim == 4:
        return float_reference._transposed_convolution(attributes, data, weights, bias)
    axes = data.ndim - 2
    group = attributes.get("group", 1)
    strides = attributes.get("strides", [1] * axes)
    dilations = attributes.get("dilations", [1] * axes)
    extra = attributes.get("output_padding", [0] * axes)
    pads = attributes.get("pads", [0] * 2 * axes)
    kernel = weights.shape[2:]
    full = [
        (size - 1) * s + (k - 1) * d + 1 + more
        for size, s, d, k, more in zip(data.shape[2:], strides, dilations, kernel, extra)
    ]
    batch, inputs = data.shape[:2]
    result = np.zeros((batch, group, weights.shape[1], *full))
    grouped = data.reshape(batch, group, inputs // group, *data.shape[2:])
    matrices = weights.reshape(group, inputs // group, weights.shape[1], *kernel)
    for tap in np.ndindex(*kernel):
        target = [
            slice(at * d, at * d + (size - 1) * s + 1, s)
            for at, d, size, s in zip(tap, dilations, data.shape[2:], strides)
        ]
        matrix = matrices[(slice(None), slice(None), slice(None), *tap)]
        result[(Ellipsis, *target)] += np.einsum("bgi...,gio->bgo...", grouped, matrix)
    crop = [slice(before, size - after) for size, before, after in zip(full, pads, pads[axes:])]
    result = result.reshape(batch, -1, *full)[(slice(None), slice(None), *crop)]
    return result if bias is None else result + bias.reshape(-1, *[1] * axes)


def _max_pool(attributes, data):
    axes = data.ndim - 2
    window = _Window(attributes, data.shape[2:], attributes["kernel_shape"])
    order = "F" if attributes.get("storage_order", 0) else "C"
    numbers = np.arange(np.prod(data.shape[2:])).reshape(data.shape[2:], order=order)
    bases = np.arange(np.prod(data.shape[:2])) * numbers.size
    numbers = bases.reshape(data.shape[:2] + (1,) * axes) + numbers
    taps = window.of(data, -np.inf)
    first = taps.shape[: 2 + axes] + (-1,)
    taps, places = taps.reshape(first), window.of(numbers, -1).reshape(first)
    best = taps.argmax(axis=-1)[..., None]
    return (np.take_along_axis(taps, best, -1)[..., 0],
            np.take_along_axis(places, best, -1)[..., 0].astype(np.float32))  # fmt: skip


def _average_pool(attributes, data):
    """Padding that ceil_mode adds never counts; explicit padding counts if the attribute is set."""
    axes = tuple(range(data.ndim, 2 * data.ndim - 2))
    window = _Window(attributes, data.shape[2:], attributes["kernel_shape"])
    counts = window.of(np.ones_like(data), float(attributes.get("count_include_pad", 0)), 0.0)
    return window.of(data).sum(axis=axes) / counts.sum(axis=axes)


def _cubic(attributes, data, region=None, scales=None, sizes=None):
    """Computes Resize of mode cubic."""
    if sizes is None or len(sizes) == 0:
        sizes = [int(np.floor(length * s)) for length, s in zip(data.shape, scales)]
    else:
        scales = [size / length for size, length in zip(sizes, data.shape)]
    a = attributes.get("cubic_coeff_a", -0.75)
    result = data.astype(np.float64)
    for axis, (length, scale, outputs) in enumerate(zip(data.shape, scales, sizes)):
        if outputs == length and scale == 1:
            continue
        positions = float_reference._resize_positions(attributes, length, scale, int(outputs))
        floor = np.floor(positions).astype(np.int64)
        total, weight_sum = 0, 0
        for tap in range(-1, 3):
            at = floor + tap
            x = np.abs(positions - at)
            near = (a + 2) * x**3 - (a + 3) * x**2 + 1
            far = a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a
            weight = np.where(x <= 1, near, np.where(x < 2, far, 0))
            if attributes.get("exclude_outside", 0):
                weight = np.where((at < 0) | (at >= length), 0, weight)
            shape = [1] * data.ndim
            shape[axis] = -1
            part = np.take(result, np.clip(at, 0, length - 1), axis=axis)
            total = total + part * weight.reshape(shape)
            weight_sum = weight_sum + weight.reshape(shape)
        result = total / weight_sum
    return result


def _resize(attributes, data, *parameters):
    cubic = attributes.get("mode", "nearest") == "cubic"
    return (_cubic if cubic else float_reference._resize)(attributes, data, *parameters)


def _depth_to_space(attributes, data):
    block = attributes["blocksize"]
    batch, channels, height, width = data.shape
    few = channels // block**2
    if attributes.get("mode", "DCR") == "DCR":
        parts = data.reshape(batch, block, block, few, height, width)
        parts = parts.transpose(0, 3, 4, 1, 5, 2)
    else:
        parts = data.reshape(batch, few, block, block, height, width)
        parts = parts.transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(batch, few, height * block, width * block)


def _space_to_depth(attributes, data):
    block = attributes["blocksize"]
    batch, channels, height, width = data.shape
    parts = data.reshape(batch, channels, height // block, block, width // block, block)
    parts = parts.transpose(0, 3, 5, 1, 2, 4)
    return parts.reshape(batch, channels * block**2, height // block, width // block)


def _layer_normalisation(attributes, data, scale=None, bias=None):
    axis = attributes.get("axis", -1) % data.ndim
    axes = tuple(range(axis, data.ndim))
    centred = data - data.mean(axis=axes, keepdims=True)
    variance = (centred**2).mean(axis=axes, keepdims=True)
    result = centred / np.sqrt(variance + attributes.get("epsilon", 1e-5))
    result = result if scale is None else result * scale
    return result if bias is None else result + bias


def _instance_normalisation(attributes, data, scale, bias):
    axes = tuple(range(2, data.ndim))
    centred = data - data.mean(axis=axes, keepdims=True)
    variance = (centred**2).mean(axis=axes, keepdims=True)
    column = (-1, *[1] * len(axes))
    result = centred / np.sqrt(variance + attributes.get("epsilon", 1e-5))
    return result * scale.reshape(column) + bias.reshape(column)


def _log_softmax(attributes, data):
    axis = attributes.get("axis", -1)
    shifted = data.astype(np.float64) - data.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def _axes(attributes, data, axes):
    axes = attributes.get("axes") if axes is None else axes
    return tuple(range(data.ndim)) if axes is None else tuple(int(axis) for axis in axes)


def _reduction(function):
    def run(attributes, data, axes=None):
        keeps = bool(attributes.get("keepdims", 1))
        return function(data.astype(np.float64), _axes(attributes, data, axes), keeps)

    return run


def _squeeze(attributes, data, axes=None):
    axes = attributes.get("axes") if axes is None else axes
    return np.squeeze(data, None if axes is None else tuple(int(axis) for axis in axes))


def _unsqueeze(attributes, data, axes=None):
    return np.expand_dims(data, _axes(attributes, data, axes))


def _position(function):
    def run(attributes, data):
        axis = attributes.get("axis", 0)
        if attributes.get("select_last_index", 0):
            found = data.shape[axis] - 1 - function(np.flip(data, axis), axis)
        else:
            found = function(data, axis)
        return np.expand_dims(found, axis) if attributes.get("keepdims", 1) else found

    return run


def _top_k(attributes, data, count):
    axis = attributes.get("axis", -1)
    order = np.argsort(-data if attributes.get("largest", 1) else data, axis=axis, kind="stable")
    order = np.take(order, np.arange(int(np.ravel(count)[0])), axis=axis)
    return np.take_along_axis(data, order, axis), order.astype(np.float32)


def _made_constant(attributes, shape):
    value = onnx.numpy_helper.to_array(attributes["value"])
    return np.full([int(size) for size in shape], value[0])


def _split_to_sequence(attributes, data, sizes):
    axis = attributes.get("axis", 0)
    return (np.split(data, np.cumsum(sizes.astype(np.int64))[:-1], axis=axis),)


def _suppression(attributes, boxes, scores, most, overlap, least):
    """Returns as many rows as there may be; those that are not used hold -1."""
    kinds, count = scores.shape[1], min(int(most[0]), boxes.shape[1])
    rows = np.full((kinds * count, 3), -1.0, np.float32)
    row = 0
    if attributes.get("center_point_box", 0):
        x, y, width, height = np.moveaxis(boxes[0].astype(np.float64), -1, 0)
        corners = np.stack([y - height / 2, x - width / 2, y + height / 2, x + width / 2], -1)
    else:
        pairs = boxes[0].reshape(-1, 2, 2).astype(np.float64)
        corners = np.concatenate([pairs.min(axis=1), pairs.max(axis=1)], -1)
    areas = (corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1])
    for kind in range(kinds):
        order = np.argsort(-scores[0, kind], kind="stable")
        left = [index for index in order if scores[0, kind, index] > least]
        for _ in range(count):
            if not left:
                break
            best = left.pop(0)
            rows[row] = 0, kind, best
            row += 1
            keep = []
            for other in left:
                low = np.maximum(corners[best, :2], corners[other, :2])
                high = np.minimum(corners[best, 2:], corners[other, 2:])
                both = np.prod(high - low) if (high > low).all() else 0
                if both == 0 or both / (areas[best] + areas[other] - both) <= overlap[0]:
                    keep.append(other)
            left = keep
    return rows


def _global(function):
    return lambda attributes, data: function(data, axis=tuple(range(2, data.ndim)), keepdims=True)


def _unary(function):
    return lambda attributes, data: function(data.astype(np.float64))


def _with(function, **defaults):
    """Makes a function of one element with parameters; a network's parameters go before
    `defaults`."""
    return lambda attributes, data: function(
        data.astype(np.float64), *[attributes.get(name, value) for name, value in defaults.items()]
    )


def _fold(function):
    return lambda attributes, *tensors: functools.reduce(function, tensors)


def _truth(function):
    return lambda attributes, *tensors: function(*tensors).astype(np.float32)


def _selu(x, alpha, gamma):
    return gamma * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _cumulative_sum(attributes, data, axis):
    axis, ends = int(axis), attributes.get("reverse", 0)
    turned = np.flip(data, axis) if ends else data
    total = np.cumsum(turned, axis) - (turned if attributes.get("exclusive", 0) else 0)
    return np.flip(total, axis) if ends else total


def _scatter_elements(attributes, data, places, updates):
    result = data.copy()
    np.put_along_axis(result, places.astype(np.int64), updates, attributes.get("axis", 0))
    return result


def _recurrence(kind):
    def run(attributes, x, w, r, bias=None):
        reverse = attributes.get("direction", "forward") == "reverse"
        return recurrence(kind, x, w, r, bias, reverse=[reverse],
                          linear_before_reset=attributes.get("linear_before_reset", 0))[0]  # fmt: skip

    return run


MORE = {
    "Abs": _unary(np.abs),
    "Acos": _unary(np.arccos),
    "Acosh": _unary(np.arccosh),
    "And": _truth(np.logical_and),
    "ArgMax": _position(np.argmax),
    "ArgMin": _position(np.argmin),
    "Asin": _unary(np.arcsin),
    "Asinh": _unary(np.arcsinh),
    "Atan": _unary(np.arctan),
    "Atanh": _unary(np.arctanh),
    "AveragePool": _average_pool,
    "Cast": lambda attributes, data: data,
    "Ceil": _unary(np.ceil),
    "Celu": _with(lambda x, a: np.where(x < 0, a * np.expm1(x / a), x), alpha=1.0),
    "Conv": _convolution,
    "ConvTranspose": _transposed_convolution,
    "ConcatFromSequence": lambda attributes, parts: (
        np.concatenate(parts, axis=attributes["axis"]),
    ),
    "ConstantOfShape": lambda attributes, shape: (_made_constant(attributes, shape),),
    "CumSum": _cumulative_sum,
    "Cos": _unary(np.cos),
    "Cosh": _unary(np.cosh),
    "DepthToSpace": _depth_to_space,
    "Dropout": lambda attributes, data: data,
    "Elu": _with(lambda x, a: np.where(x < 0, a * np.expm1(x), x), alpha=1.0),
    "Einsum": lambda attributes, *tensors: np.einsum(attributes["equation"], *tensors),
    "Equal": _truth(np.equal),
    "Exp": _unary(np.exp),
    "Expand": lambda attributes, data, shape: data
    * np.ones([int(size) for size in shape], data.dtype),
    "Floor": _unary(np.floor),
    "GRU": _recurrence("GRU"),
    "LSTM": _recurrence("LSTM"),
    "RNN": _recurrence("RNN"),
    "GatherElements": lambda attributes, data, index: np.take_along_axis(
        data, index.astype(np.int64), attributes.get("axis", 0)
    ),
    "GlobalAveragePool": _global(np.mean),
    "GlobalMaxPool": _global(np.max),
    "Greater": _truth(np.greater),
    "GreaterOrEqual": _truth(np.greater_equal),
    "HardSigmoid": _with(lambda x, a, b: np.clip(a * x + b, 0, 1), alpha=0.2, beta=0.5),
    "HardSwish": _unary(lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    "InstanceNormalization": _instance_normalisation,
    "IsInf": _truth(np.isinf),
    "IsNaN": _truth(np.isnan),
    "LayerNormalization": _layer_normalisation,
    "Less": _truth(np.less),
    "LessOrEqual": _truth(np.less_equal),
    "Log": _unary(np.log),
    "LogSoftmax": _log_softmax,
    "MaxPool": _max_pool,
    "Mean": lambda attributes, *tensors: functools.reduce(np.add, tensors) / len(tensors),
    "Mod": lambda attributes, left, right: np.fmod(left, right),
    "Neg": _unary(np.negative),
    "NonMaxSuppression": _suppression,
    "Not": _truth(np.logical_not),
    "Or": _truth(np.logical_or),
    "PRelu": lambda attributes, data, slope: np.where(data < 0, data * slope, data),
    "Range": lambda attributes, start, limit, delta: np.arange(start, limit, delta),
    "Reciprocal": _unary(np.reciprocal),
    "ReduceL1": _reduction(lambda x, axes, keeps: np.abs(x).sum(axis=axes, keepdims=keeps)),
    "ReduceL2": _reduction(lambda x, axes, keeps: np.sqrt((x * x).sum(axis=axes, keepdims=keeps))),
    "ReduceLogSum": _reduction(
        lambda x, axes, keeps: np.log(x.sum(axis=axes, keepdims=keeps))
    ),
    "ReduceLogSumExp": _reduction(
        lambda x, axes, keeps: np.log(np.exp(x).sum(axis=axes, keepdims=keeps))
    ),
    "ReduceMax": _reduction(lambda x, axes, keeps: x.max(axis=axes, keepdims=keeps)),
    "ReduceMean": _reduction(lambda x, axes, keeps: x.mean(axis=axes, keepdims=keeps)),
    "ReduceMin": _reduction(lambda x, axes, keeps: x.min(axis=axes, keepdims=keeps)),
    "ReduceProd": _reduction(lambda x, axes, keeps: x.prod(axis=axes, keepdims=keeps)),
    "ReduceSum": _reduction(lambda x, axes, keeps: x.sum(axis=axes, keepdims=keeps)),
    "ReduceSumSquare": _reduction(lambda x, axes, keeps: (x * x).sum(axis=axes, keepdims=keeps)),
    "Resize": _resize,
    "Round": _unary(np.rint),
    "ScatterElements": _scatter_elements,
    "Selu": _with(_selu, alpha=1.67326319, gamma=1.05070102),
    "SequenceAt": lambda attributes, parts, place: (parts[int(place)],),
    "SequenceInsert": lambda attributes, parts, part: ([*parts, part],),
    "Shape": lambda attributes, data: (np.array(data.shape, np.int64),),
    "Shrink": _with(
        lambda x, limit, bias: np.where(x < -limit, x + bias, np.where(x > limit, x - bias, 0)),
        lambd=0.5, bias=0.0,
    ),  # fmt: skip
    "Sign": _unary(np.sign),
    "Sin": _unary(np.sin),
    "Sinh": _unary(np.sinh),
    "Softplus": _unary(lambda x: np.logaddexp(0, x)),
    "Softsign": _unary(lambda x: x / (1 + np.abs(x))),
    "SpaceToDepth": _space_to_depth,
    "SplitToSequence": _split_to_sequence,
    "Squeeze": _squeeze,
    "Sum": _fold(np.add),
    "Tan": _unary(np.tan),
    "ThresholdedRelu": _with(lambda x, a: np.where(x > a, x, 0), alpha=1.0),
    "Tile": lambda attributes, data, repeats: np.tile(data, [int(count) for count in repeats]),
    "TopK": _top_k,
    "Trilu": lambda attributes, data, k: (np.triu if attributes.get("upper", 1) else np.tril)(
        data, int(k)
    ),
    "Unsqueeze": _unsqueeze,
    "Where": lambda attributes, condition, left, right: (np.where(condition != 0, left, right),),
    "Xor": _truth(lambda left, right: (left != 0) ^ (right != 0)),
}
float_reference.OPERATORS.update(MORE)
