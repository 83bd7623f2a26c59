#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Checks float_reference.py against the published ONNX operator cases (package libonnx-testdata).

Every case is run whose operators float_reference knows, except the ones listed in LEFT_OUT, which
use a form the reference does not have (training, sequences, one or three spatial dimensions, a
second output, cubic resizing, resizing to a size that is not a whole number) and those of opsets
newer than the reference, which newer packages have.
"""

import pathlib
import re
import unittest

import numpy as np
import onnx
from onnx import numpy_helper

import float_reference

CASES = pathlib.Path("/usr/share/libonnx-testdata/data")
LEFT_OUT = re.compile(
    r"training_mode|uint8|sequence|identity_opt|argmax|(pool|conv|convtranspose).*(1d|3d)"
    r"|pytorch-.*(1d|3d)|test_operator_maxpool$|resize.*(cubic|crop_and_resize)"
    r"|resize_downsample_scales_linear_align_corners"
)
FEWEST_CASES = 190
NEWEST_OPSET = 17


def _tensors(folder, stem):
    files = sorted(folder.glob(stem + "_*.pb"), key=lambda path: int(path.stem.split("_")[1]))
    for path in files:
        tensor = onnx.TensorProto()
        tensor.ParseFromString(path.read_bytes())
        yield numpy_helper.to_array(tensor)


def _runnable(model):
    known = set(float_reference.OPERATORS) | {"Constant"}
    return all(node.op_type in known and node.domain == "" for node in model.graph.node)


def _opset(model):
    return max((each.version for each in model.opset_import if each.domain == ""), default=0)


class PublishedCases(unittest.TestCase):
    def test_every_known_operator_gives_the_published_result(self):
        seen, operators, newer = 0, set(), set()
        for path in sorted(CASES.glob("*/*/model.onnx")):
            name = f"{path.parent.parent.name}/{path.parent.name}"
            model = onnx.load(str(path))
            if LEFT_OUT.search(name.lower()) or not _runnable(model):
                continue
            used = {node.op_type for node in model.graph.node}
            if _opset(model) > NEWEST_OPSET:
                newer |= used
                continue
            operators |= used
            network = float_reference.Network(model)
            for folder in sorted(path.parent.glob("test_data_set_*")):
                with self.subTest(case=name, data=folder.name):
                    names = [i.name for i in model.graph.input]
                    tensors = network.run(dict(zip(names, _tensors(folder, "input"))))
                    for output, expected in zip(network.output_names, _tensors(folder, "output")):
                        result = tensors[output]
                        self.assertEqual(result.shape, expected.shape)
                        self.assertEqual(result.dtype, expected.dtype)
                        np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-5)
            seen += 1
        self.assertGreaterEqual(seen, FEWEST_CASES)
        never = set(float_reference.OPERATORS) - operators - newer
        self.assertEqual(never, set(), "never exercised")
        print(f"{seen} published cases")


if __name__ == "__main__":
    unittest.main()
