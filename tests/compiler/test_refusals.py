# SPDX-License-Identifier: MIT
"""The compiler refuses a network that it cannot take, with one line that names node, operator and reason."""

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


def sum_of_integers():
    proto = model([node("Cast", ["x"], ["i"], to=TensorProto.INT64), node("Add", ["i", "i"], ["y"])],
                  {"x": IMAGE}, {"y": IMAGE})
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


# (description, model, the message behind the file's name). If several messages are possible, only their beginning is
# here.
CASES = [
    ("unknown operator", one_node("Scan", output=IMAGE),
     "is not valid ONNX: a node lacks the attribute 'body', which its operator requires"),
    ("weights of a transposed convolution that do not fit",
     one_node("ConvTranspose", output=(1, 8, 10, 10), constants={"w": ones(3, 4, 3, 3)}, group=2),
     "node 'my_convtranspose' (ConvTranspose): channels do not fit each other"),
    ("integers beyond what a float holds",
     model([node("Cast", ["x"], ["i"], to=TensorProto.INT64), node("Add", ["i", "c"], ["y"])],
           {"x": IMAGE}, {"y": IMAGE}, {"c": np.array([1 << 25], np.int64)},
           types={"y": TensorProto.INT64}),
     "node 'my_add' (Add): input 'c' holds the integer 33554432, which lies beyond 2^24 and "
     "what float32 holds exactly"),
    ("operator of another domain", foreign_domain(),
     "node 'my_relu' (com.example.Relu): the operator is not supported; it is of domain 'com.example', so "
     "export it as operators of ONNX, or leave it to the program with --custom-op-domain"),
    ("symbolic height", unknown_shape(),
     "input 'x' has no static shape (it leaves axis 2 open); give one with --input-shape x=1x3x?x4"),
    ("resized crop", resize(coordinate_transformation_mode="tf_half_pixel_for_nn"),
     "node 'my_resize' (Resize): coordinate transformation 'tf_half_pixel_for_nn' is not "
     "supported"),
    ("empty slice", slice_of([4], [4], [2], [1]),
     "node 'my_slice' (Slice): gives an empty tensor"),
    ("training batch normalization",
     model([node("BatchNormalization", ["x", *"sbmv"], ["y", "m2", "v2"], training_mode=1)],
           {"x": IMAGE}, {"y": IMAGE}, {name: ones(3) for name in "sbmv"}, opset=14),
     "node 'my_batchnormalization' (BatchNormalization): is in training mode; export the "
     "model for inference"),
    ("data outside the file", external_data(),
     "constant 'w' lies in weights.bin, which does not hold it; is the file beside the model?"),
    ("constant shorter than its shape", short_constant(),
     "constant 'w' has more or fewer elements than its shape says"),
    ("opset from long ago", model([node("Relu", ["x"], ["y"])], {"x": IMAGE}, {"y": IMAGE},
                                  opset=5),
     "opset 5 is not supported; export it with opset 6 to 23"),
    # The bytes that libonnx finds there decide whether it crashes.
    ("an axis that libonnx follows beyond the tensor",
     model([node("LayerNormalization", ["x", "s", "b"], ["y", "mean", "deviation"], axis=-4)],
           {"x": (3, 4)}, {"y": (3, 4), "mean": (3, 1), "deviation": (3, 1)},
           {"s": ones(4), "b": ones(4)}, opset=17),
     ("libonnx ", "its shapes do not fit each other: ", "node 'my_layernormalization' (LayerNormalization): its axis lies outside the tensor",
      "node 'my_layernormalization' (LayerNormalization): its axes are not those of its input")),
    ("kernel_shape beside the weights", conv(kernel_shape=[1, 3]),
     "node 'my_conv' (Conv): its kernel_shape is not that of its weights"),
    ("joined images of other sizes",
     model([node("Concat", ["x", "z"], ["y"], axis=1)], {"x": IMAGE, "z": (1, 3, 80, 80)},
           {"y": UNKNOWN}),
     "node 'my_concat' (Concat): inputs of shapes 1x3x8x8 and 1x3x80x80 cannot be joined along axis 1"),
    ("joined images, the second too small",
     model([node("Concat", ["x", "z"], ["y"], axis=-3)], {"x": IMAGE, "z": (1, 3, 8, 4)},
           {"y": UNKNOWN}),
     "node 'my_concat' (Concat): inputs of shapes 1x3x8x8 and 1x3x8x4 cannot be joined along axis 1"),
    ("a constant that is joined and does not fit",
     one_node("Concat", constants={"c": ones(1, 3, 9, 8)}, axis=1),
     "node 'my_concat' (Concat): inputs of shapes 1x3x8x8 and 1x3x9x8 cannot be joined along axis 1"),
    ("joined on the CPU",
     model([node("Concat", ["x", "z"], ["y"], axis=0)], {"x": (2, 3, 4, 5, 6), "z": (2, 3, 4, 5, 7)},
           {"y": (None,) * 5}),
     "node 'my_concat' (Concat): inputs of shapes 2x3x4x5x6 and 2x3x4x5x7 cannot be joined along axis 0"),
    ("a sequence that does not join",
     model([node("SequenceConstruct", ["x", "z"], ["s"]),
            node("ConcatFromSequence", ["s"], ["y"], axis=1)],
           {"x": IMAGE, "z": (1, 3, 9, 8)}, {"y": UNKNOWN}),
     "node 'my_concatfromsequence' (ConcatFromSequence): inputs of shapes 1x3x8x8 and 1x3x9x8 cannot "
     "be joined along axis 1"),
    ("a sequence that does not stack",
     model([node("SequenceConstruct", ["x", "z"], ["s"]),
            node("ConcatFromSequence", ["s"], ["y"], axis=0, new_axis=1)],
           {"x": IMAGE, "z": (1, 3, 9, 8)}, {"y": (None,) * 5}),
     "node 'my_concatfromsequence' (ConcatFromSequence): inputs of shapes 1x1x3x8x8 and 1x1x3x9x8 "
     "cannot be joined along axis 0"),
    ("real positions",
     model([node("Gather", ["x", "i"], ["y"])], {"x": (4, 4), "i": (2,)}, {"y": (2, 4)}),
     "node 'my_gather' (Gather): input 'i' is of type float; the operator takes int32, int64 there"),
    ("constant real positions",
     one_node("Gather", (4, 4), (2, 4), constants={"i": ones(2)}),
     "node 'my_gather' (Gather): input 'i' is of type float; the operator takes int32, int64 there"),
    ("a real condition",
     model([node("Where", ["x", "x", "z"], ["y"])], {"x": (4, 4), "z": (4, 4)}, {"y": (4, 4)}),
     "node 'my_where' (Where): input 'x' is of type float; the operator takes bool there"),
    ("operands of two types",
     one_node("Add", (4, 4), (4, 4), constants={"c": np.ones(4, np.int64)}),
     "node 'my_add' (Add): inputs 'x' of type float and 'c' of type int64 have to be of one type"),
    ("two scales for four axes",
     one_node("Resize", output=(1, 3, 16, 16),
              constants={"r": np.zeros(0, np.float32), "s": np.array([2, 2], np.float32)}),
     "node 'my_resize' (Resize): scales has 2 numbers for 4 axes"),
    ("two sizes for four axes",
     model([node("Resize", ["x", "", "", "s"], ["y"])], {"x": IMAGE}, {"y": (1, 3, 16, 16)},
           {"s": np.array([16, 16], np.int64)}),
     "node 'my_resize' (Resize): sizes has 2 numbers for 4 axes"),
    ("a mode of rounding that there is not", resize(nearest_mode="up"),
     "node 'my_resize' (Resize): nearest mode 'up' is not supported"),
    ("parts that are not equal",
     model([node("Split", ["x"], ["y", "z"], axis=1)], {"x": IMAGE}, {"y": UNKNOWN, "z": UNKNOWN}),
     "node 'my_split' (Split): does not say how 3 elements become 2 parts, which are not equal"),
    ("bounds of several numbers",
     one_node("Clip", constants={"l": ones(2)}),
     "node 'my_clip' (Clip): its bounds must be single numbers"),
    ("an axis that is reduced twice", one_node("ReduceMax", axes=[2, -2]),
     "node 'my_reducemax' (ReduceMax): names an axis twice"),
    ("padding of a mode that there is not", conv(auto_pad="SAME"),
     "node 'my_conv' (Conv): auto_pad 'SAME' is not supported"),
    ("a constant without elements",
     one_node("Sub", (1, 3, 1, 8), constants={"c": np.zeros((1, 1, 0, 1), np.float32)}),
     "node 'my_sub' (Sub): input 'c' is empty"),
    ("no inputs", model([], {}, {}),
     "the model has no inputs; there is nothing to run"),
    ("no outputs", model([node("Relu", ["x"], ["y"])], {"x": IMAGE}, {}),
     "the model has no outputs; there is nothing to compute"),
    ("more regions than a job has", many_outputs(),
     "model: between 'y0' and 'y13' the device would have more than 13 inputs and outputs, "
     "which a job cannot name; join some with Concat or move nodes with --run-on-cpu"),
]  # fmt: skip

# These are refused only because the device has to run the node.
BPU_CASES = [
    ("softmax", one_node("Softmax", (1, 8), (1, 8)),
     "node 'my_softmax' (Softmax): has no form on the BPU, where it is to run"),
    ("integers", sum_of_integers(),
     "node 'my_cast' (Cast): has no form on the BPU, where it is to run"),
    ("padding as large as the kernel",
     one_node("AveragePool", (1, 3, 8, 8), kernel_shape=[2, 2], pads=[2, 2, 2, 2]),
     "node 'my_averagepool' (AveragePool): padding as large as the kernel is not supported: and it "
     "is to run on the BPU"),
    ("window in the padding at the end",
     one_node("AveragePool", (1, 3, 8, 8), kernel_shape=[2, 2], pads=[0, 0, 4, 4]),
     "node 'my_averagepool' (AveragePool): a window lies wholly in the padding, which is not "
     "supported: and it is to run on the BPU"),
    ("dilated pool that misses its tensor",
     one_node("MaxPool", (1, 3, 2, 2), kernel_shape=[2, 2], dilations=[4, 4], pads=[3, 3, 3, 3]),
     "node 'my_maxpool' (MaxPool): all taps of a dilated window lie in the padding, which "
     "is not supported: and it is to run on the BPU"),
    ("strides larger than a transposed kernel",
     one_node("ConvTranspose", constants={"w": ones(3, 4, 2, 2)}, strides=[3, 3]),
     "node 'my_convtranspose' (ConvTranspose): strides larger than the kernel are not "
     "supported: and it is to run on the BPU"),
    ("output padding that no input reaches",
     one_node("ConvTranspose", constants={"w": ones(3, 4, 3, 3)}, strides=[2, 2],
              output_padding=[1, 1]),
     "node 'my_convtranspose' (ConvTranspose): output padding that no input reaches is not "
     "supported: and it is to run on the BPU"),
    ("resized channels", resize(scales=(1, 2, 1, 1)),
     "node 'my_resize' (Resize): from 1x3x8x8 to 1x6x8x8 resizes more than height and "
     "width: and it is to run on the BPU"),
    ("cubic resizing", resize(mode="cubic"),
     "node 'my_resize' (Resize): mode 'cubic' is not supported; nearest and linear are: and "
     "it is to run on the BPU"),
    ("backward slice", slice_of([-1], [0], [2], [-1]),
     "node 'my_slice' (Slice): steps must be positive, and 1 along channels: and it is to "
     "run on the BPU"),
    ("every second channel", slice_of([0], [3], [1], [2]),
     "node 'my_slice' (Slice): steps must be positive, and 1 along channels: and it is to "
     "run on the BPU"),
    ("sum of too many elements",
     one_node("ReduceSum", (1, 3, 512, 512), (1, 1, 1, 1), keepdims=1),
     "node 'my_reducesum' (ReduceSum): reduces more than 131072 elements to one: and it is "
     "to run on the BPU"),
    ("reduction of a part of a dimension",
     one_node("ReduceMax", (2, 3, 2, 8, 8), (2, 1, 2, 8, 8), axes=[1]),
     "node 'my_reducemax' (ReduceMax): reduces a part of what is one dimension on the "
     "device: and it is to run on the BPU"),
    ("padding that cuts off everything",
     one_node("Pad", constants={"p": np.array([0, 0, -9, 0, 0, 0, 0, 0], np.int64)}),
     "node 'my_pad' (Pad): cuts off more than there is: and it is to run on the BPU"),
    ("padding with infinity",
     one_node("Pad", constants={"p": np.array([0, 0, 1, 0, 0, 0, 1, 0], np.int64),
                                "v": np.float32(-np.inf)}),
     "node 'my_pad' (Pad): what it pads with has no form in 8 bits: and it is to run on the BPU"),
    ("mirrored channels",
     one_node("Pad", constants={"p": np.array([0, 1, 0, 0, 0, 0, 0, 0], np.int64)}, mode="reflect"),
     "node 'my_pad' (Pad): repeats elements along channels, or of what it cuts off: and it "
     "is to run on the BPU"),
    ("blocks that do not fit", one_node("DepthToSpace", blocksize=2),
     "node 'my_depthtospace' (DepthToSpace): its block size does not divide the channels: "
     "and it is to run on the BPU"),
    ("positions that are computed",
     model([node("Cast", ["z"], ["i"], to=TensorProto.INT64, name="cast"),
            node("Gather", ["x", "i"], ["y"])], {"x": IMAGE, "z": (2,)}, {"y": (2, 3, 8, 8)}),
     "node 'cast' (Cast): has no form on the BPU, where it is to run"),
    ("slopes above and below 1",
     one_node("PRelu", constants={"c": np.array([[[0.5]], [[1.5]], [[2]]], np.float32)}),
     "node 'my_prelu' (PRelu): has slopes above and below 1: and it is to run on the BPU"),
    ("division by a tensor",
     model([node("Div", ["x", "z"], ["y"])], {"x": IMAGE, "z": IMAGE}, {"y": IMAGE}),
     "node 'my_div' (Div): is supported with a constant, or of two functions of one tensor: "
     "and it is to run on the BPU"),
    ("constant that is not finite",
     one_node("Mul", constants={"c": np.full((8, 8), np.nan, np.float32)}),
     "node 'my_mul' (Mul): its constant is not finite: and it is to run on the BPU"),
    ("features beyond the device's sums",
     one_node("MatMul", (1, 1 << 18), (1, 1), constants={"m": ones(1 << 18, 1)}),
     "node 'my_matmul' (MatMul): has more than 131072 features: and it is to run on the BPU"),
]  # fmt: skip


class Refusals(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def assert_failed(self, result):
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, r"\Aovertake: [^\n]+\n\Z")
        self.assertEqual(result.stdout, "")
        self.assertEqual(list(self.directory.glob("*.ovm*")), [])

    def assert_refused(self, result, said):
        """The command refuses with one line: the place and the reason."""
        self.assert_failed(result)
        self.assertEqual(result.stderr, f"overtake: {said}\n")

    def assert_model_refused(self, result, reason):
        """The command refuses the model with the reason; if several are possible, `reason` begins
        the line."""
        place = f"{self.directory}/model.onnx: "
        if isinstance(reason, str):
            self.assert_refused(result, place + reason)
            return
        self.assert_failed(result)
        begins = tuple(f"overtake: {place}{one}" for one in reason)
        self.assertTrue(result.stderr.startswith(begins), result.stderr)

    def compile(self, proto, *arguments):
        path = save(proto, self.directory / "model.onnx")
        return overtake("compile", path, *arguments)

    def test_models(self):
        for what, proto, reason in CASES:
            with self.subTest(what=what):
                self.assert_model_refused(self.compile(proto), reason)

    def test_tensors_that_no_buffer_holds(self):
        """The refusal comes before anything of that size is computed."""
        for shape, size in (((5, 1 << 15, 1 << 13), 1280), ((1 << 16, 1 << 15), 8192)):
            with self.subTest(shape=shape):
                result = self.compile(relu(shape))
                self.assert_model_refused(result, f"tensor 'x': takes {size} MiB, of 1024 that are "
                                          "possible; divide the model")

    def test_nodes_that_the_device_has_to_run(self):
        for what, proto, reason in BPU_CASES:
            with self.subTest(what=what):
                names = [entry.name for entry in proto.graph.node]
                forced = [part for name in names for part in ("--run-on-bpu", name)]
                self.assert_model_refused(self.compile(proto, *forced), reason)

    def test_options_that_name_what_is_not_there(self):
        path = f"{self.directory}/model.onnx"
        for arguments, said in [
            (["--run-on-cpu", "absent"], f"run_on_cpu absent: {path} has no such node"),
            (["--run-on-bpu", "absent"], f"run_on_bpu absent: {path} has no such node"),
            (["--input-shape", "z=1x3x8x8"], f"--input-shape z: {path} has no such input"),
            (["--input-shape", "x=1x3x8"], f"--input-shape x: {path}: the input has 4 dimensions"),
        ]:
            with self.subTest(arguments=arguments):
                self.assert_refused(self.compile(conv(), *arguments), said)

    def test_files_that_are_no_models(self):
        path = self.directory / "model.onnx"
        whole = conv().SerializeToString()
        for what, data, reason in [
            ("empty", b"", "is empty; export the network again"),
            ("text", b"hello world\n" * 9, "not an ONNX model; is the file whole?"),
            ("cut off", whole[: len(whole) // 2], "not an ONNX model; is the file whole?"),
        ]:
            with self.subTest(what=what):
                path.write_bytes(data)
                self.assert_model_refused(overtake("compile", path), reason)
        absent = self.directory / "absent.onnx"
        self.assert_refused(overtake("compile", absent),
                            f"{absent}: No such file or directory; name a readable ONNX file")
        self.assert_refused(overtake("compile", self.directory),
                            f"{self.directory}: is a directory; name an ONNX file")

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
            for line in result.stderr.splitlines():  # a sanitizer's report is no such line
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
        absent = self.directory / "absent.npy"
        for argument, said in [
            (samples, f"{samples}: does not hold samples of input 'x'; it has the shape 2x3x5x5 and "
             "needs Nx3x8x8"),
            (f"z={samples}",
             f"--calibration z={samples}: the model has no input 'z'; it has 'x'"),
            (absent, f"{absent}: No such file or directory; name a readable .npy, .png or .jpg file"),
            (empty, f"{empty}: no .npy, .png or .jpg file in this directory; name one that has samples"),
            (not_finite, f"{not_finite}: holds NaN at element 0, which 8 bits cannot; take that sample "
             "out"),
            (none, f"{none}: holds no samples of input 'x'; it has the shape 0x3x8x8"),
        ]:  # fmt: skip
            with self.subTest(argument=argument):
                self.assert_refused(self.compile(conv(), "--calibration", argument), said)

    def test_infinite_values_name_the_node_and_a_remedy(self):
        samples = self.directory / "samples.npy"
        np.save(samples, np.zeros((1, 3, 8, 8), np.float32))
        result = self.compile(one_node("Log"), "--calibration", samples)
        self.assert_model_refused(
            result, "node 'my_log' (Log): gives NaN or infinity on the calibration samples, which 8 "
            "bits cannot hold; clip its input in the model, or run it and what reads it on the CPU "
            "with --run-on-cpu")

    def test_profile(self):
        self.assert_refused(
            self.compile(conv(), "--profile", "fast"),
            "--profile fast: is neither the name of a built-in profile (default, ideal, "
            "ethos-u65-512, rk3588-core) nor a file that can be read")

    def test_limit_below_the_smallest_piece_names_the_smallest_value(self):
        proto = model(
            [node("GlobalAveragePool", ["x"], ["y"])], {"x": (1, 8, 256, 256)}, {"y": UNKNOWN}
        )
        result = self.compile(proto, "--max-time-per-fc", 1000, "--profile", SLOW)
        smallest = int(result.stderr.rsplit(" ", 1)[1])
        said = ("--max-time-per-fc: is below the smallest piece of 'model'; the smallest possible "
                f"value is {smallest}")
        self.assert_refused(result, said)
        self.assert_refused(
            self.compile(proto, "--max-time-per-fc", smallest - 1, "--profile", SLOW), said
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
        for change, said in [
            (("clock_khz", "clock_mhz"), "5: key 'clock_mhz' is not known; did you mean 'clock_khz'?"),
            (("clock_khz: 1000", "clock_khz: 0"),
             "5: key 'clock_khz' needs a whole number in 1..4294967295"),
            (("clock_khz: 1000", "clock_khz: 1.5"),
             "5: key 'clock_khz' needs a whole number in 1..4294967295"),
            (("clock_khz: 1000\n", ""), "3: key 'clock_khz' is missing"),
            (("name: slow", "name: [slow]"), "3: key 'name' needs a text"),
            (("source", "name"), "4: key 'name' is given twice"),
            (("name: slow", "name: [slow"), "4: end of sequence flow not found"),
            (("fc_over", "instructions: {CONVOLVE: {fixed_cycles: 1}}\nfc_over"),
             "10: key 'CONVOLVE' is not known; did you mean 'CONV'?"),
            (("fc_over", "instructions: {CONV: {fixed_cycles: 0}}\nfc_over"),
             "10: key 'fixed_cycles' needs a whole number in 1..4294967295"),
            (("fc_over", "instructions: {CONV: {fixed_cycles: 1, per_output: 65}}\nfc_over"),
             "10: key 'per_output' needs a number in 0..64"),
        ]:  # fmt: skip
            with self.subTest(change=change):
                path = self.directory / "bad.yaml"
                path.write_text(good.replace(*change), encoding="utf-8")
                self.assert_refused(self.compile(conv(), "--profile", path), f"{path}:{said}")


if __name__ == "__main__":
    unittest.main()
