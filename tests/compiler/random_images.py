# SPDX-License-Identifier: MIT
"""Random steps for images (1, C, H, W), signals (1, C, W) and volumes (1, C, D, H, W)."""

import numpy as np
from onnx import TensorProto


def _window(graph, sizes, kernel, dilations, ceil=False):
    """Returns attributes of a random window, and the output's sizes; None if it does not fit."""
    strides = [graph.below(1, 4) for _ in kernel]
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    axes = range(len(kernel))
    automatic = None if ceil else graph.pick(None, None, "SAME_UPPER", "SAME_LOWER", "VALID")
    if automatic in ("SAME_UPPER", "SAME_LOWER"):
        outputs = [-(-size // s) for size, s in zip(sizes, strides)]
        attributes = {"auto_pad": automatic}
        # A kernel smaller than its stride would leave windows in the padding.
        for size, n, s, k in zip(sizes, outputs, strides, reach):
            if max((n - 1) * s + k - size, 0) >= k:
                return None
    else:
        pads = [0] * 2 * len(kernel)
        if automatic is None:
            pads = [graph.below(k) for k in list(kernel) * 2]
        outputs = []
        for axis in axes:
            room = sizes[axis] + pads[axis] + pads[axis + len(kernel)] - reach[axis]
            if room < 0:
                return None
            outputs.append((room + (strides[axis] - 1 if ceil else 0)) // strides[axis] + 1)
            if (outputs[axis] - 1) * strides[axis] - pads[axis] >= sizes[axis]:
                return None
        attributes = {"auto_pad": automatic} if automatic else {"pads": pads}
    if any(d != 1 for d in dilations):
        attributes["dilations"] = list(dilations)
    if ceil:
        attributes["ceil_mode"] = 1
    return {**attributes, "strides": strides, "kernel_shape": list(kernel)}, tuple(outputs)


def _all_have_taps(sizes, attributes, outputs):
    """Returns whether every window has an element: a maximum needs one."""
    pads = attributes.get("pads")
    if pads is None:
        return False
    for axis, size in enumerate(sizes):
        taps = np.arange(attributes["kernel_shape"][axis]) * attributes["dilations"][axis]
        first = np.arange(outputs[axis]) * attributes["strides"][axis] - pads[axis]
        places = first[:, None] + taps
        if not ((places >= 0) & (places < size)).any(axis=1).all():
            return False
    return True


def _dilations(graph, axes):
    """Returns random dilations; None three times in four."""
    return [1 if graph.chance(0.75) else graph.below(1, 4) for _ in range(axes)]


def _kernel(graph, axes):
    return [graph.below(1, 5) for _ in range(axes)]


def convolution(graph, source, shape):
    axes = len(shape) - 2
    kernel = _kernel(graph, axes)
    window = _window(graph, shape[2:], kernel, _dilations(graph, axes))
    if window is None:
        return
    attributes, sizes = window
    kind = graph.pick("dense", "dense", "depthwise", "grouped")
    channels, groups, outputs = shape[1], 1, graph.below(1, 27)
    if graph.chance(0.1):
        outputs = graph.below(27, 140)
    if kind == "depthwise":
        groups = outputs = channels
    elif kind == "grouped":
        groups = graph.divisor(channels)
        outputs = groups * graph.below(1, 10)
    if not graph.fits((outputs, *sizes)):
        return
    fan_in = channels // groups * int(np.prod(kernel))
    weights = graph.normal(outputs, channels // groups, *kernel) * np.sqrt(2 / fan_in)
    inputs = [source, graph.constant(weights)]
    if graph.chance(0.5):
        inputs.append(graph.constant(graph.normal(outputs)))
    graph.node("Conv", inputs, (1, outputs, *sizes), group=groups, **attributes)
    if graph.chance(0.4):
        normalise(graph, *graph.last())
    if graph.chance(0.5):
        activation(graph, *graph.last())


def transposed(graph, source, shape):
    axes = len(shape) - 2
    kernel = _kernel(graph, axes)
    dilations = _dilations(graph, axes)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    strides = [graph.below(1, min(r, 3) + 1) for r in reach]
    pads = [graph.below(r) for r in reach * 2]
    extra = [graph.below(min(p + 1, s)) for p, s in zip(pads[axes:], strides)]
    sizes = [
        (size - 1) * s + r - pads[axis] - pads[axis + axes] + extra[axis]
        for axis, (size, s, r) in enumerate(zip(shape[2:], strides, reach))
    ]
    groups = graph.divisor(shape[1])
    outputs = graph.below(1, 19 if groups == 1 else 5)
    if not graph.fits((outputs * groups, *sizes)):
        return
    fan_in = shape[1] // groups * int(np.prod(kernel)) / int(np.prod(strides))
    weights = graph.normal(shape[1], outputs, *kernel) * np.sqrt(2 / max(fan_in, 1))
    inputs = [source, graph.constant(weights)]
    if graph.chance(0.5):
        inputs.append(graph.constant(graph.normal(outputs * groups)))
    graph.node(
        "ConvTranspose", inputs, (1, outputs * groups, *sizes), group=groups, strides=strides,
        pads=pads, output_padding=extra, dilations=dilations,
    )  # fmt: skip
    if graph.chance(0.3):
        normalise(graph, *graph.last())


def pool(graph, source, shape):
    axes = len(shape) - 2
    operator = graph.pick("MaxPool", "AveragePool")
    dilations = _dilations(graph, axes) if operator == "MaxPool" else [1] * axes
    window = _window(graph, shape[2:], _kernel(graph, axes), dilations, graph.chance(0.25))
    if window is None:
        return
    attributes, sizes = window
    if "dilations" in attributes and not _all_have_taps(shape[2:], attributes, sizes):
        return
    if operator == "AveragePool" and "auto_pad" not in attributes:
        attributes["count_include_pad"] = graph.below(2)
    whole = (*shape[:2], *sizes)
    if operator == "AveragePool" or graph.chance(0.8):
        graph.node(operator, [source], whole, **attributes)
        return
    graph.is_rough = True
    kinds = [TensorProto.FLOAT, TensorProto.INT64]
    attributes["storage_order"] = graph.below(2)
    _, places = graph.node_of_parts(operator, [source], [whole, whole], kinds, **attributes)
    graph.node("Cast", [places], whole, to=TensorProto.FLOAT)


def global_pool(graph, source, shape):
    operator = graph.pick("GlobalAveragePool", "GlobalMaxPool")
    graph.node(operator, [source], (*shape[:2], *[1] * (len(shape) - 2)))


def excite(graph, source, shape):
    """Adds a squeeze-and-excite gate: one number for each channel."""
    small = (*shape[:2], *[1] * (len(shape) - 2))
    pooled = graph.node("GlobalAveragePool", [source], small)
    gate = graph.node(graph.pick("Sigmoid", "HardSigmoid"), [pooled], small)
    graph.node("Mul", graph.pick([source, gate], [gate, source]), shape)


def normalise(graph, source, shape):
    parameters = [
        graph.random.uniform(0.5, 2, shape[1]),
        graph.normal(shape[1]),
        graph.normal(shape[1]),
        graph.random.uniform(0.5, 2, shape[1]),
    ]
    inputs = [source] + [graph.constant(parameter) for parameter in parameters]
    graph.node("BatchNormalization", inputs, shape)


def instance_normalisation(graph, source, shape):
    parameters = [graph.random.uniform(0.5, 2, shape[1]), graph.normal(shape[1])]
    inputs = [source] + [graph.constant(parameter) for parameter in parameters]
    graph.node("InstanceNormalization", inputs, shape, epsilon=0.01)


def activation(graph, source, shape):
    operator = graph.pick("Relu", "Relu", "Clip", "Sigmoid", "Tanh", "LeakyRelu", "Identity")
    inputs, attributes = [source], {}
    if operator == "Clip":
        bounds = [graph.constant(np.array(-0.5)), graph.constant(np.array(2.0))]
        inputs += graph.pick(bounds, bounds[:1], ["", bounds[1]])
    if operator == "LeakyRelu":
        attributes["alpha"] = 0.1
    graph.node(operator, inputs, shape, **attributes)


def resize(graph, source, shape):
    """Resizes to a random size, by scales or by sizes; the CPU computes cubic."""
    mode = graph.pick("nearest", "nearest", "linear", "linear", "cubic")
    if mode == "cubic" and len(shape) != 4:
        return
    attributes = {
        "mode": mode,
        "coordinate_transformation_mode": graph.pick(
            "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"
        ),
    }
    if mode == "nearest":
        attributes["nearest_mode"] = graph.pick(
            "floor", "ceil", "round_prefer_floor", "round_prefer_ceil"
        )
    if mode == "cubic" and graph.chance(0.5):
        attributes["cubic_coeff_a"] = -0.5
        attributes["exclude_outside"] = graph.below(2)
    axes = len(shape) - 2
    inputs = [source, graph.constant(np.zeros(0))]
    if graph.chance(0.5):
        scales = np.array([1, 1, *graph.random.choice([0.5, 0.75, 1, 1.5, 2, 3], axes)])
        sizes = [int(np.floor(size * s)) for size, s in zip(shape[2:], scales[2:])]
        inputs.append(graph.constant(scales))
    else:
        sizes = [graph.below(1, 2 * size + 1) for size in shape[2:]]
        inputs += [graph.constant(np.zeros(0)), graph.integers([*shape[:2], *sizes])]
    if graph.fits((shape[1], *sizes)) and max(sizes) <= 40:
        graph.node("Resize", inputs, (*shape[:2], *sizes), **attributes)


def depth_to_space(graph, source, shape):
    if len(shape) != 4:
        return
    block = graph.pick(2, 2, 3)
    _, channels, height, width = shape
    if graph.chance(0.5) and height % block == 0 and width % block == 0:
        sizes = (1, channels * block**2, height // block, width // block)
        graph.node("SpaceToDepth", [source], sizes, blocksize=block)
    elif channels % block**2 == 0:
        sizes = (1, channels // block**2, height * block, width * block)
        mode = graph.pick("DCR", "CRD")
        graph.node("DepthToSpace", [source], sizes, blocksize=block, mode=mode)
    elif height * width <= 36:  # enough channels first
        outputs = block**2 * graph.below(1, 4)
        weights = graph.normal(outputs, channels, 1, 1) / np.sqrt(channels)
        shape = (1, outputs, height, width)
        wide = graph.node("Conv", [source, graph.constant(weights)], shape, kernel_shape=[1, 1])
        depth_to_space(graph, wide, shape)


def patches(graph, source, shape):
    """Turns an image into rows of features, as vision transformers begin."""
    if len(shape) != 4 or shape[2] * shape[3] > 150:
        return
    count = shape[2] * shape[3]
    flat = graph.node(
        "Reshape", [source, graph.integers([1, shape[1], -1])], (1, shape[1], count)
    )
    graph.node("Transpose", [flat], (1, count, shape[1]), perm=[0, 2, 1])


STEPS = [
    convolution, convolution, convolution, convolution, transposed, pool, pool, global_pool,
    excite, normalise, instance_normalisation, activation, resize, resize, depth_to_space, patches,
]  # fmt: skip
