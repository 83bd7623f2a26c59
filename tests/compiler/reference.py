# SPDX-License-Identifier: MIT
"""Runs a model file in numpy, segment by segment; shares no code with the device or the runtime.

A tensor's value is an array of its ONNX shape: int8 or int16 elements q for a tensor in device memory,
float32 for one in host memory. What the device computes can be compared bit by bit.
"""

import numpy as np

import model_file
import reference_cpu
from reference_device import SCRATCH, WEIGHTS, Machine


def quantise(tensor, values):
    """Quantises real numbers as the runtime does when it puts them into device memory."""
    with np.errstate(invalid="ignore", over="ignore"):
        steps = np.rint(values.astype(np.float32) / tensor.scale) + np.float32(tensor.zero_point)
    steps = np.where(np.isnan(steps), tensor.zero_point, steps)
    limits = np.iinfo(tensor.dtype)
    return np.clip(steps, limits.min, limits.max).astype(tensor.dtype)


def dequantise(tensor, q):
    return tensor.scale * (q.astype(np.int32) - tensor.zero_point).astype(np.float32)


def user_values(tensor, q):
    """Returns the values that a user gives for an input so that its elements become `q`."""
    if tensor.data_type == model_file.INT8:
        return q.astype(np.float32)
    if tensor.data_type in (model_file.UINT8, model_file.NV12):
        return q.astype(np.float32) + 128
    return dequantise(tensor, q)


def _device_view(tensor, buffer):
    """Returns the elements of a tensor's buffer in ONNX's order."""
    elements = buffer.view(tensor.dtype)
    size = tensor.dtype.itemsize
    if tensor.is_rows:
        sizes = (tensor.height, tensor.width, tensor.channels)
        return np.lib.stride_tricks.as_strided(
            elements, sizes, (tensor.row_stride, tensor.pixel_stride, size)
        )
    image = tensor.channels * tensor.height * tensor.width
    sizes = (int(np.prod(tensor.shape)) // image, tensor.channels, tensor.height, tensor.width)
    strides = (tensor.height * tensor.row_stride, size, tensor.row_stride, tensor.pixel_stride)
    return np.lib.stride_tricks.as_strided(elements, sizes, strides)


def _to_device(tensor, q):
    """Returns a new buffer; the bytes between the elements are arbitrary."""
    buffer = np.full(tensor.bytes, 0x3C, np.uint8)
    view = _device_view(tensor, buffer)
    view[...] = q.reshape(view.shape)
    if tensor.data_type == model_file.NV12:  # the unsigned bytes of a picture
        view[...] ^= np.int8(-128)
    return buffer


def _from_device(tensor, buffer):
    return _device_view(tensor, buffer).reshape(tensor.shape).copy()


def run_bpu_segment(model, segment, values):
    """Returns the values of the tensors that the segment writes, by number."""
    # Scratch and outputs start with rubbish, because a program may rely on neither.
    regions = {WEIGHTS: model.weights.copy()}
    regions[SCRATCH] = np.full(segment.scratch_bytes, 0xA5, np.uint8)
    for region, number, writable in segment.bindings:
        tensor = model.tensors[number]
        if writable:
            regions[int(region)] = np.full(tensor.bytes, 0x5A, np.uint8)
        else:
            regions[int(region)] = _to_device(tensor, values[number])
    machine = Machine(regions)
    for fc in segment.fcs:
        first = int(fc["first_insn"])
        for insn in model.program[first : first + int(fc["insn_count"])]:
            machine.execute(insn)
    return {
        int(number): _from_device(model.tensors[number], regions[int(region)])
        for region, number, writable in segment.bindings
        if writable
    }


def run_cpu_op(model, op, values):
    """Returns the real numbers that the operator gives, before they are quantised if they are."""
    inputs = []
    for number in op.inputs:
        tensor = model.tensors[number]
        if len(tensor.data):
            inputs.append(tensor.data.reshape(tensor.shape))
        elif tensor.on_device:
            inputs.append(dequantise(tensor, values[number]))
        else:
            inputs.append(values[number])
    return reference_cpu.run(op, inputs, model.tensors[op.output].shape)


def run(model, inputs):
    """Runs the model; `inputs` are values by name. Returns the values of the outputs by name."""
    values = {int(n): inputs[model.tensors[n].name] for n in model.inputs}
    for segment in model.segments:
        if not isinstance(segment, list):
            values.update(run_bpu_segment(model, segment, values))
            continue
        for op in segment:
            tensor = model.tensors[op.output]
            reals = run_cpu_op(model, op, values)
            values[op.output] = quantise(tensor, reals) if tensor.on_device else reals
    return {model.tensors[n].name: values[int(n)] for n in model.outputs}
