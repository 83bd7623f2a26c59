// SPDX-License-Identifier: MIT
//
// The compiler's intermediate representation: a float network of device-shaped operators.
//
// A value has any shape.  One that the device may hold has three dimensions there as well, and an
// order that says how its elements, row-major in ONNX, run through them; flattened values keep
// their three dimensions, so flattening needs no node.  A node belongs to the device or, with
// op::Cpu, to the CPU.  Nodes are in topological order, and those of one segment stand
// together once order_segments() has run.  Passes (import, fold, order, calibrate, quantise,
// lower) run on it one after the other, on one thread.
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

/// What programs hand in and get back: numbers, quantised on the way, or bytes as they are.  A
/// uint8 is kept as the int8 below it by 128; nv12 is a picture's luma plane and its chroma plane.
enum class UserType { float32, int8, uint8, nv12 };

/// One tensor.  `shape` is what ONNX says.  Without channels the device cannot hold it.  Planes may
/// be several images, one behind the other: channels, height and width are those of one.
struct Value {
    std::string name;
    std::vector<std::int64_t> shape;
    std::uint32_t channels = 0;
    std::uint32_t height = 0;
    std::uint32_t width = 0;
    std::uint32_t batch = 1; // images
    // By the model or the input's type: not to be calibrated.
    std::optional<Quantisation> given = std::nullopt;
    UserType user_type = UserType::float32;
    ElementType element_type = ElementType::float32; // of an output of the graph
    bool is_picture = false;                         // bytes 0..255, or what becomes them
    std::uint32_t picture_flags = 0; // of a picture: OVERTAKE_FLAG_BGR, _GRAY; nv12: _FULL_RANGE
    bool is_int16 = false;           // on the device, where else it has 8 bits
    bool from_resizer = false;       // nv12: a region of a picture, which the device resizes
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
    std::uint32_t element_bytes() const { return is_int16 ? 2 : 1; } // on the device
    std::size_t elements_of_image() const { return std::size_t{channels} * height * width; }
    /// Where an element of the first image stands in ONNX's order.
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

    /// Whether it is that operator of op, and what that knows; null for another one.
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

/// A node of the file that is written as several.
struct Whole {
    std::string name;
    std::string kind;           ///< its operator
    bool is_recurrence = false; ///< an RNN, a GRU or an LSTM
};

struct Graph {
    std::string name;
    std::vector<Value> values;
    std::vector<Node> nodes;
    std::vector<ValueId> inputs;
    std::vector<ValueId> outputs;
    /// By the name of a part: the nodes that it is a part of.  The last part of a node has its
    /// name, and a part may be written as several again.
    std::multimap<std::string, Whole> wholes;
    /// Those parts whose sums go on from step to step: what they read and write has 16 bits.
    std::set<std::string> accumulators;
    bool comes_quantised = false; ///< the model has operators that quantise
};

/// The nodes of the file that the one of this name is a part of, and those that they are parts of.
std::vector<Whole> wholes_of(const Graph& graph, const std::string& name);

/// Whether the node only moves elements, so that its output means what its first input means.
bool keeps_quantisation(const Node& node);

/// Whether what the node moves has to mean what its output means, and not the reverse: its output
/// holds more than one of its inputs.
bool gathers_quantisation(const Node& node);

/// Whether the node is a depthwise convolution.
bool is_depthwise(const Node& node);

/// How many images, one by one, the node makes of those of its inputs; an input with one image is
/// the same for all of them.  1 where it takes its values whole.
std::uint32_t images_of(const Graph& graph, const Node& node);

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

/// By value, the nodes that read it, in their order, each once.
std::vector<std::vector<std::size_t>> readers_of(const Graph& graph);

} // namespace overtake::compiler
