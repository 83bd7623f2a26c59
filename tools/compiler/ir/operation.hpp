// SPDX-License-Identifier: MIT
//
// The operators of nodes: one type for each operator, with its parameters.  Shapes belong to the
// values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

#include "cpu/operation.hpp"

namespace overtake::compiler {

/// Axes of a value, as indices into its (channels, height, width).
constexpr std::size_t axis_channels = 0;
constexpr std::size_t axis_height = 1;
constexpr std::size_t axis_width = 2;

/// Window of convolutions and pools, in elements.  Padding at the bottom and on the right
/// follows from the output's shape.  The padding of a transposed convolution lies around its
/// output, as if it were the input of a convolution in the other direction.
struct Window {
    std::uint32_t kernel_height = 1;
    std::uint32_t kernel_width = 1;
    std::uint32_t stride_height = 1;
    std::uint32_t stride_width = 1;
    std::uint32_t pad_top = 0;
    std::uint32_t pad_left = 0;
    std::uint32_t dilation_height = 1;
    std::uint32_t dilation_width = 1;

    /// Rows (columns) from a window's first to its last.
    std::uint32_t extent_height() const { return (kernel_height - 1) * dilation_height + 1; }
    std::uint32_t extent_width() const { return (kernel_width - 1) * dilation_width + 1; }
    std::uint64_t positions() const { return std::uint64_t{kernel_height} * kernel_width; }
};

/// Elements first, first + step, ... of one axis.
struct Stretch {
    std::uint32_t first = 0;
    std::uint32_t step = 1;
};

/// The positions of the pixels of a resized axis on the input's: start + n * step, in pixels.
struct Positions {
    double start = 0;
    double step = 1;
};

namespace op {

/// Weights are (output channels, input channels / groups, kernel rows, columns); depthwise
/// (channels, kernel rows, columns).
struct Convolution {
    enum class Kind { forward, depthwise, transposed } kind = Kind::forward;
    Window window = {};
    std::uint32_t groups = 1; // 1 for a depthwise one
    std::vector<float> weights = {};
    std::vector<float> bias = {};          // one per output channel
    std::vector<float> weight_scales = {}; // one per output channel, if the model gives them
};

/// An operation of two inputs, element by element: a dimension of an input is the output's or 1.
struct Pair {
    enum class Kind { add, subtract, multiply, maximum, minimum } kind = Kind::add;
};

struct Pool {
    enum class Kind { maximum, average } kind = Kind::maximum;
    Window window = {};
    bool count_include_pad = false; // average: divides by the whole window,
    bool clips_padding = false;     // except positions beyond this much padding
    std::uint32_t pad_bottom = 0;
    std::uint32_t pad_right = 0;
};

/// Any function of one element; none: the element itself.
struct Activation {
    std::function<float(float)> function = nullptr;
};

struct Copy {};

/// Puts inputs one behind the other along an axis of axis_*.
struct Concat {
    std::size_t axis = axis_channels;
};

/// Takes the elements first + n * step of each axis, by axis_*.
struct Slice {
    std::array<Stretch, 3> stretches = {};
};

struct Resize {
    enum class Kind { nearest, bilinear } kind = Kind::nearest;
    Positions rows = {};
    Positions columns = {};
};

/// Pixels of the first input times pixels of the second: (rows, k) x (columns, k), and that times
/// the factor.
struct MatrixProduct {
    float factor = 1;
};

/// The axes of the input that become height, width and channels.
struct Permute {
    std::array<std::size_t, 3> axes = {0, 1, 2};
    std::uint32_t batches = 1; // images, or parts of the height of rows, each permuted on its own
};

/// The elements around a padded tensor, and their number in front of each axis (axis_*).  The
/// number behind each axis follows from the shapes.
struct Pad {
    enum class Mode { constant, edge, reflect } mode = Mode::constant;
    float fill = 0;
    std::array<std::uint32_t, 3> front = {};
};

/// Blocks of so many channels, squared, become pixels.
struct DepthToSpace {
    std::uint32_t block = 1;
    bool channel_major = false; // a channel's block lies together
};

/// The reverse of DepthToSpace, not channel-major.
struct SpaceToDepth {
    std::uint32_t block = 1;
};

struct Reduce {
    enum class Kind { sum, mean, maximum, minimum } kind = Kind::sum;
    std::uint32_t axes = 0; // OVERTAKE_AXIS_*
};

/// Repeats dimensions of 1.
struct Broadcast {};

/// The same bytes in other dimensions.
struct Reshape {
    std::uint32_t batches =
        0; // not 0: stands for a Permute of so many batches, without a change of axes
};

/// An operator of the CPU.
struct Cpu {
    CpuOpType type = CpuOpType::dequantize;
    std::vector<std::int64_t> integers = {};
    std::vector<float> reals = {};
    std::shared_ptr<const OperatorDescription> custom = nullptr; ///< of a custom one
};

} // namespace op

using Operation =
    std::variant<op::Convolution, op::Pair, op::Pool, op::Activation, op::Copy, op::Concat,
                 op::Slice, op::Resize, op::MatrixProduct, op::Permute, op::Pad, op::DepthToSpace,
                 op::SpaceToDepth, op::Reduce, op::Broadcast, op::Reshape, op::Cpu>;

/// One of these functions for each operator, for std::visit().
template <typename... Functions>
struct Overloaded : Functions... {
    using Functions::operator()...;
};
template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

} // namespace overtake::compiler
