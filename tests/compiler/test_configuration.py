# SPDX-License-Identifier: MIT
"""overtake compile --config: every key works, or a line names the substitute or the fault."""

import os
import shutil
import unittest

import numpy as np
from PIL import Image

import small_models
from configuration_case import Case
from overtake_command import SOURCE, fc_times, info, overtake, run, succeed

GLYPHS = SOURCE / "models/glyphs"


class Glyphs(Case):
    """The trained network, copied beside the configuration."""

    def setUp(self):
        super().setUp()
        for name in ("glyphs.onnx", "calibration.npy"):
            shutil.copy(GLYPHS / name, self.directory)

    def config(self, calibration=None, compiler=None, inputs=None, **model):
        return self.write(
            model_parameters={"onnx_model": "glyphs.onnx", **model},
            input_parameters=inputs or {"input_name": "image"},
            calibration_parameters={"cal_data_dir": "calibration.npy", **(calibration or {})},
            compiler_parameters=compiler or {"compile_mode": "latency"},
        )

    def compile(self, *arguments, **keys):
        succeed("compile", "--config", self.config(**keys), *arguments)
        (path,) = (self.directory / keys.get("working_dir", "model_output")).glob("*.ovm")
        return path

    def by_options(self, *arguments):
        path = self.directory / "by_options.ovm"
        succeed(
            "compile", self.directory / "glyphs.onnx", "-o", path,
            "--calibration", self.directory / "calibration.npy", *arguments,
        )
        return path.read_bytes()

    def test_it_compiles_what_the_options_compile(self):
        for calibration, arguments in (
            ({}, []),
            ({"calibration_type": "max"}, ["--calibration-method", "min-max"]),
            ({"calibration_type": "kl"}, ["--calibration-method", "kl"]),
            ({"calibration_type": "default"}, ["--calibration-method", "best"]),
            (
                {"calibration_type": "max", "max_percentile": 0.999},
                ["--percentile", "99.9"],
            ),
            ({"bias_correction": False}, ["--no-bias-correction"]),
            ({"equalisation": False}, ["--no-equalisation"]),
        ):
            with self.subTest(calibration=calibration):
                path = self.compile(calibration=calibration)
                self.assertEqual(path.name, "glyphs.ovm")
                self.assertEqual(path.read_bytes(), self.by_options(*arguments))

    def test_optimize_levels(self):
        for level, arguments in (
            ("O0", ["--no-bias-correction", "--no-equalisation"]), ("O1", []), ("O2", []),
            ("O3", ["--calibration-method", "best"]),
        ):
            with self.subTest(level=level):
                path = self.compile(compiler={"optimize_level": level})
                self.assertEqual(path.read_bytes(), self.by_options(*arguments))

    def test_file_names(self):
        path = self.compile(working_dir="here/and_there", output_model_file_prefix="digits")
        self.assertEqual(path, self.directory / "here/and_there/digits.ovm")

    def test_debug_writes_reports(self):
        path = self.compile(compiler={"debug": True})
        for suffix in (".html", ".json", ".txt"):
            self.assertTrue(path.with_suffix(suffix).exists())

    def test_the_command_line_goes_before_the_file(self):
        wanted = self.directory / "mine.ovm"
        succeed("compile", "-c", self.config(), "-o", wanted, "--max-time-per-fc", "1ms")
        self.assertEqual(info(wanted)["max_time_per_fc_us"], 1000)
        self.assertFalse((self.directory / "model_output").exists())

    def test_the_longest_call_may_have_a_unit(self):
        for value, microseconds in (("2ms", 2000), ("1500us", 1500), ("0.5s", 500_000), (2000, 2000), ("0ms", 0)):
            with self.subTest(value):
                path = self.compile(compiler={"max_time_per_fc": value})
                self.assertEqual(info(path)["max_time_per_fc_us"], microseconds)

    def test_nodes_are_placed(self):
        placed = info(self.compile(calibration={"run_on_cpu": "pool1;residual"}))["nodes"]
        on_cpu = {node["name"] for node in placed if node["processor"] == "CPU"}
        self.assertLessEqual({"pool1", "residual"}, on_cpu)
        self.assertNotIn("conv1", on_cpu)
        config = self.config(calibration={"run_on_bpu": "probabilities"})
        self.assertIn("probabilities", self.refusal(config))

    def test_a_cheap_node_stays_on_the_device_if_the_file_says_so(self):
        x = np.random.default_rng(5).uniform(-1, 1, (1, 8, 4, 4)).astype(np.float32)
        nodes = [
            small_models.node("Softmax", ["x"], ["a"], name="first", axis=1),
            small_models.node("Relu", ["a"], ["b"], name="relu"),
            small_models.node("Softmax", ["b"], ["y"], name="second", axis=1),
        ]
        model = small_models.model(nodes, {"x": x.shape}, {"y": x.shape})
        small_models.save(model, self.directory / "between.onnx")
        np.save(self.directory / "x.npy", x)
        for key, names, processors in (
            ("run_on_cpu", "first", ["CPU"]), ("run_on_bpu", "relu", ["CPU", "BPU", "CPU"]),
        ):  # fmt: skip
            config = self.write(
                model_parameters={"onnx_model": "between.onnx"},
                calibration_parameters={"cal_data_dir": "x.npy", key: names},
            )
            succeed("compile", "-c", config)
            path = self.directory / "model_output/between.ovm"
            self.assertEqual([s["processor"] for s in info(path)["segments"]], processors)
            e = np.exp(x)
            for _ in range(2):
                wanted = e / e.sum(axis=1, keepdims=True)
                e = np.exp(wanted)
            got = run(path, {"x": x}, self.directory / "run")["y"]
            np.testing.assert_allclose(got, wanted, atol=2e-3)

    def test_outputs_may_stay_in_8_bits(self):
        x = np.random.default_rng(5).uniform(-1, 1, (1, 8, 4, 4)).astype(np.float32)
        nodes = [
            small_models.node("Relu", ["x"], ["a"], name="relu"),
            small_models.node("Softmax", ["x"], ["b"], name="softmax", axis=1),
        ]
        model = small_models.model(nodes, {"x": x.shape}, {"a": x.shape, "b": x.shape})
        small_models.save(model, self.directory / "two.onnx")
        np.save(self.directory / "x.npy", x)
        config = self.write(
            model_parameters={"onnx_model": "two.onnx", "remove_node_type": "Dequantize"},
            calibration_parameters={"cal_data_dir": "x.npy", "run_on_bpu": "relu"},
        )
        compiled = self.directory / "two.ovm"
        result = overtake("compile", "--config", config, "-o", compiled)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("output 'b' is computed on the CPU, so it stays float32", result.stderr)
        first, second = info(compiled)["outputs"]
        self.assertEqual((first["data_type"], second["data_type"]), ("int8", "float32"))
        results = run(compiled, {"x": x}, self.directory / "run")
        values = results["a"]
        np.testing.assert_allclose(values.reshape(x.shape), np.maximum(x, 0), atol=0.02)

    def test_noise_is_calibrated_with_only_if_asked(self):
        path = self.write(
            model_parameters={"onnx_model": "glyphs.onnx"},
            calibration_parameters={"calibration_type": "skip"},
        )
        result = overtake("compile", "-c", path)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_scales_of_the_model_must_be_there_to_be_loaded(self):
        path = self.write(
            model_parameters={"onnx_model": "glyphs.onnx"},
            calibration_parameters={"calibration_type": "load"},
        )
        self.assertIn("gives no scales", self.refusal(path))

    def test_raw_files(self):
        samples = np.load(GLYPHS / "calibration.npy")
        (self.directory / "raw").mkdir()
        for index, sample in enumerate(samples):
            sample.astype(np.float32).tofile(self.directory / f"raw/{index:03}.bin")
        keys = {"cal_data_dir": "raw", "cal_data_type": "float32"}
        self.assertEqual(self.compile(calibration=keys).read_bytes(), self.by_options())
        for index, sample in enumerate(samples):
            sample.tofile(self.directory / f"raw/{index:03}.bin")
        keys["cal_data_type"] = "uint8"
        self.assertEqual(self.compile(calibration=keys).read_bytes(), self.by_options())
        os.mkfifo(self.directory / "pipe")
        self.assertIn("pipe: is a device or a pipe", self.refusal(self.config({**keys, "cal_data_dir": "pipe"})))
        (self.directory / "raw/000.bin").write_bytes(b"short")
        self.assertIn("raw/000.bin: does not hold 576", self.refusal(self.config(keys)))

    def test_gray_pictures_of_bytes(self):
        keys = {"input_type_train": "gray", "input_type_rt": "gray"}
        path = self.compile(inputs=keys)
        (tensor,) = info(path)["inputs"]
        self.assertEqual(tensor["data_type"], "uint8")
        self.assertEqual((tensor["scale"], tensor["zero_point"]), (1, -128))
        images = np.load(GLYPHS / "heldout_images.npy")[:20].astype(np.float32)
        got = run(path, {"image": images}, self.directory)["probabilities"]
        labels = np.load(GLYPHS / "heldout_labels.npy")[:20]
        self.assertGreaterEqual((got.argmax(axis=1) == labels).mean(), 0.95)


class Pictures(Case):
    """Tests a network y = relu(x) of three channels that gets pictures."""

    def compile(self, trained, given, *arguments, size=(8, 12), **normalisation):
        small_models.save(small_models.relu((1, 3, *size)), self.directory / "relu.onnx")
        (self.directory / "images").mkdir(exist_ok=True)
        self.pixels = np.random.default_rng(1).integers(0, 256, (8, 12, 3), np.uint8)
        self.pixels[0, 0], self.pixels[0, 1] = 0, 255
        Image.fromarray(self.pixels).save(self.directory / "images/a.png")
        path = self.write(
            model_parameters={"onnx_model": "relu.onnx"},
            input_parameters={
                "input_type_train": trained, "input_type_rt": given, **normalisation,
            },
            calibration_parameters={"cal_data_dir": "images"},
        )
        succeed("compile", "-c", path, *arguments)
        return self.directory / "model_output/relu.ovm"

    def run_pixels(self, path, pixels):
        x = pixels.transpose(2, 0, 1)[None].astype(np.float32)
        return run(path, {"x": x}, self.directory)["y"][0].transpose(1, 2, 0)

    def test_a_whole_mean_and_one_scale_cost_nothing(self):
        path = self.compile(
            "rgb", "rgb", norm_type="data_mean_and_scale", mean_value=100, scale_value=0.5
        )
        (tensor,) = info(path)["inputs"]
        self.assertEqual((tensor["scale"], tensor["zero_point"]), (0.5, -28))
        self.assertEqual(len(info(path)["nodes"]), 1)
        got = self.run_pixels(path, self.pixels)
        wanted = np.maximum((self.pixels.astype(np.float32) - 100) * 0.5, 0)
        np.testing.assert_allclose(got, wanted, atol=0.5)

    def test_means_and_scales_of_channels(self):
        path = self.compile(
            "rgb", "rgb", norm_type="data_mean_and_scale",
            mean_value="123.675 116.28 103.53", scale_value="[0.0171, 0.0175, 0.0174]",
        )
        self.assertEqual(info(path)["nodes"][0]["type"], "Normalise")
        mean, scale = np.array([123.675, 116.28, 103.53]), np.array([0.0171, 0.0175, 0.0174])
        got = self.run_pixels(path, self.pixels)
        np.testing.assert_allclose(got, np.maximum((self.pixels - mean) * scale, 0), atol=0.03)

    def test_red_and_blue_change_places(self):
        for trained, given in (("rgb", "bgr"), ("bgr", "rgb")):
            with self.subTest(given=given):
                path = self.compile(trained, given, norm_type="data_mean", mean_value="10, 20, 30")
                seen = self.pixels if given == "rgb" else self.pixels[..., ::-1]
                wanted = np.maximum(seen[..., ::-1] - np.array([10.0, 20, 30]), 0)
                np.testing.assert_allclose(self.run_pixels(path, seen), wanted, atol=0.6)

    def test_pixels_beyond_a_byte_saturate(self):
        path = self.compile("rgb", "rgb")
        wild = np.full((8, 12, 3), 300.0)
        wild[0] = -7
        np.testing.assert_array_equal(
            self.run_pixels(path, wild), np.clip(wild, 0, 255)
        )

    def test_run_makes_of_a_picture_what_the_model_is_given(self):
        blocks = np.random.default_rng(6).integers(60, 190, (4, 6, 3), np.uint8)
        picture = self.directory / "picture.png"
        pixels = np.kron(blocks, np.ones((2, 2, 1), np.uint8))
        Image.fromarray(pixels).save(picture)
        for trained, given, arguments in (
            ("rgb", "rgb", {}), ("bgr", "bgr", {}), ("rgb", "bgr", {}), ("bgr", "rgb", {}),
            ("rgb", "nv12", {}), ("bgr", "nv12", {"input_space_and_range": "bt601_video"}),
        ):  # fmt: skip
            with self.subTest(trained=trained, given=given):
                path = self.compile(trained, given, **arguments)
                output = self.directory / "out"
                succeed("run", path, "--input", f"x={picture}", "--output-dir", output,
                        "--device", "embedded", "-q")  # fmt: skip
                got = np.load(output / "y.npy")[0].transpose(1, 2, 0)
                wanted = pixels if trained == "rgb" else pixels[..., ::-1]
                np.testing.assert_allclose(got, wanted, atol=4 if given == "nv12" else 0.5)
                result = overtake("run", path, "--input", f"x={picture}", "--output-dir", output,
                                  "--mean", 3)  # fmt: skip
                self.assertEqual(result.returncode, 1)
                self.assertIn("takes the pixels as they are", result.stderr)


def nv12_of(luma, u, v):
    """Returns a picture's bytes from a plane of luma and one of chroma, half as high and half as
    wide."""
    chroma = np.stack([u, v], axis=-1).reshape(u.shape[0], -1)
    return np.concatenate([luma, chroma]).astype(np.uint8)


def colours_of(luma, u, v, full_range):
    """Computes BT.601 by its textbook numbers, in float."""
    y, u, v = (plane.astype(np.float64) for plane in (luma, u, v))
    u, v = (np.kron(plane - 128, np.ones((2, 2))) for plane in (u, v))
    if not full_range:
        y, u, v = (y - 16) * 255 / 219, u * 255 / 224, v * 255 / 224
    green = y - (0.114 * 1.772 * u + 0.299 * 1.402 * v) / 0.587
    return np.clip(np.stack([y + 1.402 * v, green, y + 1.772 * u], axis=-1), 0, 255)


class Nv12(Pictures):
    """The device converts pictures of a camera."""

    def setUp(self):
        super().setUp()
        random = np.random.default_rng(3)
        self.planes = (
            random.integers(0, 256, (8, 12)), random.integers(96, 160, (4, 6)),
            random.integers(96, 160, (4, 6)),
        )

    def run_camera(self, path):
        picture = nv12_of(*self.planes)[None, None].astype(np.float32)
        return run(path, {"x": picture}, self.directory)["y"][0].transpose(1, 2, 0)

    def test_the_input_is_a_camera_picture(self):
        path = self.compile("rgb", "nv12")
        (tensor,) = info(path)["inputs"]
        self.assertEqual(tensor["data_type"], "nv12")
        self.assertEqual(tensor["shape"], [1, 1, 12, 12])
        self.assertEqual(tensor["bytes"], 8 * 12 * 3 // 2)

    def test_colours_are_those_of_bt601(self):
        for trained in ("rgb", "bgr"):
            for space, full_range in (("regular", True), ("bt601_video", False)):
                with self.subTest(trained=trained, space=space):
                    path = self.compile(trained, "nv12", input_space_and_range=space)
                    wanted = colours_of(*self.planes, full_range)
                    if trained == "bgr":
                        wanted = wanted[..., ::-1]
                    np.testing.assert_allclose(self.run_camera(path), wanted, atol=1.01)

    def test_means_and_scales(self):
        wanted = colours_of(*self.planes, True)
        path = self.compile(
            "rgb", "nv12", norm_type="data_mean_and_scale", mean_value=128, scale_value=0.5
        )
        np.testing.assert_allclose(
            self.run_camera(path), np.maximum((wanted - 128) / 2, 0), atol=0.6
        )
        path = self.compile("rgb", "nv12", norm_type="data_mean", mean_value="10.5 20.2 30.7")
        np.testing.assert_allclose(
            self.run_camera(path), np.maximum(wanted - np.array([10.5, 20.2, 30.7]), 0), atol=2.1
        )

    def test_split_gives_the_same_bytes(self):
        camera = np.random.default_rng(5).integers(0, 256, (1, 1, 1620, 1920)).astype(np.float32)
        results = []
        for limit in (0, 1000):
            path = self.compile("rgb", "nv12", "--max-time-per-fc", limit, size=(1080, 1920))
            results.append(run(path, {"x": camera}, self.directory)["y"])
        self.assertGreater(len(fc_times(path)), 1)
        self.assertLessEqual(max(fc_times(path)), 1000)
        np.testing.assert_array_equal(*results)

    def test_it_stays_near_to_float(self):
        for node in info(self.compile("rgb", "nv12"))["nodes"]:
            self.assertGreater(node["cosine"], 0.999)

    def test_odd_sizes_are_refused(self):
        small_models.save(small_models.relu((1, 3, 7, 12)), self.directory / "odd.onnx")
        path = self.write(
            model_parameters={"onnx_model": "odd.onnx"},
            input_parameters={"input_type_train": "rgb", "input_type_rt": "nv12"},
        )
        self.assertIn("even height", self.refusal(path))

    def test_an_input_may_come_from_the_resizer(self):
        nv12 = {"input_name": "x", "input_type_train": "rgb", "input_type_rt": "nv12"}
        rgb = {"input_name": "x", "input_type_train": "rgb", "input_type_rt": "rgb"}
        small_models.save(small_models.relu((1, 3, 8, 12)), self.directory / "even.onnx")

        def write(inputs, source):
            return self.write(
                model_parameters={"onnx_model": "even.onnx", "output_model_file_prefix": "even",
                                  "working_dir": "."},
                input_parameters=inputs, compiler_parameters={"input_source": source},
            )  # fmt: skip

        for source, comes in (
            ("resizer", True), ({"x": "resizer"}, True), ("ddr", False), ({"x": "pyramid"}, False),
        ):  # fmt: skip
            with self.subTest(source=source):
                succeed("compile", "-c", write(nv12, source), "-q")
                tensor = info(self.directory / "even.ovm")["inputs"][0]
                self.assertEqual(tensor.get("from_resizer", False), comes)
                shown = succeed("info", self.directory / "even.ovm")
                self.assertEqual("bytes; from the resizer: a region of a picture" in shown, comes)
        self.assertIn("input_type_rt nv12", self.refusal(write(rgb, "resizer")))
        self.assertIn("input_source: y: names no input; input_name has x",
                      self.refusal(write(nv12, {"y": "resizer", "x": "ddr"})))  # fmt: skip
        result = overtake("compile", "-c", write(nv12, {"y": "ddr", "x": "resizer"}))
        self.assertIn("warning: input_source: y: names no input", result.stderr)
        self.assertTrue(info(self.directory / "even.ovm")["inputs"][0]["from_resizer"])
        unnamed = {key: value for key, value in nv12.items() if key != "input_name"}
        self.assertIn("input_source: x: is for one of several inputs; add input_name",
                      self.refusal(write(unnamed, {"x": "resizer", "y": "ddr"})))  # fmt: skip


class Refusals(Case):
    def assert_refused(self, text, line, *reasons):
        path = self.directory / "config.yaml"
        path.write_text(text)
        (self.directory / "m.onnx").touch()
        result = overtake("compile", "--config", path)
        self.assertEqual(result.returncode, 1, result.stdout)
        # These pieces of files are also wrong because they name no network.
        stderr = "".join(
            row for row in result.stderr.splitlines(True) if "names no model" not in row
        )
        self.assertEqual(stderr.count("\n"), 1, result.stderr)
        self.assertIn(f"overtake: {path}:{line}: ", stderr)
        for reason in reasons:
            self.assertIn(reason, stderr)

    def test_a_file_without_its_option(self):
        path = self.directory / "config.yaml"
        path.write_text("model_parameters:\n  onnx_model: m.onnx\n")
        result = overtake("compile", path)
        self.assertEqual(result.returncode, 1)
        self.assertIn("config.yaml: not an ONNX model; give a configuration file with -c",
                      result.stderr)  # fmt: skip

    def test_unknown_keys_name_the_nearest(self):
        for group, key, nearest in (
            ("compiler_parameters", "max_time_per_fcs", "max_time_per_fc"),
            ("compiler_parameters", "optimise_level", "optimize_level"),
            ("model_parameters", "onxx_model", "onnx_model"),
            ("input_parameters", "mean_values", "mean_value"),
            ("calibration_parameters", "calibration_typ", "calibration_type"),
        ):
            with self.subTest(key=key):
                self.assert_refused(
                    f"# a comment\n{group}:\n  {key}: 1\n", 3,
                    f"{key}: is no key of {group}; did you mean {nearest}?",
                )
        self.assert_refused("model_params:\n  a: 1\n", 1, "did you mean model_parameters?")
        self.assert_refused("compiler_parameters:\n  xyzzy: 1\n", 2, "is no key of compiler_p")

    def test_a_key_in_the_wrong_group(self):
        self.assert_refused(
            "model_parameters:\n  core_num: 1\n", 2, "it belongs to compiler_parameters"
        )

    def test_values_that_do_not_fit(self):
        for group, key, value, reason in (
            ("compiler_parameters", "core_num", "many", "no whole number"),
            ("compiler_parameters", "compile_mode", "fast", "none of balance, bandwidth, latency"),
            ("compiler_parameters", "max_time_per_fc", "999", "0 or 1000..4294967295"),
            ("compiler_parameters", "max_time_per_fc", "4294967296", "no whole number"),
            ("compiler_parameters", "max_time_per_fc", "500us", "0 or 1000..4294967295"),
            ("compiler_parameters", "max_time_per_fc", "2.0004ms", "such a time with a unit (2ms, 0.5s)"),
            ("compiler_parameters", "max_time_per_fc", "2 parsecs", "such a time with a unit (2ms, 0.5s)"),
            ("compiler_parameters", "optimize_level", "O4", "none of o0, o1, o2, o3"),
            ("compiler_parameters", "debug", "maybe", "none of false, true"),
            ("compiler_parameters", "input_source", '{"x": "camera"}', "none of ddr"),
            ("compiler_parameters", "input_source", "camera", "none of ddr, pyramid, resizer"),
            ("model_parameters", "caffe_model", "a.caffemodel", "only ONNX"),
            ("model_parameters", "output_nodes", "a;b", "extract_model"),
            ("compiler_parameters", "jobs", "many", "no whole number"),
            ("model_parameters", "remove_node_type", "Cast;Conv", "none of cast, dequantize"),
            ("model_parameters", "node_info", "{a: {'ON': 'GPU'}}", "none of bpu, cpu"),
            ("model_parameters", "node_info", "{a: {'InputType': 'int4'}}", "none of float32"),
            ("model_parameters", "node_info", "a", "must be a map"),
            ("model_parameters", "set_node_data_type", "int16", "not NODE:int8 or NODE:int16"),
            ("calibration_parameters", "max_percentile", "1.5", "no number in 0.5..1"),
            ("calibration_parameters", "calibration_type", "guess", "none of default, kl"),
            ("input_parameters", "input_batch", "257", "no whole number in 1..256"),
            ("input_parameters", "input_batch", "4", "give input_name, and an input_shape"),
        ):
            with self.subTest(key=key, value=value):
                self.assert_refused(f"{group}:\n  {key}: {value}\n", 2, f"{key}: ", reason)

    def test_keys_that_do_not_go_together(self):
        model = "model_parameters:\n  onnx_model: m.onnx\n"
        for text, line, reason in (
            ("input_parameters:\n  norm_type: data_mean\n", 4, "needs mean_value"),
            (
                "input_parameters:\n  norm_type: data_scale\n  scale_value: 2\n", 4,
                "is for pictures",
            ),
            ("input_parameters:\n  input_type_rt: yuv444\n", 4, "only nv12"),
            ("input_parameters:\n  input_type_train: yuv444\n", 4, "not supported"),
            (
                "input_parameters:\n  input_name: a;b\n  input_type_rt: int8\n", 5,
                "1 parts for 2 inputs",
            ),
            (
                "calibration_parameters:\n  calibration_type: kl\n  cal_data_dir: absent\n", 5,
                "absent is not there; paths are relative to the directory of this file",
            ),
            ("input_parameters:\n  input_type_rt: a;b\n", 4, "add input_name"),
        ):
            with self.subTest(text=text):
                self.assert_refused(model + text, line, reason)

    def test_a_key_twice(self):
        self.assert_refused(
            "compiler_parameters:\n  debug: True\n  debug: False\n", 3, "stands here twice"
        )

    def test_what_is_no_yaml(self):
        self.assert_refused("model_parameters:\n  a: [1\n", 3)
        self.assert_refused("just words\n", 1)

    def test_all_problems_are_reported_in_one_run(self):
        path = self.directory / "config.yaml"
        path.write_text(
            "model_parameters:\n"
            "  onnx_model: absent.onnx\n"
            "  debug_mode: dump_calibration_data\n"
            "  onxx_model: m.onnx\n"
            "input_parameters:\n"
            "  input_name: a;b\n"
            "  input_type_rt: yuv444\n"
            "  norm_type: data_mean\n"
            "compiler_parameters:\n"
            "  optimize_level: O4\n"
            "  compile_mode: bandwidth\n"
            "  debug: maybe\n"
        )
        result = overtake("compile", "-c", path)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        rows = result.stderr.splitlines()
        lines = [int(row.removeprefix(f"overtake: {path}:").split(":")[0]) for row in rows]
        self.assertEqual(lines, [2, 3, 4, 7, 8, 10, 11, 12], result.stderr)
        warned = [line for line, row in zip(lines, rows) if ": warning: " in row]
        self.assertEqual(warned, [3, 11])
        self.assertFalse((self.directory / "model_output").exists())

    def test_files_that_are_not_there(self):
        self.assertIn("cannot be read", self.refusal(self.directory / "none.yaml"))
        path = self.write(model_parameters={"march": "default"})
        self.assertIn("names no model", self.refusal(path))

    def test_options_that_the_file_says(self):
        path = self.write(model_parameters={"onnx_model": "m.onnx"})
        for arguments in (["m.onnx"], ["--calibration", "x"], ["--percentile", "99"]):
            result = overtake("compile", "--config", path, *arguments)
            self.assertEqual(result.returncode, 2)
        self.assertEqual(overtake("compile").returncode, 2)


if __name__ == "__main__":
    unittest.main()
