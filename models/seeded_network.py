# SPDX-License-Identifier: MIT
"""Networks whose weights are drawn from a seed while they grow.

The probe, some images sent through the network while it is built, stands in for training. The
statistics of each BatchNormalization come from it, so activations neither vanish nor explode. And
filters are drawn from the span of what they see on the probe: steps of gradient descent are sums of
the patches a filter sees, so that is where trained filters lie. Filters drawn from all directions
answer to the rounding of inputs as much as to the inputs, which vary in a few directions only; every
BatchNormalization takes away what all places share and makes the rest large again, errors included.
"""

import numpy as np

import onnx_graph

PATCHES = 512  # places of the probe that a layer's filters are drawn from
HELD = 0.99  # part of the patches' variance that lies in the span


class SeededNetwork:
    """A graph whose weights are drawn as it grows. Methods return the name of what they added."""

    def __init__(self, name, input_name, probe, random):
        self.graph = onnx_graph.Graph(name, input_name, probe)
        self.random = random

    def channels(self, tensor):
        return self.graph.values[tensor].shape[1]

    def filters(self, source, channels, kernel, group=1):
        """Weights (channels, inputs / group, kernel, kernel) for a convolution of `source`, each
        filter of the length that He's initialisation gives it."""
        weights = np.concatenate([
            self._mixtures(channels // group, directions)
            for directions in self._directions(self._patches(source, kernel, group))
        ])  # fmt: skip
        return weights.reshape(channels, -1, kernel, kernel)

    def _mixtures(self, count, directions):
        weights = self.random.normal(0, 1, (count, len(directions))) @ directions
        weights *= np.sqrt(2 / (weights**2).sum(axis=1, keepdims=True))
        return weights.astype(np.float32)

    def _patches(self, source, kernel, group):
        """Returns (group, PATCHES, fan-in): what filters see at places chosen at random, less the
        mean of each element over these places."""
        values = self.graph.values[source]
        border = kernel // 2
        padded = np.pad(values, ((0, 0), (0, 0), (border, border), (border, border)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), axis=(2, 3))
        image, row, column = (
            self.random.integers(0, windows.shape[axis], PATCHES) for axis in (0, 2, 3)
        )
        patches = windows[image, :, row, column].reshape(PATCHES, group, -1).transpose(1, 0, 2)
        return patches - patches.mean(axis=1, keepdims=True)

    @staticmethod
    def _directions(patches):
        """Yields for each group the least orthonormal directions (rank, fan-in) that hold HELD of
        its patches' variance."""
        by_mixtures = patches.shape[2] >= PATCHES  # by way of the smaller matrix
        if by_mixtures:
            # Debian's own BLAS is twice as quick with the long dimension outside.
            elements = np.ascontiguousarray(patches.transpose(0, 2, 1))
            products = elements.transpose(0, 2, 1) @ elements
        else:
            products = patches.transpose(0, 2, 1) @ patches
        variances, vectors = np.linalg.eigh(products)
        variances, vectors = variances[:, ::-1], vectors.transpose(0, 2, 1)[:, ::-1]
        for sizes, directions, seen in zip(variances, vectors, patches):
            held = np.cumsum(sizes) / max(sizes.sum(), 1e-12)
            rank = 1 + np.searchsorted(held, HELD)
            if by_mixtures:
                lengths = np.sqrt(np.maximum(sizes[:rank], 1e-12 * sizes[:1]))
                yield directions[:rank] @ seen / np.maximum(lengths, 1e-12)[:, None]
            else:
                yield directions[:rank]

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
        weights = self.filters(source, channels, kernel, group)
        x = self.graph.convolution(name, source, weights, stride, group, padding=padding)
        return self.activate(name, self.normalize(name + "_bn", x, gain), activation)

    def upsample_by_convolution(self, name, source, channels):
        """Adds a ConvTranspose of 2x2 and stride 2, with bias."""
        weights = self.filters(source, 4 * channels, 1).reshape(channels, 2, 2, -1)
        weights = np.ascontiguousarray(weights.transpose(3, 0, 1, 2))
        bias = self.random.normal(0, 0.1, channels).astype(np.float32)
        return self.graph.transposed_convolution(name, source, weights, stride=2, bias=bias)

    def score(self, name, source, channels):
        """Adds a 1x1 Conv with bias and without activation: raw scores."""
        weights = self.filters(source, channels, 1)
        bias = self.random.normal(0, 0.5, channels).astype(np.float32)
        return self.graph.convolution(name, source, weights, bias=bias)

    def classify(self, name, source, classes):
        """Adds a global average, Flatten and Gemm: one logit for each class."""
        x = self.graph.add(name + "_average", "GlobalAveragePool", [source])
        x = self.graph.add(name + "_flatten", "Flatten", [x], axis=1)
        features = self.graph.values[x]
        # What tells one image from another, as far as the probe's images show it.
        _, _, directions = np.linalg.svd(features - features.mean(axis=0), full_matrices=False)
        weights = 2 * self._mixtures(classes, directions[: max(len(features) - 1, 1)])
        constants = [("weight", weights), ("bias", np.zeros(classes, np.float32))]
        return self.graph.add(name, "Gemm", [x], constants, transB=1)

    def concatenate(self, name, sources):
        return self.graph.add(name, "Concat", sources, axis=1)

    def merge(self, name, left, right):
        """Adds two tensors of one shape and a Relu."""
        return self.activate(name, self.graph.add(name, "Add", [left, right]), "Relu")
