# SPDX-License-Identifier: MIT
"""Writes a network of opset 13 to 17 as a newer opset has it, without the help of the package onnx:
that of Debian 12 knows opset 17 at most."""

import numpy as np
from onnx import helper, numpy_helper

# The axes of these operators are an input from opset 18 on.
_REDUCTIONS = {
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
    "ReduceMin", "ReduceProd", "ReduceSumSquare",
}  # fmt: skip
OLDEST = 13


def ir_version(opset):
    """Returns the IR version that exporters wrote when this opset was new."""
    return {18: 8, 19: 9, 20: 9, 21: 10, 22: 10, 23: 11}[opset]


def write(model, opset):
    """Returns a copy of the model in that opset, 18 to 23."""
    newer = type(model)()
    newer.CopyFrom(model)
    graph = newer.graph
    for node in graph.node:
        axes = [a for a in node.attribute if a.name == "axes"]
        if node.op_type in _REDUCTIONS and axes:
            name = f"{node.output[0]}_axes"
            graph.initializer.append(
                numpy_helper.from_array(np.array(axes[0].ints, np.int64), name)
            )
            node.input.append(name)
            node.attribute.remove(axes[0])
        if node.op_type == "Split" and len(node.input) == 1:
            node.attribute.append(helper.make_attribute("num_outputs", len(node.output)))
    for imported in newer.opset_import:
        if imported.domain in ("", "ai.onnx"):
            imported.version = opset
    newer.ir_version = ir_version(opset)
    return newer
