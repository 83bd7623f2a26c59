# SPDX-License-Identifier: MIT
"""Reads model files (.ovm) with nothing but the FlatBuffers encoding and the order of the fields
in model.fbs; independent of the code that writes and reads them in C++."""

import struct
from dataclasses import dataclass

import numpy as np


class Table:
    """A FlatBuffers table; fields are numbered as in the schema."""

    def __init__(self, data, position):
        self._data = data
        self._position = position
        self._vtable = position - self._unpack("<i", position)

    def _unpack(self, form, position):
        return struct.unpack_from(form, self._data, position)[0]

    def _field(self, number):
        size = self._unpack("<H", self._vtable)
        entry = 4 + 2 * number
        offset = self._unpack("<H", self._vtable + entry) if entry < size else 0
        return self._position + offset if offset else None

    def _target(self, number):
        place = self._field(number)
        return None if place is None else place + self._unpack("<I", place)

    def scalar(self, number, form, default=0):
        place = self._field(number)
        return default if place is None else self._unpack("<" + form, place)

    def offset_place(self, number):
        """Returns the place of a field's offset in the file, so that a caller can change the offset."""
        return self._field(number)

    def string(self, number):
        place = self._target(number)
        length = self._unpack("<I", place)
        return bytes(self._data[place + 4 : place + 4 + length]).decode()

    def vector(self, number, dtype):
        """Returns a vector of scalars or structs as a numpy array."""
        place = self._target(number)
        if place is None:
            return np.zeros(0, np.dtype(dtype))
        length = self._unpack("<I", place)
        return np.frombuffer(self._data, np.dtype(dtype), length, place + 4)

    def table(self, number):
        place = self._target(number)
        return None if place is None else Table(self._data, place)

    def tables(self, number):
        place = self._target(number)
        if place is None:
            return []
        entries = [place + 4 + 4 * i for i in range(self._unpack("<I", place))]
        return [Table(self._data, entry + self._unpack("<I", entry)) for entry in entries]


FC = [("first_insn", "<u4"), ("insn_count", "<u4"), ("cycles", "<u8")]
BINDING = {
    "names": ["region", "tensor", "writable"],
    "formats": ["<u4", "<u4", "?"],
    "offsets": [0, 4, 8],
    "itemsize": 12,
}

OPERAND = [
    ("region", "<u4"),
    ("zero_point", "<i4"),
    ("offset", "<u8"),
    ("height", "<u4"),
    ("width", "<u4"),
    ("channels", "<u4"),
    ("row_stride", "<u4"),
    ("pixel_stride", "<u4"),
    ("type", "<u4"),
]
INSTRUCTION = [
    ("opcode", "<u2"),
    ("flags", "<u2"),
    ("groups", "<u4"),
    ("out", OPERAND),
    ("in", OPERAND, 2),
    ("weights_offset", "<u8"),
    ("params_offset", "<u8"),
    ("weights_region", "<u4"),
    ("params_region", "<u4"),
    ("kernel_height", "<u2"),
    ("kernel_width", "<u2"),
    ("stride_height", "<u2"),
    ("stride_width", "<u2"),
    ("pad_top", "<u2"),
    ("pad_left", "<u2"),
    ("clamp_min", "<i2"),
    ("clamp_max", "<i2"),
    ("multiplier", "<u4", 2),
    ("shift", "<u4", 2),
    ("delay_cycles", "<u8"),
    ("jump_target", "<u4"),
    ("dilation_height", "<u2"),
    ("dilation_width", "<u2"),
    ("start_y", "<i8"),
    ("start_x", "<i8"),
    ("step_y", "<u4"),
    ("step_x", "<u4"),
    ("pad_bottom", "<u2"),
    ("pad_right", "<u2"),
    ("fill", "<i4"),
    ("axes", "<u4"),
    ("reserved", "<u4", 5),
]
assert np.dtype(INSTRUCTION).itemsize == 256


@dataclass
class Tensor:
    name: str
    shape: tuple
    height: int
    width: int
    channels: int
    row_stride: int
    pixel_stride: int
    scale: np.float32
    zero_point: int
    bytes: int
    data_type: int
    is_rows: bool
    data: np.ndarray  # the data of a constant
    is_int16: bool

    @property
    def dtype(self):
        """The type of the tensor's elements on the device."""
        return np.dtype(np.int16 if self.is_int16 else np.int8)

    @property
    def on_device(self):
        return self.height > 0


@dataclass
class BpuSegment:
    fcs: np.ndarray
    bindings: np.ndarray
    scratch_bytes: int


@dataclass
class CpuOp:
    type: int
    name: str
    inputs: np.ndarray
    output: int
    integers: np.ndarray
    reals: np.ndarray


FLOAT32, INT8, INT64, UINT8, NV12 = 1, 2, 3, 4, 5  # Tensor.data_type
TYPES = ["", "float32", "int8", "int64", "uint8", "nv12"]


class ModelFile:
    """Has tensors, inputs and outputs (tensor numbers), segments (a BpuSegment or a list of CpuOp),
    program (array of INSTRUCTION), weights (bytes), nodes (pairs: ONNX operator, on the BPU)."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        assert data[4:8] == b"OVM1", "not a model file"
        root = Table(data, struct.unpack_from("<I", data)[0])
        self.profile = {
            "clock_khz": root.table(4).scalar(1, "I"),
            "fc_overhead_cycles": root.table(4).scalar(6, "I"),
        }
        self.max_time_per_fc_us = root.scalar(5, "I")
        self.tensors = [self._tensor(table) for table in root.tables(6)]
        self.inputs = root.vector(7, "<u4")
        self.outputs = root.vector(8, "<u4")
        self.segments = [self._segment(table) for table in root.tables(9)]
        self.program = root.vector(10, "u1").view(INSTRUCTION)
        self.weights = root.vector(11, "u1")
        self.nodes = [(node.string(1), bool(node.scalar(2, "B"))) for node in root.tables(12)]

    @property
    def written(self):
        """Returns the numbers of the tensors that some segment makes, in order."""
        numbers = []
        for segment in self.segments:
            if isinstance(segment, list):
                numbers += [op.output for op in segment]
            else:
                numbers += [int(number) for _, number, writable in segment.bindings if writable]
        return list(dict.fromkeys(numbers))

    @staticmethod
    def _tensor(table):
        return Tensor(
            name=table.string(0),
            shape=tuple(int(size) for size in table.vector(1, "<u4")),
            height=table.scalar(3, "I"),
            width=table.scalar(4, "I"),
            channels=table.scalar(5, "I"),
            row_stride=table.scalar(6, "I"),
            pixel_stride=table.scalar(7, "I"),
            scale=np.float32(table.scalar(8, "f", 0.0)),
            zero_point=table.scalar(9, "i"),
            bytes=table.scalar(10, "Q"),
            data_type=table.scalar(2, "B", FLOAT32),
            is_rows=table.scalar(11, "B") == 1,
            data=table.vector(12, "<f4"),
            is_int16=bool(table.scalar(20, "B")),
        )

    @staticmethod
    def _segment(table):
        if table.table(0) is not None:
            bpu = table.table(0)
            return BpuSegment(bpu.vector(0, FC), bpu.vector(1, BINDING), bpu.scalar(2, "I"))
        return [
            CpuOp(
                op.scalar(0, "B", 1), op.string(1), op.vector(2, "<u4"),
                int(op.vector(3, "<u4")[0]), op.vector(5, "<i8"), op.vector(6, "<f4"),
            )
            for op in table.table(1).tables(0)
        ]


UNITS = (18, 19, 20)  # fields of Model: unit_classes, units, unit_tensors


def remove_fields(data, table, fields):
    """Removes fields of the table that begins at `table`."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    size = struct.unpack_from("<H", data, vtable)[0]
    for field in fields:
        place = 4 + 2 * field
        if place < size:
            struct.pack_into("<H", data, vtable + place, 0)


def write_open(path, target):
    """Copies a model file so that every tensor between segments is also an output, and tensor
    number N is called tN, so that a test can look at it. Units, which do not write all of these
    tensors, are not in the copy."""
    model = ModelFile(path)
    with open(path, "rb") as file:
        data = bytearray(file.read())
    root = Table(data, struct.unpack_from("<I", data)[0])

    def append(place, content):
        """Appends `content` behind all that is there, and makes the offset at `place` lead to
        it."""
        data.extend(bytes(-len(data) % 8))
        struct.pack_into("<I", data, place, len(data) - place)
        data.extend(content)

    places = [table.offset_place(0) for table in root.tables(6)]
    outputs = np.array(model.written, "<u4")
    append(root.offset_place(8), struct.pack("<I", len(outputs)) + outputs.tobytes())
    for number, place in enumerate(places):
        name = f"t{number}".encode()
        append(place, struct.pack("<I", len(name)) + name + b"\0")
    remove_fields(data, struct.unpack_from("<I", data)[0], UNITS)
    with open(target, "wb") as file:
        file.write(data)
