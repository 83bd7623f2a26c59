// SPDX-License-Identifier: MIT
#include "engine/transfer.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "cpu/tensor_layout.hpp"

namespace overtake::engine {

namespace {

std::size_t size_of(Element element) {
    switch (element) {
    case Element::int8:
    case Element::uint8:
        return 1;
    case Element::int64:
        return 8;
    default:
        return 4;
    }
}

/// Whether the tensor's values can be written as such elements.
bool suits(DataType type, Element element) {
    switch (element) {
    case Element::float32:
        return true;
    case Element::int8:
        return type == DataType::int8;
    case Element::uint8:
        return type == DataType::uint8 || type == DataType::nv12;
    case Element::int32:
    case Element::int64:
        return type == DataType::int64;
    }
    return false;
}

/// Rounds to the nearest, ties to even, and saturates; NaN becomes 0.
template <class Integer>
Integer to_integer(float value) {
    const float nearest = std::nearbyint(value);
    if (std::isnan(nearest))
        return 0;
    if (nearest >= static_cast<float>(std::numeric_limits<Integer>::max()))
        return std::numeric_limits<Integer>::max();
    if (nearest <= static_cast<float>(std::numeric_limits<Integer>::min()))
        return std::numeric_limits<Integer>::min();
    return static_cast<Integer>(nearest);
}

template <class Number>
void read(const std::byte* from, std::span<float> to) {
    const auto* numbers = reinterpret_cast<const Number*>(from);
    std::ranges::transform(numbers, numbers + to.size(), to.begin(),
                           [](Number number) { return static_cast<float>(number); });
}

template <class Number>
void write(std::span<const float> from, std::byte* to) {
    std::ranges::transform(from, reinterpret_cast<Number*>(to), to_integer<Number>);
}

void read_dense(const TensorMemory& from, std::span<float> to) {
    switch (from.element) {
    case Element::float32:
        std::memcpy(to.data(), from.data, to.size_bytes());
        return;
    case Element::int8:
        return read<std::int8_t>(from.data, to);
    case Element::uint8:
        return read<std::uint8_t>(from.data, to);
    case Element::int32:
        return read<std::int32_t>(from.data, to);
    case Element::int64:
        return read<std::int64_t>(from.data, to);
    }
}

void write_dense(std::span<const float> from, const TensorMemory& to) {
    switch (to.element) {
    case Element::float32:
        std::memcpy(to.data, from.data(), from.size_bytes());
        return;
    case Element::int8:
        return write<std::int8_t>(from, to.data);
    case Element::uint8:
        return write<std::uint8_t>(from, to.data);
    case Element::int32:
        return write<std::int32_t>(from, to.data);
    case Element::int64:
        return write<std::int64_t>(from, to.data);
    }
}

/// The bytes of a pixel without padding.
std::size_t pixel_bytes(const Tensor& tensor) {
    return std::size_t{tensor.channels} * (tensor.is_int16 ? sizeof(std::int16_t) : 1);
}

/// Calls copy(offset in device memory, offset without padding) for each pixel.
template <class Copy>
void for_each_pixel(const Tensor& tensor, Copy copy) {
    const std::size_t rows = image_count(tensor) * tensor.height;
    std::size_t packed = 0;
    for (std::size_t y = 0; y < rows; y++)
        for (std::size_t x = 0; x < tensor.width; x++, packed += pixel_bytes(tensor))
            copy(y * tensor.row_stride + x * tensor.pixel_stride, packed);
}

std::uint32_t luma_rows(const Tensor& tensor) {
    return tensor.height / 3 * 2;
}

void place_picture(const Tensor& tensor, const TensorMemory& memory, TensorPlace& place) {
    const PictureLayout layout = layout_of(tensor, memory);
    if (!memory.chroma && !layout.is_resized && layout.row_stride == tensor.row_stride)
        return;
    const std::uint64_t luma_bytes = std::uint64_t{layout.height} * layout.row_stride;
    place.row_stride = layout.row_stride;
    place.chroma_rows = layout.height / 2;
    place.chroma_address = memory.chroma ? memory.chroma_address : memory.address + luma_bytes;
    place.chroma = memory.chroma ? memory.chroma : memory.data + luma_bytes;
}

/// The bits in which a user's bytes differ from the device's.
std::byte flip_of(const Tensor& tensor) {
    return tensor.data_type == DataType::uint8 ? std::byte{0x80} : std::byte{0};
}

void fill_packed(const Tensor& tensor, const TensorMemory& memory, std::span<std::byte> to) {
    if (memory.chroma) { // dense planes that are apart
        const std::size_t luma_bytes = std::size_t{luma_rows(tensor)} * tensor.width;
        for_each_pixel(tensor, [&](std::size_t padded, std::size_t packed) {
            to[padded] =
                packed < luma_bytes ? memory.data[packed] : memory.chroma[packed - luma_bytes];
        });
        return;
    }
    const std::byte* from = memory.data;
    const std::byte flip = flip_of(tensor);
    for_each_pixel(tensor, [&](std::size_t padded, std::size_t packed) {
        std::transform(from + packed, from + packed + pixel_bytes(tensor), to.data() + padded,
                       [flip](std::byte byte) { return byte ^ flip; });
    });
}

void drain_packed(const Tensor& tensor, std::span<const std::byte> from, std::byte* to) {
    const std::byte flip = flip_of(tensor);
    for_each_pixel(tensor, [&](std::size_t padded, std::size_t packed) {
        std::transform(from.data() + padded, from.data() + padded + pixel_bytes(tensor),
                       to + packed, [flip](std::byte byte) { return byte ^ flip; });
    });
}

std::atomic<std::uint64_t> moved_bytes{0};

template <class Refuse>
void check_picture(const Tensor& tensor, const TensorMemory& memory, Refuse refuse) {
    const PictureLayout picture = layout_of(tensor, memory);
    if (memory.form == TensorForm::device && picture.row_stride < picture.width)
        refuse("rows that are longer than their stride");
    if (!picture.is_resized)
        return;
    if (memory.form != TensorForm::device)
        refuse("only the device resizes, and only its memory");
    if (picture.height % 2 != 0 || picture.width % 2 != 0)
        refuse("a picture whose sides are not even");
    if (picture.left % 2 != 0 || picture.top % 2 != 0 || picture.right % 2 == 0 ||
        picture.bottom % 2 == 0)
        refuse("a region whose left or top is odd, or whose right or bottom is even");
    if (picture.left > picture.right || picture.right >= picture.width ||
        picture.top > picture.bottom || picture.bottom >= picture.height)
        refuse("a region that is not inside the picture");
}

} // namespace

void check_memory(const Tensor& tensor, const TensorMemory& memory, const char* kind,
                  std::size_t index) {
    const auto refuse = [&](const std::string& why) {
        throw Error(EINVAL, fmt::format("{} {} ({}): {}", kind, index, tensor.name, why));
    };
    if (!memory.data)
        refuse("no memory");
    if (memory.form != TensorForm::dense) {
        if (!tensor.on_device())
            refuse("the CPU makes or reads it, so it is a dense array");
        if (memory.form == TensorForm::device && memory.address == 0)
            refuse("its memory is not the device's");
        if (memory.form == TensorForm::device && memory.chroma && memory.chroma_address == 0)
            refuse("the memory of its chroma is not the device's");
        if (tensor.data_type == DataType::nv12)
            check_picture(tensor, memory, refuse);
        return;
    }
    if (!suits(tensor.data_type, memory.element))
        refuse(fmt::format("elements of another type than {}", name_of(tensor.data_type)));
    if (std::bit_cast<std::uintptr_t>(memory.data) % size_of(memory.element) != 0)
        refuse("its memory is not aligned to its elements");
}

PictureLayout layout_of(const Tensor& tensor, const TensorMemory& memory) {
    PictureLayout layout{};
    layout.row_stride = memory.row_stride != 0 ? memory.row_stride : tensor.row_stride;
    layout.height = luma_rows(tensor);
    layout.width = tensor.width;
    if (memory.picture_height == 0)
        return layout;
    layout.height = memory.picture_height;
    layout.width = memory.picture_width;
    layout.is_resized = true;
    layout.left = memory.left;
    layout.top = memory.top;
    layout.right = memory.right;
    layout.bottom = memory.bottom;
    return layout;
}

bool is_lendable(const Tensor& tensor, const TensorMemory& memory) {
    if (tensor.is_constant())
        return false;
    if (tensor.on_device())
        return memory.form == TensorForm::device;
    return memory.form == TensorForm::dense && memory.element == Element::float32;
}

TensorPlace lent_place(const Tensor& tensor, const TensorMemory& memory) {
    TensorPlace place;
    if (tensor.on_device()) {
        place.device = {memory.data, tensor.bytes};
        place.address = memory.address;
        if (tensor.data_type == DataType::nv12)
            place_picture(tensor, memory, place);
    } else {
        place.host = {reinterpret_cast<float*>(memory.data), tensor.elements()};
    }
    return place;
}

std::uint64_t bytes_moved() noexcept {
    return moved_bytes;
}

void fill(const Tensor& tensor, const TensorMemory& from, const TensorPlace& to) {
    moved_bytes.fetch_add(tensor.bytes, std::memory_order_relaxed);
    if (from.form == TensorForm::device)
        std::memcpy(to.device.data(), from.data, tensor.bytes);
    else if (from.form == TensorForm::packed)
        fill_packed(tensor, from, to.device);
    else if (!tensor.on_device())
        read_dense(from, to.host);
    else if (from.element == Element::float32)
        to_device(tensor, {reinterpret_cast<const float*>(from.data), tensor.elements()},
                  to.device);
    else {
        std::vector<float> values(tensor.elements());
        read_dense(from, values);
        to_device(tensor, values, to.device);
    }
}

void drain(const Tensor& tensor, const TensorPlace& from, const TensorMemory& to) {
    moved_bytes.fetch_add(tensor.bytes, std::memory_order_relaxed);
    if (to.form == TensorForm::device)
        std::memcpy(to.data, from.device.data(), tensor.bytes);
    else if (to.form == TensorForm::packed)
        drain_packed(tensor, from.device, to.data);
    else if (tensor.is_constant())
        write_dense(tensor.data, to);
    else if (!tensor.on_device())
        write_dense(from.host, to);
    else if (to.element == Element::float32)
        from_device(tensor, from.device, {reinterpret_cast<float*>(to.data), tensor.elements()});
    else {
        std::vector<float> values(tensor.elements());
        from_device(tensor, from.device, values);
        write_dense(values, to);
    }
}

} // namespace overtake::engine
