# SPDX-License-Identifier: MIT
"""The results of quantised networks (QDQ and QOperator) as ONNX defines them, in numpy.

Every operator takes the numbers that its inputs' codes stand for, computes in float, each result
the float32 that is nearest to the exact one, and is quantised: divided by the scale in float32,
rounded half to even, the zero point added, saturated.  Nothing of the compiler is used.

Where the codes that a device made are given, the next operator starts from these codes, so that each
operator is judged alone.
"""

import dataclasses

import numpy as np

import float_operators  # noqa: F401, makes float_reference know all operators
import float_reference

# For operators of com.microsoft and QLinear*: the float operator, where its operands of three
# inputs (tensor, scale, zero point) begin, where the output's scale is, and where the bias is.
QUANTISED_OPERATORS = {
    "QLinearConv": ("Conv", (0, 3), 6, 8),
    "QLinearMatMul": ("MatMul", (0, 3), 6, None),
    "QGemm": ("Gemm", (0, 3), 7, 6),
    "QLinearAdd": ("Add", (0, 3), 6, None),
    "QLinearMul": ("Mul", (0, 3), 6, None),
    "QLinearSigmoid": ("Sigmoid", (0,), 3, None),
    "QLinearLeakyRelu": ("LeakyRelu", (0,), 3, None),
    "QLinearAveragePool": ("AveragePool", (0,), 3, None),
    "QLinearGlobalAveragePool": ("GlobalAveragePool", (0,), 3, None),
}


@dataclasses.dataclass
class Result:
    """One tensor of codes as the definition gives it, and the same before rounding, in steps."""

    label: str
    output: str
    codes: np.ndarray
    exact: np.ndarray


def evaluate(operator, attributes, inputs):
    """Computes an operator in float64 from float32 inputs; whole numbers stay as they are."""
    wide = [x.astype(np.float64) if x is not None and x.dtype == np.float32 else x for x in inputs]
    with np.errstate(all="ignore"):
        result = float_reference.OPERATORS[operator](attributes, *wide)
    return result if isinstance(result, tuple) else (result,)


def steps(real, scale, zero):
    """Returns the codes of float32 numbers as QuantizeLinear defines them."""
    limits = np.iinfo(zero.dtype)
    quotient = np.rint(real.astype(np.float32) / scale) + zero.astype(np.float32)
    return np.clip(quotient, limits.min, limits.max).astype(zero.dtype)


def dequantised(codes, scale, zero, axis):
    shape = [1] * codes.ndim
    if np.size(scale) > 1:
        shape[axis] = -1
    difference = codes.astype(np.int64) - np.reshape(zero, shape if np.size(zero) > 1 else ())
    return difference.astype(np.float32) * np.reshape(scale, shape if np.size(scale) > 1 else ())


class Definition:
    """A network that is ready to run; after run(), `tensors` has every tensor by name."""

    def __init__(self, model):
        network = float_reference.Network.__new__(float_reference.Network)
        network.__init__(_without_quantised_operators(model))
        self._constants = network.constants
        self._nodes = [(node, float_reference._attributes(node)) for node in model.graph.node]
        self.tensors = {}

    def run(self, inputs, made=None):
        """Returns a Result for every tensor of codes that is computed.  `made` are codes by name,
        which readers take instead."""
        made = made or {}
        self.tensors = {"": None, **self._constants, **inputs}
        self._wide, self._results = {}, []
        for node, attributes in self._nodes:
            getattr(self, f"_{node.op_type.lower()}", self._float)(node, attributes)
            for name in node.output:
                if name in made:
                    self.tensors[name] = made[name]
        return self._results

    def _input(self, node, index, otherwise=None):
        if index >= len(node.input) or not node.input[index]:
            return otherwise
        return self.tensors[node.input[index]]

    def _constant(self, node, attributes):
        """Does nothing, because a constant is known already."""

    def _quantise(self, node, real, scale, zero):
        name = node.output[0]
        codes = steps(real, scale, zero)
        limits = np.iinfo(zero.dtype)
        exact = np.clip(
            real.astype(np.float64) / np.float64(scale) + float(zero), limits.min, limits.max
        )
        self.tensors[name] = codes
        self._results.append(Result(node.name.split("#")[0], name, codes, exact))

    def _quantizelinear(self, node, attributes):
        scale, zero = self._input(node, 1), self._input(node, 2, np.uint8(0))
        source = node.input[0]
        if source in self._constants:
            axis = attributes.get("axis", 1)
            shape = [1] * self.tensors[source].ndim
            if np.size(scale) > 1:
                shape[axis] = -1
                scale, zero = np.reshape(scale, shape), np.reshape(zero, shape)
            self.tensors[node.output[0]] = steps(self.tensors[source], scale, zero)
            return
        self._quantise(node, self._wide.get(source, self.tensors[source]), scale, zero)

    def _dequantizelinear(self, node, attributes):
        codes, scale = self._input(node, 0), self._input(node, 1)
        zero = self._input(node, 2, codes.dtype.type(0))
        self.tensors[node.output[0]] = dequantised(codes, scale, zero, attributes.get("axis", 1))

    def _float(self, node, attributes):
        if node.op_type in QUANTISED_OPERATORS:
            return self._quantised_operator(node, attributes)
        results = evaluate(
            node.op_type, attributes, [self.tensors[name] for name in node.input]
        )
        for name, result in zip(node.output, results):
            if result.dtype == np.float64:
                self._wide[name] = result
                result = result.astype(np.float32)
            self.tensors[name] = result

    def _operand(self, node, index, axis):
        return dequantised(*(self._input(node, index + i) for i in range(3)), axis)

    def _quantised_operator(self, node, attributes):
        operator, operands, output, bias = QUANTISED_OPERATORS[node.op_type]
        axis = 0 if operator == "Conv" or attributes.get("transB", 0) else 1
        inputs = [self._operand(node, index, axis) for index in operands]
        if bias is not None and self._input(node, bias) is not None:
            step = np.float64(self._input(node, 1)) * self._input(node, 4)
            step = step * attributes.get("alpha", 1.0)
            inputs.append(self._input(node, bias) * step)
        result = evaluate(operator, attributes, inputs)[0]
        self._quantise(node, result, *(self._input(node, output + i) for i in range(2)))

    def _qlinearconcat(self, node, attributes):
        parts = [self._operand(node, index, 1) for index in range(2, len(node.input), 3)]
        result = evaluate("Concat", attributes, parts)[0]
        self._quantise(node, result, self._input(node, 0), self._input(node, 1))


def _without_quantised_operators(model):
    """Makes a model for float_reference, which reads the constants but knows no QLinear
    operators."""
    copy = type(model).FromString(model.SerializeToString())
    for node in copy.graph.node:
        if node.op_type.startswith("Q"):
            node.op_type = "QuantizeLinear"
    return copy
