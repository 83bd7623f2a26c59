#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Generates the two networks of the demo: real graphs with seeded random weights.

    generate.py detector|large OUT.onnx [--input HEIGHTxWIDTH] [--width N] [--seed N]
                                        [--samples FILE.npy] [--sample-count N]

`detector` is a one-stage detector in the manner of YOLO: residual backbone, bottom-up neck and
three heads (strides 8, 16 and 32) of raw scores. `large` is a residual classifier in the manner of
ResNet-18 whose outputs are logits. Two numbers set the cost: --input (cost goes with the area)
and --width (channels of the first stage, a multiple of 8; cost goes with its square).

Weights are He-initialised. Each BatchNormalization takes its mean and variance from a synthetic
image sent through the network while it is built, so activations neither vanish nor explode and
int8 quantisation is meaningful. --samples also writes such images (float32, N x 3 x H x W, about
-2..2) for calibration. The same seed gives the same graph; the last bits of the statistics depend
on numpy and its BLAS.
"""

import argparse
import dataclasses
import sys

import numpy as np
import onnx

import onnx_graph

PROBE_STREAM, WEIGHT_STREAM, SAMPLE_STREAM = range(3)


def synthetic_images(count, height, width, random):
    """Returns float32 (count, 3, height, width): smooth shapes, edges and a little noise.

    Each channel is normalised to mean 0 and deviation 1 over the image.
    """
    rows, columns = np.mgrid[0:height, 0:width].astype(np.float32)
    rows, columns = rows / height, columns / width
    images = np.empty((count, 3, height, width), np.float32)
    for image in images:
        image[:] = random.normal(0, 0.15, image.shape)
        for _ in range(12):
            y, x = random.uniform(0, 1, 2)
            half_y, half_x = random.uniform(0.03, 0.3, 2)
            colour = random.normal(0, 1, (3, 1, 1))
            distance = ((rows - y) / half_y) ** 2 + ((columns - x) / half_x) ** 2
            soft = random.uniform() < 0.5
            image += colour * (np.exp(-distance) if soft else distance < 1)
        image -= image.mean(axis=(1, 2), keepdims=True)
        image /= image.std(axis=(1, 2), keepdims=True)
    return images


class SeededNetwork:
    """A graph whose weights are drawn as it grows."""

    def __init__(self, name, input_name, probe, random):
        self.graph = onnx_graph.Graph(name, input_name, probe)
        self.random = random

    def channels(self, tensor):
        return self.graph.values[tensor].shape[1]

    def _he_weights(self, shape):
        deviation = np.sqrt(2 / np.prod(shape[1:]))
        return self.random.normal(0, deviation, shape).astype(np.float32)

    def normalize(self, name, source, gain):
        """Adds a BatchNormalization that brings the probe to deviation `gain` per channel."""
        values = self.graph.values[source]
        count = values.shape[1]
        return self.graph.batch_normalization(
            name,
            source,
            (gain * self.random.uniform(0.8, 1.2, count)).astype(np.float32),
            (gain * self.random.normal(0, 0.2, count)).astype(np.float32),
            values.mean(axis=(0, 2, 3)),
            values.var(axis=(0, 2, 3)) + np.float32(1e-3),
        )

    def convolve(
        self, name, source, channels, kernel, stride=1, group=1, gain=1.0, activation="Relu"
    ):
        """Adds Conv, BatchNormalization and the activation: "Relu", "Clip" (0..6) or None."""
        shape = (channels, self.channels(source) // group, kernel, kernel)
        x = self.graph.convolution(name, source, self._he_weights(shape), stride, group)
        x = self.normalize(name + "_bn", x, gain)
        if activation == "Clip":
            limits = [("low", np.float32(0)), ("high", np.float32(6))]
            limits = [(suffix, np.asarray(value)) for suffix, value in limits]
            return self.graph.add(name + "_clip", "Clip", [x], limits)
        return self.graph.add(name + "_relu", "Relu", [x]) if activation else x

    def merge(self, name, left, right):
        """Adds two tensors of one shape and a Relu."""
        return self.graph.add(name + "_relu", "Relu", [self.graph.add(name, "Add", [left, right])])


def _bottleneck(network, name, source):
    """1x1 to half the channels, 3x3 back, added to the source."""
    channels = network.channels(source)
    x = network.convolve(name + "_reduce", source, channels // 2, 1)
    x = network.convolve(name + "_expand", x, channels, 3, gain=0.5, activation=None)
    return network.merge(name + "_add", source, x)


def _depthwise_pair(network, name, source):
    """Depthwise 3x3 and pointwise 1x1, added to the source."""
    channels = network.channels(source)
    x = network.convolve(name + "_depthwise", source, channels, 3, group=channels, activation="Clip")
    x = network.convolve(name + "_pointwise", x, channels, 1, gain=0.5, activation=None)
    return network.merge(name + "_add", source, x)


def _head(network, name, source, channels):
    """Raw scores of one scale: 16 numbers a cell (4 box, 1 objectness, 11 classes)."""
    x = network.convolve(name + "_feature", source, channels, 3)
    weights = network.random.normal(0, np.sqrt(1 / channels), (16, channels, 1, 1))
    bias = network.random.normal(0, 0.5, 16).astype(np.float32)
    return network.graph.convolution(name, x, weights.astype(np.float32), bias=bias)


def build_detector(network, width):
    """Returns the output tensors. Strides 2, 4, 8, 16, 32 have width x 1, 2, 4, 8, 16 channels."""
    x = network.convolve("stem", "image", width, 3, stride=2)
    x = network.convolve("down1", x, 2 * width, 3, stride=2)
    x = _bottleneck(network, "stage1", x)
    scales = []
    for level, factor in ((2, 4), (3, 8), (4, 16)):
        x = network.convolve(f"down{level}", x, factor * width, 3, stride=2)
        x = _bottleneck(network, f"stage{level}a", x)
        x = _depthwise_pair(network, f"stage{level}b", x)
        scales.append(x)
    pooled = network.graph.add(
        "spatial_pool", "MaxPool", [x], kernel_shape=[5, 5], strides=[1, 1], pads=[2] * 4
    )
    scales[2] = network.merge("spatial_add", x, pooled)

    channels = 4 * width
    outputs, below = [], None
    for stride, scale in zip((8, 16, 32), scales):
        x = network.convolve(f"lateral{stride}", scale, channels, 1)
        if below is not None:
            step = network.convolve(f"neck{stride}", below, channels, 3, stride=2, group=2)
            x = network.merge(f"neck{stride}_add", x, step)
        outputs.append(_head(network, f"scores{stride}", x, channels))
        below = x
    return outputs


def _basic_block(network, name, source, channels, stride):
    """Two 3x3 and a shortcut, which is a strided 1x1 where the shape changes."""
    x = network.convolve(name + "_first", source, channels, 3, stride=stride)
    x = network.convolve(name + "_second", x, channels, 3, gain=0.5, activation=None)
    shortcut = source
    if stride != 1 or network.channels(source) != channels:
        shortcut = network.convolve(
            name + "_shortcut", source, channels, 1, stride=stride, activation=None
        )
    return network.merge(name + "_add", shortcut, x)


def build_large(network, width):
    """Returns the output tensor's name in a list. Stages have width x 1, 2, 4, 8 channels."""
    x = network.convolve("stem", "image", width, 7, stride=2)
    x = network.graph.add(
        "stem_pool", "MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4
    )
    for stage in range(4):
        channels = width << stage
        x = _basic_block(network, f"stage{stage + 1}a", x, channels, 1 if stage == 0 else 2)
        x = _basic_block(network, f"stage{stage + 1}b", x, channels, 1)
    x = network.graph.add("average", "GlobalAveragePool", [x])
    x = network.graph.add("flatten", "Flatten", [x], axis=1)
    classes, features = 1000, network.channels(x)
    weights = network.random.normal(0, np.sqrt(4 / features), (classes, features))
    constants = [("weight", weights.astype(np.float32)), ("bias", np.zeros(classes, np.float32))]
    x = network.graph.add("logits", "Gemm", [x], constants, transB=1)
    return [x]


@dataclasses.dataclass(frozen=True)
class Kind:
    build: object
    height: int
    image_width: int
    width: int


KINDS = {
    "detector": Kind(build_detector, 320, 400, 16),
    "large": Kind(build_large, 296, 296, 64),
}


def _size(text):
    height, _, width = text.partition("x")
    return int(height), int(width or height)


def main():
    parser = argparse.ArgumentParser(description="Generates the demo's networks.")
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("output")
    parser.add_argument("--input", type=_size, metavar="HEIGHTxWIDTH")
    parser.add_argument("--width", type=int, help="channels of the first stage, a multiple of 8")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--samples", metavar="FILE.npy", help="also write calibration images")
    parser.add_argument("--sample-count", type=int, default=4)
    options = parser.parse_args()
    kind = KINDS[options.kind]
    size = options.input or (kind.height, kind.image_width)
    width = options.width or kind.width
    if width % 8 or width < 8 or min(size) < 32:
        parser.error("--width must be a multiple of 8, --input at least 32 x 32")

    streams = [np.random.default_rng([options.seed, purpose]) for purpose in range(3)]
    probe = synthetic_images(1, *size, streams[PROBE_STREAM])
    network = SeededNetwork(options.kind, "image", probe, streams[WEIGHT_STREAM])
    model = network.graph.model(kind.build(network, width))
    onnx.save(model, options.output)
    if options.samples:
        images = synthetic_images(options.sample_count, *size, streams[SAMPLE_STREAM])
        np.save(options.samples, images)
    print(
        f"{options.output}: {size[0]} x {size[1]}, {network.graph.mac_count / 1e6:.1f} M "
        f"multiply-accumulates, {model.ByteSize() / 1e6:.1f} MB",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
