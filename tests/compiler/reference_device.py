# SPDX-License-Identifier: MIT
"""The device's instructions in numpy, from docs/reference/isa.md alone.

Written gather style on 64-bit integers, one whole instruction at a time; shares no code with the
device.
"""

import numpy as np

CONV, DEPTHWISE, MATMUL, ADD, MAX_POOL, AVERAGE_POOL, TABLE, COPY = range(1, 9)
SUB, MUL, MAX, MIN, REQUANTISE, TRANSPOSED_CONV, PAD, PERMUTE = range(11, 19)
DEPTH_TO_SPACE, SPACE_TO_DEPTH, RESIZE_NEAREST, RESIZE_BILINEAR = range(19, 23)
REDUCE_SUM, REDUCE_MAX, REDUCE_MIN = range(23, 26)
NV12 = 28
NAMES = {value: name for name, value in list(globals().items()) if name.isupper()}
PROGRAM, WEIGHTS, SCRATCH, IO = 0, 1, 2, 3  # regions
COUNT_INCLUDE_PAD, CLIP_PAD, EDGE, REFLECT, CRD, NEAREST, FULL_RANGE, BGR, GRAY = (
    1 << bit for bit in range(9)
)
POSITION_BITS = 20
INT8, INT16 = 0, 1  # types of an operand


def round_half_even(value, shift):
    """Returns value / 2**shift for int64 arrays, with halves rounded to even."""
    shift = np.asarray(shift, np.int64)
    floor = value >> shift
    rest = value - (floor << shift)
    half = np.int64(1) << (shift - 1)
    return floor + ((rest > half) | ((rest == half) & (floor & 1 == 1)))


def wrap32(value):
    return ((value + 2**31) & 0xFFFFFFFF) - 2**31


def _colour(scaled):
    """Returns a byte from 1/8192; the shift rounds down."""
    return np.clip((scaled + 4096) >> 13, 0, 255)


def _dilation(insn):
    """Returns the dilation; 0 in the instruction stands for 1."""
    return max(int(insn["dilation_height"]), 1), max(int(insn["dilation_width"]), 1)


def round_up(channels):
    return -(-channels // 8) * 8


class Machine:
    """The regions of one job, and the instructions that run on them."""

    def __init__(self, regions):
        self._regions = regions  # region number -> uint8 array

    def _view(self, operand):
        region = self._regions[int(operand["region"])]
        shape = tuple(int(operand[name]) for name in ("height", "width", "channels"))
        dtype = self._dtype(operand)
        strides = (int(operand["row_stride"]), int(operand["pixel_stride"]), dtype.itemsize)
        start = int(operand["offset"])
        last = start + sum((size - 1) * step for size, step in zip(shape, strides))
        assert last + dtype.itemsize <= len(region), "an operand leaves its region"
        # Takes whole elements from there on.
        rest = region[start : start + (len(region) - start) // dtype.itemsize * dtype.itemsize]
        return np.lib.stride_tricks.as_strided(rest.view(dtype), shape, strides)

    @staticmethod
    def _dtype(operand):
        return np.dtype({INT8: np.int8, INT16: "<i2"}[int(operand["type"])])

    def _centred(self, operand):
        return self._view(operand).astype(np.int64) - int(operand["zero_point"])

    def _words(self, insn, arrays, count, dtype="<u4"):
        region = self._regions[int(insn["params_region"])]
        start = int(insn["params_offset"])
        words = region[start : start + 4 * arrays * count].copy().view(dtype)
        return words.reshape(arrays, count)

    def _bytes(self, insn, count):
        region = self._regions[int(insn["weights_region"])]
        start = int(insn["weights_offset"])
        assert start + count <= len(region), "weights leave their region"
        return region[start : start + count]

    def _store(self, insn, value):
        value = value + int(insn["out"]["zero_point"])
        self._view(insn["out"])[...] = np.clip(value, insn["clamp_min"], insn["clamp_max"])

    def _requantise_channels(self, insn, accumulator):
        channels = int(insn["out"]["channels"])
        parameters = self._words(insn, 3, round_up(channels))[:, :channels].astype(np.int64)
        bias, multiplier, shift = wrap32(parameters[0]), parameters[1], parameters[2]
        wide = [int(operand["type"]) == INT16 for operand in insn["in"]]
        if any(wide):
            accumulator = (round_half_even(accumulator, 8) if all(wide) else accumulator) + bias
            assert np.abs(accumulator).max() <= 2**38 + 2**32, "an accumulator is too large"
        else:
            accumulator = wrap32(accumulator + bias)
        self._store(insn, round_half_even(accumulator * multiplier, shift))

    @staticmethod
    def _windows(insn, data, fill):
        """Returns (output height, output width, kernel height, kernel width, channels)."""
        out, source = insn["out"], insn["in"][0]
        kernel = int(insn["kernel_height"]), int(insn["kernel_width"])
        stride = int(insn["stride_height"]), int(insn["stride_width"])
        pad = int(insn["pad_top"]), int(insn["pad_left"])
        dilation = _dilation(insn)
        sizes = int(source["height"]), int(source["width"])
        outputs = int(out["height"]), int(out["width"])
        after = [
            max((n - 1) * s + (k - 1) * d + 1 - p - size, 0)
            for n, s, k, d, p, size in zip(outputs, stride, kernel, dilation, pad, sizes)
        ]
        padded = np.pad(
            data, ((pad[0], after[0]), (pad[1], after[1]), (0, 0)), constant_values=fill
        )
        rows = np.arange(outputs[0])[:, None] * stride[0] + np.arange(kernel[0]) * dilation[0]
        columns = np.arange(outputs[1])[:, None] * stride[1] + np.arange(kernel[1]) * dilation[1]
        return padded[rows[:, None, :, None], columns[None, :, None, :]]

    def _dense_weights(self, insn):
        """Returns (group, output, kernel row, kernel column, input)."""
        groups = int(insn["groups"])
        inputs = int(insn["in"][0]["channels"]) // groups
        outputs = int(insn["out"]["channels"]) // groups
        kernel = int(insn["kernel_height"]), int(insn["kernel_width"])
        pairs = (inputs + 1) // 2
        shape = (groups, round_up(outputs) // 8, *kernel, pairs, 8, 2)
        weights = self._bytes(insn, int(np.prod(shape))).view(np.int8).reshape(shape)
        # (group, o / 8, o % 8, ky, kx, i / 2, i % 2) -> (group, o, ky, kx, i)
        weights = weights.transpose(0, 1, 5, 2, 3, 4, 6)
        weights = weights.reshape(groups, round_up(outputs), *kernel, 2 * pairs)
        return weights[:, :outputs, :, :, :inputs].astype(np.int64)

    def _convolution(self, insn):
        weights = self._dense_weights(insn)
        groups, outputs, _, _, inputs = weights.shape
        windows = self._windows(insn, self._centred(insn["in"][0]), 0)
        windows = windows.reshape(*windows.shape[:4], groups, inputs)
        sums = np.einsum("yxklgi,gokli->yxgo", windows, weights, optimize=True)
        self._requantise_channels(insn, sums.reshape(*sums.shape[:2], groups * outputs))

    def _transposed_convolution(self, insn):
        """Scatters: every input adds its kernel to the outputs that it reaches."""
        weights = self._dense_weights(insn)
        groups, outputs, kernel_height, kernel_width, inputs = weights.shape
        data = self._centred(insn["in"][0])
        data = data.reshape(*data.shape[:2], groups, inputs)
        dilation = _dilation(insn)
        height, width = int(insn["out"]["height"]), int(insn["out"]["width"])
        sums = np.zeros((height, width, groups, outputs), np.int64)
        for ky in range(kernel_height):
            rows = np.arange(data.shape[0]) * int(insn["stride_height"])
            rows += ky * dilation[0] - int(insn["pad_top"])
            inside_rows = (rows >= 0) & (rows < height)
            for kx in range(kernel_width):
                columns = np.arange(data.shape[1]) * int(insn["stride_width"])
                columns += kx * dilation[1] - int(insn["pad_left"])
                inside = (columns >= 0) & (columns < width)
                part = np.einsum(
                    "yxgi,goi->yxgo", data[inside_rows][:, inside], weights[:, :, ky, kx]
                )
                sums[np.ix_(rows[inside_rows], columns[inside])] += part
        self._requantise_channels(insn, sums.reshape(height, width, groups * outputs))

    def _depthwise(self, insn):
        channels = int(insn["out"]["channels"])
        shape = (int(insn["kernel_height"]), int(insn["kernel_width"]), round_up(channels))
        weights = self._bytes(insn, int(np.prod(shape))).view(np.int8).reshape(shape)
        windows = self._windows(insn, self._centred(insn["in"][0]), 0)
        sums = (windows * weights[:, :, :channels].astype(np.int64)).sum(axis=(2, 3))
        self._requantise_channels(insn, sums)

    def _matrix_product(self, insn):
        left = self._centred(insn["in"][0])
        right = self._centred(insn["in"][1])  # of one row for all, or a row for each
        self._requantise_channels(insn, np.matmul(left, right.transpose(0, 2, 1)))

    def _pair(self, insn):
        """Computes ADD, SUB, MAX and MIN of the scaled inputs; numpy broadcasts as the device
        does."""
        first, second = (self._centred(operand) for operand in insn["in"])
        first = first * int(insn["multiplier"][0])
        second = second * int(insn["multiplier"][1])
        combine = {ADD: np.add, SUB: np.subtract, MAX: np.maximum, MIN: np.minimum}
        self._store(
            insn, round_half_even(combine[int(insn["opcode"])](first, second), insn["shift"][0])
        )

    def _product(self, insn):
        first, second = (self._centred(operand) for operand in insn["in"])
        self._store(
            insn, round_half_even(first * second * int(insn["multiplier"][0]), insn["shift"][0])
        )

    def _requantise(self, insn):
        value = self._centred(insn["in"][0]) * int(insn["multiplier"][0])
        self._store(insn, round_half_even(value, insn["shift"][0]))

    def _max_pool(self, insn):
        windows = self._windows(insn, self._centred(insn["in"][0]), -(2**20))
        self._store(insn, windows.max(axis=(2, 3)))

    def _average_pool(self, insn):
        data = self._centred(insn["in"][0])
        sums = self._windows(insn, data, 0).sum(axis=(2, 3))
        positions = int(insn["kernel_height"]) * int(insn["kernel_width"])
        counts = self._windows(insn, np.ones_like(data), 0).sum(axis=(2, 3))
        if insn["flags"] & CLIP_PAD:
            counts = self._counts_with_padding(insn)
        elif insn["flags"] & COUNT_INCLUDE_PAD:
            counts[...] = positions
        multiplier, shift = self._words(insn, 2, positions).astype(np.int64)
        value = sums * multiplier[counts - 1]
        self._store(insn, round_half_even(value, shift[counts - 1]))

    @staticmethod
    def _counts_with_padding(insn):
        """Counts the positions of each window that lie in front of the end of the padding."""
        counts = []
        for size, outputs, kernel, stride, before, after in (
            ("height", "height", "kernel_height", "stride_height", "pad_top", "pad_bottom"),
            ("width", "width", "kernel_width", "stride_width", "pad_left", "pad_right"),
        ):
            end = int(insn["in"][0][size]) + int(insn[after])
            first = np.arange(int(insn["out"][outputs])) * int(insn[stride]) - int(insn[before])
            counts.append(np.minimum(first + int(insn[kernel]), end) - first)
        return np.multiply.outer(*counts)[:, :, None]

    @staticmethod
    def _positions(insn, axis, size, outputs):
        start, step = int(insn[f"start_{axis}"]), int(insn[f"step_{axis}"])
        positions = start + np.arange(outputs, dtype=np.int64) * step
        return np.clip(positions, 0, (size - 1) << POSITION_BITS)

    def _resize(self, insn):
        data = self._view(insn["in"][0]).astype(np.int64)
        out = insn["out"]
        rows = self._positions(insn, "y", data.shape[0], int(out["height"]))
        columns = self._positions(insn, "x", data.shape[1], int(out["width"]))
        if int(insn["opcode"]) == RESIZE_NEAREST:
            self._view(out)[...] = data[np.ix_(rows >> POSITION_BITS, columns >> POSITION_BITS)]
        else:
            self._view(out)[...] = self._bilinear(data, rows, columns)

    @staticmethod
    def _bilinear(data, rows, columns):
        """Returns interpolated elements at all pairs of positions."""
        first_row, first_column = rows >> POSITION_BITS, columns >> POSITION_BITS
        next_row = np.minimum(first_row + 1, data.shape[0] - 1)
        next_column = np.minimum(first_column + 1, data.shape[1] - 1)
        # Eight bits of the fraction give the weights of four neighbours in 1/65536.
        below = (rows >> (POSITION_BITS - 8) & 255)[:, None, None]
        right = (columns >> (POSITION_BITS - 8) & 255)[None, :, None]
        total = (
            data[np.ix_(first_row, first_column)] * (256 - below) * (256 - right)
            + data[np.ix_(first_row, next_column)] * (256 - below) * right
            + data[np.ix_(next_row, first_column)] * below * (256 - right)
            + data[np.ix_(next_row, next_column)] * below * right
        )
        return round_half_even(total, 16)

    def _nv12(self, insn):
        luma = self._view(insn["in"][0]).view(np.uint8).astype(np.int64)
        height, width = luma.shape[:2]
        out = insn["out"]
        rows = self._positions(insn, "y", height, int(out["height"]))
        columns = self._positions(insn, "x", width, int(out["width"]))
        flags = int(insn["flags"])
        nearest = lambda data, bits: data[np.ix_(rows >> bits, columns >> bits)]  # noqa: E731
        if flags & NEAREST:
            y = nearest(luma, POSITION_BITS)[..., 0]
        else:
            y = self._bilinear(luma, rows, columns)[..., 0]
        bright = 8192 * y if flags & FULL_RANGE else 9539 * (y - 16)
        if flags & GRAY:
            return self._requantise_channels(insn, _colour(bright)[..., None])
        chroma = self._view(insn["in"][1]).view(np.uint8).astype(np.int64)
        if flags & NEAREST:
            u, v = np.moveaxis(nearest(chroma, POSITION_BITS + 1), -1, 0) - 128
        else:
            halves = [
                np.clip((places >> 1) - 2**18, 0, (size - 1) << POSITION_BITS)
                for places, size in zip((rows, columns), chroma.shape)
            ]
            u, v = np.moveaxis(self._bilinear(chroma, *halves), -1, 0) - 128
        if flags & FULL_RANGE:
            parts = bright + 11485 * v, bright - 2819 * u - 5850 * v, bright + 14516 * u
        else:
            parts = bright + 13075 * v, bright - 3209 * u - 6660 * v, bright + 16525 * u
        pixels = np.stack([_colour(part) for part in parts], axis=-1)
        return self._requantise_channels(insn, pixels[..., ::-1] if flags & BGR else pixels)

    def _table(self, insn):
        source = self._view(insn["in"][0])
        source = source.astype(np.int64) & (0xFFFF if source.dtype.itemsize == 2 else 0xFF)
        dtype = self._dtype(insn["out"])
        entries = 256 if int(insn["in"][0]["type"]) == INT8 else 65536
        table = self._bytes(insn, entries * dtype.itemsize).copy().view(dtype)
        self._view(insn["out"])[...] = table[source]

    def _copy(self, insn):
        self._view(insn["out"])[...] = self._view(insn["in"][0])

    def _pad(self, insn):
        data = self._view(insn["in"][0])
        out = self._view(insn["out"])
        places, inside = [], []
        for axis, before in enumerate((int(insn["pad_top"]), int(insn["pad_left"]))):
            place = np.arange(out.shape[axis]) - before
            size = data.shape[axis]
            inside.append((place >= 0) & (place < size))
            if insn["flags"] & REFLECT:
                place = np.where(place < 0, -place, place)
                place = np.where(place >= size, 2 * (size - 1) - place, place)
            places.append(np.clip(place, 0, size - 1))
        result = data[np.ix_(*places)]
        if not insn["flags"] & (EDGE | REFLECT):
            result[~np.logical_and.outer(*inside)] = int(insn["fill"])
        out[...] = result

    def _permute(self, insn):
        axes = [int(insn["axes"]) >> shift & 3 for shift in (0, 2, 4)]
        self._view(insn["out"])[...] = self._view(insn["in"][0]).transpose(axes)

    def _depth_to_space(self, insn):
        data, out = self._view(insn["in"][0]), self._view(insn["out"])
        block = int(insn["kernel_height"])
        y, x, c = np.ogrid[: out.shape[0], : out.shape[1], : out.shape[2]]
        if insn["flags"] & CRD:
            channel = c * block**2 + y % block * block + x % block
        else:
            channel = (y % block * block + x % block) * out.shape[2] + c
        out[...] = data[y // block, x // block, channel]

    def _space_to_depth(self, insn):
        data, out = self._view(insn["in"][0]), self._view(insn["out"])
        block = int(insn["kernel_height"])
        y, x, c = np.ogrid[: out.shape[0], : out.shape[1], : out.shape[2]]
        place, channel = c // data.shape[2], c % data.shape[2]
        out[...] = data[y * block + place // block, x * block + place % block, channel]

    def _reduce(self, insn):
        axes = tuple(axis for axis in range(3) if int(insn["axes"]) >> axis & 1)
        opcode = int(insn["opcode"])
        data = self._centred(insn["in"][0])
        if opcode == REDUCE_SUM:
            total = data.sum(axis=axes, keepdims=True) * int(insn["multiplier"][0])
            self._store(insn, round_half_even(total, insn["shift"][0]))
        elif opcode == REDUCE_MAX:
            self._store(insn, data.max(axis=axes, keepdims=True))
        else:
            self._store(insn, data.min(axis=axes, keepdims=True))

    def execute(self, insn):
        {
            CONV: self._convolution,
            DEPTHWISE: self._depthwise,
            MATMUL: self._matrix_product,
            ADD: self._pair,
            SUB: self._pair,
            MAX: self._pair,
            MIN: self._pair,
            MUL: self._product,
            TRANSPOSED_CONV: self._transposed_convolution,
            RESIZE_NEAREST: self._resize,
            RESIZE_BILINEAR: self._resize,
            MAX_POOL: self._max_pool,
            AVERAGE_POOL: self._average_pool,
            TABLE: self._table,
            COPY: self._copy,
            REQUANTISE: self._requantise,
            PAD: self._pad,
            PERMUTE: self._permute,
            DEPTH_TO_SPACE: self._depth_to_space,
            SPACE_TO_DEPTH: self._space_to_depth,
            REDUCE_SUM: self._reduce,
            REDUCE_MAX: self._reduce,
            REDUCE_MIN: self._reduce,
            NV12: self._nv12,
        }[int(insn["opcode"])](insn)
