# SPDX-License-Identifier: MIT
"""Builds random networks: names, constants, and tensors that later steps may read."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# With more elements than that, the interpreter in Python takes too long.
MOST_ELEMENTS = 6000


class GraphBuilder:
    """One network. `tensors` are (name, shape) of the real-valued tensors so far.

    `is_rough`: some node jumps where its input hardly changes, so that int8 need not be near float.
    """

    def __init__(self, random, opset):
        self.random = random
        self.opset = opset
        self.tensors = []
        self.inputs = []
        self.outputs = []
        self.is_rough = False
        self._nodes = []
        self._constants = []
        self._types = {}

    # Chance

    def pick(self, *choices):
        return choices[self.random.integers(len(choices))]

    def chance(self, probability):
        return self.random.random() < probability

    def below(self, *limits):
        """Returns a random integer from [0, limit) or [first, limit)."""
        return int(self.random.integers(*limits))

    def normal(self, *shape):
        return self.random.standard_normal(shape)

    def divisor(self, number):
        return self.pick(*[d for d in range(1, number + 1) if number % d == 0])

    # The graph

    def add_input(self, name, shape, kind=TensorProto.FLOAT):
        self.inputs.append((name, tuple(shape)))
        self._types[name] = kind
        self.tensors.append((name, tuple(shape)))

    def constant(self, array, kind=np.float32):
        """Adds a constant: an initialiser or, now and then, a node."""
        tensor = numpy_helper.from_array(np.asarray(array).astype(kind))
        if self.chance(0.03):
            name = f"constant_node{len(self._nodes)}"
            node = helper.make_node("Constant", [], [name], name=name, value=tensor)
            self._nodes.append(node)
            return name
        tensor.name = name = f"constant{len(self._constants)}"
        self._constants.append(tensor)
        return name

    def integers(self, values):
        return self.constant(values, np.int64)

    def node(self, operator, inputs, shape, kind=TensorProto.FLOAT, **attributes):
        """Adds a node with one output; later steps may read it if it holds reals."""
        name = f"{operator.lower()}{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        self._types[name] = kind
        if kind == TensorProto.FLOAT:
            self.tensors.append((name, tuple(int(size) for size in shape)))
        return name

    def node_of_parts(self, operator, inputs, shapes, kinds=None, **attributes):
        """Adds a node with an output for each shape."""
        name = f"{operator.lower()}{len(self._nodes)}"
        names = [f"{name}_{index}" for index in range(len(shapes))]
        self._nodes.append(helper.make_node(operator, inputs, names, name=name, **attributes))
        for part, shape, kind in zip(names, shapes, kinds or [TensorProto.FLOAT] * len(names)):
            self._types[part] = kind
            if kind == TensorProto.FLOAT:
                self.tensors.append((part, tuple(int(size) for size in shape)))
        return names

    def with_axes(self, operator, source, shape, axes, since, **attributes):
        """Adds a node whose axes are an attribute before opset `since` and an input from then
        on."""
        if self.opset < since:
            return self.node(operator, [source], shape, axes=axes, **attributes)
        return self.node(operator, [source, self.integers(axes)], shape, **attributes)

    def like(self, shape):
        """Returns the name of some tensor of that shape."""
        return self.pick(*[name for name, other in self.tensors if other == tuple(shape)])

    @staticmethod
    def fits(shape):
        return min(shape, default=1) >= 1 and int(np.prod(shape)) <= MOST_ELEMENTS

    def last(self):
        return self.tensors[-1]

    # The end

    def finish(self, name, most_outputs):
        """Returns the model. A tensor without a reader is an output, of which some may be dropped;
        now and then some other tensor is an output too."""
        read = {source for node in self._nodes for source in node.input}
        made = dict(self.tensors[len(self.inputs) :])
        loose = [tensor for tensor in made if tensor not in read]
        if len(loose) > most_outputs:
            loose = loose[-most_outputs:]
        if not loose or self.chance(0.15):
            loose.append(self.pick(*made))
        self.outputs = [(tensor, made[tensor]) for tensor in dict.fromkeys(loose)]
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            self._nodes,
            name,
            [info(n, self._types[n], s) for n, s in self.inputs],
            [info(n, TensorProto.FLOAT, s) for n, s in self.outputs],
            self._constants,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        model.ir_version = 7
        remove_unused(model)
        onnx.checker.check_model(model)
        return model


_WITHOUT_REALS = {
    "And", "ArgMax", "ArgMin", "Cast", "Constant", "ConstantOfShape", "Equal", "Greater",
    "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual", "NonMaxSuppression", "Not", "Or",
    "Range", "SequenceInsert", "Shape", "SplitToSequence", "TopK", "Xor",
}  # fmt: skip


def gives_reals(node):
    """Returns whether all outputs are tensors of reals that depend on the input."""
    return node.op_type not in _WITHOUT_REALS


def remove_unused(model):
    """Removes nodes, constants and inputs that lead to no output."""
    graph = model.graph
    wanted = {output.name for output in graph.output}
    kept = []
    for node in reversed(graph.node):
        if wanted & set(node.output):
            kept.append(node)
            wanted |= set(node.input)
    kept.reverse()
    constants = [c for c in graph.initializer if c.name in wanted]
    inputs = [i for i in graph.input if i.name in wanted]
    for field, content in (("node", kept), ("initializer", constants), ("input", inputs)):
        copies = [type(item).FromString(item.SerializeToString()) for item in content]
        del getattr(graph, field)[:]
        getattr(graph, field).extend(copies)
