// SPDX-License-Identifier: MIT
#include "dnn/convert.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include <fmt/format.h>

namespace overtake::dnn {

namespace {

constexpr std::uint32_t nv12_alignment = 16; // bytes: the alignment of a row

constexpr std::int32_t most_pixels = 1 << 16; // of one side of a picture
constexpr std::int32_t most_stride = 1 << 17;

std::uint32_t aligned_width(std::uint32_t width) {
    return (width + nv12_alignment - 1) / nv12_alignment * nv12_alignment;
}

hbDNNTensorShape shape_of(std::span<const std::uint32_t> sizes) {
    hbDNNTensorShape shape{};
    shape.numDimensions = static_cast<std::int32_t>(sizes.size());
    for (std::size_t i = 0; i < sizes.size(); i++)
        shape.dimensionSize[i] = static_cast<std::int32_t>(sizes[i]);
    return shape;
}

hbDNNTensorShape shape_of(std::initializer_list<std::uint32_t> sizes) {
    return shape_of(std::span(sizes.begin(), sizes.size()));
}

// Returns the number of dimensions, bounded, since a program may have written the shape.
std::int32_t dimensions_of(const hbDNNTensorShape& shape) {
    return std::clamp(shape.numDimensions, 0, HB_DNN_TENSOR_MAX_DIMENSIONS);
}

bool equal(const hbDNNTensorShape& left, const hbDNNTensorShape& right) {
    const std::int32_t count = dimensions_of(left);
    return left.numDimensions == right.numDimensions &&
           std::equal(left.dimensionSize, left.dimensionSize + count, right.dimensionSize);
}

std::string text_of(const hbDNNTensorShape& shape) {
    return fmt::format(
        "{}", fmt::join(shape.dimensionSize, shape.dimensionSize + dimensions_of(shape), " x "));
}

std::int32_t size_of(std::int32_t type) {
    switch (type) {
    case HB_DNN_TENSOR_TYPE_F32:
        return 4;
    case HB_DNN_TENSOR_TYPE_S64:
        return 8;
    default:
        return 1;
    }
}

std::int32_t type_of(const Port& port) {
    switch (port.element) {
    case Element::int8:
        return HB_DNN_TENSOR_TYPE_S8;
    case Element::uint8:
        return HB_DNN_TENSOR_TYPE_U8;
    case Element::int64:
        return HB_DNN_TENSOR_TYPE_S64;
    default:
        return HB_DNN_TENSOR_TYPE_F32;
    }
}

/// Returns the image type of a picture of bytes; for any other tensor the type of its elements.
std::int32_t picture_type(const Port& port) {
    if (port.tensor->data_type == DataType::uint8) {
        switch (port.tensor->colours) {
        case Colours::rgb:
            return HB_DNN_IMG_TYPE_RGB;
        case Colours::bgr:
            return HB_DNN_IMG_TYPE_BGR;
        case Colours::gray:
            return HB_DNN_IMG_TYPE_Y;
        case Colours::unknown:
            break;
        }
    }
    return type_of(port);
}

void describe_scale(Port& port, hbDNNTensorProperties& properties) {
    properties.quantiType = SCALE;
    properties.scale.scaleLen = 1;
    properties.scale.scaleData = &port.scale;
    properties.scale.zeroPointLen = 1;
    properties.scale.zeroPointData = &port.zero_point;
}

hbDNNTensorProperties nv12_properties(const Tensor& tensor) {
    const std::uint32_t rows = tensor.height / 3 * 2;
    hbDNNTensorProperties properties{};
    properties.validShape = shape_of({1, 3, rows, tensor.width});
    properties.alignedShape = shape_of({1, 3, rows, aligned_width(tensor.width)});
    properties.tensorLayout = HB_DNN_LAYOUT_NCHW;
    properties.tensorType = HB_DNN_IMG_TYPE_NV12;
    properties.alignedByteSize =
        static_cast<std::int32_t>(tensor.height * aligned_width(tensor.width));
    return properties;
}

/// Returns the properties of an int8 tensor in device memory.
hbDNNTensorProperties device_properties(Port& port) {
    const Tensor& tensor = *port.tensor;
    const auto images = static_cast<std::uint32_t>(
        tensor.elements() / (std::size_t{tensor.height} * tensor.width * tensor.channels));
    hbDNNTensorProperties properties{};
    properties.validShape = shape_of({images, tensor.height, tensor.width, tensor.channels});
    properties.alignedShape = shape_of(
        {images, tensor.height, tensor.row_stride / tensor.pixel_stride, tensor.pixel_stride});
    properties.tensorLayout = HB_DNN_LAYOUT_NHWC;
    properties.tensorType = type_of(port);
    properties.alignedByteSize = static_cast<std::int32_t>(tensor.bytes);
    properties.stride[0] = static_cast<std::int32_t>(tensor.height * tensor.row_stride);
    properties.stride[1] = static_cast<std::int32_t>(tensor.row_stride);
    properties.stride[2] = static_cast<std::int32_t>(tensor.pixel_stride);
    properties.stride[3] = 1;
    describe_scale(port, properties);
    return properties;
}

hbDNNTensorProperties dense_properties(Port& port) {
    const Tensor& tensor = *port.tensor;
    hbDNNTensorProperties properties{};
    properties.validShape = shape_of(std::span(tensor.shape));
    properties.alignedShape = properties.validShape;
    properties.tensorLayout = HB_DNN_LAYOUT_NONE;
    if (tensor.shape.size() == 4)
        properties.tensorLayout = tensor.on_device() && tensor.order == Order::rows
                                      ? HB_DNN_LAYOUT_NHWC
                                      : HB_DNN_LAYOUT_NCHW;
    properties.tensorType = picture_type(port);
    std::int32_t bytes = size_of(properties.tensorType);
    for (std::size_t i = tensor.shape.size(); i-- > 0;) {
        properties.stride[i] = bytes;
        bytes *= static_cast<std::int32_t>(tensor.shape[i]);
    }
    properties.alignedByteSize = bytes;
    if (properties.tensorType <= HB_DNN_IMG_TYPE_BGR)
        std::fill(std::begin(properties.stride), std::end(properties.stride), 0);
    else if (properties.tensorType == HB_DNN_TENSOR_TYPE_S8 ||
             properties.tensorType == HB_DNN_TENSOR_TYPE_U8)
        describe_scale(port, properties);
    return properties;
}

/// Returns the memory.  Throws Failure if the library did not allocate it, or if it is too short.
MemoryRange range_of(const Port& port, const hbSysMem& mem, std::uint64_t bytes, const char* what,
                     const Memory& memory) {
    const auto fail = [&](const std::string& why) {
        refuse(
            fmt::format("{} {}: {} {}", port.is_input ? "input" : "output", port.name, what, why));
    };
    if (!mem.virAddr)
        fail("is NULL");
    MemoryRange range = memory.find(mem.virAddr, bytes);
    if (!range.buffer) {
        if (memory.find(mem.virAddr, 0).buffer)
            fail(fmt::format("is too small: {} bytes are needed from there to the end of the "
                             "allocation",
                             bytes));
        fail("is not memory of hbSysAllocMem(), or has been freed");
    }
    return range;
}

BoundTensor bind_nv12(const Port& port, const hbDNNTensor& tensor, bool is_dense,
                      const Memory& memory) {
    const std::uint64_t rows = port.tensor->height / 3 * 2;
    const std::uint64_t stride = is_dense ? port.tensor->width : aligned_width(port.tensor->width);
    BoundTensor bound;
    bound.memory.form =
        is_dense && stride % nv12_alignment != 0 ? TensorForm::packed : TensorForm::device;
    if (bound.memory.form == TensorForm::device)
        bound.memory.row_stride = static_cast<std::uint32_t>(stride);
    if (tensor.properties.tensorType == HB_DNN_IMG_TYPE_NV12_SEPARATE) {
        const MemoryRange luma =
            range_of(port, tensor.sysMem[0], rows * stride, "sysMem[0]", memory);
        const MemoryRange chroma =
            range_of(port, tensor.sysMem[1], rows / 2 * stride, "sysMem[1]", memory);
        bound.memory.data = luma.data;
        bound.memory.address = luma.address;
        bound.memory.chroma = chroma.data;
        bound.memory.chroma_address = chroma.address;
        bound.keep = luma.buffer;
        bound.keep_chroma = chroma.buffer;
        return bound;
    }
    const MemoryRange range =
        range_of(port, tensor.sysMem[0], rows / 2 * 3 * stride, "sysMem[0]", memory);
    bound.memory.data = range.data;
    bound.memory.address = range.address;
    bound.keep = range.buffer;
    return bound;
}

void check_properties(const Port& port, const hbDNNTensorProperties& given,
                      const hbDNNTensorProperties& wanted) {
    const auto fail = [&](const std::string& why) {
        refuse(fmt::format("input {}: {}", port.name, why));
    };
    const bool both_nv12 = wanted.tensorType == HB_DNN_IMG_TYPE_NV12 &&
                           given.tensorType == HB_DNN_IMG_TYPE_NV12_SEPARATE;
    if (given.tensorType != wanted.tensorType && !both_nv12)
        fail(fmt::format("tensorType {}, but the model has {}", given.tensorType,
                         wanted.tensorType));
    if (given.alignedShape.numDimensions < 1 ||
        given.alignedShape.numDimensions > HB_DNN_TENSOR_MAX_DIMENSIONS)
        fail(fmt::format("alignedShape has {} dimensions", given.alignedShape.numDimensions));
    if (!equal(given.alignedShape, wanted.alignedShape) &&
        !equal(given.alignedShape, wanted.validShape))
        fail("alignedShape is neither what the model has nor its validShape");
    if (!equal(given.validShape, wanted.validShape))
        fail(fmt::format("validShape is {}, but the model has {}; copy it from "
                         "hbDNNGetInputTensorProperties()",
                         text_of(given.validShape), text_of(wanted.validShape)));
}

// Whether the user's tensor has no padding although the device's has.
bool is_dense(const hbDNNTensorProperties& given, const hbDNNTensorProperties& wanted) {
    return !equal(wanted.alignedShape, wanted.validShape) &&
           equal(given.alignedShape, wanted.validShape);
}

std::uint64_t bytes_of(const Port& port, const hbDNNTensorProperties& wanted, bool is_dense) {
    return is_dense ? port.tensor->elements() : static_cast<std::uint64_t>(wanted.alignedByteSize);
}

BoundTensor bound_to(const Port& port, const MemoryRange& range, bool is_dense) {
    BoundTensor bound;
    bound.memory.form = is_dense ? TensorForm::packed : port.form;
    bound.memory.element = port.element;
    bound.memory.data = range.data;
    bound.memory.address = range.address;
    bound.keep = range.buffer;
    return bound;
}

bool is_of_one_image(const hbDNNTensorProperties& given, const hbDNNTensorProperties& wanted) {
    return given.validShape.numDimensions == wanted.validShape.numDimensions &&
           given.validShape.dimensionSize[0] == 1 && wanted.validShape.dimensionSize[0] > 1;
}

// Binds a batch that is one tensor for each image: copies them behind each other.
BoundTensor bind_images(Port& port, const hbDNNTensor* tensors, const Memory& memory) {
    const hbDNNTensorProperties wanted = properties_of(port);
    hbDNNTensorProperties image = wanted;
    image.validShape.dimensionSize[0] = image.alignedShape.dimensionSize[0] = 1;
    const auto images = static_cast<std::size_t>(wanted.validShape.dimensionSize[0]);
    const bool is_dense = dnn::is_dense(tensors->properties, image);
    const std::uint64_t bytes = bytes_of(port, wanted, is_dense), each = bytes / images;
    std::vector<MemoryRange> ranges;
    for (std::size_t index = 0; index < images; index++) {
        const hbDNNTensor& tensor = tensors[index];
        const std::string what = fmt::format("sysMem[0] of image {}", index);
        check_properties(port, tensor.properties, image);
        if (dnn::is_dense(tensor.properties, image) != is_dense)
            refuse(fmt::format("input {}: alignedShape of image {} is not as that of the first",
                               port.name, index));
        ranges.push_back(range_of(port, tensor.sysMem[0], each, what.c_str(), memory));
    }
    const std::shared_ptr<Buffer> batch = memory.device()->create_buffer(bytes);
    for (std::size_t index = 0; index < images; index++)
        std::memcpy(batch->data() + index * each, ranges[index].data, each);
    return bound_to(port, {batch, batch->data(), batch->address()}, is_dense);
}

TaskOptions options_of(std::int32_t core, std::int32_t priority, unsigned cores) {
    if (core < HB_BPU_CORE_ANY || core > HB_BPU_CORE_1)
        refuse(fmt::format("bpuCoreId {}: it is 0, 1 or 2", core));
    if (static_cast<unsigned>(core) > cores)
        refuse(fmt::format("bpuCoreId {}: the device has {} core(s)", core, cores));
    if (priority < HB_DNN_PRIORITY_LOWEST || priority > HB_DNN_PRIORITY_HIGHEST)
        refuse(fmt::format("priority {}: it is 0 to 255", priority));
    TaskOptions options;
    options.core = static_cast<unsigned>(core);
    options.priority = static_cast<unsigned>(priority);
    return options;
}

} // namespace

hbDNNTensorProperties properties_of(Port& port) {
    if (port.tensor->data_type == DataType::nv12)
        return nv12_properties(*port.tensor);
    return port.form == TensorForm::device ? device_properties(port) : dense_properties(port);
}

BoundTensor bind(Port& port, const hbDNNTensor& tensor, const Memory& memory) {
    const hbDNNTensorProperties wanted = properties_of(port);
    if (port.is_input)
        check_properties(port, tensor.properties, wanted);
    const bool is_dense = dnn::is_dense(tensor.properties, wanted);
    if (port.tensor->data_type == DataType::nv12)
        return bind_nv12(port, tensor, is_dense, memory);
    const std::uint64_t bytes = bytes_of(port, wanted, is_dense);
    return bound_to(port, range_of(port, tensor.sysMem[0], bytes, "sysMem[0]", memory), is_dense);
}

std::vector<BoundTensor> bind_inputs(std::vector<Port>& ports, const hbDNNTensor* tensors,
                                     const Memory& memory) {
    std::vector<BoundTensor> bound;
    for (Port& port : ports) {
        const hbDNNTensorProperties wanted = properties_of(port);
        const bool is_several = is_of_one_image(tensors->properties, wanted);
        bound.push_back(is_several ? bind_images(port, tensors, memory)
                                   : bind(port, *tensors, memory));
        tensors += is_several ? wanted.validShape.dimensionSize[0] : 1;
    }
    return bound;
}

BoundTensor bind_region(const Port& port, const hbDNNTensor& tensor, const hbDNNRoi& region,
                        const Memory& memory) {
    const auto fail = [&](const std::string& why) {
        refuse(fmt::format("input {}: {}", port.name, why));
    };
    const hbDNNTensorProperties& given = tensor.properties;
    const bool is_separate = given.tensorType == HB_DNN_IMG_TYPE_NV12_SEPARATE;
    if (given.tensorType != HB_DNN_IMG_TYPE_NV12 && !is_separate)
        fail(fmt::format("tensorType {}, but regions are of NV12 pictures", given.tensorType));
    if (given.validShape.numDimensions != 4 || given.alignedShape.numDimensions != 4)
        fail("validShape and alignedShape of a picture have 4 dimensions");
    const std::size_t rows_at = given.tensorLayout == HB_DNN_LAYOUT_NHWC ? 1 : 2;
    const std::int32_t height = given.validShape.dimensionSize[rows_at];
    const std::int32_t width = given.validShape.dimensionSize[rows_at + 1];
    const std::int32_t stride = given.alignedShape.dimensionSize[rows_at + 1];
    if (height < 2 || width < 2 || height > most_pixels || width > most_pixels || height % 2 != 0 ||
        width % 2 != 0)
        fail(fmt::format("a picture of {} x {}: both are even, 2 to {}", width, height,
                         most_pixels));
    if (stride < width || stride > most_stride)
        fail(fmt::format("rows of {} bytes for a width of {}", stride, width));
    if (region.left < 0 || region.top < 0 || region.right >= width || region.bottom >= height ||
        region.left > region.right || region.top > region.bottom)
        fail(fmt::format("region {}..{} x {}..{} is not inside the picture of {} x {}", region.left,
                         region.right, region.top, region.bottom, width, height));
    if (region.left % 2 != 0 || region.top % 2 != 0 || region.right % 2 == 0 ||
        region.bottom % 2 == 0)
        fail("left and top of a region are even, right and bottom odd");
    const auto rows = static_cast<std::uint64_t>(height);
    const auto bytes = static_cast<std::uint64_t>(stride);
    BoundTensor bound;
    const MemoryRange luma =
        range_of(port, tensor.sysMem[0], is_separate ? rows * bytes : rows / 2 * 3 * bytes,
                 "sysMem[0]", memory);
    bound.memory.form = TensorForm::device;
    bound.memory.data = luma.data;
    bound.memory.address = luma.address;
    bound.keep = luma.buffer;
    if (is_separate) {
        const MemoryRange chroma =
            range_of(port, tensor.sysMem[1], rows / 2 * bytes, "sysMem[1]", memory);
        bound.memory.chroma = chroma.data;
        bound.memory.chroma_address = chroma.address;
        bound.keep_chroma = chroma.buffer;
    }
    bound.memory.row_stride = static_cast<std::uint32_t>(stride);
    bound.memory.picture_height = static_cast<std::uint32_t>(height);
    bound.memory.picture_width = static_cast<std::uint32_t>(width);
    bound.memory.left = static_cast<std::uint32_t>(region.left);
    bound.memory.top = static_cast<std::uint32_t>(region.top);
    bound.memory.right = static_cast<std::uint32_t>(region.right);
    bound.memory.bottom = static_cast<std::uint32_t>(region.bottom);
    return bound;
}

BoundTensor bind_part(Port& port, const hbDNNTensor& tensor, std::size_t index, std::size_t count,
                      const Memory& memory) {
    const hbDNNTensorProperties wanted = properties_of(port);
    const bool is_dense = dnn::is_dense(tensor.properties, wanted);
    const std::uint64_t bytes = bytes_of(port, wanted, is_dense);
    MemoryRange range = range_of(port, tensor.sysMem[0], bytes * count, "sysMem[0]", memory);
    range.data += index * bytes;
    range.address += index * bytes;
    return bound_to(port, range, is_dense);
}

TaskOptions task_options(const hbDNNInferCtrlParam& control, unsigned cores) {
    TaskOptions options = options_of(control.bpuCoreId, control.priority, cores);
    options.custom_id = control.customId;
    return options;
}

TaskOptions task_options(const hbDNNResizeCtrlParam& control, unsigned cores) {
    std::int32_t type; // may hold any number, as a C program can write one
    static_assert(sizeof(type) == sizeof(control.resizeType));
    std::memcpy(&type, &control.resizeType, sizeof(type));
    if (type != HB_DNN_RESIZE_TYPE_BILINEAR)
        refuse(fmt::format("resizeType {}: it is 0, bilinear", type));
    return options_of(control.bpuCoreId, control.priority, cores);
}

std::int32_t status_of(const Error& error) {
    switch (error.code()) {
    case ENOMEM:
    case ENOSPC:
    case E2BIG:
        return HB_DNN_OUT_OF_MEMORY;
    case EINVAL:
        return HB_DNN_INVALID_ARGUMENT;
    case EPERM:
    case EACCES:
        return HB_DNN_API_USE_ERROR;
    default:
        return HB_DNN_RUN_TASK_FAILED;
    }
}

std::int32_t status_of_end(std::int32_t request_status) {
    return request_status == 0 ? HB_DNN_SUCCESS : HB_DNN_RUN_TASK_FAILED;
}

const char* describe_status(std::int32_t status) {
    switch (status) {
    case HB_DNN_SUCCESS:
        return "success";
    case HB_DNN_INVALID_ARGUMENT:
        return "invalid argument";
    case HB_DNN_INVALID_MODEL:
        return "invalid model";
    case HB_DNN_MODEL_NUMBER_EXCEED_LIMIT:
        return "too many models";
    case HB_DNN_INVALID_PACKED_DNN_HANDLE:
        return "invalid packed model handle";
    case HB_DNN_INVALID_DNN_HANDLE:
        return "invalid model handle";
    case HB_DNN_CAN_NOT_OPEN_FILE:
        return "cannot open file";
    case HB_DNN_OUT_OF_MEMORY:
        return "out of memory";
    case HB_DNN_TIMEOUT:
        return "timeout: the task still runs";
    case HB_DNN_TASK_NUM_EXCEED_LIMIT:
        return "too many tasks";
    case HB_DNN_TASK_BATCH_SIZE_EXCEED_LIMIT:
        return "too many models in one task";
    case HB_DNN_INVALID_TASK_HANDLE:
        return "invalid task handle";
    case HB_DNN_RUN_TASK_FAILED:
        return "the task failed, or its device is gone: then release tasks and models and load the "
               "models again";
    case HB_DNN_MODEL_IS_RUNNING:
        return "tasks of the model have not been released";
    case HB_DNN_INCOMPATIBLE_MODEL:
        return "model of another version";
    case HB_DNN_API_USE_ERROR:
        return "the interface was used wrongly, or this is not available";
    case HB_DNN_MULTI_PROGRESS_USE_ERROR:
        return "used before and after fork()";
    case HB_SYS_INVALID_ARGUMENT:
        return "invalid argument of a memory function";
    case HB_SYS_OUT_OF_MEMORY:
        return "out of device memory";
    case HB_SYS_REGISTER_MEM_FAILED:
        return "memory cannot be registered";
    default:
        return "no status of this library";
    }
}

} // namespace overtake::dnn
