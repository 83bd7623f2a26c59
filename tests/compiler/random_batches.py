# SPDX-License-Identifier: MIT
"""Makes networks for a batch from networks for one image."""

import numpy as np
import onnx
from onnx import numpy_helper

# The constant input that gives the shape of the output.
_SHAPE_INPUTS = {"Reshape": 1, "Resize": 3}
# The steps of these operators are images in such a network, or their constants name an image.
_MIXING = {"CumSum", "GRU", "LSTM", "RNN", "ScatterElements", "Trilu"}


def _constants(graph):
    """Returns integers by name, of initialisers and of Constant nodes."""
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            constants[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    return constants


def _set_batch(values, count):
    for value in values:
        value.type.tensor_type.shape.dim[0].dim_value = count


def is_for_one_image(model):
    """Returns whether the first axis of all inputs and outputs counts images, of which there is one,
    and no operator mixes images."""
    if any(node.op_type in _MIXING for node in model.graph.node):
        return False
    infos = [*model.graph.input, *model.graph.output]
    shapes = [info.type.tensor_type.shape.dim for info in infos]
    return all(len(shape) > 1 and shape[0].dim_value == 1 for shape in shapes)


def batched(model, count):
    """Returns the same network for `count` images at once if none of its operators mixes images."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    graph = model.graph
    _set_batch(graph.input, count)
    _set_batch(graph.output, count)
    del graph.value_info[:]
    constants = _constants(graph)
    for node in graph.node:
        index = _SHAPE_INPUTS.get(node.op_type)
        if index is None or index >= len(node.input) or node.input[index] not in constants:
            continue
        shape = constants[node.input[index]].copy()
        if shape.ndim != 1 or shape.size < 2 or shape[0] != 1:
            continue
        shape[0] = count
        name = f"{node.name}_batch"
        graph.initializer.append(numpy_helper.from_array(shape.astype(np.int64), name))
        node.input[index] = name
    return model
