// SPDX-License-Identifier: MIT
//
// The compiler's intermediate representation: a float network of device-shaped operators.
//
// Batch is 1 throughout.  A value's elements are ordered channels, height, width, as in ONNX;
// flattened values keep their three dimensions, so flattening needs no node.  Nodes are in
// topological order.  Passes (import, fold, calibrate, quantise, lower) run on it one after the
// other, on one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "quantisation.hpp"

namespace overtake::compiler {

using ValueId = std::size_t;

/// What programs hand in and get back: numbers, quantised on the way, or bytes as they are.  A
/// uint8 is kept as the int8 below it by 128; nv12 is a picture's luma plane and its chroma plane.
enum class UserType { float32, int8, uint8, nv12 };

/// One tensor.  `shape` is what ONNX says: (1, channels, height, width) or (1, features).
struct Value {
    std::string name;
    std::vector<std::int64_t> shape;
    std::uint32_t channels = 0;
    std::uint32_t height = 0;
    std::uint32_t width = 0;
    // By the model or the input's type: not to be calibrated.
    std::optional<Quantisation> given = std::nullopt;
    UserType user_type = UserType::float32;
    std::uint32_t picture_flags = 0; // nv12: OVERTAKE_FLAG_* of its conversion

    std::size_t elements() const { return std::size_t{channels} * height * width; }
};

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
    softmax, // on the CPU
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
    int axis = -1;                    // softmax, an index into the ONNX shape
    std::size_t device_axis = 0;      // concat: axis_*
    std::array<Stretch, 3> stretches; // slice: by axis_*
    Positions rows, columns;          // resize
    std::vector<float> weights;
    std::vector<float> bias;              // one per output channel
    std::vector<float> weight_scales;     // one per output channel, if the model gives them
    std::function<float(float)> function; // activation
    // The output is clamped to [clamp_low, clamp_high].
    float clamp_low = -std::numeric_limits<float>::infinity();
    float clamp_high = std::numeric_limits<float>::infinity();

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

/// Multiply-accumulates of a convolution of any kind; 0 for anything else.
std::uint64_t multiply_accumulates(const Graph& graph, const Node& node);

/// "node 'conv1' (Conv)", for messages.
std::string describe(const Node& node);

/// How many nodes read the value, plus one if it is an output of the graph.
std::vector<std::size_t> count_uses(const Graph& graph);

} // namespace overtake::compiler
