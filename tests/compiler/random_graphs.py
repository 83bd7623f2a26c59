# SPDX-License-Identifier: MIT
"""Small random ONNX networks over every operator and attribute that the compiler takes."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class RandomGraph:
    """Grows one network; `tensors` are (name, (channels, height, width)) of its spatial part."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self._nodes = []
        self._constants = []
        self.input_shape = (
            int(self.random.integers(1, 20)),
            int(self.random.integers(5, 15)),
            int(self.random.integers(5, 15)),
        )
        self.tensors = [("image", self.input_shape)]
        self.outputs = []

    def pick(self, *choices):
        return choices[self.random.integers(len(choices))]

    def node(self, operator, inputs, shape, **attributes):
        name = f"{operator.lower()}{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        self.tensors.append((name, shape))
        return name

    def constant(self, array):
        name = f"constant{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def normal(self, *shape):
        return self.random.standard_normal(shape)

    def _window(self, height, width, kernel):
        """Attributes of a random window, and the output size; None if it does not fit."""
        stride = [int(self.random.integers(1, 4)), int(self.random.integers(1, 4))]
        automatic = self.pick(None, None, "SAME_UPPER", "SAME_LOWER", "VALID")
        if automatic in ("SAME_UPPER", "SAME_LOWER"):
            sizes = [-(-height // stride[0]), -(-width // stride[1])]
            attributes = {"auto_pad": automatic}
            # A kernel smaller than its stride would leave windows in the padding.
            for size, n, s, k in zip((height, width), sizes, stride, kernel):
                if max((n - 1) * s + k - size, 0) >= k:
                    return None
        else:
            pads = [0] * 4
            if automatic is None:
                pads = [int(self.random.integers(0, k)) for k in kernel * 2]
            sizes = [
                (size + pads[axis] + pads[axis + 2] - kernel[axis]) // stride[axis] + 1
                for axis, size in enumerate((height, width))
            ]
            attributes = {"auto_pad": automatic} if automatic else {"pads": pads}
            for axis, size in enumerate((height, width)):
                if size + pads[axis] + pads[axis + 2] < kernel[axis]:
                    return None
                if (sizes[axis] - 1) * stride[axis] - pads[axis] >= size:
                    return None
        return {**attributes, "strides": stride, "kernel_shape": kernel}, tuple(sizes)

    def convolution(self, source, shape):
        kernel = [int(self.random.integers(1, 5)), int(self.random.integers(1, 5))]
        window = self._window(*shape[1:], kernel)
        if window is None:
            return
        attributes, sizes = window
        kind = self.pick("dense", "dense", "depthwise", "grouped")
        groups, outputs = 1, int(self.random.integers(1, 27))
        if kind == "depthwise":
            groups = outputs = shape[0]
        elif kind == "grouped":
            groups = int(self.pick(*[g for g in range(1, shape[0] + 1) if shape[0] % g == 0]))
            outputs = groups * int(self.random.integers(1, 10))
        fan_in = shape[0] // groups * kernel[0] * kernel[1]
        weights = self.normal(outputs, shape[0] // groups, *kernel) * np.sqrt(2 / fan_in)
        inputs = [source, self.constant(weights)]
        if self.random.random() < 0.5:
            inputs.append(self.constant(self.normal(outputs)))
        name = self.node("Conv", inputs, (outputs, *sizes), group=groups, **attributes)
        if self.random.random() < 0.4:
            self.normalise(name, (outputs, *sizes))
        if self.random.random() < 0.5:
            self.activation(*self.tensors[-1])

    def normalise(self, source, shape):
        parameters = [
            self.random.uniform(0.5, 2, shape[0]),
            self.normal(shape[0]),
            self.normal(shape[0]),
            self.random.uniform(0.5, 2, shape[0]),
        ]
        inputs = [source] + [self.constant(parameter) for parameter in parameters]
        self.node("BatchNormalization", inputs, shape)

    def activation(self, source, shape):
        operator = self.pick("Relu", "Relu", "Clip", "Sigmoid", "Tanh", "LeakyRelu", "Identity")
        inputs, attributes = [source], {}
        if operator == "Clip":
            inputs += [self.constant(np.array(-0.5)), self.constant(np.array(2.0))]
        if operator == "LeakyRelu":
            attributes["alpha"] = 0.1
        self.node(operator, inputs, shape, **attributes)

    def pool(self, source, shape):
        kernel = [int(self.random.integers(1, 5)), int(self.random.integers(1, 5))]
        window = self._window(*shape[1:], kernel)
        if window is None:
            return
        attributes, sizes = window
        operator = self.pick("MaxPool", "AveragePool")
        if operator == "AveragePool" and "auto_pad" not in attributes:
            attributes["count_include_pad"] = int(self.random.integers(2))
        self.node(operator, [source], (shape[0], *sizes), **attributes)

    def residual(self, source, shape):
        same = [name for name, other in self.tensors if other == shape]
        self.node("Add", [source, self.pick(*same)], shape)
        if self.random.random() < 0.5:
            self.activation(*self.tensors[-1])

    def arithmetic(self, source, shape):
        values = self.random.uniform(0.5, 1.5, (shape[0], 1, 1))
        self.node(self.pick("Mul", "Add", "Sub", "Div"), [source, self.constant(values)], shape)

    def head(self, source, shape):
        """Flattened or pooled features and a matrix; sometimes a softmax."""
        if self.random.random() < 0.5:
            operator = self.pick("GlobalAveragePool", "GlobalMaxPool")
            shape = (shape[0], 1, 1)
            source = self.node(operator, [source], shape)
        features = int(np.prod(shape))
        flat = self.node("Flatten", [source], None)
        outputs = int(self.random.integers(2, 20))
        weights = self.normal(features, outputs) / np.sqrt(features)
        if self.random.random() < 0.5:
            name = self.node("MatMul", [flat, self.constant(weights)], None)
        else:
            matrix, bias = self.constant(weights.T), self.constant(self.normal(outputs))
            name = self.node("Gemm", [flat, matrix, bias], None, transB=1)
        if self.random.random() < 0.5:
            name = self.node("Softmax", [name], None, axis=1)
        self.outputs.append((name, (1, outputs)))

    def finish(self):
        unused = {name for name, _ in self.tensors}
        unused -= {name for node in self._nodes for name in node.input}
        for name, shape in self.tensors:
            if name in unused and shape is not None and name != "image":
                self.outputs.append((name, (1, *shape)))
        self.outputs = self.outputs[:8]


def make(seed):
    """Returns an onnx.ModelProto with the input `image`."""
    graph = RandomGraph(seed)
    steps = [
        graph.convolution,
        graph.convolution,
        graph.convolution,
        graph.pool,
        graph.residual,
        graph.activation,
        graph.arithmetic,
    ]
    graph.convolution(*graph.tensors[0])
    for _ in range(int(graph.random.integers(1, 7))):
        spatial = [entry for entry in graph.tensors if entry[1] is not None]
        graph.pick(*steps)(*(spatial[-1] if graph.random.random() < 0.8 else graph.pick(*spatial)))
    if graph.random.random() < 0.6:
        graph.head(*graph.tensors[-1])
    graph.finish()
    if not graph.outputs:
        graph.activation(*graph.tensors[0])
        graph.finish()
    model = helper.make_model(
        helper.make_graph(
            graph._nodes,
            f"random{seed}",
            [helper.make_tensor_value_info("image", TensorProto.FLOAT, (1, *graph.input_shape))],
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in graph.outputs],
            graph._constants,
        ),
        opset_imports=[helper.make_opsetid("", 13)],
    )
    model.ir_version = 7
    onnx.checker.check_model(model)
    return model
