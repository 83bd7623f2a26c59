# SPDX-License-Identifier: MIT
"""The CPU's operators in numpy, in double precision where they compute.

The docstring of each operator explains its integers and reals. Axes are never negative.
EXACT names the operators that only move or choose elements, so that nothing is rounded.
"""

import math

import numpy as np

from recurrences import recurrence

(
    SOFTMAX, DEQUANTIZE, UNARY, BINARY, SELECT, VIEW, GATHER, GATHER_ELEMENTS, CONCAT, PAD,
    INTERPOLATE, LOG_SOFTMAX, NORMALIZE, REDUCE, TOP_K, SUPPRESSION, PRODUCT, CONVOLUTION, POOL,
) = range(1, 20)  # fmt: skip
SCATTER, CUMULATIVE, GRID, RECURRENCE, REGIONS = range(21, 26)
EXACT = {
    DEQUANTIZE, SELECT, VIEW, GATHER, GATHER_ELEMENTS, CONCAT, PAD, TOP_K, SUPPRESSION, SCATTER,
}  # fmt: skip
NAMES = {
    value: name for name, value in list(globals().items()) if name.isupper() and name != "EXACT"
}


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _softplus(x):
    return np.logaddexp(0, x)


_erf = np.vectorize(math.erf, otypes=[np.float64])

# The functions by number; the reals are a and b.
UNARY_FUNCTIONS = [
    lambda x, a, b: x,
    lambda x, a, b: np.abs(x),
    lambda x, a, b: -x,
    lambda x, a, b: np.exp(x),
    lambda x, a, b: np.log(x),
    lambda x, a, b: np.sqrt(x),
    lambda x, a, b: 1 / x,
    lambda x, a, b: _erf(x),
    lambda x, a, b: np.tanh(x),
    lambda x, a, b: _sigmoid(x),
    lambda x, a, b: np.floor(x),
    lambda x, a, b: np.ceil(x),
    lambda x, a, b: np.rint(x),
    lambda x, a, b: np.sign(x),
    lambda x, a, b: np.sin(x),
    lambda x, a, b: np.cos(x),
    lambda x, a, b: np.tan(x),
    lambda x, a, b: np.arcsin(x),
    lambda x, a, b: np.arccos(x),
    lambda x, a, b: np.arctan(x),
    lambda x, a, b: np.sinh(x),
    lambda x, a, b: np.cosh(x),
    lambda x, a, b: np.arcsinh(x),
    lambda x, a, b: np.arccosh(x),
    lambda x, a, b: np.arctanh(x),
    lambda x, a, b: np.where(x < 0, 0, x),
    lambda x, a, b: np.minimum(np.maximum(x, a), b),
    lambda x, a, b: np.where(x < 0, a * x, x),
    lambda x, a, b: np.where(x < 0, a * np.expm1(x), x),
    lambda x, a, b: np.where(x < 0, a * np.expm1(x / a), x),
    lambda x, a, b: b * np.where(x < 0, a * np.expm1(x), x),
    lambda x, a, b: _softplus(x),
    lambda x, a, b: x / (1 + np.abs(x)),
    lambda x, a, b: np.clip(a * x + b, 0, 1),
    lambda x, a, b: x * np.clip(x / 6 + 0.5, 0, 1),
    lambda x, a, b: np.where(x > a, x, 0),
    lambda x, a, b: np.where(x < -a, x + b, np.where(x > a, x - b, 0)),
    lambda x, a, b: 0.5 * x * (1 + _erf(x / math.sqrt(2))),
    lambda x, a, b: x * np.tanh(_softplus(x)),
    lambda x, a, b: x == 0,
    lambda x, a, b: np.isnan(x),
    lambda x, a, b: np.isinf(x),
    lambda x, a, b: np.trunc(x),
    lambda x, a, b: x != 0,
]


def _integer_modulo(a, b):
    return np.where(b == 0, 0, a - b * np.floor(a / b))


BINARY_FUNCTIONS = [
    np.add,
    np.subtract,
    np.multiply,
    np.divide,
    np.power,
    np.maximum,
    np.minimum,
    lambda a, b: np.where(b == 0, 0, np.trunc(a / b)),
    _integer_modulo,
    np.fmod,
    np.equal,
    np.less,
    np.less_equal,
    np.greater,
    np.greater_equal,
    np.logical_and,
    np.logical_or,
    np.logical_xor,
    lambda a, b: np.where(a < 0, a * b, a),
]


def _last(function):
    """Makes a function that returns the last position of the best instead of the first."""
    return lambda x, axis: x.shape[axis] - 1 - function(np.flip(x, axis), axis)


def _log_sum_exp(x, axis):
    greatest = x.max(axis=axis, keepdims=True)
    total = np.log(np.exp(x - greatest).sum(axis=axis, keepdims=True)) + greatest
    return np.squeeze(total, axis)


REDUCTIONS = [
    lambda x, axes: x.sum(axis=axes),
    lambda x, axes: x.mean(axis=axes),
    lambda x, axes: x.max(axis=axes),
    lambda x, axes: x.min(axis=axes),
    lambda x, axes: x.prod(axis=axes),
    lambda x, axes: (x * x).sum(axis=axes),
    lambda x, axes: np.abs(x).sum(axis=axes),
    lambda x, axes: np.sqrt((x * x).sum(axis=axes)),
    lambda x, axes: np.log(x.sum(axis=axes)),
    _log_sum_exp,
    lambda x, axes: np.argmax(x, axes[0]),
    lambda x, axes: _last(np.argmax)(x, axes[0]),
    lambda x, axes: np.argmin(x, axes[0]),
    lambda x, axes: _last(np.argmin)(x, axes[0]),
]


def _softmax(op, shape, x):
    axis = int(op.integers[0])
    exponentials = np.exp(x - x.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _log_softmax(op, shape, x):
    axis = int(op.integers[0])
    shifted = x - x.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def _unary(op, shape, x):
    reals = [*map(float, op.reals), 0, 0]
    return UNARY_FUNCTIONS[int(op.integers[0])](x, *reals[:2])


def _binary(op, shape, left, right):
    return BINARY_FUNCTIONS[int(op.integers[0])](left, right)


def _view(op, shape, x):
    """Integers: the offset of the first element, then a step for each axis of the output."""
    offsets = np.full(shape, int(op.integers[0]), np.int64)
    for axis, step in enumerate(op.integers[1:]):
        size = [1] * len(shape)
        size[axis] = -1
        offsets = offsets + (np.arange(shape[axis], dtype=np.int64) * step).reshape(size)
    return x.ravel()[offsets]


def _gather(op, shape, x, indices):
    return np.take(x, indices.astype(np.int64), axis=int(op.integers[0]))


def _gather_elements(op, shape, x, indices):
    axis = int(op.integers[0])
    places = list(np.indices(indices.shape))
    places[axis] = indices.astype(np.int64)
    return x[tuple(places)]


def _scatter(op, shape, x, indices, updates):
    """Integers: the axis, and 0: updates replace elements."""
    axis, way = (int(number) for number in op.integers)
    assert way == 0
    result, places = x.copy(), indices.astype(np.int64)
    np.put_along_axis(result, places, updates, axis)
    return result


def _cumulative(op, shape, x):
    """Integers: the axis, exclusive, reverse."""
    axis, exclusive, reverse = (int(number) for number in op.integers)
    x = np.flip(x, axis) if reverse else x
    total = np.cumsum(x, axis) - (x if exclusive else 0)
    return np.flip(total, axis) if reverse else total


def _recurrence(op, shape, x, w, r, bias=None):
    """Integers: the kind, the direction, the optional inputs (1: a bias), whether a GRU resets
    behind its product, whether an LSTM couples its gates, then the functions."""
    kind, direction, given, behind, couples = (int(number) for number in op.integers[:5])
    assert given <= 1 and direction <= 1 and op.reals[0] == 0
    names = ["RNN", "GRU", "LSTM"]
    steps, last, cells = recurrence(
        names[kind], x, w, r, bias, reverse=[direction == 1], linear_before_reset=behind,
        input_forget=couples,
    )  # fmt: skip
    return np.concatenate([steps, last[None], *([cells[None]] if kind == 2 else [])])


def _pad(op, shape, x):
    """Integers: the mode (constant, edge, reflect, wrap), then elements in front of each axis; a
    negative number cuts off."""
    mode = int(op.integers[0])
    inside = np.ones(shape, bool)
    for axis, before in enumerate(op.integers[1:]):
        place = np.arange(shape[axis]) - int(before)
        size = x.shape[axis]
        out_of = (place < 0) | (place >= size)
        if mode == 2:
            place = np.abs(place)
            place = np.where(place >= size, 2 * (size - 1) - place, place)
        elif mode == 3:
            place = place % size
        x = np.take(x, np.clip(place, 0, size - 1), axis=axis)
        if mode == 0:
            column = [1] * len(shape)
            column[axis] = -1
            inside = inside & ~out_of.reshape(column)
    return np.where(inside, x, op.reals[0] if len(op.reals) else 0)


def _interpolate(op, shape, x):
    """Integers: the axis, the taps, then the positions of the taps of each element; reals: their
    weights."""
    axis, taps = int(op.integers[0]), int(op.integers[1])
    matrix = np.zeros((shape[axis], x.shape[axis]))
    rows = np.repeat(np.arange(shape[axis]), taps)
    np.add.at(matrix, (rows, op.integers[2:]), op.reals.astype(np.float64))
    return np.moveaxis(np.tensordot(matrix, x, (1, axis)), 0, axis)


def _normalize(op, shape, x, scale=None, bias=None):
    axes = tuple(range(int(op.integers[0]), x.ndim))
    centred = x - x.mean(axis=axes, keepdims=True)
    variance = (centred * centred).mean(axis=axes, keepdims=True)
    result = centred / np.sqrt(variance + float(op.reals[0]))
    tail = x.shape[axes[0] :]
    result = result if scale is None else result * scale.reshape(tail)
    return result if bias is None else result + bias.reshape(tail)


def _reduce(op, shape, x):
    axes = tuple(int(axis) for axis in op.integers[1:])
    return np.asarray(REDUCTIONS[int(op.integers[0])](x, axes) if axes else x)


def _top_k(op, shape, x):
    """Integers: the axis, greatest or least, positions or values; of equal elements the first
    counts."""
    axis, greatest, positions = (int(number) for number in op.integers)
    order = np.argsort(-x if greatest else x, axis=axis, kind="stable")
    order = np.take(order, np.arange(shape[axis]), axis=axis)
    return order if positions else np.take_along_axis(x, order, axis)


def _corners(box, centre):
    a, b, c, d = box
    if centre:
        return b - d / 2, a - c / 2, b + d / 2, a + c / 2
    return min(a, c), min(b, d), max(a, c), max(b, d)


def _overlap(one, other):
    height = min(one[2], other[2]) - max(one[0], other[0])
    width = min(one[3], other[3]) - max(one[1], other[1])
    if height <= 0 or width <= 0:
        return 0
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    return height * width / (sum(areas) - height * width)


def _suppression(op, shape, boxes, scores):
    """Integers: centre and size or corners, most boxes of a class; reals: the greatest overlap, the
    least score."""
    result = np.full(shape, -1.0)
    row = 0
    for batch, kind in np.ndindex(scores.shape[:2]):
        kept = []
        for candidate in np.argsort(-scores[batch, kind], kind="stable"):
            if scores[batch, kind, candidate] <= op.reals[1] or len(kept) >= op.integers[1]:
                break
            box = _corners(boxes[batch, candidate], op.integers[0])
            if all(
                _overlap(box, _corners(boxes[batch, other], op.integers[0])) <= op.reals[0]
                for other in kept
            ):
                kept.append(candidate)
        for box in kept[: shape[0] - row]:
            result[row] = batch, kind, box
            row += 1
    return result


def _product(op, shape, left, right):
    return np.matmul(left, right)


def _taps(few, many, kernel, strides, dilations, pads):
    """Returns for each tap which windows look inside with it, and where, axis by axis."""
    for tap in np.ndindex(*kernel):
        windows, places = [], []
        for axis in range(len(kernel)):
            at = np.arange(few[axis]) * strides[axis] - pads[axis] + tap[axis] * dilations[axis]
            inside = (at >= 0) & (at < many[axis])
            windows.append(np.nonzero(inside)[0])
            places.append(at[inside])
        yield tap, windows, places


def _convolution(op, shape, x, weights, bias=None):
    """Integers: transposed or not, groups, then strides, dilations and padding in front of each
    axis."""
    axes = x.ndim - 2
    transposed, groups = int(op.integers[0]), int(op.integers[1])
    strides, dilations, pads = op.integers[2:].reshape(3, axes)
    result = np.zeros(shape)
    few, many = (x.shape, shape) if transposed else (shape, x.shape)
    per_few, per_many = few[1] // groups, many[1] // groups
    for tap, windows, places in _taps(
        few[2:], many[2:], weights.shape[2:], strides, dilations, pads
    ):
        for batch, group in np.ndindex(shape[0], groups):
            of_few = np.arange(per_few) + group * per_few
            of_many = np.arange(per_many) + group * per_many
            matrix = weights[(of_few, slice(None), *tap)]
            if transposed:
                part = np.tensordot(matrix, x[batch][np.ix_(of_few, *windows)], (0, 0))
                result[batch][np.ix_(of_many, *places)] += part
            else:
                part = np.tensordot(matrix, x[batch][np.ix_(of_many, *places)], (1, 0))
                result[batch][np.ix_(of_few, *windows)] += part
    return result if bias is None else result + bias.reshape(-1, *[1] * axes)


def _places(x, shape, by_columns, taps):
    """Returns where the greatest elements are, the first of equal ones, counted over all of x."""
    numbers = np.arange(np.prod(x.shape[2:])).reshape(x.shape[2:], order="F" if by_columns else "C")
    bases = np.arange(np.prod(x.shape[:2])) * numbers.size
    numbers = bases.reshape(x.shape[:2] + (1,) * numbers.ndim) + numbers
    greatest, found = np.full(shape, -np.inf), np.full(shape, -1.0)
    every = [np.arange(size) for size in shape[:2]]
    for _, windows, places in taps:
        here, at = np.ix_(*every, *windows), np.ix_(*every, *places)
        found[here] = np.where((x[at] > greatest[here]) | (found[here] < 0), numbers[at], found[here])
        greatest[here] = np.maximum(greatest[here], x[at])
    return found


def _pool(op, shape, x):
    """Integers: the kind (maximum, average, average with padding, root of squares, place of the
    maximum by rows, by columns), then kernel, strides, dilations, padding in front and behind. What
    lies beyond the padding never counts."""
    axes = x.ndim - 2
    kind = int(op.integers[0])
    kernel, strides, dilations, before, behind = op.integers[1:].reshape(5, axes)
    if kind >= 4:
        return _places(x, shape, kind == 5, _taps(shape[2:], x.shape[2:], kernel, strides, dilations, before))
    greatest = np.full(shape, -np.inf)
    total, squares, inside, counted = (np.zeros(shape) for _ in range(4))
    every = [np.arange(size) for size in shape[:2]]
    for _, windows, places in _taps(shape[2:], x.shape[2:], kernel, strides, dilations, before):
        here, at = np.ix_(*every, *windows), np.ix_(*every, *places)
        greatest[here] = np.maximum(greatest[here], x[at])
        total[here] += x[at]
        squares[here] += x[at] ** 2
        inside[here] += 1
    wide = [size + more for size, more in zip(x.shape[2:], behind)]
    for tap in np.ndindex(*kernel):
        counts = np.ones(shape[2:], bool)
        for axis in range(axes):
            at = np.arange(shape[2 + axis]) * strides[axis] - before[axis]
            column = [1] * axes
            column[axis] = -1
            counts &= (at + tap[axis] * dilations[axis] < wide[axis]).reshape(column)
        counted += counts
    return [
        greatest, total / np.maximum(inside, 1), total / np.maximum(counted, 1), np.sqrt(squares),
    ][kind]  # fmt: skip


OPERATORS = {
    SOFTMAX: _softmax,
    DEQUANTIZE: lambda op, shape, x: x,
    UNARY: _unary,
    BINARY: _binary,
    SELECT: lambda op, shape, condition, left, right: np.where(condition != 0, left, right),
    VIEW: _view,
    GATHER: _gather,
    GATHER_ELEMENTS: _gather_elements,
    CONCAT: lambda op, shape, *inputs: np.concatenate(inputs, axis=int(op.integers[0])),
    PAD: _pad,
    INTERPOLATE: _interpolate,
    LOG_SOFTMAX: _log_softmax,
    NORMALIZE: _normalize,
    REDUCE: _reduce,
    TOP_K: _top_k,
    SUPPRESSION: _suppression,
    PRODUCT: _product,
    CONVOLUTION: _convolution,
    POOL: _pool,
    SCATTER: _scatter,
    CUMULATIVE: _cumulative,
    RECURRENCE: _recurrence,
}


def run(op, inputs, shape):
    """Runs `op`, a model_file.CpuOp. Returns an array of `shape` in float32."""
    with np.errstate(all="ignore"):
        doubles = [array.astype(np.float64) for array in inputs]
        return np.asarray(OPERATORS[op.type](op, shape, *doubles)).reshape(shape).astype(np.float32)
