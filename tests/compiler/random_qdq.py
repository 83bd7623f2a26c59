# SPDX-License-Identifier: MIT
"""Random quantised networks, QDQ and QOperator: each takes one or a few operators between
QuantizeLinear and DequantizeLinear, with scales that differ wherever they may.

The name of a QuantizeLinear (or QLinear*) begins with the operator that makes its tensor of codes, up to a '#'.
"""

import dataclasses

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import quantised_definition as definition

KINDS = {np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.int8): TensorProto.INT8}
SAMPLES = 2
MOST_TENSORS = 6  # inputs and outputs with which another step is added; a job has room for 13


@dataclasses.dataclass
class Codes:
    """A quantised tensor and the float tensor that DequantizeLinear makes of it."""

    name: str
    real: str
    scale: np.float32
    zero: np.generic


@dataclasses.dataclass
class Case:
    seed: int
    model: onnx.ModelProto
    inputs: dict  # by name, samples first
    outputs: dict  # by tensor of codes: (output that shows it, scale or None, zero point)


class Builder:
    """Builds one network; `values` are what its tensors hold for the first sample."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.seed = seed
        self.kind = np.dtype(self.pick(np.uint8, np.int8))
        self.values, self.constants, self.inputs, self.outputs = {}, {}, {}, {}
        self.nodes, self.types, self.known = [], {}, []
        self.shows_all = True
        self.opset = self.pick(13, 17)

    # Chance

    def pick(self, *choices):
        return choices[self.random.integers(len(choices))]

    def chance(self, probability):
        return self.random.random() < probability

    def below(self, *limits):
        return int(self.random.integers(*limits))

    # Parts

    def constant(self, array, name="c"):
        name = f"{name}{len(self.constants)}"
        self.constants[name] = self.values[name] = np.asarray(array)
        return name

    def float(self, operator, inputs, count=1, **attributes):
        """Adds a float operator; returns the names of its outputs."""
        names = [f"{operator.lower()}{len(self.nodes)}_{i}" for i in range(count)]
        node = helper.make_node(operator, inputs, names, name=names[0], **attributes)
        values = {name: helper.get_attribute_value(a) for a in node.attribute for name in [a.name]}
        values = {k: v.decode() if isinstance(v, bytes) else v for k, v in values.items()}
        if operator == "Split":
            values["num_outputs"] = count
        arrays = [self.values[name] if name else None for name in inputs]
        results = definition.evaluate(operator, values, arrays)
        for name, result in zip(names, results):
            self.values[name] = result.astype(np.float32)
        self.nodes.append(node)
        return names[0] if count == 1 else names

    def quantisation(self, array, like=None):
        """Returns a scale and a zero point for numbers, seldom those that fit best."""
        limits = np.iinfo(self.kind)
        if like is not None and self.chance(0.25):
            return like.scale, like.zero
        low, high = min(float(array.min()), 0.0), max(float(array.max()), 0.0)
        scale = max((high - low) / 255, 1e-6) * self.pick(1, 1, 1, 0.7, 0.4, 2.3)
        zero = limits.min - low / scale
        style = self.below(5)
        if style == 0:
            scale = 2.0 ** np.round(np.log2(scale))  # a scale with which halves are frequent
        elif style == 1:
            scale = float(f"{scale:.0e}")
        if style == 2:
            zero = limits.min
        elif style == 3:
            zero = (limits.min + limits.max + 1) // 2
        zero = self.kind.type(np.clip(np.rint(zero), limits.min, limits.max))
        return np.float32(scale), zero

    def scale_names(self, scale, zero):
        return [
            self.constant(np.float32(scale), "scale"), self.constant(self.kind.type(zero), "zero"),
        ]  # fmt: skip

    def codes(self, name, scale, zero):
        """Registers a tensor of codes that a node has just made, and adds its DequantizeLinear."""
        real = f"{name}_real{len(self.nodes)}"
        self.nodes.append(
            helper.make_node("DequantizeLinear", [name, *self.scale_names(scale, zero)], [real])
        )
        self.values[real] = definition.dequantised(self.values[name], scale, zero, 1)
        made = Codes(name, real, scale, zero)
        self.known.append(made)
        return made

    def show(self, codes):
        """Makes a tensor of codes an output, as it is or dequantised."""
        if self.chance(0.7):
            self.outputs[codes.name] = (codes.name, None, None)
        else:
            shown = self.float("Identity", [codes.real])
            self.outputs[codes.name] = (shown, codes.scale, codes.zero)

    def quantise(self, real, label, like=None, quantisation=None):
        """Adds QuantizeLinear and DequantizeLinear behind a float tensor."""
        scale, zero = quantisation or self.quantisation(self.values[real], like)
        name = f"q{len(self.nodes)}"
        inputs = [real, *self.scale_names(scale, zero)]
        if self.kind == np.uint8 and zero == 0 and self.chance(0.3):
            inputs.pop()  # the zero point's default
        self.nodes.append(
            helper.make_node("QuantizeLinear", inputs, [name], name=f"{label}#{len(self.nodes)}")
        )
        self.values[name] = definition.steps(self.values[real], scale, zero)
        made = self.codes(name, scale, zero)
        if self.shows_all:
            self.show(made)
        return made

    def quantised_operator(self, operator, inputs, real, label=None, output_first=False,
                           domain="com.microsoft", after=(), like=None, **attributes):  # fmt: skip
        """Adds a node over codes whose float result is `real`; `after` are inputs behind the
        output's scale."""
        scale, zero = self.quantisation(real, like)
        name = f"q{len(self.nodes)}"
        names = self.scale_names(scale, zero)
        inputs = [*names, *inputs] if output_first else [*inputs, *names]
        self.nodes.append(
            helper.make_node(operator, [*inputs, *after], [name],
                             name=f"{label or operator}#{len(self.nodes)}", domain=domain, **attributes)
        )  # fmt: skip
        self.values[name] = definition.steps(real, scale, zero)
        made = self.codes(name, scale, zero)
        if self.shows_all:
            self.show(made)
        return made

    def operand(self, codes):
        """Returns tensor, scale and zero point, as QLinear operators read them."""
        return [codes.name, *self.scale_names(codes.scale, codes.zero)]

    def input(self, shape):
        """Adds a float input that is quantised first, or an input of codes."""
        shape = tuple(int(size) for size in shape)
        name = f"x{len(self.inputs)}"
        size = self.pick(0.05, 1, 1, 3, 30)
        wide = self.random.normal(self.pick(0, 0, size), size, (SAMPLES, *shape[1:]))
        if self.chance(0.3):
            limits = np.iinfo(self.kind)
            wide = self.random.integers(limits.min, limits.max + 1, (SAMPLES, *shape[1:]))
            self.inputs[name] = wide.astype(self.kind)
            self.types[name] = KINDS[self.kind]
            self.values[name] = self.inputs[name][:1]
            scale, zero = self.quantisation(self.random.normal(0, size, 100))
            return self.codes(name, scale, zero)
        self.inputs[name] = wide.astype(np.float32)
        self.values[name] = self.inputs[name][:1]
        shows, self.shows_all = self.shows_all, False
        made = self.quantise(name, "QuantizeLinear")
        self.shows_all = shows
        if self.chance(0.4):
            self.show(made)
        return made

    def some(self, rank=None, fits=lambda shape: True):
        """Returns a tensor of codes; a new one if none fits."""
        found = [
            t for t in self.known
            if (rank is None or self.values[t.name].ndim == rank)
            and fits(self.values[t.name].shape) and t.name.startswith("q")
        ]  # fmt: skip
        if found and self.chance(0.8):
            return self.pick(*found)
        if rank == 2:
            return self.input((self.pick(1, 1, 3), self.below(2, 20)))
        if rank == 3:
            return self.input((1, self.below(2, 7), self.below(2, 7)))
        return self.input((1, self.below(1, 9), self.below(2, 8), self.below(2, 8)))

    def shape(self, codes):
        return self.values[codes.name].shape

    def finish(self):
        graph = helper.make_graph(
            self.nodes, "quantised",
            [
                helper.make_tensor_value_info(
                    name, self.types.get(name, TensorProto.FLOAT), (1, *array.shape[1:])
                )
                for name, array in self.inputs.items()
            ],
            [
                helper.make_tensor_value_info(
                    shown, TensorProto.FLOAT if scale is not None else KINDS[self.kind],
                    self.values[shown].shape,
                )
                for shown, scale, _ in self.outputs.values()
            ],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )  # fmt: skip
        model = helper.make_model(
            graph,
            opset_imports=[
                helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1),
            ],
        )  # fmt: skip
        model.ir_version = 7
        return Case(self.seed, model, self.inputs, self.outputs)


def make(seed):
    """Returns the network of a number: one or a few of the operators in
    quantised_operators.STEPS."""
    import quantised_operators  # imported here, because it builds with this module

    builder = Builder(seed)
    names = list(quantised_operators.STEPS)
    quantised_operators.STEPS[names[seed % len(names)]](builder)
    for _ in range(builder.pick(0, 0, 0, 1, 2, 3)):
        if len(builder.inputs) + len(builder.outputs) > MOST_TENSORS:
            break
        quantised_operators.STEPS[builder.pick(*names)](builder)
    if not builder.outputs:  # the first tensor was too small to cut
        quantised_operators.STEPS["Relu"](builder)
    return builder.finish()
