# SPDX-License-Identifier: MIT
"""Builds ONNX graphs (opset 13, batch 1, NCHW) and evaluates them while they grow.

A graph carries a probe, an array of some images: every added node is run on it by float_reference,
so shapes, multiply-accumulate counts and realistic activations are known at once.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import float_reference

OPSET = 13
IR_VERSION = 7  # the IR that came with opset 13: older checkers refuse newer ones


class Graph:
    """One network under construction. Tensors are named by strings; not thread-safe."""

    def __init__(self, name, input_name, probe):
        """`probe` is a float32 array (images, C, H, W); the graph keeps a reference to it."""
        self.name = name
        self.input_name = input_name
        self.values = {input_name: probe}
        self.mac_count = 0
        self.parameter_count = 0  # what training would learn
        self._nodes = []
        self._initializers = []
        self._initial_values = {}

    def add(self, name, operator, inputs, constants=(), **attributes):
        """Appends a node and returns its output's name, which is the node's own.

        `inputs` are tensor names; `constants` are (suffix, array) pairs that follow them.
        """
        arguments = list(inputs)
        for suffix, array in constants:
            constant = f"{name}.{suffix}"
            self._initial_values[constant] = array
            self._initializers.append(numpy_helper.from_array(array, constant))
            arguments.append(constant)
        tensors = [
            self.values[a] if a in self.values else self._initial_values[a] for a in arguments
        ]
        result = float_reference.evaluate(operator, attributes, tensors)
        self.values[name] = result
        self.mac_count += _mac_count(operator, tensors, result) // len(result)
        self.parameter_count += _parameter_count(operator, [array for _, array in constants])
        self._nodes.append(helper.make_node(operator, arguments, [name], name=name, **attributes))
        return name

    def convolution(self, name, source, weights, stride=1, group=1, bias=None, padding=None):
        """Adds a Conv; weights are (O, I/group, K, K).

        `padding` on all sides is kernel // 2 by default, which keeps the size of odd kernels
        (divided by the stride).
        """
        kernel = weights.shape[2]
        constants = [("weight", weights)] + ([] if bias is None else [("bias", bias)])
        return self.add(
            name,
            "Conv",
            [source],
            constants,
            kernel_shape=[kernel, kernel],
            strides=[stride, stride],
            pads=[kernel // 2 if padding is None else padding] * 4,
            group=group,
        )

    def transposed_convolution(self, name, source, weights, stride, bias):
        """Adds a ConvTranspose without padding; weights are (I, O, K, K)."""
        kernel = weights.shape[2]
        return self.add(
            name,
            "ConvTranspose",
            [source],
            [("weight", weights), ("bias", bias)],
            kernel_shape=[kernel, kernel],
            strides=[stride, stride],
        )

    def batch_normalization(self, name, source, scale, bias, mean, variance, epsilon=1e-5):
        constants = [("scale", scale), ("bias", bias), ("mean", mean), ("variance", variance)]
        return self.add(name, "BatchNormalization", [source], constants, epsilon=epsilon)

    def model(self, outputs):
        """Returns the finished onnx.ModelProto; `outputs` are the tensors it hands back."""
        graph = helper.make_graph(
            self._nodes,
            self.name,
            [self._value_info(self.input_name)],
            [self._value_info(name) for name in outputs],
            self._initializers,
        )
        model = helper.make_model(
            graph, producer_name="overtake", opset_imports=[helper.make_opsetid("", OPSET)]
        )
        model.ir_version = IR_VERSION
        onnx.checker.check_model(model, full_check=True)
        return model

    def _value_info(self, name):
        shape = [1, *self.values[name].shape[1:]]
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def _mac_count(operator, tensors, result):
    if operator == "Conv":
        return result.size * int(np.prod(tensors[1].shape[1:]))
    if operator == "ConvTranspose":
        return tensors[0].size * int(np.prod(tensors[1].shape[1:]))
    if operator in ("Gemm", "MatMul"):
        return result.size * tensors[0].shape[-1]
    return 0


def _parameter_count(operator, constants):
    """A BatchNormalization learns its scale and bias; mean and variance are observed."""
    if operator == "BatchNormalization":
        constants = constants[:2]
    elif operator not in ("Conv", "ConvTranspose", "Gemm", "MatMul"):
        return 0
    return sum(array.size for array in constants)
