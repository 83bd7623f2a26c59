# SPDX-License-Identifier: MIT
"""Tests overtake run on an ONNX network: in float, and in int8 without a model file."""

import pathlib
import resource
import subprocess
import tempfile
import unittest

import numpy as np
import small_models
from onnx import TensorProto
from overtake_command import BINARY, SOURCE, cosine, info, overtake, succeed  # also finds models/
from PIL import Image

import float_reference

NETWORK = SOURCE / "models/glyphs/glyphs.onnx"
CALIBRATION = SOURCE / "models/glyphs/calibration.npy"
HELDOUT = SOURCE / "models/glyphs/heldout_images.npy"


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.images = np.load(HELDOUT)[:20].astype(np.float32)
        self.samples = self.folder / "images.npy"
        np.save(self.samples, self.images)

    def run_network(self, source, *options, model=NETWORK):
        output = self.folder / "out"
        printed = succeed("run", model, "--input", f"image={source}", "--output-dir", output,
                          "--device", "embedded", *options)  # fmt: skip
        return np.load(output / "probabilities.npy"), printed

    def test_float_is_what_the_reference_computes(self):
        got, printed = self.run_network(self.samples)
        wanted = float_reference.Network(NETWORK).run_images({"image": self.images})
        np.testing.assert_allclose(got, wanted["probabilities"], rtol=1e-3, atol=1e-5)
        self.assertRegex(printed, r"20 samples in float on the CPU, [\d.]+ ms each, peak memory \d+ MiB")

    def test_calibration_runs_what_compile_writes(self):
        got, printed = self.run_network(self.samples, "--calibration", CALIBRATION)
        self.assertIn("20 samples in int8 on embedded", printed)
        path = self.folder / "glyphs.ovm"
        succeed("compile", NETWORK, "--calibration", CALIBRATION, "-o", path, "-q")
        wanted, _ = self.run_network(self.samples, model=path)
        np.testing.assert_array_equal(got, wanted)
        in_float, _ = self.run_network(self.samples)
        self.assertGreaterEqual(cosine(got, in_float), 0.99)
        self.assertFalse((got == in_float).all())

    def test_pictures(self):
        picture = self.folder / "glyph.png"
        Image.fromarray(self.images[3, 0].astype(np.uint8)).save(picture)
        got, _ = self.run_network(picture)
        wanted, _ = self.run_network(self.samples)
        np.testing.assert_array_equal(got[0], wanted[3])
        np.save(self.samples, (self.images - 10) * np.float32(0.5))
        got, _ = self.run_network(picture, "--mean", "10", "--scale", "0.5")
        wanted, _ = self.run_network(self.samples)
        np.testing.assert_array_equal(got[0], wanted[3])

    def test_refusals(self):
        picture = self.folder / "glyph.png"
        Image.new("L", (8, 8)).save(picture)
        for model, arguments, text in [
            (NETWORK, ["--input", f"image={picture}", "--mean", "1,2"], "--mean"),
            (NETWORK, ["--input", f"picture={picture}"], "'image' is missing"),
            (self.folder / "absent.onnx", ["--input", f"image={picture}"], "absent.onnx"),
        ]:
            with self.subTest(text=text):
                result = overtake("run", model, *arguments, "--output-dir", self.folder / "out")
                self.assertEqual(result.returncode, 1)
                self.assertIn(text, result.stderr)

    def run_small(self, model, inputs, *options):
        """Returns outputs by file."""
        arguments = []
        for name, array in inputs.items():
            np.save(self.folder / f"in_{name}.npy", array)
            arguments += ["--input", f"{name}={self.folder / f'in_{name}.npy'}"]
        succeed("run", model, *arguments, "--output-dir", self.folder / "small",
                "--device", "embedded", *options)  # fmt: skip
        return {path.stem: np.load(path) for path in (self.folder / "small").glob("*.npy")}

    def test_scalars(self):
        nodes = [
            small_models.node("Mul", ["x", "s"], ["y"]),
            small_models.node("ReduceSum", ["y"], ["sum"], keepdims=0),
        ]
        path = small_models.save(
            small_models.model(nodes, {"x": (1, 3), "s": ()}, {"y": (1, 3), "sum": ()}),
            self.folder / "scalars.onnx",
        )
        x = np.array([[1, -2, 4]], np.float32)
        np.save(self.folder / "x.npy", np.vstack([x, -x]))
        np.save(self.folder / "s.npy", np.float32([0.5, 1]))
        succeed("compile", path, "-q", "--calibration", f"x={self.folder / 'x.npy'}",
                "--calibration", f"s={self.folder / 's.npy'}")  # fmt: skip
        for model, tolerance in ((path, 0), (path.with_suffix(".ovm"), 0.1)):
            with self.subTest(model=model):
                got = self.run_small(model, {"x": x[0], "s": np.float32(0.5)})
                np.testing.assert_allclose(got["y"], x / 2, atol=tolerance)
                np.testing.assert_allclose(got["sum"], 1.5, atol=tolerance)
                self.assertEqual(got["sum"].shape, ())
                got = self.run_small(model, {"x": np.vstack([x, -x]), "s": np.float32([0.5, 1])})
                np.testing.assert_allclose(got["sum"], [1.5, -3], atol=tolerance)

    def test_outputs_are_of_the_types_and_ranks_of_the_network(self):
        types = {"count": TensorProto.INT64, "best": TensorProto.INT64, "truth": TensorProto.BOOL,
                 "small": TensorProto.UINT8, "double": TensorProto.DOUBLE, "half": TensorProto.FLOAT16,
                 "short": TensorProto.INT16}  # fmt: skip
        nodes = [
            small_models.node("Relu", ["x"], ["y"]),
            small_models.node("ReduceSum", ["y"], ["sum"], keepdims=0),
            small_models.node("Cast", ["sum"], ["count"], to=TensorProto.INT64, name="to_int64"),
            small_models.node("ArgMax", ["x"], ["best"], axis=1, keepdims=0),
            small_models.node("Less", ["x", "zero"], ["truth"]),
            small_models.node("Cast", ["x"], ["small"], to=TensorProto.UINT8, name="to_uint8"),
            small_models.node("Cast", ["x"], ["double"], to=TensorProto.DOUBLE, name="to_double"),
            small_models.node("Cast", ["x"], ["half"], to=TensorProto.FLOAT16, name="to_half"),
            small_models.node("Cast", ["x"], ["short"], to=TensorProto.INT16, name="to_int16"),
        ]
        shapes = {"y": (1, 4), "count": (), "best": (1,), "truth": (1, 4), "small": (1, 4),
                  "double": (1, 4), "half": (1, 4), "short": (1, 4)}  # fmt: skip
        path = small_models.save(
            small_models.model(nodes, {"x": (1, 4)}, shapes, {"zero": np.float32(0)}, types=types),
            self.folder / "types.onnx",
        )
        x = np.array([[1.25, -2, 70, 3]], np.float32)
        wanted = {
            "y": np.maximum(x, 0), "count": np.int64(74), "best": np.array([2]), "truth": x < 0,
            "double": x.astype(np.float64), "half": x.astype(np.float16),
            "short": x.astype(np.int16),
        }  # fmt: skip
        np.save(self.folder / "x.npy", x)
        succeed("compile", path, "-q", "--calibration", self.folder / "x.npy", "--run-on-cpu", "my_relu")
        for model in (path, path.with_suffix(".ovm")):
            got = self.run_small(model, {"x": x})
            self.assertEqual(got["small"].dtype, np.uint8)
            for name, array in wanted.items():
                with self.subTest(model=model, name=name):
                    self.assertEqual(got[name].dtype, array.dtype)
                    self.assertEqual(got[name].shape, array.shape)
                    atol = 0 if model == path else 1  # the input went through 8 bits
                    np.testing.assert_allclose(got[name].astype(float), array, atol=atol)
        got = self.run_small(path, {"x": np.vstack([x, -x])})
        self.assertEqual(got["count"].dtype, np.int64)
        np.testing.assert_array_equal(got["count"], [74, 2])

    def test_half_precision_is_numpys(self):
        nodes = [small_models.node("Cast", ["x"], ["y"], to=TensorProto.FLOAT16)]
        path = small_models.save(
            small_models.model(nodes, {"x": (1, 512)}, {"y": (1, 512)},
                               types={"y": TensorProto.FLOAT16}),
            self.folder / "half.onnx",
        )  # fmt: skip
        random = np.random.default_rng(1)
        x = random.normal(size=(1, 512)) * 2.0 ** random.integers(-28, 18, (1, 512))
        x[0, :6] = [0, -0.0, 65504, 65519.9, 65520, 2**-25]
        got = self.run_small(path, {"x": x.astype(np.float32)})["y"]
        with np.errstate(over="ignore"):
            wanted = x.astype(np.float32).astype(np.float16)
        np.testing.assert_array_equal(got.view(np.uint16), wanted.view(np.uint16))

    def test_names_that_hold_equals_signs(self):
        nodes = [small_models.node("Sub", ["a", "a=b"], ["y"])]
        path = small_models.save(
            small_models.model(nodes, {"a": (1, 4), "a=b": (1, 4)}, {"y": (1, 4)}),
            self.folder / "names.onnx",
        )
        one, two = self.folder / "c=one.npy", self.folder / "two.npy"
        np.save(one, np.float32([[1, 2, 3, 4]]))
        np.save(two, np.float32([[4, 4, 4, 4]]))
        for inputs in ([f"a={one}", f"a=b={two}"], [f"a=b={two}", f"a={one}"]):
            succeed("run", path, "--input", inputs[0], "--input", inputs[1],
                    "--output-dir", self.folder / "named")  # fmt: skip
            np.testing.assert_array_equal(np.load(self.folder / "named/y.npy"), [[-3, -2, -1, 0]])
        succeed("compile", path, "-q", "--calibration", f"a={one}", "--calibration", f"a=b={two}")

    def test_numbers_that_float32_does_not_hold(self):
        path = small_models.save(small_models.relu((1, 4)), self.folder / "relu.onnx")
        beyond, rounded = self.folder / "beyond.npy", self.folder / "rounded.npy"
        np.save(beyond, np.array([[1, 2, 1e300, np.inf]]))
        np.save(rounded, np.array([[1, 2, 3, 2**24 + 1]]))
        said = f"{beyond}: holds 1e+300 at element 2, but input 'x' is computed in float32, which ends at"
        result = overtake("run", path, "--input", f"x={beyond}", "--output-dir", self.folder / "o")
        self.assertEqual(result.returncode, 1)
        self.assertIn(said, result.stderr)
        result = overtake("compile", path, "--calibration", beyond)
        self.assertEqual(result.returncode, 1)
        self.assertIn(said, result.stderr)
        result = overtake("run", path, "--input", f"x={rounded}", "--output-dir", self.folder / "o")
        self.assertEqual(result.returncode, 0)
        self.assertIn(f"{rounded}: holds 16777217 at element 3, which float32, in which input 'x' is "
                      "computed, rounds", result.stderr)  # fmt: skip

    def test_a_message_names_a_node_once(self):
        nodes = [small_models.node("Gather", ["x", "i"], ["y"])]
        path = small_models.save(
            small_models.model(nodes, {"x": (4, 4), "i": (2,)}, {"y": (2, 4)},
                               types={"i": TensorProto.INT64}),
            self.folder / "gather.onnx",
        )  # fmt: skip
        np.save(self.folder / "x.npy", np.ones((4, 4), np.float32))
        np.save(self.folder / "i.npy", np.array([1, 9]))
        result = overtake("run", path, "--input", f"x={self.folder / 'x.npy'}",
                          "--input", f"i={self.folder / 'i.npy'}", "--output-dir", self.folder / "o")  # fmt: skip
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr, "overtake: node 'my_gather' (Gather): an index leaves the 4 "
                         "elements that it chooses from; check the inputs\n")

    def test_pictures_to_calibrate_with_are_normalised_as_those_to_run(self):
        weights = np.random.default_rng(2).normal(size=(8, 3, 3, 3)).astype(np.float32)
        path = small_models.save(
            small_models.model(
                [small_models.node("Conv", ["x", "w"], ["y"])],
                {"x": (1, 3, 16, 16)}, {"y": (1, 8, 14, 14)}, {"w": weights},
            ),
            self.folder / "pictures.onnx",
        )  # fmt: skip
        pixels = np.random.default_rng(3).integers(0, 256, (16, 16, 3), np.uint8)
        picture = self.folder / "picture.png"
        Image.fromarray(pixels).save(picture)
        results = []
        for calibration in ([], ["--calibration", picture]):
            succeed("run", path, "--input", f"x={picture}", "--mean", "127,100,90",
                    "--scale", "0.0078", "--output-dir", self.folder / "out",
                    "--device", "embedded", *calibration)  # fmt: skip
            results.append(np.load(self.folder / "out/y.npy"))
        self.assertGreater(cosine(*results), 0.999)

    def picture_network(self, channels_last):
        """Makes a convolution of a picture; exporters from TensorFlow take pictures with the
        colours last."""
        weights = np.random.default_rng(2).normal(size=(8, 3, 3, 3)).astype(np.float32)
        first = [small_models.node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2])] if channels_last else []
        return small_models.save(
            small_models.model(
                [*first, small_models.node("Conv", ["t" if first else "x", "w"], ["y"])],
                {"x": (1, 16, 12, 3) if channels_last else (1, 3, 16, 12)}, {"y": (1, 8, 14, 10)},
                {"w": weights},
            ),
            self.folder / f"pictures{channels_last}.onnx",
        )  # fmt: skip

    def test_a_model_normalises_pictures_as_those_that_calibrated_it(self):
        pixels = np.random.default_rng(3).integers(0, 256, (16, 12, 3), np.uint8)
        picture = self.folder / "picture.png"
        Image.fromarray(pixels).save(picture)
        normalised = ["--mean", "127,100,90", "--scale", "0.0078"]
        results = []
        for channels_last in (False, True):
            path = self.picture_network(channels_last)
            model = path.with_suffix(".ovm")
            succeed("compile", path, "--calibration", picture, *normalised, "-o", model, "-q")
            for what, options in ((path, normalised), (model, []), (model, normalised)):
                result = overtake("run", what, "--input", picture, *options, "--device", "embedded",
                                  "--output-dir", self.folder / "out", "-q")  # fmt: skip
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                results.append(np.load(self.folder / "out/y.npy"))
            (tensor,) = info(model)["inputs"]
            self.assertEqual((tensor["pixel_mean"], len(tensor["pixel_scale"])), ([127, 100, 90], 1))
            self.assertIn("pictures become (pixel - [127, 100, 90]) * 0.0078\n", succeed("info", model))
            # The options have the last word.
            succeed("run", model, "--input", picture, "--scale", "1", "--device", "embedded",
                    "--output-dir", self.folder / "out", "-q")  # fmt: skip
            self.assertLess(cosine(np.load(self.folder / "out/y.npy"), results[-1]), 0.999)
        in_float, in_int8, again = results[:3]
        np.testing.assert_array_equal(in_int8, again)
        np.testing.assert_allclose(results[3], in_float, rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(results[4], in_int8)
        self.assertGreater(cosine(in_int8, in_float), 0.999)
        wanted = ((pixels.astype(np.float32) - [127, 100, 90]) * 0.0078).transpose(2, 0, 1)[None]
        np.save(self.samples, wanted.astype(np.float32))
        succeed("run", self.picture_network(False), "--input", self.samples, "--output-dir",
                self.folder / "out", "-q")  # fmt: skip
        np.testing.assert_allclose(np.load(self.folder / "out/y.npy"), in_float, rtol=1e-5, atol=1e-5)

    def test_a_model_of_arrays_has_no_normalisation(self):
        path = self.picture_network(False)
        np.save(self.samples, np.zeros((1, 3, 16, 12), np.float32))
        succeed("compile", path, "--calibration", self.samples, "-q")
        (tensor,) = info(path.with_suffix(".ovm"))["inputs"]
        self.assertNotIn("pixel_mean", tensor)
        self.assertNotIn("pictures become", succeed("info", path.with_suffix(".ovm")))

    def test_inputs_of_few_bits(self):
        """The numbers are exact until they are cast."""
        weights = np.random.default_rng(2).normal(size=(4, 3, 1, 1)).astype(np.float32)
        for kind, code, numbers in ((np.uint8, TensorProto.UINT8, (0, 255)), (np.int8, TensorProto.INT8, (-128, 127)),
                                    (np.int16, TensorProto.INT16, (-3000, 3000)),
                                    (np.uint16, TensorProto.UINT16, (0, 5000))):  # fmt: skip
            with self.subTest(kind.__name__):
                nodes = [small_models.node("Cast", ["x"], ["f"], to=1),
                         small_models.node("Conv", ["f", "w"], ["y"])]  # fmt: skip
                types = {"x": code}
                proto = small_models.model(nodes, {"x": (1, 3, 6, 6)}, {"y": (1, 4, 6, 6)}, {"w": weights},
                                           types=types)  # fmt: skip
                path = small_models.save(proto, self.folder / "bytes.onnx")
                x = np.random.default_rng(4).integers(*numbers, (1, 3, 6, 6), endpoint=True).astype(kind)
                got = self.run_small(path, {"x": x})
                wanted = np.einsum("nchw,oc->nohw", x.astype(np.float32), weights[:, :, 0, 0])
                np.testing.assert_allclose(got["y"], wanted, rtol=1e-4, atol=1e-3)
                in_int8 = self.run_small(path, {"x": x}, "--calibration", self.folder / "in_x.npy")
                self.assertGreater(cosine(in_int8["y"], wanted), 0.999)
        proto.graph.node[0].CopyFrom(small_models.node("Add", ["x", "x"], ["s"]))
        proto.graph.node[1].CopyFrom(small_models.node("Cast", ["s"], ["y"], to=1))
        proto.graph.output[0].type.tensor_type.shape.CopyFrom(proto.graph.input[0].type.tensor_type.shape)
        proto.opset_import[0].version = 14
        result = overtake("compile", small_models.save(proto, self.folder / "wraps.onnx"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("(Add): computes in integers of 8 or 16 bits, which wrap around", result.stderr)

    def test_outputs_of_one_file_are_refused(self):
        nodes = [small_models.node("Relu", ["x"], ["a/b"]), small_models.node("Neg", ["x"], ["a_b"])]
        path = small_models.save(
            small_models.model(nodes, {"x": (1, 4)}, {"a/b": (1, 4), "a_b": (1, 4)}),
            self.folder / "alike.onnx",
        )
        np.save(self.samples, np.zeros((1, 4), np.float32))
        result = overtake("run", path, "--input", f"x={self.samples}", "--output-dir", self.folder / "o")
        self.assertEqual(result.returncode, 1)
        self.assertIn("'a/b' and 'a_b' would both be a_b.npy", result.stderr)
        self.assertEqual(list((self.folder / "o").glob("*")), [])

    def test_a_file_that_does_not_fit_is_not_left_half(self):
        output = self.folder / "out"
        result = subprocess.run(
            [BINARY, "run", NETWORK, "--input", f"image={self.samples}", "--output-dir", output],
            capture_output=True, text=True, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512)),
        )  # fmt: skip
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("probabilities.npy: cannot be written: File too large", result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertFalse(output.exists())

    def test_a_directory_that_cannot_be_is_found_before_the_run(self):
        result = overtake("run", NETWORK, "--input", f"image={self.samples}",
                          "--output-dir", self.samples / "out")  # fmt: skip
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout, "")
        self.assertIn(f"--output-dir {self.samples / 'out'}: Not a directory", result.stderr)

    def test_no_samples_are_refused(self):
        np.save(self.samples, self.images[:0])
        result = overtake("run", NETWORK, "--input", f"image={self.samples}",
                          "--output-dir", self.folder / "out")  # fmt: skip
        self.assertEqual(result.returncode, 1)
        self.assertIn("holds no samples", result.stderr)

    def test_quiet(self):
        _, printed = self.run_network(self.samples, "-q")
        self.assertEqual(printed, "")


if __name__ == "__main__":
    unittest.main()
