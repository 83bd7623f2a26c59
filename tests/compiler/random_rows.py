# SPDX-License-Identifier: MIT
"""Random steps for rows of features (..., T, F) and for flat features (1, F)."""

import numpy as np


def dense(graph, source, shape):
    """Multiplies rows by a constant matrix."""
    outputs = graph.below(1, 30) if graph.chance(0.9) else graph.below(30, 140)
    if not graph.fits((*shape[:-1], outputs)):
        return
    weights = graph.normal(shape[-1], outputs) / np.sqrt(shape[-1])
    graph.node("MatMul", [source, graph.constant(weights)], (*shape[:-1], outputs))
    if graph.chance(0.6):
        graph.node("Add", [graph.last()[0], graph.constant(graph.normal(outputs))], graph.last()[1])


def gemm(graph, source, shape):
    """Adds Gemm for flat features, or for a matrix of them."""
    if len(shape) != 2:
        features = int(np.prod(shape[1:]))
        if features > 1500:
            return
        shape = (shape[0], features)
        source = graph.node("Flatten", [source], shape)
    outputs = graph.below(1, 20)
    weights = graph.normal(shape[1], outputs) / np.sqrt(shape[1])
    transposed = graph.below(2)
    inputs = [source, graph.constant(weights.T if transposed else weights)]
    if graph.chance(0.6):
        inputs.append(graph.constant(graph.normal(*graph.pick([outputs], [1, outputs], [1]))))
    attributes = {"transB": transposed}
    if graph.chance(0.2):
        attributes.update(alpha=0.5, beta=1.5)
    graph.node("Gemm", inputs, (shape[0], outputs), **attributes)


def layer_normalisation(graph, source, shape):
    """Adds one node from opset 17 on; before, the nodes that exporters write for it."""
    parameters = [
        graph.constant(graph.random.uniform(0.5, 2, shape[-1])),
        graph.constant(graph.normal(shape[-1])),
    ]
    if graph.opset >= 17:
        graph.node("LayerNormalization", [source, *parameters], shape, axis=-1, epsilon=0.01)
        return
    small = (*shape[:-1], 1)
    mean = graph.node("ReduceMean", [source], small, axes=[-1])
    centred = graph.node("Sub", [source, mean], shape)
    squares = graph.node("Pow", [centred, graph.constant(np.array(2.0))], shape)
    variance = graph.node("ReduceMean", [squares], small, axes=[-1])
    safe = graph.node("Add", [variance, graph.constant(np.array(0.01))], small)
    deviation = graph.node("Sqrt", [safe], small)
    normal = graph.node("Div", [centred, deviation], shape)
    scaled = graph.node("Mul", [normal, parameters[0]], shape)
    graph.node("Add", [scaled, parameters[1]], shape)


def gelu(graph, source, shape):
    """Adds GELU as exporters write it."""
    half = graph.constant(np.array(0.5))
    if graph.chance(0.5):
        inner = graph.node("Div", [source, graph.constant(np.array(np.sqrt(2)))], shape)
    else:
        inner = graph.node("Mul", [source, graph.constant(np.array(np.sqrt(0.5)))], shape)
    erf = graph.node("Erf", [inner], shape)
    raised = graph.node("Add", [erf, graph.constant(np.array(1.0))], shape)
    if graph.chance(0.5):
        product = graph.node("Mul", [source, raised], shape)
        graph.node("Mul", [product, half], shape)
    else:
        scaled = graph.node("Mul", [source, half], shape)
        graph.node("Mul", [scaled, raised], shape)


def masked(graph, scores, shape):
    """Scores, some of which are driven towards minus infinity: by rank or in whole columns, by
    addition or by choice. Every row sees its first column."""
    rows = shape[-1]
    seen = np.tri(rows) if graph.chance(0.5) else np.ones((1, rows)) * (graph.normal(rows) > -0.5)
    seen[..., 0] = 1
    least = graph.pick(-100.0, -1e4, -1e9, np.finfo(np.float32).min)
    if graph.chance(0.3):
        operands = [graph.constant(seen, bool), scores, graph.constant(np.array(least))]
        return graph.node("Where", operands, shape)
    mask = graph.constant(np.where(seen, 0, least))
    operands = [scores, mask] if graph.chance(0.7) else [mask, scores]
    return graph.node("Add", operands, shape)


def attention(graph, source, shape):
    """Adds the scores of rows with rows, softmax, and the sum that they weigh, with or without
    heads."""
    rows, width = shape[1], shape[2]
    heads = graph.pick(1, 1, 2, 3)
    each = graph.pick(2, 3, 4, 8)
    if rows > 40 or width > 64 or heads * rows * rows > 2500:
        return
    parts = []
    for _ in range(3):
        weights = graph.normal(width, heads * each) / np.sqrt(width)
        part = graph.node("MatMul", [source, graph.constant(weights)], (1, rows, heads * each))
        if heads > 1:
            sizes = graph.integers([1, rows, heads, each])
            part = graph.node("Reshape", [part, sizes], (1, rows, heads, each))
            part = graph.node("Transpose", [part], (1, heads, rows, each), perm=[0, 2, 1, 3])
        parts.append(part)
    query, key, value = parts
    outer = (1, heads) if heads > 1 else (1,)
    perm = [*range(len(outer)), len(outer) + 1, len(outer)]
    key = graph.node("Transpose", [key], (*outer, each, rows), perm=perm)
    scores = graph.node("MatMul", [query, key], (*outer, rows, rows))
    factor = graph.constant(np.array(1 / np.sqrt(each)))
    scores = graph.node("Mul", [scores, factor], (*outer, rows, rows))
    if graph.chance(0.4):
        scores = masked(graph, scores, (*outer, rows, rows))
    weights = graph.node("Softmax", [scores], (*outer, rows, rows), axis=-1)
    mixed = graph.node("MatMul", [weights, value], (*outer, rows, each))
    if heads > 1:
        mixed = graph.node("Transpose", [mixed], (1, rows, heads, each), perm=[0, 2, 1, 3])
        sizes = graph.integers([1, rows, heads * each])
        mixed = graph.node("Reshape", [mixed, sizes], (1, rows, heads * each))
    weights = graph.normal(heads * each, width) / np.sqrt(heads * each)
    out = graph.node("MatMul", [mixed, graph.constant(weights)], shape)
    if graph.chance(0.7):
        graph.node("Add", [source, out], shape)


def encoder(graph, source, shape):
    """Adds a block of a transformer."""
    layer_normalisation(graph, source, shape)
    attention(graph, *graph.last())
    if graph.last()[1] != shape:
        return
    between = graph.node("Add", [source, graph.last()[0]], shape)
    weights = graph.normal(shape[-1], 2 * shape[-1]) / np.sqrt(shape[-1])
    wide = (*shape[:-1], 2 * shape[-1])
    if not graph.fits(wide):
        return
    inner = graph.node("MatMul", [between, graph.constant(weights)], wide)
    gelu(graph, inner, wide)
    weights = graph.normal(2 * shape[-1], shape[-1]) / np.sqrt(2 * shape[-1])
    out = graph.node("MatMul", [graph.last()[0], graph.constant(weights)], shape)
    graph.node("Add", [between, out], shape)


def pixels(graph, source, shape):
    """Makes an image of rows of features."""
    height = graph.divisor(shape[1])
    turned = graph.node("Transpose", [source], (1, shape[2], shape[1]), perm=[0, 2, 1])
    sizes = (1, shape[2], height, shape[1] // height)
    graph.node("Reshape", [turned, graph.integers(sizes)], sizes)


def product(graph, source, shape):
    """Adds a product of two computed matrices: one with its own transpose, or with one that
    fits."""
    if len(shape) < 2 or shape[-2] > 40:
        return
    out = (*shape[:-1], shape[-2])
    if not graph.fits(out):
        return
    perm = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
    turned_shape = tuple(shape[axis] for axis in perm)
    other = graph.like(shape)
    turned = graph.node("Transpose", [other], turned_shape, perm=perm)
    graph.node("MatMul", [source, turned], out)


def softmax(graph, source, shape):
    axis = len(shape) - 1
    if graph.opset >= 13 and axis > 0:
        axis = graph.below(1, len(shape))
    graph.node(graph.pick("Softmax", "Softmax", "LogSoftmax"), [source], shape, axis=axis)


STEPS = [
    dense, dense, dense, gemm, layer_normalisation, gelu, attention, attention, encoder, pixels,
    product, softmax,
]  # fmt: skip
FLAT_STEPS = [dense, gemm, gemm, gelu, layer_normalisation, softmax]
