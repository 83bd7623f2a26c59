# SPDX-License-Identifier: MIT
"""Small random ONNX networks over every operator and attribute that the compiler takes, and random
ways to compile them."""

from dataclasses import dataclass, field

import numpy as np
import onnx

import random_any_shape
import random_images
import random_quantised
import random_rows
from graph_builder import GraphBuilder

SAMPLES = 3
IN_OTHERS = {"Add", "Constant", "Div", "Mul", "Pow", "ReduceMean", "Sqrt", "Sub"}


@dataclass
class Case:
    """One network and how it is to be compiled."""

    seed: int
    model: onnx.ModelProto
    samples: dict  # float arrays by input, whose first axis counts samples
    is_rough: bool  # int8 need not be near float
    is_quantised: bool  # the network has QuantizeLinear and DequantizeLinear
    options: list = field(default_factory=list)  # of overtake compile
    limit_us: int = 0  # limit for function calls on a slow device; 0 for none
    input_parameters: dict = field(default_factory=dict)  # of a file; then there are no options


def _input_shape(graph):
    kind = graph.random.random()
    if kind < 0.05:  # a camera's image
        return (1, graph.pick(1, 3, 3), 2 * graph.below(2, 8), 2 * graph.below(2, 8))
    if kind < 0.1:
        return (1, graph.below(1, 4), graph.below(16, 44), graph.below(16, 44))
    if kind < 0.62:
        return (1, graph.below(1, 20), graph.below(4, 15), graph.below(4, 15))
    if kind < 0.75:
        return (1, graph.below(1, 20), graph.below(4, 60))  # a signal, or rows
    if kind < 0.92:
        return (1, graph.below(2, 24), graph.pick(4, 8, 16, 24, 30))  # rows of features
    if kind < 0.97:
        return (1, graph.below(1, 60))
    return (1, graph.below(1, 5), graph.below(2, 5), graph.below(3, 7), graph.below(3, 7))


def _steps(graph, shape):
    """Returns steps that fit a tensor of that shape; steps of its kind are there more often than
    others."""
    if len(shape) in (4, 5) and shape[0] == 1:
        own = random_images.STEPS + ([random_rows.softmax] if len(shape) == 4 else [])
    elif len(shape) == 3 and shape[0] == 1:
        own = random_rows.STEPS if graph.chance(0.6) else random_images.STEPS
    elif len(shape) == 2:
        own = random_rows.FLAT_STEPS
    else:
        own = [random_rows.softmax]
    return own if graph.chance(graph.own_share) else random_any_shape.STEPS


def _grow(graph):
    graph.own_share = graph.pick(0.35, 0.6, 0.8, 0.95)
    # Most networks begin with something that the device computes well, some with something of the
    # CPU.
    name, shape = graph.tensors[0]
    if graph.chance(0.6):
        first = random_images.convolution if len(shape) > 2 else random_rows.gemm
        first(graph, name, shape)
    for _ in range(graph.below(1, 10)):
        source = graph.last() if graph.chance(0.8) else graph.pick(*graph.tensors)
        graph.pick(*_steps(graph, source[1]))(graph, *source)
    if graph.chance(0.35):
        random_rows.gemm(graph, *graph.last())
        if graph.chance(0.5):
            random_rows.softmax(graph, *graph.last())
    if len(graph.tensors) == len(graph.inputs):
        random_images.activation(graph, *graph.tensors[0])


def _options(graph, model):
    """Chooses options of the compiler."""
    options = []
    method = graph.pick("", "", "min-max", "percentile", "kl", "mse")
    if method:
        options += ["--calibration-method", method]
    if method == "percentile":
        options += ["--percentile", graph.pick("99.5", "99.9", "99.99")]
    if graph.chance(0.1):
        options.append("--no-bias-correction")
    # Nodes that are recognised together as one operator have no placement of their own.
    names = [node.name for node in model.graph.node if node.op_type not in IN_OTHERS]
    if names and graph.chance(0.12):
        options += ["--run-on-cpu", graph.pick(*names)]
    return options


def _int16_options(seed, model):
    """Chooses 16-bit options with random numbers of their own, so that the other options of a seed
    stay the same."""
    random = np.random.default_rng([seed, 16])
    names = [node.name for node in model.graph.node if node.op_type not in IN_OTHERS]
    if random.random() < 0.15:
        return ["--int16", "all"]
    if names and random.random() < 0.15:
        return ["--int16", str(random.choice(names))]
    return []


def _input_parameters(graph):
    """Chooses parameters of the first input, for which users give bytes."""
    channels, *sizes = graph.inputs[0][1][1:]
    if len(graph.inputs) > 1 or graph.chance(0.6):
        return {}
    if len(sizes) != 2 or channels not in (1, 3) or graph.chance(0.2):
        return {"input_type_rt": "int8"} if graph.chance(0.2) else {}
    trained = "gray" if channels == 1 else graph.pick("rgb", "bgr")
    has_even_sizes = sizes[0] % 2 == 0 and sizes[1] % 2 == 0
    given = graph.pick("nv12", "nv12", trained) if has_even_sizes else trained
    result = {"input_type_train": trained, "input_type_rt": given}
    if given == "nv12":
        result["input_space_and_range"] = graph.pick("regular", "bt601_video")
    if graph.chance(0.6):
        result["norm_type"] = "data_mean_and_scale"
        result["mean_value"] = graph.pick(128, 100.5)
        result["scale_value"] = graph.pick(0.01, 0.5)
    return result


def make(seed):
    """Returns the case of that number."""
    graph = GraphBuilder(np.random.default_rng(seed), opset=0)
    graph.opset = graph.pick(11, 12, 13, 13, 13, 14, 15, 16, 17, 17)
    shape = _input_shape(graph)
    graph.add_input("image", shape)
    if graph.chance(0.1):
        graph.add_input("other", shape)
    _grow(graph)
    model = graph.finish(f"random{seed}", most_outputs=graph.pick(1, 1, 2, 8))
    samples = {
        info.name: graph.normal(SAMPLES, *shape[1:]).astype(np.float32)
        for info in model.graph.input
    }
    options = _options(graph, model) + _int16_options(seed, model)
    limit = graph.pick(0, 0, 1000, 2000, 5000, 20000)
    is_quantised = graph.opset >= 13 and graph.chance(0.15)
    if is_quantised:
        float_model, model = model, random_quantised.quantised(graph, model, samples)
        if not random_quantised.is_finite(model, samples):  # a divisor has become 0
            model, is_quantised = float_model, False
    parameters = {} if is_quantised else _input_parameters(graph)
    return Case(
        seed, model, samples, graph.is_rough, is_quantised, options, limit,
        parameters if len(model.graph.input) == 1 else {},
    )  # fmt: skip
