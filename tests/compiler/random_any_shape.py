# SPDX-License-Identifier: MIT
"""Random steps for tensors of any shape: functions, arithmetic, movement, reduction, selection."""

import numpy as np
from onnx import TensorProto, numpy_helper

ROUGH = ("Ceil", "Floor", "Round", "Sign", "ThresholdedRelu", "Shrink")


def function(graph, source, shape):
    """Adds a function of one element."""
    operator, attributes = graph.pick(
        ("Abs", {}), ("Atan", {}), ("Asinh", {}), ("Cos", {}), ("Erf", {}), ("Neg", {}),
        ("Sin", {}), ("Softplus", {}), ("Softsign", {}), ("Sigmoid", {}), ("Tanh", {}),
        ("Relu", {}), ("Elu", {}), ("Elu", {"alpha": 0.7}), ("Selu", {}), ("Celu", {"alpha": 1.3}),
        ("LeakyRelu", {"alpha": 0.2}), ("HardSigmoid", {"alpha": 0.3}), ("HardSwish", {}),
        ("Ceil", {}), ("Floor", {}), ("Round", {}), ("Sign", {}), ("ThresholdedRelu", {}),
        ("Shrink", {"bias": 0.2, "lambd": 0.4}), ("Dropout", {}), ("Identity", {}),
    )  # fmt: skip
    if graph.opset < {"HardSwish": 14, "Celu": 12}.get(operator, 0):
        return
    graph.is_rough |= operator in ROUGH
    graph.node(operator, [source], shape, **attributes)


def bounded_function(graph, source, shape):
    """Adds a function of one element that has to lie in a range: (0.1, 0.9), moved."""
    small = graph.node("Sigmoid", [source], shape)
    small = graph.node("Clip", [small, *(graph.constant(np.array(v)) for v in (0.1, 0.9))], shape)
    operator, offset = graph.pick(
        ("Log", 0), ("Sqrt", 0), ("Reciprocal", 0), ("Exp", 0), ("Acos", 0), ("Asin", 0),
        ("Atanh", 0), ("Acosh", 1), ("Cosh", 0), ("Sinh", 0), ("Tan", 0),
    )  # fmt: skip
    if offset:
        small = graph.node("Add", [small, graph.constant(np.array(offset))], shape)
    graph.node(operator, [small], shape)


def gate(graph, source, shape):
    """Combines x with a function of x; together they are one function."""
    other = graph.node(graph.pick("Sigmoid", "Tanh", "Relu"), [source], shape)
    pair = graph.pick([source, other], [other, source])
    graph.node(graph.pick("Mul", "Add", "Sub"), pair, shape)


def residual(graph, source, shape):
    graph.node("Add", [source, graph.like(shape)], shape)
    if graph.chance(0.5):
        graph.node(graph.pick("Relu", "Tanh", "LeakyRelu"), [graph.last()[0]], shape)


def _broadcast(left, right):
    try:
        return np.broadcast_shapes(left, right)
    except ValueError:
        return None


def binary(graph, source, shape):
    """Combines two tensors, one of which is sometimes broadcast."""
    fitting = [
        (name, _broadcast(shape, other))
        for name, other in graph.tensors
        if _broadcast(shape, other) is not None and graph.fits(_broadcast(shape, other))
    ]
    other, result = graph.pick(*fitting)
    pair = graph.pick([source, other], [other, source])
    graph.node(graph.pick("Add", "Sub", "Mul", "Max", "Min"), pair, result)


def several(graph, source, shape):
    others = [graph.like(shape) for _ in range(graph.below(0, 3))]
    graph.node(graph.pick("Sum", "Mean", "Max", "Min"), [source, *others], shape)


def _constant_operand(graph, shape, values):
    """A constant of some shape that broadcasts to `shape`: one number, one a channel, ..."""
    sizes = [1] * len(shape)
    kind = graph.pick("one", "first", "last", "some", "all")
    if kind == "one":
        return graph.constant(values(*graph.pick((), (1,), sizes)))
    if kind == "first" and len(shape) > 1:
        sizes[1] = shape[1]
        return graph.constant(values(*sizes[graph.below(2) :]))
    if kind == "last":
        return graph.constant(values(shape[-1]))
    if kind == "some":
        return graph.constant(values(*[size if graph.chance(0.5) else 1 for size in shape]))
    return graph.constant(values(*shape))


def arithmetic(graph, source, shape):
    """Combines the tensor with a constant."""
    values = lambda *sizes: graph.random.uniform(0.5, 1.5, sizes)  # noqa: E731
    operand = _constant_operand(graph, shape, values)
    operator = graph.pick("Mul", "Mul", "Add", "Add", "Sub", "Div", "PRelu", "Max", "Min")
    pair = [source, operand]
    if operator in ("Mul", "Add", "Sub", "Max", "Min") and graph.chance(0.3):
        pair.reverse()
    graph.node(operator, pair, shape)


def power(graph, source, shape):
    graph.node("Pow", [source, graph.constant(np.array(graph.pick(2.0, 2.0, 3.0)))], shape)


def division(graph, source, shape):
    """Divides one computed tensor by another."""
    below = graph.node("Softplus", [graph.like(shape)], shape)
    below = graph.node("Add", [below, graph.constant(np.array(0.5))], shape)
    graph.node("Div", [source, below], shape)


def choice(graph, source, shape):
    """Takes elements of one tensor where a tensor is greater than another, else of a third."""
    graph.is_rough = True
    other = graph.like(shape)
    operator = graph.pick("Greater", "Less", "Equal", "GreaterOrEqual", "LessOrEqual")
    if operator.endswith("OrEqual") and graph.opset < 12:
        return
    condition = graph.node(operator, [source, other], shape, TensorProto.BOOL)
    if graph.chance(0.3):
        second = graph.node(
            "Less", [source, graph.constant(np.array(0.3))], shape, TensorProto.BOOL
        )
        logic = graph.pick("And", "Or", "Xor")
        condition = graph.node(logic, [condition, second], shape, TensorProto.BOOL)
    if graph.chance(0.2):
        condition = graph.node("Not", [condition], shape, TensorProto.BOOL)
    if graph.chance(0.3):
        graph.node("Cast", [condition], shape, to=TensorProto.FLOAT)
        return
    graph.node("Where", [condition, source, graph.like(shape)], shape)


def remainder(graph, source, shape):
    graph.is_rough = True
    divisor = graph.constant(np.array(graph.pick(0.75, 1.5)))
    graph.node("Mod", [source, divisor], shape, fmod=1)


def reduction(graph, source, shape):
    if len(shape) < 2:
        return
    count = graph.below(1, len(shape) + 1)
    axes = sorted(int(a) for a in graph.random.choice(len(shape), count, replace=False))
    keeps = graph.chance(0.7)
    sizes = [1 if axis in axes else size for axis, size in enumerate(shape)]
    if not keeps:
        sizes = [size for axis, size in enumerate(sizes) if axis not in axes]
        if not sizes or sizes[0] != 1:
            return
    named = [axis - len(shape) if graph.chance(0.3) else axis for axis in axes]
    operator = graph.pick(
        "ReduceMean", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
        "ReduceSumSquare", "ReduceLogSumExp", "ReduceProd",
    )  # fmt: skip
    if operator == "ReduceProd" and int(np.prod(shape)) // int(np.prod(sizes)) > 4:
        operator = "ReduceMax"
    since = 13 if operator == "ReduceSum" else 18
    attributes = {"keepdims": int(keeps)}
    graph.with_axes(operator, source, sizes, named, since, **attributes)


def position(graph, source, shape):
    """Adds ArgMax or ArgMin, whose result becomes reals."""
    graph.is_rough = True
    axis = graph.below(1, len(shape)) if len(shape) > 1 else 0
    sizes = [*shape[:axis], 1, *shape[axis + 1 :]]
    attributes = {"axis": axis, "keepdims": 1}
    if graph.opset >= 12:
        attributes["select_last_index"] = graph.below(2)
    operator = graph.pick("ArgMax", "ArgMin")
    found = graph.node(operator, [source], sizes, TensorProto.INT64, **attributes)
    graph.node("Cast", [found], sizes, to=TensorProto.FLOAT)


def top(graph, source, shape):
    graph.is_rough = True
    axis = graph.below(len(shape))
    sizes = list(shape)
    sizes[axis] = graph.below(1, shape[axis] + 1)
    values, places = graph.node_of_parts(
        "TopK", [source, graph.integers([sizes[axis]])], [sizes, sizes],
        [TensorProto.FLOAT, TensorProto.INT64], axis=axis, largest=graph.below(2), sorted=1,
    )  # fmt: skip
    if graph.chance(0.4):
        graph.node("GatherElements", [source, places], sizes, axis=axis)
    elif graph.chance(0.3):
        graph.node("Cast", [places], sizes, to=TensorProto.FLOAT)


def gather(graph, source, shape):
    axis = graph.below(1, len(shape)) if len(shape) > 1 else 0
    count = graph.below(1, 6)
    indices = graph.random.integers(-shape[axis], shape[axis], count)
    single = len(shape) > 2 and graph.chance(0.3)
    if single:
        indices = np.array(indices[0])
    sizes = [*shape[:axis], *([] if single else [count]), *shape[axis + 1 :]]
    if graph.fits(sizes):
        graph.node("Gather", [source, graph.integers(indices)], sizes, axis=axis)


def slice_(graph, source, shape):
    starts, ends, steps, sizes = [], [], [], []
    backwards = graph.chance(0.1)
    axes = range(1, len(shape))
    for axis in axes:
        size = shape[axis]
        first = graph.below(size)
        last = graph.below(first, size) + 1
        step = 1 if axis == 1 and graph.chance(0.7) else graph.below(1, 4)
        if graph.chance(0.3):
            first, last = 0, size
        sizes.append(-(-(last - first) // step))
        if backwards:
            starts.append(last - 1)
            ends.append(first - 1 if first > 0 else -size - 1)
            steps.append(-step)
            continue
        starts.append(first - size if graph.chance(0.3) else first)
        ends.append(last + 99 if last == size else last)
        steps.append(step)
    parameters = [graph.integers(values) for values in (starts, ends, list(axes), steps)]
    graph.node("Slice", [source, *parameters], (shape[0], *sizes))


def split(graph, source, shape):
    axis = graph.below(1, len(shape)) if len(shape) > 1 else 0
    if shape[axis] < 2:
        return
    if shape[axis] % 3 == 0 and graph.chance(0.3):
        lengths = [shape[axis] // 3] * 3
    else:
        first = graph.below(1, shape[axis])
        lengths = [first, shape[axis] - first]
    shapes = [[*shape[:axis], length, *shape[axis + 1 :]] for length in lengths]
    if graph.opset < 13:
        graph.node_of_parts("Split", [source], shapes, axis=axis, split=lengths)
    else:
        graph.node_of_parts("Split", [source, graph.integers(lengths)], shapes, axis=axis)


def concat(graph, source, shape):
    """Joins the tensor with tensors that fit along a random axis, or with itself."""
    axis = graph.below(1, len(shape)) if len(shape) > 1 else 0
    fitting = [
        entry
        for entry in graph.tensors
        if len(entry[1]) == len(shape)
        and all(a == b for i, (a, b) in enumerate(zip(entry[1], shape)) if i != axis)
    ]
    chosen = [(source, shape)]
    for _ in range(graph.below(1, 4)):
        chosen.append(graph.pick(*fitting))
    if graph.chance(0.5):
        chosen.reverse()
    total = list(shape)
    total[axis] = sum(entry[1][axis] for entry in chosen)
    if total[axis] <= 64 and graph.fits(total):
        axis -= len(shape) if graph.chance(0.2) else 0
        graph.node("Concat", [name for name, _ in chosen], total, axis=axis)


def pad(graph, source, shape):
    mode = graph.pick("constant", "constant", "edge", "reflect")
    pads = np.zeros((2, len(shape)), np.int64)
    for axis in range(1, len(shape)):
        if axis == 1 and graph.chance(0.8):
            continue
        limit = min(shape[axis], 4) if mode == "reflect" else 4
        pads[:, axis] = graph.random.integers(0, limit, 2)
    sizes = [size + int(more) for size, more in zip(shape, pads.sum(axis=0))]
    inputs = [source, graph.integers(pads.ravel())]
    if mode == "constant" and graph.chance(0.6):
        inputs.append(graph.constant(np.array(graph.pick(0.0, 0.5, -1.0))))
    if graph.fits(sizes):
        graph.node("Pad", inputs, sizes, mode=mode)


def transpose(graph, source, shape):
    if len(shape) < 3:
        return
    perm = [0, *(1 + int(axis) for axis in graph.random.permutation(len(shape) - 1))]
    graph.node("Transpose", [source], [shape[axis] for axis in perm], perm=perm)


def reshape(graph, source, shape):
    """Gives the tensor other dimensions; the batch stays."""
    rest = int(np.prod(shape[1:]))
    first = graph.divisor(rest)
    second = graph.divisor(rest // first)
    sizes = graph.pick(
        [shape[0], rest], [shape[0], first, rest // first],
        [shape[0], first, second, rest // first // second],
    )  # fmt: skip
    written = list(sizes)
    if graph.chance(0.4):
        written[-1] = -1
    if graph.chance(0.3):
        written[0] = 0
    graph.node("Reshape", [source, graph.integers(written)], sizes)


def flatten(graph, source, shape):
    axis = graph.pick(1, 1, 1, len(shape) - 1, -1)
    rows = int(np.prod(shape[:axis], dtype=np.int64))
    graph.node("Flatten", [source], (rows, int(np.prod(shape)) // rows), axis=axis)


def unsqueeze(graph, source, shape):
    """Adds an axis and takes it away again, with something between."""
    if len(shape) > 4:
        return
    axis = graph.below(1, len(shape) + 1)
    sizes = [*shape[:axis], 1, *shape[axis:]]
    graph.with_axes("Unsqueeze", source, sizes, [axis], 13)
    if graph.chance(0.5):
        graph.node(graph.pick("Relu", "Neg", "Tanh"), [graph.last()[0]], sizes)
    if graph.chance(0.8):
        graph.with_axes("Squeeze", graph.last()[0], shape, [axis], 13)


def repeat(graph, source, shape):
    """Adds Tile or Expand."""
    if graph.chance(0.5):
        repeats = [1] + [graph.pick(1, 1, 2, 3) for _ in shape[1:]]
        sizes = [size * count for size, count in zip(shape, repeats)]
        if graph.fits(sizes):
            graph.node("Tile", [source, graph.integers(repeats)], sizes)
        return
    sizes = [graph.below(1, 4) if size == 1 else size for size in shape[1:]]
    sizes = [shape[0], *sizes]
    if graph.fits(sizes):
        graph.node("Expand", [source, graph.integers(sizes)], sizes)


def computed_shape(graph, source, shape):
    """Computes a shape as exporters of networks with symbols in their shapes do."""
    if graph.opset < 13:  # libonnx, which converts such networks, has to know shapes first
        return
    sizes = graph.node("Shape", [source], [len(shape)], TensorProto.INT64)
    first = graph.node(
        "Gather", [sizes, graph.integers([0])], [1], TensorProto.INT64, axis=0
    )
    parts = [first, graph.integers([-1])]
    rest = int(np.prod(shape[1:]))
    target = [shape[0], rest]
    if len(shape) > 2 and graph.chance(0.5):
        parts.insert(1, graph.node(
            "Gather", [sizes, graph.integers([1])], [1], TensorProto.INT64, axis=0
        ))  # fmt: skip
        target = [shape[0], shape[1], rest // shape[1]]
    joined = graph.node("Concat", parts, [len(parts)], TensorProto.INT64, axis=0)
    graph.node("Reshape", [source, joined], target)


def made_constant(graph, source, shape):
    """Adds a made constant to the tensor: a filled one, or numbers one after the other."""
    if graph.chance(0.5):
        value = numpy_helper.from_array(np.array([0.25], np.float32))
        sizes = graph.integers(shape)
        if graph.chance(0.5):
            sizes = graph.node("Shape", [source], [len(shape)], TensorProto.INT64)
        other = graph.node("ConstantOfShape", [sizes], shape, TensorProto.UNDEFINED, value=value)
    else:
        limits = [graph.constant(np.array(number)) for number in (0.0, shape[-1] * 0.125, 0.125)]
        other = graph.node("Range", limits, [shape[-1]], TensorProto.UNDEFINED)
    graph.node("Add", [source, other], shape)


def sequence(graph, source, shape):
    """Puts parts into a list, and joins them in another order or picks one of them."""
    axis = graph.below(1, len(shape)) if len(shape) > 1 else 0
    if shape[axis] < 2:
        return
    first = graph.below(1, shape[axis])
    lengths = [first, shape[axis] - first]
    parts = graph.node(
        "SplitToSequence", [source, graph.integers(lengths)], [], TensorProto.UNDEFINED, axis=axis
    )
    where = graph.below(2)
    sizes = [*shape[:axis], lengths[where], *shape[axis + 1 :]]
    picked = graph.node("SequenceAt", [parts, graph.integers(where)], sizes)
    if graph.chance(0.5):
        longer = graph.node("SequenceInsert", [parts, picked], [], TensorProto.UNDEFINED)
        sizes[axis] += shape[axis]
        if graph.fits(sizes):
            graph.node("ConcatFromSequence", [longer], sizes, axis=axis)


def no_numbers(graph, source, shape):
    """Replaces elements that are no numbers, of which there are none."""
    operator = graph.pick("IsNaN", "IsInf")
    condition = graph.node(operator, [source], shape, TensorProto.BOOL)
    graph.node("Where", [condition, graph.constant(np.array(0.0)), source], shape)


def cumulative(graph, source, shape):
    axis = graph.below(len(shape)) - (len(shape) if graph.chance(0.3) else 0)
    place = graph.constant(np.array(axis, np.int64), np.int64)
    ends = {"exclusive": graph.below(2), "reverse": graph.below(2)}
    if shape[axis] <= 16 and graph.opset >= 11:
        graph.node("CumSum", [source, place], shape, **ends)


def triangle(graph, source, shape):
    if graph.opset >= 14 and len(shape) > 1:
        diagonal = graph.constant(np.array(graph.below(-2, 3), np.int64), np.int64)
        graph.node("Trilu", [source, diagonal], shape, upper=graph.below(2))


def scattered(graph, source, shape):
    """Writes parts of the tensor over other parts of it."""
    if graph.opset < 11:
        return
    axis = graph.below(1, len(shape)) if len(shape) > 1 else 0
    count = graph.below(1, shape[axis] + 1)
    sizes = [*shape[:axis], count, *shape[axis + 1 :]]
    order = np.argsort(graph.random.random(shape), axis=axis)
    places = np.take(order, range(count), axis=axis)
    bounds = [graph.integers([n]) for n in (0, count, axis)]
    updates = graph.node("Slice", [source, *bounds], sizes)
    updates = graph.node("Neg", [updates], sizes)
    places = graph.constant(places, np.int64)
    graph.node("ScatterElements", [source, places, updates], shape, axis=axis)


def einsum(graph, source, shape):
    """Multiplies the last axis by a matrix, now and then with another order of axes."""
    if graph.opset < 12 or len(shape) > 4:
        return
    axes, size = "abcd"[: len(shape)], graph.below(1, 9)
    weights = graph.constant(graph.random.normal(size=(shape[-1], size)) / np.sqrt(shape[-1]))
    result = axes[:-1] + "z"
    sizes = [*shape[:-1], size]
    if graph.chance(0.4) and len(shape) > 2:
        result, sizes = result[0] + result[:0:-1], [sizes[0], *sizes[:0:-1]]
    if graph.fits(sizes):
        graph.node("Einsum", [source, weights], sizes, equation=f"{axes},{axes[-1]}z->{result}")


def recurrence(graph, source, shape):
    """Adds a recurrence over the first axis of three; its result is the last state, or all of
    them."""
    if len(shape) != 3 or shape[2] > 32 or graph.opset < 14:
        return
    kind, gates = graph.pick(("RNN", 1), ("GRU", 3), ("LSTM", 4))
    hidden = graph.pick(1, 3, 6, 32, 64)  # the device computes the larger ones
    matrix = lambda *sizes: graph.constant(graph.random.uniform(-0.5, 0.5, sizes))  # noqa: E731
    inputs = [source, matrix(1, gates * hidden, shape[2]), matrix(1, gates * hidden, hidden)]
    if graph.chance(0.5):
        inputs.append(matrix(1, 2 * gates * hidden))
    attributes = {"hidden_size": hidden, "direction": graph.pick("forward", "reverse")}
    if kind == "GRU":
        attributes["linear_before_reset"] = graph.below(2)
    sizes = [shape[0], 1, shape[1], hidden]
    steps = graph.node(kind, inputs, sizes, **attributes)
    graph.with_axes("Squeeze", steps, [shape[0], shape[1], hidden], [1], 13)


def logarithm_of_sum(graph, source, shape):
    positive = graph.node("Softplus", [source], shape)
    positive = graph.node("Add", [positive, graph.constant(np.array(0.5))], shape)
    axis = graph.below(len(shape))
    sizes = [*shape[:axis], 1, *shape[axis + 1 :]]
    graph.node("ReduceLogSum", [positive], sizes, axes=[axis], keepdims=1)


def boxes(graph, source, shape):
    """Adds the end of a detector: rows of corners and a score, of which some are kept."""
    if len(shape) != 3 or shape[0] != 1 or shape[2] < 6:
        return
    graph.is_rough = True
    cut = lambda first, last: graph.node(  # noqa: E731
        "Slice", [source, *(graph.integers([n]) for n in (first, last, 2))],
        [1, shape[1], last - first],
    )
    places = cut(0, 4)
    scores = graph.node("Transpose", [cut(4, 6)], [1, 2, shape[1]], perm=[0, 2, 1])
    most = graph.below(1, 5)
    limits = [graph.integers([most])]
    limits += [graph.constant(np.array([value])) for value in (graph.pick(0.3, 0.6), 0.1)]
    count = 2 * min(most, shape[1])
    kept = graph.node(
        "NonMaxSuppression", [places, scores, *limits], [count, 3], TensorProto.INT64,
        center_point_box=graph.below(2),
    )  # fmt: skip
    graph.node("Cast", [kept], [count, 3], to=TensorProto.FLOAT)


STEPS = [
    cumulative, triangle, scattered, einsum, recurrence,
    computed_shape, made_constant, sequence, no_numbers, logarithm_of_sum, boxes,
    function, function, function, bounded_function, gate, residual, residual, binary, binary,
    several, arithmetic, arithmetic, arithmetic, power, division, choice, remainder, reduction,
    reduction, position, top, gather, slice_, slice_, split, concat, concat, pad, pad, transpose,
    transpose, reshape, flatten, unsqueeze, repeat,
]  # fmt: skip
