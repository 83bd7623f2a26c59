// SPDX-License-Identifier: MIT
//
// The window of convolutions and pools.
#include "compiler/import/importer.hpp"

#include <algorithm>

namespace overtake::compiler {

// An attribute with a number (pads: two) for each spatial axis, as one of images: a signal (1, C,
// W) is an image of one row.
std::vector<std::int64_t> Importer::spatial_attribute(const std::string& name, std::int64_t neutral,
                                                      const Shape& image) const {
    const bool is_pads = name == "pads";
    const bool is_signal = image.size() == 3;
    const std::size_t axes = is_signal ? 1 : 2;
    auto numbers = Attributes(*node_).integers(
        name, std::vector<std::int64_t>(is_pads ? 2 * axes : axes, neutral));
    if (!is_signal)
        return numbers;
    if (is_pads && numbers.size() == 2)
        return {0, numbers[0], 0, numbers[1]};
    numbers.insert(numbers.begin(), neutral);
    return numbers;
}

// What forward and transposed windows have in common: all but the padding.
Window Importer::read_taps(const std::vector<std::int64_t>& kernel, const Shape& image) const {
    const auto strides = spatial_attribute("strides", 1, image);
    const auto dilations = spatial_attribute("dilations", 1, image);
    if (kernel.size() != 2 || strides.size() != 2 || dilations.size() != 2)
        refuse("only two-dimensional windows are supported");
    const auto outside = [](std::int64_t size) { return size < 1 || size > max_window; };
    if (std::ranges::any_of(kernel, outside) || std::ranges::any_of(strides, outside) ||
        std::ranges::any_of(dilations, outside))
        refuse("kernel, strides and dilations must lie in 1.." + std::to_string(max_window));
    Window window;
    window.kernel_height = static_cast<std::uint32_t>(kernel[0]);
    window.kernel_width = static_cast<std::uint32_t>(kernel[1]);
    window.stride_height = static_cast<std::uint32_t>(strides[0]);
    window.stride_width = static_cast<std::uint32_t>(strides[1]);
    // Of one tap there is nothing to dilate.
    window.dilation_height = kernel[0] > 1 ? static_cast<std::uint32_t>(dilations[0]) : 1;
    window.dilation_width = kernel[1] > 1 ? static_cast<std::uint32_t>(dilations[1]) : 1;
    return window;
}

Window Importer::read_window(const std::vector<std::int64_t>& kernel, const Value& input) const {
    const Attributes attributes(*node_);
    Window window = read_taps(kernel, input.shape);
    auto pads = spatial_attribute("pads", 0, input.shape);
    const std::string auto_pad = attributes.text("auto_pad", "NOTSET");
    const std::int64_t extents[2] = {window.extent_height(), window.extent_width()};
    const std::int64_t strides[2] = {window.stride_height, window.stride_width};
    if (pads.size() != 4)
        refuse("only two-dimensional windows are supported");
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
        refuse("negative padding is not supported");
    if (pads[0] >= extents[0] || pads[1] >= extents[1])
        refuse("padding as large as the kernel is not supported");
    if (pads[0] > max_window || pads[1] > max_window)
        refuse("padding must lie in 0.." + std::to_string(max_window));
    window.pad_top = static_cast<std::uint32_t>(pads[0]);
    window.pad_left = static_cast<std::uint32_t>(pads[1]);
    return window;
}

// Every window has to overlap the tensor; that bounds the padding below and on the right.
void Importer::check_window(const Window& window, const Value& input, const Value& output) const {
    const std::int64_t last_row =
        (std::int64_t{output.height} - 1) * window.stride_height - window.pad_top;
    const std::int64_t last_column =
        (std::int64_t{output.width} - 1) * window.stride_width - window.pad_left;
    if (last_row >= input.height || last_column >= input.width)
        refuse("a window lies wholly in the padding, which is not supported");
}

// A pool has to have something in every window; only a dilated one can miss the tensor it covers.
void Importer::check_taps(const Window& window, const Value& input, const Value& output) const {
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
        refuse("all taps of a dilated window lie in the padding, which is not supported");
}

} // namespace overtake::compiler
