# SPDX-License-Identifier: MIT
"""A small vision transformer: patches of 16 x 16, pre-normalised blocks, a class token, a linear
classifier. With 192 features, 3 heads and 12 blocks it is DeiT-tiny (Touvron et al., 2021); here it
has 4 blocks. LayerNormalization and GELU are written in primitive operators, as exporters do."""

import numpy as np

PATCH = 16
HEAD = 64  # features of a head
BLOCKS = 4
CLASSES = 1000
FULL_WIDTH = 192


def build(network, width):
    """`width` features, a multiple of 8; appends to `network` and returns its output."""
    return [_Transformer(network, width).build()]


class _Transformer:
    def __init__(self, network, width):
        self.graph = network.graph
        self.random = network.random
        self.width = width
        self.heads = max(width // HEAD, 1)

    def _normal(self, *shape, deviation):
        return (self.random.standard_normal(shape) * deviation).astype(np.float32)

    def _linear(self, name, source, inputs, outputs, gain=1.0):
        weights = self._normal(inputs, outputs, deviation=gain / np.sqrt(inputs))
        product = self.graph.add(f"{name}.matmul", "MatMul", [source], [("weight", weights)])
        bias = self._normal(outputs, deviation=0.1)
        return self.graph.add(name, "Add", [product], [("bias", bias)])

    def _scalar(self, name, operator, source, value):
        return self.graph.add(name, operator, [source], [("value", np.float32(value))])

    def _layer_norm(self, name, source):
        graph = self.graph
        mean = graph.add(f"{name}.mean", "ReduceMean", [source], axes=[-1])
        centred = graph.add(f"{name}.centred", "Sub", [source, mean])
        squares = self._scalar(f"{name}.squares", "Pow", centred, 2)
        variance = graph.add(f"{name}.variance", "ReduceMean", [squares], axes=[-1])
        sum_ = self._scalar(f"{name}.sum", "Add", variance, 1e-6)
        root = graph.add(f"{name}.root", "Sqrt", [sum_])
        normal = graph.add(f"{name}.normal", "Div", [centred, root])
        scale = (1 + self._normal(self.width, deviation=0.1)).astype(np.float32)
        scaled = graph.add(f"{name}.scaled", "Mul", [normal], [("scale", scale)])
        return graph.add(name, "Add", [scaled], [("bias", self._normal(self.width, deviation=0.1))])

    def _shape(self, name, source, shape):
        return self.graph.add(name, "Reshape", [source], [("shape", np.array(shape, np.int64))])

    def _head_rows(self, name, source, tokens, perm):
        size = self.width // self.heads
        split = self._shape(f"{name}.split", source, [-1, tokens, self.heads, size])
        return self.graph.add(name, "Transpose", [split], perm=perm)

    def _attention(self, name, source, tokens):
        graph, width = self.graph, self.width
        query, key, value = (
            self._linear(f"{name}.{part}", source, width, width) for part in ("q", "k", "v")
        )
        query = self._head_rows(f"{name}.query", query, tokens, [0, 2, 1, 3])
        key = self._head_rows(f"{name}.key", key, tokens, [0, 2, 3, 1])
        value = self._head_rows(f"{name}.value", value, tokens, [0, 2, 1, 3])
        scores = graph.add(f"{name}.scores", "MatMul", [query, key])
        scaled = self._scalar(f"{name}.scaled", "Div", scores, np.sqrt(width / self.heads))
        weights = graph.add(f"{name}.softmax", "Softmax", [scaled], axis=-1)
        mixed = graph.add(f"{name}.mixed", "MatMul", [weights, value])
        joined = graph.add(f"{name}.joined", "Transpose", [mixed], perm=[0, 2, 1, 3])
        flat = self._shape(f"{name}.flat", joined, [-1, tokens, width])
        return self._linear(f"{name}.projected", flat, width, width)

    def _gelu(self, name, source):
        graph = self.graph
        part = self._scalar(f"{name}.part", "Div", source, np.sqrt(2))
        error = graph.add(f"{name}.erf", "Erf", [part])
        sum_ = self._scalar(f"{name}.sum", "Add", error, 1)
        product = graph.add(f"{name}.product", "Mul", [source, sum_])
        return self._scalar(name, "Mul", product, 0.5)

    def _block(self, name, source, tokens):
        graph, width = self.graph, self.width
        attended = self._attention(f"{name}.attention", self._layer_norm(f"{name}.norm1", source), tokens)
        middle = graph.add(f"{name}.add1", "Add", [source, attended])
        hidden = self._linear(f"{name}.fc1", self._layer_norm(f"{name}.norm2", middle), width, 4 * width)
        output = self._linear(f"{name}.fc2", self._gelu(f"{name}.gelu", hidden), 4 * width, width)
        return graph.add(f"{name}.add2", "Add", [middle, output])

    def build(self):
        graph, width = self.graph, self.width
        channels = graph.values[graph.input_name].shape[1]
        weights = self._normal(
            width, channels, PATCH, PATCH, deviation=1 / (PATCH * np.sqrt(channels))
        )
        patches = graph.add(
            "patches", "Conv", [graph.input_name],
            [("weight", weights), ("bias", self._normal(width, deviation=0.1))],
            kernel_shape=[PATCH, PATCH], strides=[PATCH, PATCH],
        )  # fmt: skip
        rows, columns = graph.values[patches].shape[2:]
        tokens = rows * columns + 1
        flat = self._shape("flat", patches, [-1, width, rows * columns])
        sequence = graph.add("sequence", "Transpose", [flat], perm=[0, 2, 1])
        # Exporters give the class token a batch by Expand; with batch 1 it is a constant.
        padded = graph.add(
            "padded", "Pad", [sequence], [("pads", np.array([0, 1, 0, 0, 0, 0], np.int64))]
        )
        position = self._normal(1, tokens, width, deviation=0.5)
        stream = graph.add("embedded", "Add", [padded], [("position", position)])
        for index in range(BLOCKS):
            stream = self._block(f"block{index + 1}", stream, tokens)
        normal = self._layer_norm("norm", stream)
        token = graph.add("token", "Gather", [normal], [("index", np.array(0, np.int64))], axis=1)
        return self._linear("logits", token, width, CLASSES)
