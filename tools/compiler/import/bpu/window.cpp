// SPDX-License-Identifier: MIT
#include "compiler/import/bpu/window.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/import/attributes.hpp"
#include "compiler/import/context.hpp"
#include "compiler/ir/limits.hpp"
#include "overtake_isa.h"

namespace overtake::compiler {

std::vector<std::int64_t> spatial_attribute(const Context& context, const std::string& name,
                                            std::int64_t neutral, const Shape& image) {
    const bool is_pads = name == "pads";
    const bool is_signal = image.size() == 3;
    const std::size_t axes = is_signal ? 1 : 2;
    auto numbers =
        Attributes(*context.node)
            .integers(name, std::vector<std::int64_t>(is_pads ? 2 * axes : axes, neutral));
    if (!is_signal)
        return numbers;
    if (is_pads && numbers.size() == 2)
        return {0, numbers[0], 0, numbers[1]};
    numbers.insert(numbers.begin(), neutral);
    return numbers;
}

Window read_taps(const Context& context, const std::vector<std::int64_t>& kernel,
                 const Shape& image) {
    const auto strides = spatial_attribute(context, "strides", 1, image);
    const auto dilations = spatial_attribute(context, "dilations", 1, image);
    if (kernel.size() != 2 || strides.size() != 2 || dilations.size() != 2)
        refuse(context, "only two-dimensional windows are supported");
    const auto outside = [](std::int64_t size) { return size < 1 || size > max_window; };
    if (std::ranges::any_of(kernel, outside) || std::ranges::any_of(strides, outside) ||
        std::ranges::any_of(dilations, outside))
        refuse(context,
               "kernel, strides and dilations must lie in 1.." + std::to_string(max_window));
    Window window;
    window.kernel_height = static_cast<std::uint32_t>(kernel[0]);
    window.kernel_width = static_cast<std::uint32_t>(kernel[1]);
    window.stride_height = static_cast<std::uint32_t>(strides[0]);
    window.stride_width = static_cast<std::uint32_t>(strides[1]);
    // A kernel of one tap cannot be dilated.
    window.dilation_height = kernel[0] > 1 ? static_cast<std::uint32_t>(dilations[0]) : 1;
    window.dilation_width = kernel[1] > 1 ? static_cast<std::uint32_t>(dilations[1]) : 1;
    return window;
}

Window read_window(const Context& context, const std::vector<std::int64_t>& kernel,
                   const Value& input) {
    const Attributes attributes(*context.node);
    Window window = read_taps(context, kernel, input.shape);
    auto pads = spatial_attribute(context, "pads", 0, input.shape);
    const std::string auto_pad = auto_pad_of(context);
    const std::int64_t extents[2] = {window.extent_height(), window.extent_width()};
    const std::int64_t strides[2] = {window.stride_height, window.stride_width};
    if (pads.size() != 4)
        refuse(context, "only two-dimensional windows are supported");
    if (auto_pad == "VALID")
        pads = {0, 0, 0, 0};
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
        const std::int64_t sizes[2] = {input.height, input.width};
        for (int axis = 0; axis < 2; ++axis) {
            const std::int64_t outputs = (sizes[axis] + strides[axis] - 1) / strides[axis];
            const std::int64_t total = std::max<std::int64_t>(
                (outputs - 1) * strides[axis] + extents[axis] - sizes[axis], 0);
            pads[axis] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
        }
    }
    if (std::ranges::any_of(pads, [](auto pad) { return pad < 0; }))
        refuse(context, "negative padding is not supported");
    if (pads[0] >= extents[0] || pads[1] >= extents[1])
        refuse(context, "padding as large as the kernel is not supported");
    if (pads[0] > max_window || pads[1] > max_window)
        refuse(context, "padding must lie in 0.." + std::to_string(max_window));
    window.pad_top = static_cast<std::uint32_t>(pads[0]);
    window.pad_left = static_cast<std::uint32_t>(pads[1]);
    return window;
}

void check_window(const Context& context, const Window& window, const Value& input,
                  const Value& output) {
    const std::int64_t last_row =
        (std::int64_t{output.height} - 1) * window.stride_height - window.pad_top;
    const std::int64_t last_column =
        (std::int64_t{output.width} - 1) * window.stride_width - window.pad_left;
    if (last_row >= input.height || last_column >= input.width)
        refuse(context, "a window lies wholly in the padding, which is not supported");
}

void check_taps(const Context& context, const Window& window, const Value& input,
                const Value& output) {
    const auto has_tap = [](std::int64_t first, std::uint32_t kernel, std::uint32_t dilation,
                            std::uint32_t size) {
        for (std::uint32_t tap = 0; tap < kernel; ++tap, first += dilation)
            if (first >= 0 && first < size)
                return true;
        return false;
    };
    bool all = true;
    for (std::int64_t y = 0; y < output.height; ++y)
        all = all && has_tap(y * window.stride_height - window.pad_top, window.kernel_height,
                             window.dilation_height, input.height);
    for (std::int64_t x = 0; x < output.width; ++x)
        all = all && has_tap(x * window.stride_width - window.pad_left, window.kernel_width,
                             window.dilation_width, input.width);
    if (!all)
        refuse(context, "all taps of a dilated window lie in the padding, which is not supported");
}

void check_pool_size(const Context& context, const Window& window) {
    if (std::uint64_t{window.kernel_height} * window.kernel_width > OVERTAKE_MAX_KERNEL_ELEMENTS)
        refuse(context, "pools of more than " + std::to_string(OVERTAKE_MAX_KERNEL_ELEMENTS) +
                            " positions are not supported");
}

} // namespace overtake::compiler
