// SPDX-License-Identifier: MIT
//
// One import under way: what every operator's import works with.  The functions that take a Context
// and are about "the node" are about the node at hand, Context::node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/import/import.hpp"
#include "compiler/ir/graph.hpp"
#include "compiler/onnx/file.hpp"
#include "compiler/onnx/libonnx.hpp"
#include "compiler/onnx/remove_qdq.hpp"

namespace overtake::compiler {

using Shape = std::vector<std::int64_t>;

/// What a tensor name of the file stands for.  Flatten and the like give a value a second name
/// with another shape.
struct Reference {
    ValueId value;
    Shape shape;
    bool integer = false; // integers or truth values, held as reals
};

struct Context {
    // What is imported.
    const std::string path;
    const onnx::ModelProto& model;
    const GivenScales& given;
    const ImportOptions& options;
    Libonnx libonnx;

    // The node at hand, and how many parts of it have been named so far.
    const onnx::NodeProto* node = nullptr;
    int parts = 0;

    // What has become of the file so far: the graph, and by name what its tensors are.
    Graph graph = {};
    std::unordered_map<std::string, Constant> constants = {};
    std::unordered_map<std::string, Reference> references = {};
    std::unordered_map<std::string, std::vector<Reference>> sequences = {};
    std::unordered_map<std::string, Shape> shapes = {}; // as the file says or libonnx infers
    std::unordered_map<std::string, int> types = {};    // of TensorProto

    // Values that stand for another one, so that none is made twice.
    std::map<std::pair<ValueId, Order>, ValueId> reordered = {}; // on the device
    std::map<std::pair<ValueId, Shape>, ValueId> copied = {};    // on the CPU, in another shape
};

/// Imports the node at hand.
using Import = void (*)(Context& context);

std::string to_text(const Shape& shape);
std::size_t element_count(const Shape& shape);
std::vector<float> reals_of(const Constant& constant);
/// What lies outside is the nearest that 64 bits hold of it, and what is no number 0.
std::vector<std::int64_t> integers_of(const Constant& constant);

/// Throws CompileError that names file, node, operator and the reason.
[[noreturn]] void refuse(const Context& context, const std::string& reason);

/// The node's name; where it has none, that of its first output.
std::string node_name(const Context& context);
bool has_input(const Context& context, int index);
/// These refuse the node where the input is not there or not of that kind.
const std::string& input_name(const Context& context, int index);
const Constant& constant_input(const Context& context, int index);
const std::vector<float>& float_input(const Context& context, int index);
const Reference& variable_input(const Context& context, int index);
bool is_constant(const Context& context, int index);

inline const Value& value_of(const Context& context, const Reference& reference) {
    return context.graph.values[reference.value];
}

/// The shape of the node's first output, as the file says or libonnx infers.
Shape output_shape(Context& context);

/// Refuses what the runtime would refuse, and what there is no memory for.
void check_size(const Context& context, const std::string& name, const Shape& shape);

/// Refuses numbers that a file may make as great as it likes, before anything is computed of them.
void check_between(const Context& context, const std::vector<std::int64_t>& numbers,
                   std::int64_t low, std::int64_t high, const char* attribute);

/// An axis counted from the front; negative ones count from the end.
std::size_t axis_of(const Context& context, std::int64_t axis, std::size_t rank);

/// Of two shapes as numpy broadcasts them.
Shape broadcast_shape(const Context& context, const Shape& left, const Shape& right);

} // namespace overtake::compiler
