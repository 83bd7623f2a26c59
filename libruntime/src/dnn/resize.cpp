// SPDX-License-Identifier: MIT
#include "dnn/resize.hpp"

#include <cmath>

#include <fmt/format.h>

#include "dnn/status.hpp"

namespace overtake::dnn {

namespace {

constexpr std::int32_t longest_side = 4080; // pixels of a side
constexpr std::int32_t stride_unit = 16;    // pixels: the unit of strides of luma rows
constexpr std::int32_t most_shrinking = 185;
constexpr std::int32_t most_growing = 256; // an exclusive limit

/// One channel.
struct Plane {
    std::uint8_t* first;       ///< element at row 0, column 0
    std::int32_t row_stride;   ///< bytes
    std::int32_t pixel_stride; ///< bytes
    std::int32_t height, width;
};

/// The size of a picture and the stride of its rows in pixels, from its properties.
struct Shape {
    std::int32_t type;
    bool is_interleaved; ///< rgb, bgr, yuv444 pixel by pixel
    std::int32_t height, width, stride;
};

Shape shape_of(const hbDNNTensorProperties& given, const char* which) {
    const auto fail = [&](const std::string& why) { refuse(fmt::format("{}: {}", which, why)); };
    if (given.tensorType < HB_DNN_IMG_TYPE_Y || given.tensorType > HB_DNN_IMG_TYPE_BGR)
        fail(fmt::format("tensorType {} is no picture", given.tensorType));
    if (given.validShape.numDimensions != 4 || given.alignedShape.numDimensions != 4)
        fail("validShape and alignedShape of a picture have 4 dimensions");
    const bool is_last = given.tensorLayout == HB_DNN_LAYOUT_NHWC;
    const std::size_t rows_at = is_last ? 1 : 2;
    const Shape shape{given.tensorType, is_last && given.tensorType >= HB_DNN_IMG_TYPE_YUV444,
                      given.validShape.dimensionSize[rows_at],
                      given.validShape.dimensionSize[rows_at + 1],
                      given.alignedShape.dimensionSize[rows_at + 1]};
    if (shape.height < 1 || shape.width < 1 || shape.height > longest_side ||
        shape.width > longest_side)
        fail(fmt::format("a picture of {} x {}: 1 to {} are possible", shape.width, shape.height,
                         longest_side));
    if (shape.stride < shape.width || shape.stride > longest_side)
        fail(fmt::format("rows of {} pixels for a width of {}", shape.stride, shape.width));
    if (shape.type <= HB_DNN_IMG_TYPE_NV12_SEPARATE && shape.stride % stride_unit != 0)
        fail(fmt::format("a stride of {}, which is no multiple of {}", shape.stride, stride_unit));
    const bool is_nv12 =
        shape.type == HB_DNN_IMG_TYPE_NV12 || shape.type == HB_DNN_IMG_TYPE_NV12_SEPARATE;
    if (is_nv12 && (shape.height % 2 != 0 || shape.width % 2 != 0))
        fail(fmt::format("NV12 of {} x {}: both must be even", shape.width, shape.height));
    return shape;
}

class Picture {
public:
    Picture(const hbDNNTensor& tensor, const char* which, const Memory& memory)
        : shape(shape_of(tensor.properties, which)), which_(which), tensor_(tensor),
          memory_(memory) {
        const std::uint64_t luma =
            static_cast<std::uint64_t>(shape.height) * static_cast<std::uint64_t>(shape.stride);
        switch (shape.type) {
        case HB_DNN_IMG_TYPE_Y:
            add({find(0, luma), shape.stride, 1, shape.height, shape.width});
            return;
        case HB_DNN_IMG_TYPE_NV12: {
            std::uint8_t* data = find(0, luma / 2 * 3);
            add({data, shape.stride, 1, shape.height, shape.width});
            add_chroma(data + luma);
            return;
        }
        case HB_DNN_IMG_TYPE_NV12_SEPARATE:
            add({find(0, luma), shape.stride, 1, shape.height, shape.width});
            add_chroma(find(1, luma / 2));
            return;
        default:
            add_colours(find(0, luma * 3), luma);
        }
    }

    const Shape shape;
    std::vector<Plane> planes;
    std::vector<std::shared_ptr<Buffer>> keep;

private:
    void add(const Plane& plane) { planes.push_back(plane); }
    void add_chroma(std::uint8_t* data) {
        for (int channel = 0; channel < 2; channel++)
            add({data + channel, shape.stride, 2, shape.height / 2, shape.width / 2});
    }
    void add_colours(std::uint8_t* data, std::uint64_t luma) {
        for (std::uint64_t channel = 0; channel < 3; channel++)
            add(shape.is_interleaved
                    ? Plane{data + channel, 3 * shape.stride, 3, shape.height, shape.width}
                    : Plane{data + channel * luma, shape.stride, 1, shape.height, shape.width});
    }

    std::uint8_t* find(std::size_t number, std::uint64_t bytes) {
        const MemoryRange range = memory_.find(tensor_.sysMem[number].virAddr, bytes);
        if (!range.buffer)
            refuse(fmt::format("{}: sysMem[{}] is not memory of hbSysAllocMem(), or has less than "
                               "{} bytes",
                               which_, number, bytes));
        keep.push_back(range.buffer);
        return reinterpret_cast<std::uint8_t*>(range.data);
    }

    const char* const which_;
    const hbDNNTensor& tensor_;
    const Memory& memory_;
};

/// The position of an output element in the input: the two elements around it, and the distance
/// from the first, 0 to 1.
struct Between {
    std::int32_t low, high;
    float part;
};

std::vector<Between> positions(std::int32_t first, std::int32_t from, std::int32_t to) {
    std::vector<Between> positions;
    for (std::int32_t i = 0; i < to; i++) {
        const float at = to > 1 ? static_cast<float>(i) * static_cast<float>(from - 1) /
                                      static_cast<float>(to - 1)
                                : 0;
        const auto low = static_cast<std::int32_t>(at);
        positions.push_back(
            {first + low, first + std::min(low + 1, from - 1), at - static_cast<float>(low)});
    }
    return positions;
}

/// Resizes the part of `from` that begins at (top, left) to all of `to`.
void resize(const Plane& from, std::int32_t top, std::int32_t left, std::int32_t height,
            std::int32_t width, const Plane& to) {
    const std::vector<Between> rows = positions(top, height, to.height);
    const std::vector<Between> columns = positions(left, width, to.width);
    const auto element = [&](std::int32_t y, std::int32_t x) {
        return static_cast<float>(
            from.first[std::int64_t{y} * from.row_stride + std::int64_t{x} * from.pixel_stride]);
    };
    const auto mix = [](float low, float high, float part) { return low + part * (high - low); };
    for (std::int32_t y = 0; y < to.height; y++) {
        const Between& row = rows[static_cast<std::size_t>(y)];
        std::uint8_t* out = to.first + std::int64_t{y} * to.row_stride;
        for (const Between& column : columns) {
            const float above =
                mix(element(row.low, column.low), element(row.low, column.high), column.part);
            const float below =
                mix(element(row.high, column.low), element(row.high, column.high), column.part);
            *out = static_cast<std::uint8_t>(std::nearbyint(mix(above, below, row.part)));
            out += to.pixel_stride;
        }
    }
}

void check_region(const hbDNNRoi& region, const Shape& shape) {
    if (region.left < 0 || region.top < 0 || region.left > region.right ||
        region.top > region.bottom || region.right >= shape.width || region.bottom >= shape.height)
        refuse(fmt::format("region {}..{} x {}..{} is not inside the picture of {} x {}",
                           region.left, region.right, region.top, region.bottom, shape.width,
                           shape.height));
    const bool is_nv12 =
        shape.type == HB_DNN_IMG_TYPE_NV12 || shape.type == HB_DNN_IMG_TYPE_NV12_SEPARATE;
    if (is_nv12 && (region.left % 2 != 0 || region.top % 2 != 0 || region.right % 2 == 0 ||
                    region.bottom % 2 == 0))
        refuse("of NV12, left and top of a region are even, right and bottom odd");
}

void check_ratio(std::int32_t from, std::int32_t to) {
    if (to * most_shrinking < from || to >= from * most_growing)
        refuse(fmt::format("{} pixels from {}: 1/{} to below {} times as many are possible", to,
                           from, most_shrinking, most_growing));
}

} // namespace

ResizeWork resize_work(const hbDNNTensor& output, const hbDNNTensor& input, const hbDNNRoi* region,
                       const Memory& memory) {
    const Picture from(input, "input", memory);
    const Picture to(output, "output", memory);
    if (from.shape.type != to.shape.type)
        refuse(fmt::format("tensorType {} of the input and {} of the output must be one",
                           from.shape.type, to.shape.type));
    const hbDNNRoi part =
        region ? *region : hbDNNRoi{0, 0, from.shape.width - 1, from.shape.height - 1};
    check_region(part, from.shape);
    check_ratio(part.right - part.left + 1, to.shape.width);
    check_ratio(part.bottom - part.top + 1, to.shape.height);
    ResizeWork work;
    work.keep = from.keep;
    work.keep.insert(work.keep.end(), to.keep.begin(), to.keep.end());
    work.compute = [planes = from.planes, results = to.planes, part, height = from.shape.height] {
        for (std::size_t i = 0; i < planes.size(); i++) {
            const std::int32_t unit = height / planes[i].height; // 2 for chroma
            resize(planes[i], part.top / unit, part.left / unit,
                   (part.bottom - part.top + 1) / unit, (part.right - part.left + 1) / unit,
                   results[i]);
        }
        return 0;
    };
    return work;
}

} // namespace overtake::dnn
