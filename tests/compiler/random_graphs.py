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

    def integers(self, values):
        name = f"constant{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def normal(self, *shape):
        return self.random.standard_normal(shape)

    def _window(self, height, width, kernel, dilation=(1, 1), ceil=False):
        """Attributes of a random window, and the output size; None if it does not fit."""
        stride = [int(self.random.integers(1, 4)), int(self.random.integers(1, 4))]
        reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
        automatic = None if ceil else self.pick(None, None, "SAME_UPPER", "SAME_LOWER", "VALID")
        if automatic in ("SAME_UPPER", "SAME_LOWER"):
            sizes = [-(-height // stride[0]), -(-width // stride[1])]
            attributes = {"auto_pad": automatic}
            # A kernel smaller than its stride would leave windows in the padding.
            for size, n, s, k in zip((height, width), sizes, stride, reach):
                if max((n - 1) * s + k - size, 0) >= k:
                    return None
        else:
            pads = [0] * 4
            if automatic is None:
                pads = [int(self.random.integers(0, k)) for k in list(kernel) * 2]
            more = [s - 1 if ceil else 0 for s in stride]
            sizes = [
                (size + pads[axis] + pads[axis + 2] - reach[axis] + more[axis]) // stride[axis] + 1
                for axis, size in enumerate((height, width))
            ]
            attributes = {"auto_pad": automatic} if automatic else {"pads": pads}
            for axis, size in enumerate((height, width)):
                if size + pads[axis] + pads[axis + 2] < reach[axis]:
                    return None
                if (sizes[axis] - 1) * stride[axis] - pads[axis] >= size:
                    return None
        if tuple(dilation) != (1, 1):
            attributes["dilations"] = list(dilation)
        if ceil:
            attributes["ceil_mode"] = 1
        return {**attributes, "strides": stride, "kernel_shape": kernel}, tuple(sizes)

    @staticmethod
    def _all_have_taps(shape, attributes, sizes):
        """A maximum needs an element."""
        pads = attributes.get("pads")
        if pads is None:
            return False
        for axis in range(2):
            taps = np.arange(attributes["kernel_shape"][axis]) * attributes["dilations"][axis]
            first = np.arange(sizes[axis]) * attributes["strides"][axis] - pads[axis]
            places = first[:, None] + taps
            if not ((places >= 0) & (places < shape[axis])).any(axis=1).all():
                return False
        return True

    def _dilation(self):
        """None three times in four."""
        if self.random.random() < 0.75:
            return (1, 1)
        return (int(self.random.integers(1, 4)), int(self.random.integers(1, 4)))

    def convolution(self, source, shape):
        kernel = [int(self.random.integers(1, 5)), int(self.random.integers(1, 5))]
        window = self._window(*shape[1:], kernel, self._dilation())
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

    def transposed(self, source, shape):
        if shape[1] * shape[2] > 300:
            return
        kernel = [int(self.random.integers(1, 5)), int(self.random.integers(1, 5))]
        dilation = self._dilation()
        reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
        stride = [int(self.random.integers(1, min(r, 3) + 1)) for r in reach]
        pads = [int(self.random.integers(0, r)) for r in reach * 2]
        extra = [int(self.random.integers(0, min(p + 1, s))) for p, s in zip(pads[2:], stride)]
        sizes = [
            (size - 1) * s + r - pads[axis] - pads[axis + 2] + extra[axis]
            for axis, (size, s, r) in enumerate(zip(shape[1:], stride, reach))
        ]
        if min(sizes) < 1:
            return
        groups = int(self.pick(*[g for g in range(1, shape[0] + 1) if shape[0] % g == 0]))
        outputs = int(self.random.integers(1, 19 if groups == 1 else 5))
        fan_in = shape[0] // groups * kernel[0] * kernel[1] / (stride[0] * stride[1])
        weights = self.normal(shape[0], outputs, *kernel) * np.sqrt(2 / max(fan_in, 1))
        inputs = [source, self.constant(weights)]
        if self.random.random() < 0.5:
            inputs.append(self.constant(self.normal(outputs * groups)))
        self.node(
            "ConvTranspose", inputs, (outputs * groups, *sizes), group=groups, strides=stride,
            pads=pads, output_padding=extra, dilations=list(dilation),
        )  # fmt: skip
        if self.random.random() < 0.3:
            self.normalise(*self.tensors[-1])

    def resize(self, source, shape):
        """To a random size, by scales or by sizes."""
        mode = self.pick("nearest", "linear")
        attributes = {
            "mode": mode,
            "coordinate_transformation_mode": self.pick(
                "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"
            ),
        }
        if mode == "nearest":
            attributes["nearest_mode"] = self.pick(
                "floor", "ceil", "round_prefer_floor", "round_prefer_ceil"
            )
        inputs = [source, self.constant(np.zeros(0))]
        if self.random.random() < 0.5:
            scales = np.array([1, 1, *self.random.choice([0.5, 0.75, 1, 1.5, 2, 3], 2)])
            sizes = [int(np.floor(size * s)) for size, s in zip(shape[1:], scales[2:])]
            inputs.append(self.constant(scales))
        else:
            sizes = [int(self.random.integers(1, 2 * size)) for size in shape[1:]]
            inputs += [self.constant(np.zeros(0)), self.integers([1, shape[0], *sizes])]
        if min(sizes) > 0 and max(sizes) <= 30:
            self.node("Resize", inputs, (shape[0], *sizes), **attributes)

    def concat(self, source, shape):
        """With tensors that fit along a random axis, or with itself."""
        axis = int(self.random.integers(3))
        fitting = [
            entry
            for entry in self.tensors
            if entry[1] is not None
            and all(a == b for i, (a, b) in enumerate(zip(entry[1], shape)) if i != axis)
        ]
        chosen = [(source, shape)]
        for _ in range(int(self.random.integers(1, 4))):
            chosen.append(self.pick(*fitting))
        if self.random.random() < 0.5:
            chosen.reverse()
        total = list(shape)
        total[axis] = sum(entry[1][axis] for entry in chosen)
        if total[axis] <= 64:
            self.node("Concat", [name for name, _ in chosen], tuple(total), axis=axis + 1)

    def slice(self, source, shape):
        starts, ends, steps, sizes = [], [], [], []
        for axis, size in enumerate(shape):
            first = int(self.random.integers(size))
            last = int(self.random.integers(first, size)) + 1
            step = 1 if axis == 0 else int(self.random.integers(1, 4))
            if self.random.random() < 0.3:
                first, last = 0, size
            starts.append(first - size if self.random.random() < 0.3 else first)
            ends.append(last + 99 if last == size else last)
            steps.append(step)
            sizes.append(-(-(last - first) // step))
        parameters = [self.integers(values) for values in (starts, ends, [1, 2, 3], steps)]
        self.node("Slice", [source, *parameters], tuple(sizes))

    def split(self, source, shape):
        axis = int(self.random.integers(3))
        if shape[axis] < 2:
            return
        first = int(self.random.integers(1, shape[axis]))
        name = f"split{len(self._nodes)}"
        names = [f"{name}_a", f"{name}_b"]
        parts = self.integers([first, shape[axis] - first])
        self._nodes.append(
            helper.make_node("Split", [source, parts], names, name=name, axis=axis + 1)
        )
        for part, length in zip(names, (first, shape[axis] - first)):
            sizes = list(shape)
            sizes[axis] = length
            self.tensors.append((part, tuple(sizes)))

    def binary(self, source, shape):
        """Two tensors, one of them sometimes broadcast."""
        def fits(other):
            return other is not None and all(a in (b, 1) for a, b in zip(other, shape))

        other = self.pick(*[name for name, sizes in self.tensors if fits(sizes)])
        pair = [source, other] if self.random.random() < 0.5 else [other, source]
        self.node(self.pick("Add", "Sub", "Mul", "Max", "Min"), pair, shape)
        if self.random.random() < 0.3:
            self.activation(*self.tensors[-1])

    def broadcast(self, source, shape):
        """A squeeze-and-excite gate: one number for each channel."""
        pooled = self.node("GlobalAveragePool", [source], (shape[0], 1, 1))
        gate = self.node("Sigmoid", [pooled], (shape[0], 1, 1))
        self.node("Mul", self.pick([source, gate], [gate, source]), shape)

    def gate(self, source, shape):
        """x combined with a function of x, which is one function."""
        function = self.node(self.pick("Sigmoid", "Tanh", "Relu"), [source], shape)
        pair = self.pick([source, function], [function, source])
        self.node(self.pick("Mul", "Add", "Sub"), pair, shape)

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
        operator = self.pick("MaxPool", "AveragePool")
        dilation = self._dilation() if operator == "MaxPool" else (1, 1)
        window = self._window(*shape[1:], kernel, dilation, self.random.random() < 0.25)
        if window is None:
            return
        attributes, sizes = window
        if dilation != (1, 1) and not self._all_have_taps(shape[1:], attributes, sizes):
            return
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
            operator = self.pick("GlobalAveragePool", "GlobalMaxPool", "ReduceMean")
            axes = {"axes": self.pick([2, 3], [-1, -2])} if operator == "ReduceMean" else {}
            shape = (shape[0], 1, 1)
            source = self.node(operator, [source], shape, **axes)
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
        graph.binary,
        graph.broadcast,
        graph.concat,
        graph.concat,
        graph.gate,
        graph.resize,
        graph.slice,
        graph.split,
        graph.transposed,
    ]
    graph.convolution(*graph.tensors[0])
    for _ in range(int(graph.random.integers(1, 9))):
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
