# SPDX-License-Identifier: MIT
"""Puts QuantizeLinear and DequantizeLinear around the operators of a float network, as training
frameworks do."""

import numpy as np
import onnx
from onnx import helper, numpy_helper

import float_operators  # noqa: F401, makes float_reference know all operators
import float_reference
from graph_builder import gives_reals

class _Quantiser:
    def __init__(self, graph, model, samples):
        self._chance = graph
        self._graph = model.graph
        self._constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        self._type = graph.pick(np.uint8, np.int8)
        wanted = [info.name for info in model.graph.input]
        wanted += [o for n in model.graph.node if gives_reals(n) for o in n.output]
        self._values = float_reference.Network(model).run_images(samples, wanted)
        self._nodes = []
        self._names = {}  # by tensor: what its readers read

    def _add_constant(self, name, array):
        self._graph.initializer.append(numpy_helper.from_array(array, name))
        return name

    def _pair(self, tensor):
        """Quantises and dequantises a tensor by the range of its values."""
        values = self._values[tensor]
        values = values[np.isfinite(values)]  # a few networks have values that are not finite
        low, high = float(values.min(initial=0)), float(values.max(initial=0))
        limits = np.iinfo(self._type)
        scale = np.float32(max((high - low) / 255, 1e-6))
        zero = int(np.clip(round(limits.min - low / float(scale)), limits.min, limits.max))
        scale = self._add_constant(f"{tensor}.scale", np.array(scale, np.float32))
        zero = self._add_constant(f"{tensor}.zero", np.array(zero, self._type))
        names = f"{tensor}.steps", f"{tensor}.real"
        self._nodes.append(
            helper.make_node("QuantizeLinear", [tensor, scale, zero], names[:1], name=names[0])
        )
        self._nodes.append(
            helper.make_node("DequantizeLinear", [names[0], scale, zero], names[1:], name=names[1])
        )
        self._names[tensor] = names[1]

    def _weights(self, node):
        """Quantises weights of a convolution in int8, with one scale for each output channel or one
        for all."""
        name = node.input[1]
        weights = self._constants.get(name)
        if weights is None or f"{name}.real" in self._names.values():
            return
        each = node.op_type == "Conv" and self._chance.chance(0.7)
        axes = tuple(range(1, weights.ndim)) if each else None
        scale = np.maximum(np.abs(weights).max(axis=axes) / 127, 1e-6).astype(np.float32)
        column = scale.reshape(-1, *[1] * (weights.ndim - 1)) if each else scale
        steps = np.clip(np.rint(weights / column), -127, 127).astype(np.int8)
        inputs = [
            self._add_constant(f"{name}.steps", steps),
            self._add_constant(f"{name}.scale", scale),
            self._add_constant(f"{name}.zero", np.zeros(scale.shape, np.int8)),
        ]
        attributes = {"axis": 0} if each else {}
        real = f"{name}.real"
        self._nodes.append(
            helper.make_node("DequantizeLinear", inputs, [real], name=real, **attributes)
        )
        self._names[name] = real

    def run(self):
        for info in self._graph.input:
            self._pair(info.name)
        for node in list(self._graph.node):
            if node.op_type in ("Conv", "ConvTranspose", "Gemm", "MatMul"):
                self._weights(node)
            copy = onnx.NodeProto.FromString(node.SerializeToString())
            del copy.input[:]
            copy.input.extend(self._names.get(name, name) for name in node.input)
            self._nodes.append(copy)
            for index, output in enumerate(node.output):
                if node.op_type == "MaxPool" and index > 0:
                    continue  # these are places, which are integers
                if gives_reals(node) and self._values[output].dtype == np.float32:
                    self._pair(output)
        outputs = {info.name for info in self._graph.output}
        for name in outputs:  # an output of the network is dequantised
            if name not in self._names:
                continue
            for node in self._nodes:
                for names in (node.input, node.output):
                    for index, other in enumerate(names):
                        if other == name:
                            names[index] = f"{name}.float"
                        elif other == self._names[name]:
                            names[index] = name
        del self._graph.node[:]
        self._graph.node.extend(self._nodes)


def quantised(graph, model, samples):
    """Returns a quantised copy of the model; `graph` gives chance."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    _Quantiser(graph, model, samples).run()
    onnx.checker.check_model(model)
    return model


def is_finite(model, samples):
    """Returns whether every tensor is finite for the samples."""
    names = [name for node in model.graph.node if gives_reals(node) for name in node.output]
    with np.errstate(all="ignore"):
        values = float_reference.Network(model).run_images(samples, names)
    return all(np.isfinite(array).all() for array in values.values())
