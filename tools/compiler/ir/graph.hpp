// SPDX-License-Identifier: MIT
//
// The compiler's intermediate representation: a float network of device-shaped operators.
//
// A value has any shape.  One that the device may hold has three dimensions there as well, and an
// order that says how its elements, row-major in ONNX, run through them; flattened values keep
// their three dimensions, so flattening needs no node.  A node belongs to the device or, with
// Operator::cpu, to the CPU.  Nodes are in topological order, and those of one segment stand
// together once order_segments() has run.  Passes (import, fold, order, calibrate, quantise,
// lower) run on it one after the other, on one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/quantisation.hpp"
#include "cpu/operation.hpp"

namespace overtake::compiler {

using ValueId = std::size_t;

/// What programs hand in and get back: numbers, quantised on the way, or bytes as they are.  A
/// uint8 is kept as the int8 below it by 128; nv12 is a picture's luma plane and its chroma plane.
enum class UserType { float32, int8, uint8, nv12 };

/// One tensor.  `shape` is what ONNX says.  Without channels the device cannot hold it.
struct Value {
    std::string name;
    std::vector<std::int64_t> shape;
    std::uint32_t channels = 0;
    std::uint32_t height = 0;
    std::uint32_t width = 0;
    // By the model or the input's type: not to be calibrated.
    std::optional<Quantisation> given = std::nullopt;
    UserType user_type = UserType::float32;
    bool is_picture = false;         // bytes 0..255, or what becomes them
    std::uint32_t picture_flags = 0; // of a picture: OVERTAKE_FLAG_BGR, _GRAY; nv12: _FULL_RANGE
    Order order =
        Order::planes; // of the elements: channels, height, width or height, width, channels
    // All elements.  One with channels lies among the weights of the device, others are the CPU's.
    std::vector<float> constant = {};

    bool is_constant() const { return !constant.empty(); }
    bool fits_device() const { return channels > 0 && !is_constant(); }
    std::size_t elements() const {
        std::size_t count = 1;
        for (std::int64_t size : shape)
            count *= static_cast<std::size_t>(size);
        return count;
    }
    /// Where an element stands in ONNX's order.
    std::size_t index(std::size_t channel, std::size_t y, std::size_t x) const {
        if (order == Order::rows)
            return (y * width + x) * channels + channel;
        return (channel * height + y) * width + x;
    }
};

/// Calls function(channel, y, x, index in ONNX's order) for every element.
template <typename Function>
void for_each_element(const Value& value, const Function& function) {
    for (std::uint32_t channel = 0; channel < value.channels; ++channel)
        for (std::uint32_t y = 0; y < value.height; ++y)
            for (std::uint32_t x = 0; x < value.width; ++x)
                function(channel, y, x, value.index(channel, y, x));
}

enum class Operator {
    convolution, // weights (output channels, input channels / groups, kernel rows, columns), bias
    depthwise,   // weights (channels, kernel rows, columns), bias
    // weights (output channels, input channels / groups, kernel rows, columns), bias
    transposed_convolution,
    add, // these five: a dimension of an input is the output's or 1
    subtract,
    multiply,
    maximum,
    minimum,
    max_pool,
    average_pool,
    activation, // any function of one element
    copy,
    concat, // inputs one behind the other along device_axis
    slice,  // elements first + n * step of each axis
    resize_nearest,
    resize_bilinear,
    matrix_product, // pixels of the first input times pixels of the second: (rows, k) x (columns,
                    // k)
    permute,        // axes exchanged as Node::axes says
    pad,            // Node::padding around the input
    depth_to_space, // blocks of Window::kernel_height squared become pixels
    space_to_depth, // the reverse
    reduce,         // Node::reduction over Node::reduced_axes
    broadcast,      // a dimension of 1 repeated
    reshape,        // the same bytes in other dimensions
    cpu,            // what Node::cpu says, on the CPU
};

/// Axes of a value, as indices into its (channels, height, width).
constexpr std::size_t axis_channels = 0;
constexpr std::size_t axis_height = 1;
constexpr std::size_t axis_width = 2;

/// Window of convolutions and pools, in elements.  Padding at the bottom and on the right
/// follows from the output's shape.  Output padding of a transposed convolution is that of a
/// convolution in the other direction.
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
};

/// Elements first, first + step, ... of one axis.
struct Stretch {
    std::uint32_t first = 0;
    std::uint32_t step = 1;
};

/// Where the pixels of a resized axis lie on the input's: start + n * step, in pixels.
struct Positions {
    double start = 0;
    double step = 1;
};

/// What stands around a padded tensor, and how much of it in front of each axis (axis_*); how much
/// stands behind follows from the shapes.
struct Padding {
    enum class Mode { constant, edge, reflect } mode = Mode::constant;
    float fill = 0;
    std::array<std::uint32_t, 3> front{};
};

enum class ReduceKind { sum, mean, maximum, minimum };

/// An operator of the CPU but for its shapes, which are its values' own.
struct CpuForm {
    CpuOpType type = CpuOpType::dequantize;
    std::vector<std::int64_t> integers;
    std::vector<float> reals;
};

struct Node {
    std::string name;
    std::string onnx_type;
    Operator op = Operator::copy;
    std::vector<ValueId> inputs;
    ValueId output = 0;
    Window window;
    std::uint32_t groups = 1;       // convolution, transposed_convolution
    bool count_include_pad = false; // average_pool: divide by the whole window,
    bool clips_padding = false;     // but for what lies beyond this much padding
    std::uint32_t pad_bottom = 0;
    std::uint32_t pad_right = 0;
    CpuForm cpu;                                 // cpu
    std::array<std::size_t, 3> axes = {0, 1, 2}; // permute: of height, width, channels, the input's
    std::size_t device_axis = 0;                 // concat: axis_*
    std::array<Stretch, 3> stretches;            // slice: by axis_*
    Positions rows, columns;                     // resize
    Padding padding;                             // pad
    bool channel_major = false;                  // depth_to_space: a channel's block lies together
    ReduceKind reduction = ReduceKind::sum;      // reduce
    std::uint32_t reduced_axes = 0;              // reduce: OVERTAKE_AXIS_*
    std::vector<float> weights;
    std::vector<float> bias;              // one per output channel
    std::uint32_t batches = 1;            // permute: parts of the height, each permuted on its own
    float factor = 1;                     // matrix_product: its output is greater so many times
    std::vector<float> weight_scales;     // one per output channel, if the model gives them
    std::function<float(float)> function; // activation
    // The output is clamped to [clamp_low, clamp_high].
    float clamp_low = -std::numeric_limits<float>::infinity();
    float clamp_high = std::numeric_limits<float>::infinity();

    bool on_bpu() const { return op != Operator::cpu; }
    bool is_clamped() const {
        return clamp_low > -std::numeric_limits<float>::infinity() ||
               clamp_high < std::numeric_limits<float>::infinity();
    }
};

struct Graph {
    std::string name;
    std::vector<Value> values;
    std::vector<Node> nodes;
    std::vector<ValueId> inputs;
    std::vector<ValueId> outputs;
};

/// Whether the node only moves elements, so that its output means what its first input means.
bool keeps_quantisation(const Node& node);

/// Whether what the node moves has to mean what its output means, and not the reverse: its output
/// holds more than one of its inputs.
bool gathers_quantisation(const Node& node);

/// Multiply-accumulates of a convolution or matrix product; 0 for anything else.
std::uint64_t multiply_accumulates(const Graph& graph, const Node& node);

/// "node 'conv1' (Conv)", for messages.
std::string describe(const Node& node);

/// The operator of a node on the CPU.
cpu::Operation cpu_operation(const Graph& graph, const Node& node);

/// The same to run; what data make impossible is a CompileError that names the node.
cpu::Kernel cpu_kernel(const Graph& graph, const Node& node);

/// By value: whether a node of the device reads or writes it.
std::vector<bool> device_values(const Graph& graph);

/// How many nodes read the value, plus one if it is an output of the graph.
std::vector<std::size_t> count_uses(const Graph& graph);

} // namespace overtake::compiler
