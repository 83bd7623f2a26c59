#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Quantises a float ONNX network to 8 bits, as training frameworks and quantisers export it.

    quantise_model.py MODEL.onnx OUT.onnx --samples FILE.npy
                      [--format qdq|qoperator] [--activations uint8|int8] [--percentile P]

qdq puts QuantizeLinear and DequantizeLinear around float operators, qoperator writes QLinearConv and
its like (and com.microsoft's QLinearAdd, QGemm, ...). Weights are int8 with one scale for each output
channel, biases int32, activations have one scale and zero point for their range over the samples.

It exists to have such models to test with: it takes networks of Conv, BatchNormalization, Relu, Add,
MaxPool, GlobalAveragePool, Flatten, Gemm (transB) and Softmax, with one input.
"""

import argparse
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

import float_reference

MICROSOFT = "com.microsoft"
MOVING = ("MaxPool", "Flatten")
FLOAT = ("Softmax",)
QUANTISED = {"Add": "QLinearAdd", "GlobalAveragePool": "QLinearGlobalAveragePool"}


def fold_batch_normalization(model):
    """Returns a copy whose BatchNormalizations are inside the Conv before them."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    graph = model.graph
    constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    makers = {name: node for node in graph.node for name in node.output}
    for node in [n for n in graph.node if n.op_type == "BatchNormalization"]:
        conv = makers[node.input[0]]
        scale, bias, mean, variance = (constants[name] for name in node.input[1:])
        epsilon = next((a.f for a in node.attribute if a.name == "epsilon"), 1e-5)
        factor = scale / np.sqrt(variance + epsilon)
        weights = constants[conv.input[1]] * factor.reshape(-1, 1, 1, 1)
        old = constants[conv.input[2]] if len(conv.input) > 2 else 0
        names = [f"{conv.name}.folded_weight", f"{conv.name}.folded_bias"]
        for name, array in zip(names, (weights, (old - mean) * factor + bias)):
            constants[name] = array.astype(np.float32)
        del conv.input[1:]
        conv.input.extend(names)
        conv.output[0] = node.output[0]
        graph.node.remove(node)
    del graph.initializer[:]
    used = {name for node in graph.node for name in node.input}
    graph.initializer.extend(
        numpy_helper.from_array(array, name) for name, array in constants.items() if name in used
    )
    del graph.value_info[:]
    return model


class Quantiser:
    """Writes one model. `low` is the least number of the activations' type."""

    def __init__(self, model, samples, activations, percentile):
        self.graph = model.graph
        self.type = np.dtype(activations)
        self.low = np.iinfo(self.type).min
        self.constants = {t.name: numpy_helper.to_array(t) for t in self.graph.initializer}
        network = float_reference.Network(model)
        self.input_name = network.input_names[0]
        wanted = [self.input_name] + [name for n in self.graph.node for name in n.output]
        self.tensors = network.run_images({self.input_name: samples}, wanted)
        self.percentile = percentile
        self.readers = {}
        for node in self.graph.node:
            for name in node.input:
                self.readers.setdefault(name, []).append(node)
        self.scales = {}  # tensor -> (scale, zero point)
        self.nodes, self.initializers = [], []

    def quantisation(self, name):
        tail = 100 - self.percentile
        low = min(float(np.percentile(self.tensors[name], tail)), 0.0)
        high = max(float(np.percentile(self.tensors[name], 100 - tail)), 0.0)
        scale = np.float32((high - low) / 255) or np.float32(1)
        return scale, int(np.clip(np.rint(self.low - low / scale), self.low, self.low + 255))

    def constant(self, name, array):
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def scale_inputs(self, tensor):
        scale, zero = self.scales[tensor]
        return [
            self.constant(f"{tensor}_scale", np.float32(scale)),
            self.constant(f"{tensor}_zero", self.type.type(zero)),
        ]

    def add(self, operator, inputs, output, domain="", **attributes):
        self.nodes.append(
            helper.make_node(
                operator, inputs, [output], name=f"{output}:{operator}", domain=domain, **attributes
            )
        )

    def quantised_weights(self, name):
        """Returns (int8, scales), a scale for each output channel, which are axis 0."""
        weights = self.constants[name]
        greatest = np.abs(weights.reshape(len(weights), -1)).max(axis=1)
        scales = np.maximum(greatest / 127, 1e-12).astype(np.float32)
        steps = np.rint(weights / scales.reshape(-1, *[1] * (weights.ndim - 1)))
        return np.clip(steps, -127, 127).astype(np.int8), scales

    def quantised_bias(self, node, scales):
        step = self.scales[node.input[0]][0].astype(np.float64) * scales
        return np.rint(self.constants[node.input[2]] / step).astype(np.int32), step

    def fused_output(self, node):
        """The tensor behind a Relu that reads nothing else, and the Relu."""
        readers = self.readers.get(node.output[0], [])
        if len(readers) == 1 and readers[0].op_type == "Relu":
            return readers[0].output[0], readers[0]
        return node.output[0], None

    def run(self, write):
        name = self.input_name
        self.scales[name] = self.quantisation(name)
        scale, zero = self.scale_inputs(name)
        self.add("QuantizeLinear", [name, scale, zero], f"{name}_q")
        self.after_quantised(name, write, scale, zero)
        fused = set()
        for node in self.graph.node:
            if node.output[0] in fused:
                continue
            output, relu = self.fused_output(node)
            if node.op_type in MOVING:
                self.scales[output] = self.scales[node.input[0]]
            elif node.op_type not in FLOAT:
                self.scales[output] = self.quantisation(output)
            if relu:
                fused.add(output)
            write(node, relu, output)

    def after_quantised(self, name, write, scale, zero):
        if write == self.write_qdq:
            self.add("DequantizeLinear", [f"{name}_q", scale, zero], f"{name}_dq")

    # QDQ: float operators between DequantizeLinear and QuantizeLinear.

    def write_qdq(self, node, relu, output):
        inputs = [f"{n}_dq" if n in self.scales else n for n in node.input]
        if node.op_type in ("Conv", "Gemm"):
            weights, scales = self.quantised_weights(node.input[1])
            bias, step = self.quantised_bias(node, scales)
            for index, array, of in ((1, weights, scales), (2, bias, step.astype(np.float32))):
                inputs[index] = f"{node.name}_{index}_dq"
                self.add(
                    "DequantizeLinear",
                    [
                        self.constant(f"{node.name}_{index}_q", array),
                        self.constant(f"{node.name}_{index}_scale", of),
                        self.constant(f"{node.name}_{index}_zero", np.zeros(len(of), array.dtype)),
                    ],
                    inputs[index],
                    axis=0,
                )
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        del copy.input[:]
        copy.input.extend(inputs)
        self.nodes.append(copy)
        if relu:
            self.nodes.append(relu)
        if output not in self.scales:
            return
        scale, zero = self.scale_inputs(output)
        self.add("QuantizeLinear", [output, scale, zero], f"{output}_q")
        self.after_quantised(output, self.write_qdq, scale, zero)

    # QOperator: operators over bytes.

    def operand(self, tensor):
        return [f"{tensor}_q", f"{tensor}_scale", f"{tensor}_zero"]

    def weight_operand(self, node):
        weights, scales = self.quantised_weights(node.input[1])
        bias, _ = self.quantised_bias(node, scales)
        return [
            self.constant(f"{node.name}_weights", weights),
            self.constant(f"{node.name}_weights_scale", scales),
            self.constant(f"{node.name}_weights_zero", np.zeros(len(scales), np.int8)),
        ], self.constant(f"{node.name}_bias", bias)

    def write_qoperator(self, node, relu, output):
        source = node.input[0]
        if node.op_type in FLOAT:
            self.add("DequantizeLinear", self.operand(source), f"{source}_dq")
            self.nodes.append(helper.make_node(node.op_type, [f"{source}_dq"], node.output))
            self.nodes[-1].attribute.extend(node.attribute)
            return
        target = f"{output}_q"
        if node.op_type in MOVING:
            # The operand's scale under this name too.
            self.scale_inputs(output)
            self.nodes.append(helper.make_node(node.op_type, [f"{source}_q"], [target]))
            self.nodes[-1].attribute.extend(node.attribute)
        elif node.op_type == "Conv":
            weights, bias = self.weight_operand(node)
            self.add(
                "QLinearConv",
                self.operand(source) + weights + self.scale_inputs(output) + [bias],
                target,
            )
            self.nodes[-1].attribute.extend(node.attribute)
        elif node.op_type == "Gemm":
            weights, bias = self.weight_operand(node)
            inputs = self.operand(source) + weights + [bias] + self.scale_inputs(output)
            self.add("QGemm", inputs, target, MICROSOFT, transB=1)
        else:
            inputs = [part for name in node.input for part in self.operand(name)]
            inputs += self.scale_inputs(output)
            self.add(QUANTISED[node.op_type], inputs, target, MICROSOFT)

    def model(self, original):
        graph = helper.make_graph(
            self.nodes, self.graph.name, self.graph.input, self.graph.output, self.initializers
        )
        opsets = list(original.opset_import)
        if any(node.domain == MICROSOFT for node in self.nodes):
            opsets.append(helper.make_opsetid(MICROSOFT, 1))
        model = helper.make_model(graph, producer_name="overtake", opset_imports=opsets)
        model.ir_version = original.ir_version
        onnx.checker.check_model(model)
        return model


def quantise(model, samples, style="qdq", activations="uint8", percentile=100.0):
    """Returns the quantised onnx.ModelProto; `samples` are (N, C, H, W) for the one input."""
    model = fold_batch_normalization(model)
    quantiser = Quantiser(model, samples, activations, percentile)
    quantiser.run(quantiser.write_qdq if style == "qdq" else quantiser.write_qoperator)
    return quantiser.model(model)


def main():
    parser = argparse.ArgumentParser(description="Quantises a float ONNX network to 8 bits.")
    parser.add_argument("model")
    parser.add_argument("output")
    parser.add_argument("--samples", required=True, metavar="FILE.npy")
    parser.add_argument("--format", choices=("qdq", "qoperator"), default="qdq")
    parser.add_argument("--activations", choices=("uint8", "int8"), default="uint8")
    parser.add_argument("--percentile", type=float, default=100.0)
    options = parser.parse_args()
    model = quantise(
        onnx.load(options.model),
        np.load(options.samples),
        options.format,
        options.activations,
        options.percentile,
    )
    onnx.save(model, options.output)


if __name__ == "__main__":
    sys.exit(main())
