# SPDX-License-Identifier: MIT
"""ONNX models of a few nodes, for tests that need one particular thing in them."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def model(nodes, inputs, outputs, constants=None, opset=13, types=None):
    """Makes a model. `inputs` and `outputs` map names to shapes (None in one: unknown), `constants`
    to arrays, and `types` to the types of those that are not float."""
    def info(shapes):
        return [
            helper.make_tensor_value_info(n, types.get(n, TensorProto.FLOAT), s)
            for n, s in shapes.items()
        ]

    constants, types = constants or {}, types or {}
    graph = helper.make_graph(
        nodes,
        "test",
        info(inputs),
        info(outputs),
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    domains = {"": opset, **{each.domain: 1 for each in nodes if each.domain}}
    opsets = [helper.make_opsetid(domain, version) for domain, version in domains.items()]
    result = helper.make_model(graph, opset_imports=opsets)
    result.ir_version = 7
    return result


def node(operator, inputs, outputs, **attributes):
    name = attributes.pop("name", f"my_{operator.lower()}")
    return helper.make_node(operator, inputs, outputs, name=name, **attributes)


def ones(*shape):
    return np.ones(shape, np.float32)


def relu(shape=(1, 3, 4, 4)):
    return model([node("Relu", ["x"], ["y"])], {"x": shape}, {"y": shape})


def two_inputs():
    """y = relu(a + b), and z = a's global average."""
    shape = (1, 8, 4, 4)
    nodes = [
        node("Add", ["a", "b"], ["sum"]),
        node("Relu", ["sum"], ["y/out"]),
        node("GlobalAveragePool", ["a"], ["z"]),
    ]
    return model(nodes, {"a": shape, "b": shape}, {"y/out": shape, "z": (1, 8, 1, 1)})


def save(proto, path):
    onnx.save(proto, str(path))
    return path
