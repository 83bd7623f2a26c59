# SPDX-License-Identifier: MIT
"""Transformer blocks whose attention is masked, with weights as large as trained ones make them: a
small BERT and blocks of decoders, with the mask in every form in which exporters write it."""

import numpy as np
from onnx import TensorProto

from graph_builder import GraphBuilder

FLOAT_MIN = float(np.finfo(np.float32).min)
WIDTH, HEADS, TOKENS, WORDS = 64, 2, 24, 200
EACH = WIDTH // HEADS
SCORES = (1, HEADS, TOKENS, TOKENS)
# The deviation of the scores of trained attention.
SCORE_DEVIATION = 2.0


def builder(seed):
    return GraphBuilder(np.random.default_rng(seed), opset=13)


def _scalar(graph, operator, source, number, number_first=False):
    shape = dict(graph.tensors)[source]
    operands = [source, graph.constant(np.float32(number))]
    return graph.node(operator, operands[::-1] if number_first else operands, shape)


def linear(graph, source, width, deviation=1.0):
    """Computes rows times weights plus bias; rows of deviation 1 become rows of `deviation`."""
    shape = dict(graph.tensors)[source]
    weights = graph.normal(shape[-1], width) * deviation / np.sqrt(shape[-1])
    product = graph.node("MatMul", [source, graph.constant(weights)], (*shape[:-1], width))
    bias = graph.constant(graph.normal(width) * 0.1)
    return graph.node("Add", [product, bias], (*shape[:-1], width))


def _heads(graph, source, perm):
    sizes = (1, TOKENS, HEADS, EACH)
    parts = graph.node("Reshape", [source, graph.integers(sizes)], sizes)
    return graph.node("Transpose", [parts], [sizes[axis] for axis in perm], perm=perm)


def scores_of(graph, source):
    """Returns the scores of every row with every row, before they are masked, and the values that
    they will weigh."""
    spread = np.sqrt(SCORE_DEVIATION)
    query = _heads(graph, linear(graph, source, WIDTH, spread), [0, 2, 1, 3])
    key = _heads(graph, linear(graph, source, WIDTH, spread), [0, 2, 3, 1])
    value = _heads(graph, linear(graph, source, WIDTH), [0, 2, 1, 3])
    product = graph.node("MatMul", [query, key], SCORES)
    return _scalar(graph, "Div", product, np.sqrt(EACH)), value


def attention(graph, source, mask):
    """Adds attention; `mask` is a function that makes the input of softmax from (graph, scores)."""
    scores, value = scores_of(graph, source)
    weights = graph.node("Softmax", [mask(graph, scores)], SCORES, axis=-1)
    mixed = graph.node("MatMul", [weights, value], (1, HEADS, TOKENS, EACH))
    turned = graph.node("Transpose", [mixed], (1, TOKENS, HEADS, EACH), perm=[0, 2, 1, 3])
    sizes = (1, TOKENS, WIDTH)
    joined = graph.node("Reshape", [turned, graph.integers(sizes)], sizes)
    return linear(graph, joined, WIDTH)


def normalise(graph, source):
    shape = dict(graph.tensors)[source]
    mean = graph.node("ReduceMean", [source], (*shape[:-1], 1), axes=[-1])
    centred = graph.node("Sub", [source, mean], shape)
    square = graph.node("Pow", [centred, graph.constant(np.float32(2))], shape)
    variance = graph.node("ReduceMean", [square], (*shape[:-1], 1), axes=[-1])
    deviation = graph.node("Sqrt", [_scalar(graph, "Add", variance, 1e-12)], (*shape[:-1], 1))
    normal = graph.node("Div", [centred, deviation], shape)
    factors = graph.constant(1 + 0.1 * graph.normal(shape[-1]))
    scaled = graph.node("Mul", [normal, factors], shape)
    return graph.node("Add", [scaled, graph.constant(0.1 * graph.normal(shape[-1]))], shape)


def feed_forward(graph, source):
    inner = linear(graph, source, 4 * WIDTH)
    error = graph.node("Erf", [_scalar(graph, "Div", inner, np.sqrt(2))], (1, TOKENS, 4 * WIDTH))
    raised = _scalar(graph, "Add", error, 1)
    product = graph.node("Mul", [inner, raised], (1, TOKENS, 4 * WIDTH))
    return linear(graph, _scalar(graph, "Mul", product, 0.5), WIDTH)


def add(graph, left, right):
    return graph.node("Add", [left, right], dict(graph.tensors)[left])


def encoder_layer(graph, source, mask):
    """Adds a layer as in BERT: the sum of input and result is normalised."""
    middle = normalise(graph, add(graph, source, attention(graph, source, mask)))
    return normalise(graph, add(graph, middle, feed_forward(graph, middle)))


def decoder_layer(graph, source, mask):
    """Adds a layer as in GPT: the inputs of attention and of the feed-forward part are normalised first."""
    middle = add(graph, source, attention(graph, normalise(graph, source), mask))
    return add(graph, middle, feed_forward(graph, normalise(graph, middle)))


def whole(graph, name, output):
    model = graph.finish(name, most_outputs=1)
    assert [out.name for out in model.graph.output] == [output]
    return model


# The masks below come from an input `mask` (1, TOKENS), which is 1 where there is a token.


def unsqueezed(graph, kind=TensorProto.FLOAT):
    """Returns the mask as (1, 1, 1, TOKENS) in float; it is computed once for all layers."""
    made = getattr(graph, "mask", None)
    if made:
        return made
    axes = graph.integers([1])
    inner = graph.node("Unsqueeze", ["mask", axes], (1, 1, TOKENS), kind)
    graph.mask = graph.node("Unsqueeze", [inner, graph.integers([2])], (1, 1, 1, TOKENS), kind)
    if kind != TensorProto.FLOAT:
        graph.mask = graph.node("Cast", [graph.mask], (1, 1, 1, TOKENS), to=TensorProto.FLOAT)
    return graph.mask


def bert_mask(graph, scores, least=-10000.0, kind=TensorProto.FLOAT):
    """scores + (1 - mask) * -10000"""
    if not hasattr(graph, "extended"):
        inverse = _scalar(graph, "Sub", unsqueezed(graph, kind), 1, number_first=True)
        graph.extended = _scalar(graph, "Mul", inverse, least)
    return add(graph, scores, graph.extended)


def bert(seed=1, layers=2, mask=bert_mask):
    """BERT without its embedding: the inputs are `x` (1, TOKENS, WIDTH) and `mask`."""
    graph = builder(seed)
    graph.add_input("x", (1, TOKENS, WIDTH))
    graph.add_input("mask", (1, TOKENS))
    stream = normalise(graph, "x")
    for _ in range(layers):
        stream = encoder_layer(graph, stream, mask)
    return whole(graph, "bert", stream)


def bert_of_words(seed=1, layers=2):
    """BERT from int64 inputs `words` and `mask`, with word and position embeddings."""
    graph = builder(seed)
    graph.add_input("words", (1, TOKENS), TensorProto.INT64)
    graph.add_input("mask", (1, TOKENS), TensorProto.INT64)
    table = graph.constant(graph.normal(WORDS, WIDTH))
    word = graph.node("Gather", [table, "words"], (1, TOKENS, WIDTH), axis=0)
    place = graph.constant(0.3 * graph.normal(1, TOKENS, WIDTH))
    stream = normalise(graph, graph.node("Add", [word, place], (1, TOKENS, WIDTH)))
    for _ in range(layers):
        stream = encoder_layer(
            graph, stream, lambda g, scores: bert_mask(g, scores, kind=TensorProto.INT64)
        )
    return whole(graph, "bert", stream)


def decoder(mask, seed=2, layers=1):
    """A network of decoders with the input `x` (1, TOKENS, WIDTH), and with `mask` if the mask
    reads it."""
    graph = builder(seed)
    graph.add_input("x", (1, TOKENS, WIDTH))
    graph.add_input("mask", (1, TOKENS))
    stream = "x"
    for _ in range(layers):
        stream = decoder_layer(graph, stream, mask)
    return whole(graph, "decoder", normalise(graph, stream))


# The masks below are causal: no row sees the rows behind it.

VISIBLE = np.tril(np.ones((1, 1, TOKENS, TOKENS), bool))


def _causal(least):
    return np.where(VISIBLE, np.float32(0), np.float32(least))


def constant_mask(least, swapped=False):
    def mask(graph, scores):
        operands = [scores, graph.constant(_causal(least))]
        return graph.node("Add", operands[::-1] if swapped else operands, SCORES)

    return mask


def subtracted_mask(graph, scores):
    """scores * visible - 1e4 * (1 - visible), where the input masks tokens."""
    visible = unsqueezed(graph)
    kept = graph.node("Mul", [scores, visible], SCORES)
    inverse = _scalar(graph, "Sub", visible, 1, number_first=True)
    return graph.node("Sub", [kept, _scalar(graph, "Mul", inverse, 1e4)], SCORES)


def where_mask(graph, scores):
    """scores + Where(visible, 0, float-min)"""
    visible = graph.node("Cast", [unsqueezed(graph)], (1, 1, 1, TOKENS), TensorProto.BOOL,
                         to=TensorProto.BOOL)  # fmt: skip
    zero, least = graph.constant(np.float32(0)), graph.constant(np.float32(FLOAT_MIN))
    chosen = graph.node("Where", [visible, zero, least], (1, 1, 1, TOKENS))
    return add(graph, scores, chosen)


def where_scores(graph, scores):
    """Where(visible, scores, -1e9)"""
    least = graph.constant(np.float32(-1e9))
    return graph.node("Where", [graph.constant(VISIBLE, bool), scores, least], SCORES)


def where_then_bias(graph, scores):
    """After Where has masked the scores, they get a small bias per row and are scaled."""
    bias = graph.constant(0.5 * graph.normal(1, 1, TOKENS, TOKENS))
    return _scalar(graph, "Mul", add(graph, where_scores(graph, scores), bias), 0.8)


def both_masks(graph, scores):
    """Masks both the positions behind a row and tokens; a sum that underflows becomes float-min again."""
    masked = bert_mask(graph, constant_mask(FLOAT_MIN)(graph, scores), -1e9)
    return _scalar(graph, "Max", masked, FLOAT_MIN)


def scaled_behind(graph, scores):
    """(8 scores + mask) / 8"""
    masked = constant_mask(-1e4)(graph, _scalar(graph, "Mul", scores, 8))
    return _scalar(graph, "Div", masked, 8)


def in_other_shape(graph, scores):
    """Adds the mask to the matrices of each head, as older exporters do."""
    flat = (HEADS, TOKENS, TOKENS)
    parts = graph.node("Reshape", [scores, graph.integers(flat)], flat)
    masked = graph.node("Add", [parts, graph.constant(_causal(-1e9)[0])], flat)
    return graph.node("Reshape", [masked, graph.integers(SCORES)], SCORES)


def with_bias_of_place(graph, scores):
    """Adds a constant that holds the mask and a bias that grows with distance."""
    place = np.arange(TOKENS)
    slopes = np.float32([0.5, 0.125]).reshape(1, HEADS, 1, 1)
    bias = -slopes * np.abs(place[:, None] - place[None, :])
    return add(graph, scores, graph.constant(bias + _causal(-1e9)))


MASKS = {
    "-1e4": constant_mask(-1e4),
    "-1e9": constant_mask(-1e9),
    "-100": constant_mask(-100),
    "float-min": constant_mask(FLOAT_MIN),
    "-inf": constant_mask(-np.inf),
    "swapped": constant_mask(FLOAT_MIN, swapped=True),
    "from an input": bert_mask,
    "subtracted": subtracted_mask,
    "by Where": where_mask,
    "Where of scores": where_scores,
    "Where, bias, scale": where_then_bias,
    "two masks": both_masks,
    "scaled behind": scaled_behind,
    "in another shape": in_other_shape,
    "with a bias of place": with_bias_of_place,
}
