// SPDX-License-Identifier: MIT
//
// The compiler's intermediate representation: a float network of device-shaped operators.
//
// A value has any shape.  A value that the device may hold also has three dimensions there, and an
// order in which its elements, row-major in ONNX, run through them.  Flattened values keep their
// three dimensions, so flattening needs no node.  A node belongs to the device or, with op::Cpu, to
// the CPU.  Nodes are in topological order, and those of one segment are adjacent once
// order_segments() has run.  Passes (import, fold, order, calibrate, quantise, lower) run on the
// graph one after the other, on one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/element_type.hpp"
#include "compiler/ir/operation.hpp"
#include "compiler/ir/quantisation.hpp"
#include "cpu/operation.hpp"

namespace overtake::compiler {

using ValueId = std::size_t;

/// The elements that programs pass and receive: numbers, which are quantised on the way, or bytes
/// as they are.  A uint8 is kept as the int8 that is smaller by 128; nv12 is a picture's luma plane
/// and its chroma plane.
enum class UserType { float32, int8, uint8, nv12 };

/// One tensor.  `shape` is that of ONNX.  The device cannot hold a value without channels.  Planes
/// may be several images, one after the other: channels, height and width are those of one image.
struct Value {
    std::string name;
    std::vector<std::int64_t> shape;
    std::uint32_t channels = 0;
    std::uint32_t height = 0;
    std::uint32_t width = 0;
    std::uint32_t batch = 1; // images
    // Set by the model or the input's type: not to be calibrated.
    std::optional<Quantisation> given = std::nullopt;
    UserType user_type = UserType::float32;
    ElementType element_type = ElementType::float32; // of an output of the graph
    bool is_picture = false;                         // bytes 0..255, or their source
    std::uint32_t picture_flags = 0; // of a picture: OVERTAKE_FLAG_BGR, _GRAY; nv12: _FULL_RANGE
    bool is_int16 = false;           // on the device, instead of 8 bits
    bool from_resizer = false;       // nv12: a region of a picture, which the device resizes
    Order order =
        Order::planes; // of the elements: channels, height, width or height, width, channels
    // All elements.  A constant with channels is among the weights of the device; others are for
    // the CPU.
    std::vector<float> constant = {};

    bool is_constant() const { return !constant.empty(); }
    bool fits_device() const { return channels > 0 && !is_constant(); }
    std::size_t elements() const {
        std::size_t count = 1;
        for (std::int64_t size : shape)
            count *= static_cast<std::size_t>(size);
        return count;
    }
    std::uint32_t element_bytes() const { return is_int16 ? 2 : 1; } // on the device
    std::size_t elements_of_image() const { return std::size_t{channels} * height * width; }
    /// Returns the index of an element of the first image in ONNX's order.
    std::size_t index(std::size_t channel, std::size_t y, std::size_t x) const {
        if (order == Order::rows)
            return (y * width + x) * channels + channel;
        return (channel * height + y) * width + x;
    }
};

/// Calls function(channel, y, x, index in ONNX's order) for every element of the first image.
template <typename Function>
void for_each_element(const Value& value, const Function& function) {
    for (std::uint32_t channel = 0; channel < value.channels; ++channel)
        for (std::uint32_t y = 0; y < value.height; ++y)
            for (std::uint32_t x = 0; x < value.width; ++x)
                function(channel, y, x, value.index(channel, y, x));
}

struct Node {
    std::string name;
    std::string onnx_type;
    Operation operation = op::Copy{};
    std::vector<ValueId> inputs;
    ValueId output = 0;
    // The output is clamped to [clamp_low, clamp_high].
    float clamp_low = -std::numeric_limits<float>::infinity();
    float clamp_high = std::numeric_limits<float>::infinity();

    /// is() tells whether it is that operator of op; as() returns its data, else null.
    template <typename Kind>
    bool is() const {
        return std::holds_alternative<Kind>(operation);
    }
    template <typename Kind>
    const Kind* as() const {
        return std::get_if<Kind>(&operation);
    }
    template <typename Kind>
    Kind* as() {
        return std::get_if<Kind>(&operation);
    }
    bool on_bpu() const { return !is<op::Cpu>(); }
    bool is_clamped() const {
        return clamp_low > -std::numeric_limits<float>::infinity() ||
               clamp_high < std::numeric_limits<float>::infinity();
    }
};

/// A node of the file that is written as several nodes.
struct Whole {
    std::string name;
    std::string kind;           ///< the operator of the node
    bool is_recurrence = false; ///< an RNN, a GRU or an LSTM
};

struct Graph {
    std::string name;
    std::vector<Value> values;
    std::vector<Node> nodes;
    std::vector<ValueId> inputs;
    std::vector<ValueId> outputs;
    /// By the name of a part: the nodes that it is a part of.  The last part of a node has the
    /// node's name, and a part may be written as several nodes again.
    std::multimap<std::string, Whole> wholes;
    /// The parts of recurrences that compute sums which continue from step to step.  The values
    /// that they read and write have 16 bits.
    std::set<std::string> accumulators;
    bool comes_quantised = false; ///< the model has operators that quantise
};

/// Returns the nodes of the file that the node of this name is a part of, and the nodes that these
/// are parts of.
std::vector<Whole> wholes_of(const Graph& graph, const std::string& name);

/// Whether the node only moves elements, so that its output has the quantisation of its first
/// input.
bool keeps_quantisation(const Node& node);

/// Whether the moved elements must have the output's quantisation, and not the reverse, because the
/// output holds more than the elements of one input.
bool gathers_quantisation(const Node& node);

/// Whether the node is a depthwise convolution.
bool is_depthwise(const Node& node);

/// Returns how many images the node makes, one by one, from those of its inputs; an input with one
/// image is the same for all.  1 if the node takes its values as a whole.
std::uint32_t images_of(const Graph& graph, const Node& node);

/// Returns the multiply-accumulates of a convolution or matrix product; 0 for any other node.
std::uint64_t multiply_accumulates(const Graph& graph, const Node& node);

/// Returns "node 'conv1' (Conv)", for messages.
std::string describe(const Node& node);

/// Returns the operator of a node on the CPU.
cpu::Operation cpu_operation(const Graph& graph, const Node& node);

/// Returns a kernel of this operator.  It throws CompileError, which names the node, for data with
/// which the operator has no result.
cpu::Kernel cpu_kernel(const Graph& graph, const Node& node);

/// Returns, by value, whether a node of the device reads or writes it.
std::vector<bool> device_values(const Graph& graph);

/// Returns, by value, how many nodes read it, plus one if it is an output of the graph.
std::vector<std::size_t> count_uses(const Graph& graph);

/// Returns, by value, the nodes that read it, in their order, each once.
std::vector<std::vector<std::size_t>> readers_of(const Graph& graph);

} // namespace overtake::compiler
