# SPDX-License-Identifier: MIT
"""Networks whose weights are drawn from a seed while they grow.

Weights are He-initialised. The statistics of each BatchNormalization come from the probe sent
through the network while it is built, so activations neither vanish nor explode and int8
quantisation is meaningful.
"""

import numpy as np

import onnx_graph


class SeededNetwork:
    """A graph whose weights are drawn as it grows. Methods return the name of what they added."""

    def __init__(self, name, input_name, probe, random):
        self.graph = onnx_graph.Graph(name, input_name, probe)
        self.random = random

    def channels(self, tensor):
        return self.graph.values[tensor].shape[1]

    def weights(self, shape, fan_in):
        return self.random.normal(0, np.sqrt(2 / fan_in), shape).astype(np.float32)

    def normalize(self, name, source, gain=1.0):
        """Adds a BatchNormalization that brings the probe to a deviation of about `gain`.

        A channel's variance is its own and the mean of all, in equal parts: one that is nearly
        constant on the probe would otherwise explode on the next image.
        """
        values = self.graph.values[source]
        count = values.shape[1]
        variance = values.var(axis=(0, 2, 3))
        return self.graph.batch_normalization(
            name,
            source,
            (gain * self.random.uniform(0.8, 1.2, count)).astype(np.float32),
            (gain * self.random.normal(0, 0.2, count)).astype(np.float32),
            values.mean(axis=(0, 2, 3)),
            (variance + variance.mean()) / 2 + np.float32(1e-3),
        )

    def activate(self, name, source, kind):
        """Adds "Relu", "Clip" (0..6), "Sigmoid", "Silu" (x * sigmoid(x)) or, for None, nothing."""
        if kind is None:
            return source
        if kind == "Clip":
            limits = [("low", np.float32(0)), ("high", np.float32(6))]
            limits = [(suffix, np.asarray(value)) for suffix, value in limits]
            return self.graph.add(name + "_clip", "Clip", [source], limits)
        if kind == "Silu":
            gate = self.graph.add(name + "_gate", "Sigmoid", [source])
            return self.graph.add(name + "_silu", "Mul", [source, gate])
        return self.graph.add(f"{name}_{kind.lower()}", kind, [source])

    def convolve(
        self,
        name,
        source,
        channels,
        kernel,
        stride=1,
        group=1,
        gain=1.0,
        activation="Relu",
        padding=None,
    ):
        """Adds Conv, BatchNormalization and the activation; `padding` is kernel // 2 by default."""
        shape = (channels, self.channels(source) // group, kernel, kernel)
        weights = self.weights(shape, np.prod(shape[1:]))
        x = self.graph.convolution(name, source, weights, stride, group, padding=padding)
        return self.activate(name, self.normalize(name + "_bn", x, gain), activation)

    def upsample_by_convolution(self, name, source, channels):
        """Adds a ConvTranspose of 2x2 and stride 2, with bias."""
        inputs = self.channels(source)
        weights = self.weights((inputs, channels, 2, 2), inputs)
        bias = self.random.normal(0, 0.1, channels).astype(np.float32)
        return self.graph.transposed_convolution(name, source, weights, stride=2, bias=bias)

    def score(self, name, source, channels):
        """Adds a 1x1 Conv with bias and without activation: raw scores."""
        inputs = self.channels(source)
        weights = self.weights((channels, inputs, 1, 1), 2 * inputs)
        bias = self.random.normal(0, 0.5, channels).astype(np.float32)
        return self.graph.convolution(name, source, weights, bias=bias)

    def classify(self, name, source, classes):
        """Adds a global average, Flatten and Gemm: one logit for each class."""
        x = self.graph.add(name + "_average", "GlobalAveragePool", [source])
        x = self.graph.add(name + "_flatten", "Flatten", [x], axis=1)
        features = self.channels(x)
        weights = self.weights((classes, features), features / 2)
        constants = [("weight", weights), ("bias", np.zeros(classes, np.float32))]
        return self.graph.add(name, "Gemm", [x], constants, transB=1)

    def concatenate(self, name, sources):
        return self.graph.add(name, "Concat", sources, axis=1)

    def merge(self, name, left, right):
        """Adds two tensors of one shape and a Relu."""
        return self.activate(name, self.graph.add(name, "Add", [left, right]), "Relu")
