// SPDX-License-Identifier: MIT
#include "compiler/ir/layout.hpp"

#include <algorithm>

#include "overtake_isa.h"

#include "compiler/ir/limits.hpp"

namespace overtake::compiler {
namespace {

bool set_dimensions(Value& value, Order order, std::int64_t batch, std::int64_t height,
                    std::int64_t width, std::int64_t channels) {
    for (std::int64_t size : {height, width, channels})
        if (size < 1 || size > max_dimension)
            return false;
    const auto pixels = static_cast<std::uint64_t>(height) * static_cast<std::uint64_t>(width);
    if (pixels >= std::uint64_t{max_elements} ||
        static_cast<std::uint64_t>(batch) * pixels *
                (static_cast<std::uint64_t>(channels) + OVERTAKE_CHANNEL_ALIGN - 1) >=
            std::uint64_t{max_elements})
        return false;
    value.order = order;
    value.batch = static_cast<std::uint32_t>(batch);
    value.height = static_cast<std::uint32_t>(height);
    value.width = static_cast<std::uint32_t>(width);
    value.channels = static_cast<std::uint32_t>(channels);
    return true;
}

std::array<std::uint32_t, 3> dimensions(const Value& value) {
    return {value.height, value.width, value.channels};
}

std::uint64_t pixels(const Value& value) {
    return std::uint64_t{value.batch} * value.height * value.width;
}

// Whether the value has images of one pixel each, which are rows of pixels.
bool are_rows(const Value& value) {
    return value.order == Order::rows || (value.batch > 1 && pixels(value) == value.batch);
}

// Takes the remaining axes.  An axis of one element may become any axis, and itself if that is
// free.
void take_rest(std::array<std::size_t, 3>& axes, std::array<bool, 3>& taken) {
    for (std::size_t k = 0; k < 3; ++k)
        if (axes[k] == 3 && !taken[k])
            taken[axes[k] = k] = true;
    for (std::size_t k = 0; k < 3; ++k)
        if (axes[k] == 3)
            taken[axes[k] = static_cast<std::size_t>(std::ranges::find(taken, false) -
                                                     taken.begin())] = true;
}

} // namespace

bool lay_out(Value& value, Order order) {
    const auto& shape = value.shape;
    const std::size_t rank = shape.size();
    if (rank > max_rank)
        return false;
    if (order == Order::planes) {
        if (rank < 2 || rank > 4 || shape[0] < 1 || shape[0] > max_batch)
            return false;
        return set_dimensions(value, order, shape[0], rank == 4 ? shape[2] : 1,
                              rank > 2 ? shape[rank - 1] : 1, shape[1]);
    }
    if (rank == 0)
        return false;
    std::int64_t height = 1;
    for (std::size_t axis = 0; axis + 2 < rank; ++axis)
        if (__builtin_mul_overflow(height, shape[axis], &height) || height > max_dimension)
            return false;
    return set_dimensions(value, order, 1, height, rank > 1 ? shape[rank - 2] : 1, shape[rank - 1]);
}

std::optional<Value> one_image(const Value& value, std::uint32_t images) {
    Value image = value;
    if (value.order == Order::planes) {
        if (value.batch != images)
            return std::nullopt;
        image.batch = 1;
    } else {
        if (value.shape.size() < 3 || value.height % images != 0)
            return std::nullopt;
        image.height = value.height / images;
    }
    if (image.shape[0] == images)
        image.shape[0] = 1;
    return image;
}

std::array<std::vector<std::size_t>, 3> axes_of_dimensions(const Value& value) {
    const std::size_t rank = value.shape.size();
    std::array<std::vector<std::size_t>, 3> axes;
    if (value.order == Order::planes) {
        if (rank == 4)
            axes[0] = {2};
        if (rank > 2)
            axes[1] = {rank - 1};
        axes[2] = {1};
        return axes;
    }
    for (std::size_t axis = 0; axis + 2 < rank; ++axis)
        axes[0].push_back(axis);
    if (rank > 1)
        axes[1] = {rank - 2};
    axes[2] = {rank - 1};
    return axes;
}

std::optional<DeviceAxes> device_axes(const Value& value) {
    const auto rank = static_cast<int>(value.shape.size());
    if (value.order == Order::planes)
        return DeviceAxes{rank == 4 ? 2 : -1, rank > 2 ? rank - 1 : -1, 1};
    DeviceAxes axes{-1, rank > 1 ? rank - 2 : -1, rank - 1};
    for (int axis = 0; axis + 2 < rank; ++axis) {
        const bool is_last = axis + 3 == rank;
        if (value.shape[static_cast<std::size_t>(axis)] == 1 && !(is_last && axes[0] < 0))
            continue;
        if (axes[0] >= 0 && value.shape[static_cast<std::size_t>(axis)] != 1)
            return std::nullopt;
        axes[0] = axis;
    }
    return axes;
}

std::optional<std::array<std::size_t, 3>> permutation_between(const Value& from, const Value& to,
                                                              std::span<const std::int64_t> perm) {
    const auto sources = device_axes(from), targets = device_axes(to);
    if (!sources || !targets)
        return std::nullopt;
    std::array<std::size_t, 3> axes = {3, 3, 3};
    std::array<bool, 3> taken{};
    for (std::size_t k = 0; k < 3; ++k) {
        if (dimensions(to)[k] == 1)
            continue;
        const int wanted = static_cast<int>(perm[static_cast<std::size_t>((*targets)[k])]);
        const auto found = std::ranges::find(*sources, wanted);
        if (found == sources->end())
            return std::nullopt;
        axes[k] = static_cast<std::size_t>(found - sources->begin());
        taken[axes[k]] = true;
    }
    take_rest(axes, taken);
    for (std::size_t k = 0; k < 3; ++k)
        if (dimensions(from)[axes[k]] != dimensions(to)[k])
            return std::nullopt;
    return axes;
}

std::optional<std::array<std::size_t, 3>> permutation_of_same(const Value& from, const Value& to) {
    // Returns the dimensions in ONNX's order, without those of 1.
    const auto run = [](const Value& value) {
        const std::array<std::size_t, 3> planes = {2, 0, 1}, rows = {0, 1, 2};
        std::vector<std::size_t> result;
        for (std::size_t k : value.order == Order::planes ? planes : rows)
            if (dimensions(value)[k] != 1)
                result.push_back(k);
        return result;
    };
    const auto sources = run(from), targets = run(to);
    if (sources.size() != targets.size())
        return std::nullopt;
    std::array<std::size_t, 3> axes = {3, 3, 3};
    std::array<bool, 3> taken{};
    for (std::size_t i = 0; i < sources.size(); ++i) {
        if (dimensions(from)[sources[i]] != dimensions(to)[targets[i]])
            return std::nullopt;
        taken[axes[targets[i]] = sources[i]] = true;
    }
    take_rest(axes, taken);
    return axes;
}

std::optional<Permutation> image_permutation_between(const Value& from, const Value& to,
                                                     std::span<const std::int64_t> perm) {
    const std::uint32_t images = std::max(from.batch, to.batch);
    if (images == 1) {
        const auto axes = permutation_between(from, to, perm);
        return axes ? std::optional(Permutation{*axes, 1}) : std::nullopt;
    }
    if (perm[0] != 0 || from.shape[0] != images)
        return std::nullopt;
    const auto source = one_image(from, images), target = one_image(to, images);
    const auto axes = source && target ? permutation_between(*source, *target, perm) : std::nullopt;
    return axes ? std::optional(Permutation{*axes, images}) : std::nullopt;
}

std::optional<Permutation> image_permutation_of_same(const Value& from, const Value& to) {
    const std::uint32_t images = std::max(from.batch, to.batch);
    if (images == 1) {
        const auto axes = permutation_of_same(from, to);
        return axes ? std::optional(Permutation{*axes, 1}) : std::nullopt;
    }
    const auto source = one_image(from, images), target = one_image(to, images);
    const auto axes = source && target ? permutation_of_same(*source, *target) : std::nullopt;
    return axes ? std::optional(Permutation{*axes, images}) : std::nullopt;
}

bool can_reshape(const Value& from, const Value& to) {
    if (from.elements() != to.elements())
        return false;
    const bool is_same = from.order == to.order && from.batch == to.batch;
    if (from.channels == to.channels &&
        (is_same || pixels(from) == 1 || (are_rows(from) && are_rows(to))))
        return true;
    if (!are_rows(from) || !are_rows(to))
        return false;
    // A pixel of one is a row of the other; the elements of both have no gaps.
    const bool splits = std::uint64_t{to.width} * to.channels == from.channels &&
                        pixels(from) == to.height && to.channels % OVERTAKE_CHANNEL_ALIGN == 0;
    const bool joins = std::uint64_t{from.width} * from.channels == to.channels &&
                       from.height == pixels(to) && from.channels % OVERTAKE_CHANNEL_ALIGN == 0;
    return splits || joins;
}

} // namespace overtake::compiler
