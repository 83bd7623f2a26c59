#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Trains the glyph classifier and writes everything that is checked in under glyphs/.

    train_glyphs.py [--output-dir DIR] [--seed N] [--epochs N]

Writes glyphs.onnx (input "image", float32 1 x 1 x 24 x 24, grey levels 0..255; output
"probabilities", 1 x 16), calibration.npy (64 training images), heldout_images.npy and
heldout_labels.npy (640 images in fonts never trained on). Images and labels are uint8.
"""

import argparse
import pathlib
import sys

import numpy as np
import onnx

import float_reference
import glyph_images
import onnx_graph
import training_layers as layers

BATCH = 64
TRAINING_SAMPLES_EACH = 40  # images of a font and class in one epoch, rendered anew each epoch
HELD_OUT_SAMPLES_EACH = 8
CALIBRATION_SAMPLES = 64
PIXEL_SCALE = np.float32(1 / 255)
TOP_RATE = 4e-3


class GlyphNetwork:
    """conv 8, pool, conv 16, pool, conv 32, residual block of 32, global average, dense 16."""

    def __init__(self, random):
        classes = len(glyph_images.CLASSES)
        self.stages = [self._stage(1, 8, random), self._stage(8, 16, random)]
        self.widen = self._stage(16, 32, random)
        self.inner = self._stage(32, 16, random)
        self.outer = self._stage(16, 32, random)[:2]
        self.dense = layers.Dense(32, classes, random)
        self.layers = [
            *self.stages[0],
            layers.MaxPool(),
            *self.stages[1],
            layers.MaxPool(),
            *self.widen,
            layers.Residual(*self.inner, *self.outer),
            layers.Relu(),
            layers.GlobalAveragePool(),
            self.dense,
        ]

    @staticmethod
    def _stage(channels_in, channels_out, random):
        return [
            layers.Convolution(3, channels_in, channels_out, random),
            layers.BatchNormalization(channels_out),
            layers.Relu(),
        ]

    def parameters(self):
        return [parameter for layer in self.layers for parameter in layer.parameters()]

    def forward(self, images, training):
        """Returns logits (N, classes) of uint8 images (N, 1, H, W)."""
        data = images.transpose(0, 2, 3, 1) * PIXEL_SCALE
        for layer in self.layers:
            data = layer.forward(data, training)
        return data

    def backward(self, gradient):
        for layer in reversed(self.layers):
            gradient = layer.backward(gradient)


def train(network, epochs, random):
    masters = glyph_images.masters(glyph_images.TRAINING_FONTS)
    step = 0
    for epoch in range(epochs):
        images, labels = glyph_images.render(masters, TRAINING_SAMPLES_EACH, random)
        losses = []
        for start in range(0, len(images) - BATCH + 1, BATCH):
            batch = slice(start, start + BATCH)
            logits = network.forward(images[batch], True)
            loss, gradient = layers.softmax_cross_entropy(logits, labels[batch])
            network.backward(gradient)
            step += 1
            progress = step / (epochs * (len(images) // BATCH))
            rate = TOP_RATE * min(1, step / 100) * 0.5 * (1 + np.cos(np.pi * progress))
            layers.adam_step(network.parameters(), step, rate)
            losses.append(loss)
        print(f"epoch {epoch + 1}/{epochs}: mean loss {np.mean(losses):.4f}", file=sys.stderr)


def _export_stage(graph, name, source, stage, scale=np.float32(1)):
    convolution, normalization = stage[:2]
    source = graph.convolution(name, source, convolution.onnx_weights() * scale)
    source = graph.batch_normalization(
        name + "_bn",
        source,
        normalization.scale.value,
        normalization.bias.value,
        normalization.mean,
        normalization.variance,
        float(normalization.EPSILON),
    )
    return graph.add(name + "_relu", "Relu", [source]) if len(stage) == 3 else source


def _pool(graph, name, source):
    return graph.add(name, "MaxPool", [source], kernel_shape=[2, 2], strides=[2, 2])


def export(network, probe):
    """Returns (onnx.ModelProto, multiply-accumulates of one image)."""
    graph = onnx_graph.Graph("glyphs", "image", probe)
    # The first convolution carries the division of the pixels by 255.
    x = _export_stage(graph, "conv1", "image", network.stages[0], PIXEL_SCALE)
    x = _pool(graph, "pool1", x)
    x = _pool(graph, "pool2", _export_stage(graph, "conv2", x, network.stages[1]))
    x = _export_stage(graph, "conv3", x, network.widen)
    y = _export_stage(graph, "conv4", x, network.inner)
    y = _export_stage(graph, "conv5", y, network.outer)
    x = graph.add("residual_relu", "Relu", [graph.add("residual", "Add", [x, y])])
    x = graph.add("pool3", "GlobalAveragePool", [x])
    x = graph.add("flatten", "Flatten", [x], axis=1)
    weights = [("weight", network.dense.weights.value), ("bias", network.dense.bias.value)]
    x = graph.add("logits", "Gemm", [x], weights, transB=1)
    return graph.model([graph.add("probabilities", "Softmax", [x], axis=1)]), graph.mac_count


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description="Trains the glyph classifier.")
    parser.add_argument("--output-dir", type=pathlib.Path, default=here / "glyphs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=14)
    options = parser.parse_args()

    # One stream of random numbers per purpose: more epochs leave the held-out images as they are.
    streams = [np.random.default_rng([options.seed, purpose]) for purpose in range(4)]
    network = GlyphNetwork(streams[0])
    train(network, options.epochs, streams[1])
    training_masters = glyph_images.masters(glyph_images.TRAINING_FONTS)
    calibration, _ = glyph_images.render(training_masters, 1, streams[2])
    calibration = calibration[:CALIBRATION_SAMPLES]
    held_out_masters = glyph_images.masters(glyph_images.HELD_OUT_FONTS)
    images, labels = glyph_images.render(held_out_masters, HELD_OUT_SAMPLES_EACH, streams[3])

    model, mac_count = export(network, calibration[:1].astype(np.float32))
    options.output_dir.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(options.output_dir / "glyphs.onnx"))
    np.save(options.output_dir / "calibration.npy", calibration)
    np.save(options.output_dir / "heldout_images.npy", images)
    np.save(options.output_dir / "heldout_labels.npy", labels)
    probabilities = float_reference.Network(model).run_images({"image": images})["probabilities"]
    accuracy = np.mean(probabilities.argmax(axis=1) == labels)
    print(f"{mac_count} multiply-accumulates per image")
    print(f"float accuracy on {len(labels)} held-out images: {100 * accuracy:.2f} %")


if __name__ == "__main__":
    main()
