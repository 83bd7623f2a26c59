# SPDX-License-Identifier: MIT
"""Compiled random networks against judges that share no code with them: see agreement.py, which
runs 2,000 of them (make agreement; make soak). Networks that once disagreed for a reason of their own, and the
judges themselves, are tested here too."""

import os
import pathlib
import tempfile
import unittest
from unittest import mock

import numpy as np

import agreement
import random_graphs
import reference_device
import shrink
import small_models

GRAPHS = int(os.environ.get("OVERTAKE_GRAPHS", 300))


def case_of(model):
    """Returns a case of the model, calibrated with noise."""
    random = np.random.default_rng(1)
    samples = {}
    for info in model.graph.input:
        shape = [dimension.dim_value for dimension in info.type.tensor_type.shape.dim]
        array = random.standard_normal((random_graphs.SAMPLES, *shape[1:]))
        samples[info.name] = array.astype(np.float32)
    return random_graphs.Case(1, model, samples, is_rough=False, is_quantised=False)


class Agreement(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.server = agreement.make_server()
        self.addCleanup(self.server.stop)
        self.checker = agreement.Checker(self.server, directory.name)

    def test_device_and_runtime_match_the_interpreter(self):
        failures, covered = agreement.run(first=1, count=GRAPHS, jobs=os.cpu_count())
        agreement.print_covered(covered)
        for seed, why in sorted(failures.items()):
            with self.subTest(seed=seed):
                self.fail(agreement.describe(seed, why))

    def test_a_strided_depthwise_convolution_of_one_tap_is_no_scaling(self):
        nodes = [
            small_models.node("Conv", ["image", "v"], ["between"], name="first"),
            small_models.node("Conv", ["between", "w"], ["y"], group=8, strides=[3, 2]),
        ]
        random = np.random.default_rng(1)
        constants = {
            "v": random.standard_normal((8, 3, 1, 1)).astype(np.float32),
            "w": random.uniform(0.5, 1.5, (8, 1, 1, 1)).astype(np.float32),
        }
        model = small_models.model(nodes, {"image": (1, 3, 7, 7)}, {"y": (1, 8, 3, 4)}, constants)
        self.checker.check(case_of(model))

    def test_an_output_that_flattens_what_the_cpu_made_has_its_own_shape(self):
        nodes = [
            small_models.node("Softmax", ["x"], ["soft"], axis=1),
            small_models.node("Flatten", ["soft"], ["flat"]),
            small_models.node("Gemm", ["flat", "w"], ["y"]),
        ]
        constants = {"w": np.random.default_rng(1).standard_normal((14, 7)).astype(np.float32)}
        outputs = {"flat": (1, 14), "y": (1, 7)}
        self.checker.check(
            case_of(small_models.model(nodes, {"x": (1, 14, 1, 1)}, outputs, constants))
        )

    def test_features_flattened_from_rows_meet_the_weights_that_belong_to_them(self):
        nodes = [
            small_models.node("MatMul", ["x", "v"], ["rows"]),
            small_models.node("Flatten", ["rows"], ["flat"]),
            small_models.node("Tanh", ["flat"], ["between"]),
            small_models.node("Gemm", ["between", "w"], ["y"]),
            small_models.node("Gemm", ["flat", "w"], ["z"], name="direct"),
        ]
        random = np.random.default_rng(1)
        constants = {
            "v": random.standard_normal((6, 9)).astype(np.float32),
            "w": random.standard_normal((45, 7)).astype(np.float32),
        }
        outputs = {"y": (1, 7), "z": (1, 7)}
        model = small_models.model(nodes, {"x": (1, 5, 6)}, outputs, constants)
        self.checker.check(case_of(model))
        self.assertEqual(self.checker.covered["Gemm on the BPU"], 1)

    def test_a_slice_of_flattened_features_takes_them_in_onnx_order(self):
        nodes = [
            small_models.node("Relu", ["x"], ["relu"]),
            small_models.node("Flatten", ["relu"], ["flat"]),
            small_models.node("Tanh", ["flat"], ["between"]),
            small_models.node("Slice", ["between", "starts", "ends", "axes"], ["y"]),
        ]
        constants = {
            "starts": np.array([3], np.int64),
            "ends": np.array([8], np.int64),
            "axes": np.array([1], np.int64),
        }
        model = small_models.model(nodes, {"x": (1, 9, 3, 2)}, {"y": (1, 5)}, constants)
        self.checker.check(case_of(model))

    def test_what_is_reshaped_twice_over_keeps_its_dimensions(self):
        nodes = [
            small_models.node("Tanh", ["x"], ["tanh"]),
            small_models.node("Reshape", ["tanh", "shape"], ["other"]),
            small_models.node("Add", ["other", "other"], ["sum"]),
            small_models.node("Softmax", ["sum"], ["y"], axis=1),
        ]
        constants = {"shape": np.array([1, 4, 30], np.int64)}
        outputs = {"sum": (1, 4, 30), "y": (1, 4, 30)}
        self.checker.check(
            case_of(small_models.model(nodes, {"x": (1, 24, 5)}, outputs, constants))
        )

    def test_bytes_that_only_the_cpu_reads_go_through_the_device(self):
        nodes = [small_models.node("Softmax", ["x"], ["y"], axis=1)]
        for parameters, kind in (
            ({"input_type_rt": "int8"}, "int8"),
            ({"input_type_train": "rgb", "input_type_rt": "rgb"}, "uint8"),
            ({"input_type_train": "rgb", "input_type_rt": "nv12"}, "nv12"),
        ):
            with self.subTest(kind):
                shape = (1, 3, 4, 6)
                case = case_of(small_models.model(nodes, {"x": shape}, {"y": shape}))
                case.input_parameters = parameters
                self.checker.check(case)
                self.assertEqual(self.checker.covered[f"input {kind}"], 1)

    def test_an_instruction_computed_otherwise_is_noticed(self):
        """The test changes the interpreter, which is as good as changing the device."""
        nodes = [
            small_models.node("Conv", ["x", "w"], ["conv"]),
            small_models.node("Tanh", ["conv"], ["tanh"]),
            small_models.node("MaxPool", ["conv"], ["pool"], kernel_shape=[2, 2]),
            small_models.node("Add", ["conv", "tanh"], ["sum"]),
        ]
        constants = {"w": np.random.default_rng(1).standard_normal((9, 4, 3, 3)).astype(np.float32)}
        outputs = {"tanh": (1, 9, 4, 4), "pool": (1, 9, 3, 3), "sum": (1, 9, 4, 4)}
        case = case_of(small_models.model(nodes, {"x": (1, 4, 6, 6)}, outputs, constants))
        self.checker.check(case)
        for name in ("_convolution", "_table", "_max_pool"):
            right = getattr(reference_device.Machine, name)

            def wrong(machine, insn):
                right(machine, insn)
                machine._view(insn["out"])[-1, -1, -1] ^= 1

            with self.subTest(name), mock.patch.object(reference_device.Machine, name, wrong):
                with self.assertRaisesRegex(AssertionError, "^bits of .* 1 of"):
                    self.checker.check(case)

    def test_a_failing_network_becomes_smaller(self):
        """The network shrinks down to the node that a mistaken judge objects to."""
        case = next(
            case
            for case in map(random_graphs.make, range(1000))
            if len(case.model.graph.node) > 8
            and any(node.op_type == "Tanh" for node in case.model.graph.node)
        )

        def why(candidate):
            types = [node.op_type for node in candidate.model.graph.node]
            return "Tanh is there" if "Tanh" in types else ""

        small = shrink.shrink(case, why)
        self.assertEqual([node.op_type for node in small.model.graph.node], ["Tanh"])


if __name__ == "__main__":
    unittest.main()
