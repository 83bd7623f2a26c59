# SPDX-License-Identifier: MIT
"""overtake compile --config with files as users of boards have them."""

import unittest

import numpy as np

import model_file
import small_models
from configuration_case import Case
from overtake_command import info, overtake, succeed


class BoardFiles(Case):
    """Files as board users have them: each key of the board's compiler is taken."""

    def setUp(self):
        super().setUp()
        random = np.random.default_rng(4)
        weights = {"w": (random.normal(size=(8, 3, 3, 3)) / 5).astype("f4")}
        nodes = [
            small_models.node("Conv", ["x", "w"], ["a"], name="first", pads=[1, 1, 1, 1]),
            small_models.node("Relu", ["a"], ["b"], name="/m/relu"),
            small_models.node("Softmax", ["b"], ["c"], name="/m/softmax", axis=1),
            small_models.node("Conv", ["c", "w2"], ["d"], name="second"),
            small_models.node("Transpose", ["d"], ["y"], name="last", perm=[0, 2, 3, 1]),
        ]
        weights["w2"] = (random.normal(size=(4, 8, 1, 1)) / 3).astype("f4")
        network = small_models.model(nodes, {"x": (1, 3, 8, 8)}, {"y": (1, 8, 8, 4)}, weights)
        (self.directory / "here").mkdir()
        small_models.save(network, self.directory / "here/net.onnx")
        (self.directory / "pictures").mkdir()
        for index in range(3):
            pixels = random.uniform(0, 255, (3, 8, 8)).astype("f4")
            pixels.tofile(self.directory / f"pictures/{index}.rgbchw")

    def file(self, model=None, inputs=None, calibration=None, compiler=None):
        """Writes a file in the form of the board's examples; a value of None removes a key."""

        def merged(keys, changes):
            keys.update(changes or {})
            return {key: value for key, value in keys.items() if value is not None}

        return self.write(
            model_parameters=merged({
                "onnx_model": "'here/net.onnx'", "march": '"bayes-e"', "layer_out_dump": "False",
                "working_dir": "'out'", "output_model_file_prefix": "'net_8x8_nv12'",
            }, model),
            input_parameters=merged({
                "input_name": '""', "input_type_rt": "'nv12'", "input_type_train": "'rgb'",
                "input_layout_train": "'NCHW'", "input_shape": "''",
                "norm_type": "'data_mean_and_scale'", "mean_value": "123.675 116.28 103.53",
                "scale_value": "0.01712475 0.017507 0.01742919",
            }, inputs),
            calibration_parameters=merged({
                "cal_data_dir": "'./pictures'", "cal_data_type": "'float32'",
                "calibration_type": "'default'",
            }, calibration),
            compiler_parameters=merged({
                "compile_mode": "'latency'", "debug": "False", "optimize_level": "'O3'",
            }, compiler),
        )  # fmt: skip

    def compile(self, *arguments, **changes):
        """Returns the warnings, without the file's name."""
        path = self.file(**changes)
        result = overtake("compile", "-c", path, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue((self.directory / "out/net_8x8_nv12.ovm").exists())
        return result.stderr.replace(f"overtake: {path}:", "").splitlines()

    def info(self):
        return info(self.directory / "out/net_8x8_nv12.ovm")

    def test_a_file_as_it_is(self):
        self.assertEqual(self.compile(), [])
        self.assertEqual(self.info()["name"], "net_8x8_nv12")

    def test_architectures(self):
        for march in ("bernoulli2", "bayes", "bayes-e"):
            self.assertEqual(self.compile("--strict", model={"march": march}), [])
            self.assertEqual(self.info()["profile"]["name"], "default")
            others = f"; times are those of profile default, not of {march}\n"
            self.assertTrue(overtake("compile", "-c", self.file(model={"march": march})).stdout.endswith(others))
            own = overtake("compile", "-c", self.file(model={"march": march}), "--profile", "ideal")
            self.assertNotIn("times are those", own.stdout)

    def test_values_without_effect_or_empty(self):
        empty = self.compile(
            model={"node_info": "{}", "remove_node_type": "''", "debug_mode": "", "log_level": "''"},
            inputs={"input_layout_rt": "''", "input_batch": "", "input_space_and_range": "''"},
            calibration={"optimization": "", "preprocess_on": "''", "run_on_cpu": "''"},
            compiler={"jobs": "", "core_num": "", "input_source": "{}", "max_time_per_fc": "''"},
        )
        self.assertEqual(empty, [])
        self.assertEqual(
            self.compile(model={"log_level": "debug"}, compiler={"jobs": 32, "core_num": 1}), []
        )

    def test_what_only_tunes_the_boards_compiler_is_a_warning(self):
        for group, key, value, instead in (
            ("model", "debug_mode", "'dump_calibration_data'", "no intermediate data is written"),
            ("model", "layer_out_dump", "True", "not written"),
            ("calibration", "max_percentile", "0.999", "belongs to calibration_type max"),
            ("calibration", "per_channel", "True", "weights always have a scale for each channel"),
            ("calibration", "quant_config", "q.json", "a file of another tool"),
            ("calibration", "optimization", "run_fast", "run_fast is not known here"),
            ("compiler", "compile_mode", "bandwidth", "compiled for latency"),
            ("compiler", "balance_factor", "50", "compiled for latency"),
            ("compiler", "advice", "1", "shows where the time goes"),
            ("compiler", "extra_params", "{a: 1}", "another compiler"),
            ("inputs", "norm_type", "data_scale", "mean_value: has no effect with norm_type"),
        ):
            with self.subTest(key=key):
                (warning,) = self.compile(**{group: {key: value}})
                self.assertIn(": warning: ", warning)
                self.assertIn(instead, warning)
                self.assertGreater(int(warning.split(":")[0]), 1)

    def test_a_strict_run_refuses_what_is_warned_about(self):
        for changes in (
            {"compiler": {"balance_factor": 2}}, {"model": {"node_info": "{absent: {'ON': 'BPU'}}"}},
        ):  # fmt: skip
            result = overtake("compile", "--strict", "-c", self.file(**changes))
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertIn("--strict: 1 warning is an error, so nothing is written", result.stderr)
            self.assertEqual(result.stderr.count("\n"), 2)
            self.assertFalse((self.directory / "out").exists())
        succeed("compile", "--strict", "-c", self.file())

    def test_node_info(self):
        wide = "'InputType': 'int16', 'OutputType': 'int16'"
        for node, wish, warning in (
            ("/m/relu", f"'ON': 'BPU', {wide}", None),
            ("/m/relu", "'InputType': 'float32'", "runs on the BPU in int8; run_on_cpu computes it"),
            ("/m/softmax", f"'ON': 'BPU', {wide}", "it runs on the CPU in float32"),
            ("/m/softmax", wide, None),
            ("/m/relu", "'ON': 'CPU'", None),
            ("/m/relu", "'InputType': 'int8'", None),
            ("/m/gone", f"'ON': 'BPU', {wide}", "the network has no such node"),
        ):  # fmt: skip
            with self.subTest(node=node, wish=wish):
                warnings = self.compile(model={"node_info": f"{{'{node}': {{{wish}}}}}"})
                self.assertEqual(len(warnings), warning is not None, warnings)
                if warning:
                    self.assertTrue(warnings[0].startswith(f"7: warning: node_info: {node}: "), warnings)
                    self.assertIn(warning, warnings[0])
        self.compile(model={"node_info": "{'/m/relu': {'ON': 'CPU'}}"})
        placed = {node["name"]: node["processor"] for node in self.info()["nodes"]}
        self.assertEqual(placed["/m/relu"], "CPU")

    def test_optimization_says_what_runs_instead(self):
        for words, warnings in (
            ("set_all_nodes_int16", []),
            ("set_Softmax_input_int8,set_Softmax_output_int8", ["of its Softmax nodes, 0 run"] * 2),
            ("set_Softmax_input_int16", []),
            ("set_Relu_input_int8;bias_correction", []),
            ("set_Gelu_input_int8", ["the network has no Gelu node"]),
        ):
            with self.subTest(words=words):
                found = self.compile(calibration={"optimization": f"'{words}'"})
                self.assertEqual(len(found), len(warnings), found)
                for line, warning in zip(found, warnings):
                    self.assertIn(warning, line)

    def test_a_wish_for_an_operator_is_one_for_nodes_that_it_is_a_part_of(self):
        """The convolution computes the Relu behind it."""
        self.compile(calibration={"optimization": "set_Relu_output_int16"})
        tensors = {t.name: t.is_int16 for t in model_file.ModelFile(self.directory / "out/net_8x8_nv12.ovm").tensors}
        self.assertEqual((tensors["b"], tensors["y"]), (True, False))

    def test_nodes_at_the_edges_are_removed(self):
        self.compile(model={"remove_node_type": "'Quantize;Dequantize;Transpose;Cast;Reshape'"})
        (output,) = self.info()["outputs"]
        self.assertEqual((output["name"], output["shape"]), ("y", [1, 4, 8, 8]))
        self.assertEqual(output["data_type"], "int8")
        self.assertEqual(self.compile(model={"remove_node_name": "'last;'"}), [])
        self.assertEqual(self.info()["outputs"][0]["shape"], [1, 4, 8, 8])
        self.assertEqual(self.info()["outputs"][0]["data_type"], "float32")
        self.assertEqual(self.compile(model={"remove_node_name": "y_HzDequantize"}), [])
        self.assertEqual(self.info()["outputs"][0]["data_type"], "int8")
        for name, reason in (
            ("second", "at no input or output"), ("absent", "no such node"),
            ("z_HzDequantize", "no output 'z'"),
        ):  # fmt: skip
            (warning,) = self.compile(model={"remove_node_name": name})
            self.assertTrue(warning.startswith(f"7: warning: remove_node_name: {name}: "), warning)
            self.assertIn(reason, warning)

    def test_a_node_in_front_of_the_network_is_removed(self):
        nodes = [
            small_models.node("Transpose", ["x"], ["a"], name="front", perm=[0, 3, 1, 2]),
            small_models.node("Relu", ["a"], ["y"], name="relu"),
        ]
        network = small_models.model(nodes, {"x": (1, 8, 6, 3)}, {"y": (1, 3, 8, 6)})
        small_models.save(network, self.directory / "front.onnx")
        path = self.write(
            model_parameters={
                "onnx_model": "front.onnx", "remove_node_type": "Transpose;Quantize",
            },
            calibration_parameters={"calibration_type": "skip"},
        )
        succeed("compile", "-c", path)
        (tensor,) = info(self.directory / "model_output/front.ovm")["inputs"]
        self.assertEqual((tensor["name"], tensor["shape"]), ("x", [1, 3, 8, 6]))
        self.assertEqual(tensor["data_type"], "int8")

    def test_a_batch(self):
        """Each sample is a whole batch."""
        for index in range(3):
            np.zeros((4, 3, 8, 8), np.float32).tofile(self.directory / f"pictures/{index}.rgbchw")
        inputs = {
            "input_name": "x", "input_shape": "1x3x8x8", "input_batch": 4, "input_type_rt": "rgb",
        }  # fmt: skip
        self.assertEqual(self.compile(inputs=inputs), [])
        self.assertEqual(self.info()["inputs"][0]["shape"], [4, 3, 8, 8])
        result = overtake("compile", "-c", self.file(inputs={**inputs, "input_type_rt": "nv12"}))
        self.assertIn("input_batch: nv12 is one picture at a time", result.stderr)

    def test_placement_of_nodes_that_the_network_lacks(self):
        (warning,) = self.compile(calibration={"run_on_cpu": "/m/relu;absent"})
        self.assertIn("run_on_cpu: absent: the network has no such node", warning)


if __name__ == "__main__":
    unittest.main()
