# SPDX-License-Identifier: MIT
"""What the compiler cannot take it refuses with one line that names node, operator and reason."""

import pathlib
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

from overtake_command import SLOW, overtake, succeed
from small_models import model, node, ones, relu, save

IMAGE = (1, 3, 8, 8)


UNKNOWN = (1, None, None, None)


def one_node(operator, shape=IMAGE, output=UNKNOWN, constants=None, **attributes):
    constants = constants or {}
    return model(
        [node(operator, ["x", *constants], ["y"], **attributes)],
        {"x": shape},
        {"y": output},
        constants,
    )


def conv(weights=(4, 3, 3, 3), **attributes):
    return one_node("Conv", constants={"w": ones(*weights)}, **attributes)


def resize(scales=(1, 1, 2, 2), **attributes):
    shape = tuple(int(size * s) for size, s in zip(IMAGE, scales))
    constants = {"r": np.zeros(0, np.float32), "s": np.array(scales, np.float32)}
    return one_node("Resize", output=shape, constants=constants, **attributes)


def slice_of(starts, ends, axes, steps):
    parts = {"s": starts, "e": ends, "a": axes, "p": steps}
    return one_node("Slice", constants={name: np.array(p, np.int64) for name, p in parts.items()})


def variable_weights():
    shapes = {"x": IMAGE, "w": (1, 3, 3, 3)}
    return model([node("Conv", ["x", "w"], ["y"])], shapes, {"y": UNKNOWN})


def integer_input():
    proto = relu()
    proto.graph.input[0].type.tensor_type.elem_type = TensorProto.INT64
    proto.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
    return proto


def external_data():
    proto = conv()
    tensor = proto.graph.initializer[0]
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights.bin")
    tensor.ClearField("raw_data")
    return proto


def short_constant():
    proto = conv()
    proto.graph.initializer[0].raw_data = b"\0" * 12
    return proto


def foreign_domain():
    proto = relu()
    proto.graph.node[0].domain = "com.example"
    proto.opset_import.append(helper.make_opsetid("com.example", 1))
    return proto


def unknown_shape():
    proto = relu()
    proto.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "height"
    return proto


def many_outputs():
    names = [f"y{i}" for i in range(14)]
    nodes = [node("Relu", ["x"], [name], name=name) for name in names]
    return model(nodes, {"x": IMAGE}, {name: IMAGE for name in names})


# (what, model, parts of the message)
CASES = [
    ("unknown operator", one_node("Scan", output=IMAGE), ["my_scan"]),
    ("weights of a transposed convolution that do not fit",
     one_node("ConvTranspose", output=(1, 8, 10, 10), constants={"w": ones(3, 4, 3, 3)}, group=2),
     ["(ConvTranspose)", "channels"]),
    ("integers beyond what a float holds",
     one_node("Add", constants={"c": np.array([1 << 25], np.int64)}), ["2^24"]),
    ("operator of another domain", foreign_domain(), ["(Relu)"]),
    ("symbolic height", unknown_shape(), ["'x'", "static shape"]),
    ("resized crop", resize(coordinate_transformation_mode="tf_half_pixel_for_nn"),
     ["(Resize)", "tf_half_pixel_for_nn"]),
    ("empty slice", slice_of([4], [4], [2], [1]), ["(Slice)", "empty"]),
    ("training batch normalization",
     model([node("BatchNormalization", ["x", *"sbmv"], ["y", "m2", "v2"], training_mode=1)],
           {"x": IMAGE}, {"y": IMAGE}, {name: ones(3) for name in "sbmv"}, opset=14),
     ["(BatchNormalization)", "training"]),
    ("data outside the file", external_data(), ["weights"]),
    ("constant shorter than its shape", short_constant(), ["'w'"]),
    ("opset from the future", model([node("Relu", ["x"], ["y"])], {"x": IMAGE}, {"y": IMAGE},
                                    opset=18), ["opset 18"]),
    ("an axis that libonnx follows beyond the tensor",
     model([node("LayerNormalization", ["x", "s", "b"], ["y", "mean", "deviation"], axis=-4)],
           {"x": (3, 4)}, {"y": (3, 4), "mean": (3, 1), "deviation": (3, 1)},
           {"s": ones(4), "b": ones(4)}, opset=17), []),
    ("kernel_shape beside the weights", conv(kernel_shape=[1, 3]),
     ["'my_conv' (Conv)", "kernel_shape"]),
    ("no inputs", model([], {}, {}), ["no inputs"]),
    ("no outputs", model([node("Relu", ["x"], ["y"])], {"x": IMAGE}, {}), ["no outputs"]),
    ("more regions than a job has", many_outputs(), ["inputs and outputs"]),
]  # fmt: skip

# Refused only because the device has to run the node.
BPU_CASES = [
    ("softmax", one_node("Softmax", (1, 8), (1, 8)), ["my_softmax", "no form on the BPU"]),
    ("integers",
     model([node("Cast", ["x"], ["i"], to=TensorProto.INT64), node("Add", ["i", "i"], ["y"])],
           {"x": IMAGE}, {"y": IMAGE}), ["libonnx refuses"]),
    ("padding as large as the kernel", conv(pads=[3, 3, 3, 3]), ["(Conv)", "padding"]),
    ("window in the padding at the end", conv(pads=[0, 0, 6, 6]), ["(Conv)", "padding"]),
    ("dilated pool that misses its tensor",
     one_node("MaxPool", (1, 3, 2, 2), kernel_shape=[2, 2], dilations=[4, 4], pads=[3, 3, 3, 3]),
     ["(MaxPool)", "taps"]),
    ("strides larger than a transposed kernel",
     one_node("ConvTranspose", constants={"w": ones(3, 4, 2, 2)}, strides=[3, 3]),
     ["'my_convtranspose' (ConvTranspose)", "strides larger"]),
    ("output padding that no input reaches",
     one_node("ConvTranspose", constants={"w": ones(3, 4, 3, 3)}, strides=[2, 2],
              output_padding=[1, 1]),
     ["(ConvTranspose)", "no input reaches"]),
    ("resized channels", resize(scales=(1, 2, 1, 1)), ["'my_resize' (Resize)", "height and width"]),
    ("cubic resizing", resize(mode="cubic"), ["(Resize)", "'cubic'"]),
    ("backward slice", slice_of([-1], [0], [2], [-1]), ["'my_slice' (Slice)", "positive"]),
    ("every second channel", slice_of([0], [3], [1], [2]), ["(Slice)", "channels"]),
    ("sum of too many elements",
     one_node("ReduceSum", (1, 3, 512, 512), (1, 1, 1, 1), keepdims=1),
     ["'my_reducesum' (ReduceSum)", "131072"]),
    ("reduction of a part of a dimension",
     one_node("ReduceMax", (2, 3, 8, 8), (2, 1, 8, 8), axes=[1]), ["(ReduceMax)", "one dimension"]),
    ("padding that cuts off everything",
     one_node("Pad", constants={"p": np.array([0, 0, -9, 0, 0, 0, 0, 0], np.int64)}),
     ["'my_pad' (Pad)", "more than there is"]),
    ("padding with infinity",
     one_node("Pad", constants={"p": np.array([0, 0, 1, 0, 0, 0, 1, 0], np.int64),
                                "v": np.float32(-np.inf)}), ["(Pad)", "8 bits"]),
    ("mirrored channels",
     one_node("Pad", constants={"p": np.array([0, 1, 0, 0, 0, 0, 0, 0], np.int64)}, mode="reflect"),
     ["(Pad)", "channels"]),
    ("blocks that do not fit", one_node("DepthToSpace", blocksize=2), ["(DepthToSpace)", "block size"]),
    ("positions that are computed",
     model([node("Cast", ["z"], ["i"], to=TensorProto.INT64, name="cast"),
            node("Gather", ["x", "i"], ["y"])], {"x": IMAGE, "z": (2,)}, {"y": (2, 3, 8, 8)}),
     ["no form on the BPU"]),
    ("slopes above and below 1",
     one_node("PRelu", constants={"c": np.array([[[0.5]], [[1.5]], [[2]]], np.float32)}),
     ["(PRelu)", "slopes"]),
    ("division by a tensor",
     model([node("Div", ["x", "z"], ["y"])], {"x": IMAGE, "z": IMAGE}, {"y": IMAGE}),
     ["'my_div' (Div)", "constant"]),
    ("constant that is not finite",
     one_node("Mul", constants={"c": np.full((8, 8), np.nan, np.float32)}), ["(Mul)", "finite"]),
    ("features beyond the device's sums",
     one_node("MatMul", (1, 1 << 18), (1, 1), constants={"m": ones(1 << 18, 1)}), ["(MatMul)", "features"]),
]  # fmt: skip


class Refusals(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def assert_refused(self, result, *parts):
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, r"\Aovertake: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(part, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(list(self.directory.glob("*.ovm*")), [])

    def compile(self, proto, *arguments):
        path = save(proto, self.directory / "model.onnx")
        return overtake("compile", path, *arguments)

    def test_models(self):
        for what, proto, parts in CASES:
            with self.subTest(what=what):
                self.assert_refused(self.compile(proto), "model.onnx", *parts)

    def test_tensors_that_no_buffer_holds(self):
        """Found before anything of that size is computed."""
        for shape, size in (((5, 1 << 15, 1 << 13), 1280), ((1 << 16, 1 << 15), 8192)):
            with self.subTest(shape=shape):
                result = self.compile(relu(shape))
                self.assert_refused(result, "tensor 'x'", f"{size} MiB, of 1024", "divide")

    def test_nodes_that_the_device_has_to_run(self):
        for what, proto, parts in BPU_CASES:
            with self.subTest(what=what):
                names = [entry.name for entry in proto.graph.node]
                forced = [part for name in names for part in ("--run-on-bpu", name)]
                self.assert_refused(self.compile(proto, *forced), "model.onnx", *parts)

    def test_options_that_name_what_is_not_there(self):
        for arguments, parts in [
            (["--run-on-cpu", "absent"], ["run_on_cpu absent", "no such node"]),
            (["--run-on-bpu", "absent"], ["run_on_bpu absent", "no such node"]),
            (["--input-shape", "z=1x3x8x8"], ["--input-shape z", "no such input"]),
            (["--input-shape", "x=1x3x8"], ["--input-shape x", "4 dimensions"]),
        ]:
            with self.subTest(arguments=arguments):
                self.assert_refused(self.compile(conv(), *arguments), *parts)

    def test_files_that_are_no_models(self):
        path = self.directory / "model.onnx"
        whole = conv().SerializeToString()
        for what, data in [
            ("empty", b""),
            ("text", b"hello world\n" * 9),
            ("cut off", whole[: len(whole) // 2]),
        ]:
            with self.subTest(what=what):
                path.write_bytes(data)
                self.assert_refused(overtake("compile", path), "model.onnx")
        self.assert_refused(overtake("compile", self.directory / "absent.onnx"), "absent.onnx")
        self.assert_refused(overtake("compile", self.directory), str(self.directory))

    def test_damaged_models_never_crash(self):
        path = self.directory / "model.onnx"
        whole = conv(pads=[1, 1, 1, 1]).SerializeToString()
        random = np.random.default_rng(3)
        for _ in range(60):
            damaged = bytearray(whole)
            for position in random.integers(0, len(damaged), 3):
                damaged[position] = random.integers(256)
            path.write_bytes(damaged)
            result = overtake("compile", path, "-o", self.directory / "out")
            self.assertIn(result.returncode, (0, 1), result.stderr)
            for line in result.stderr.splitlines():  # a sanitizer's report would be no such line
                self.assertTrue(line.startswith("overtake: "), result.stderr)

    def test_calibration(self):
        samples = self.directory / "samples.npy"
        empty = self.directory / "empty"
        empty.mkdir()
        np.save(samples, np.zeros((2, 3, 5, 5), np.float32))
        not_finite = self.directory / "not_finite.npy"
        np.save(not_finite, np.full((1, 3, 8, 8), np.nan, np.float32))
        none = self.directory / "none.npy"
        np.save(none, np.zeros((0, 3, 8, 8), np.float32))
        for argument, parts in [
            (samples, ["samples.npy", "Nx3x8x8"]),
            (f"z={samples}", ["no input 'z'"]),
            (self.directory / "absent.npy", ["absent.npy"]),
            (empty, ["empty", "no .npy"]),
            (not_finite, ["not_finite.npy: holds NaN at element 0"]),
            (none, ["none.npy: holds no samples of input 'x'"]),
        ]:
            with self.subTest(argument=argument):
                result = self.compile(conv(), "--calibration", argument)
                self.assert_refused(result, *parts)

    def test_infinite_values_name_the_node_and_a_remedy(self):
        samples = self.directory / "samples.npy"
        np.save(samples, np.zeros((1, 3, 8, 8), np.float32))
        result = self.compile(one_node("Log"), "--calibration", samples)
        self.assert_refused(result, "'my_log' (Log)", "infinity", "--run-on-cpu")

    def test_profile(self):
        self.assert_refused(self.compile(conv(), "--profile", "fast"), "fast", "default")

    def test_limit_below_the_smallest_piece_names_the_smallest_value(self):
        proto = model(
            [node("GlobalAveragePool", ["x"], ["y"])], {"x": (1, 8, 256, 256)}, {"y": UNKNOWN}
        )
        result = self.compile(proto, "--max-time-per-fc", 1000, "--profile", SLOW)
        self.assert_refused(result, "--max-time-per-fc", "smallest possible value is ")
        smallest = int(result.stderr.rsplit(" ", 1)[1])
        self.assert_refused(
            self.compile(proto, "--max-time-per-fc", smallest - 1, "--profile", SLOW), str(smallest)
        )
        succeed(
            "compile", self.directory / "model.onnx", "--max-time-per-fc", smallest,
            "--profile", SLOW,
        )  # fmt: skip

    def test_limits_of_no_board(self):
        for limit in (1, 999):
            result = self.compile(conv(), "--max-time-per-fc", limit)
            self.assertEqual(result.returncode, 2)
            self.assertIn(f"'{limit}' is not 0 (off) or 1000..4294967295", result.stderr)

    def test_profile_files(self):
        good = SLOW.read_text(encoding="utf-8")
        for change, parts in [
            (("clock_khz", "clock_mhz"), [":5:", "'clock_mhz'", "'clock_khz'"]),
            (("clock_khz: 1000", "clock_khz: 0"), [":5:", "'clock_khz'", "1..4294967295"]),
            (("clock_khz: 1000", "clock_khz: 1.5"), [":5:", "'clock_khz'", "whole number"]),
            (("clock_khz: 1000\n", ""), ["'clock_khz' is missing"]),
            (("name: slow", "name: [slow]"), [":3:", "'name'"]),
            (("source", "name"), [":4:", "'name'", "twice"]),
            (("name: slow", "name: 'slow"), ["bad.yaml:"]),
            (("fc_over", "instructions: {CONVOLVE: {fixed_cycles: 1}}\nfc_over"),
             [":10:", "'CONVOLVE'", "'CONV'"]),
            (("fc_over", "instructions: {CONV: {fixed_cycles: 0}}\nfc_over"),
             [":10:", "'fixed_cycles'"]),
            (("fc_over", "instructions: {CONV: {fixed_cycles: 1, per_output: 65}}\nfc_over"),
             [":10:", "'per_output'", "0..64"]),
        ]:  # fmt: skip
            with self.subTest(change=change):
                path = self.directory / "bad.yaml"
                path.write_text(good.replace(*change), encoding="utf-8")
                self.assert_refused(self.compile(conv(), "--profile", path), "bad.yaml", *parts)


if __name__ == "__main__":
    unittest.main()
