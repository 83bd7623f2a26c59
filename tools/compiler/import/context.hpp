// SPDX-License-Identifier: MIT
//
// Context: one import under way, the state that every operator's import uses.  In comments on
// functions that take a Context, "the node" is the node at hand, Context::node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/import/import.hpp"
#include "compiler/ir/error.hpp"
#include "compiler/ir/graph.hpp"
#include "compiler/onnx/file.hpp"
#include "compiler/onnx/libonnx.hpp"
#include "compiler/onnx/remove_qdq.hpp"
#include "compiler/onnx/set_aside.hpp"

namespace overtake::compiler {

using Shape = std::vector<std::int64_t>;

/// The value that a tensor name of the file stands for.  Flatten, for example, gives a value a
/// second name with another shape.
struct Reference {
    ValueId value;
    Shape shape;
    bool integer = false; // integers or truth values, held as reals
};

/// The writer of a value, and how often nodes use it.
struct Uses {
    std::optional<std::size_t> writer = std::nullopt; // in Graph::nodes
    std::size_t on_bpu = 0;                           // read or written
    std::size_t read_by_cpu = 0;
};

/// Values by the key for which they were made, so that none is made twice.  The latest can be
/// forgotten.
template <typename Key>
class MadeValues {
public:
    std::optional<ValueId> find(const Key& key) const {
        const auto found = made_.find(key);
        return found == made_.end() ? std::nullopt : std::optional(found->second);
    }
    void add(const Key& key, ValueId value) { latest_.push_back(made_.emplace(key, value).first); }
    std::size_t size() const { return latest_.size(); }
    void shrink(std::size_t size) {
        for (; latest_.size() > size; latest_.pop_back())
            made_.erase(latest_.back());
    }

private:
    std::map<Key, ValueId> made_;
    std::vector<typename std::map<Key, ValueId>::iterator> latest_; // in the order they were made
};

/// The sizes of the graph at one moment; see mark().
struct Mark {
    std::size_t nodes = 0, values = 0, changed = 0, reordered = 0, copied = 0;
};

struct Context {
    // The file to import, and the options.
    const std::string path;
    const onnx::ModelProto& model;
    const GivenScales& given;
    const ImportOptions& options;
    Libonnx libonnx;
    Refusals refusals = {}; // nodes that are refused whatever they are, by first output

    // The node at hand, and how many parts of it have been named so far.
    const onnx::NodeProto* node = nullptr;
    int parts = 0;
    /// The node of the file that the one at hand is a part of; empty: it is that itself.
    std::string part_of = {};
    std::size_t written_constants = 0; // elements, in nodes that others are written as

    // The result so far: the graph, and the meaning of the file's tensors by name.
    Graph graph = {};
    std::unordered_map<std::string, Constant> constants = {};
    std::unordered_map<std::string, Reference> references = {};
    std::unordered_map<std::string, std::vector<Reference>> sequences = {};
    std::unordered_map<std::string, Shape> shapes = {}; // as the file says or libonnx infers
    std::unordered_map<std::string, int> types = {};    // of TensorProto
    std::set<std::string> unknown = {};                 // behind a node that is refused

    // The uses of the graph's values, and the values before they changed; see nodes.hpp.
    std::vector<Uses> uses = {};
    std::vector<std::pair<ValueId, Value>> changed = {};
    std::size_t marked_values = 0; // whose changes are noted

    // Values that stand for another one.
    MadeValues<std::pair<ValueId, Order>> reordered = {}; // on the device
    MadeValues<std::pair<ValueId, Shape>> copied = {};    // on the CPU, in another shape
};

/// Imports the node at hand.  Throws CompileError if the node has no such form; refusal_of()
/// returns the message of that.
using Import = void (*)(Context& context);

std::string to_text(const Shape& shape);
std::size_t element_count(const Shape& shape);
std::vector<float> reals_of(const Constant& constant);
/// Returns the constant's integers: the nearest that 64 bits hold; 0 for NaN.
std::vector<std::int64_t> integers_of(const Constant& constant);

/// Throws CompileError that names file, node, operator and the reason.
[[noreturn]] void refuse(const Context& context, const std::string& reason);

/// Returns the reason why the step is refused; nothing if it is not.
template <typename Step>
std::optional<std::string> refusal_of(const Step& step) {
    try {
        step();
    } catch (const CompileError& refusal) {
        return refusal.what();
    }
    return std::nullopt;
}

/// Returns the node's name; if it has none, the name of its first output.
std::string node_name(const Context& context);
bool has_input(const Context& context, int index);
/// The next functions refuse the node if the input is missing or not of that kind.
const std::string& input_name(const Context& context, int index);
const Constant& constant_input(const Context& context, int index);
const std::vector<float>& float_input(const Context& context, int index);
const Reference& variable_input(const Context& context, int index);
bool is_constant(const Context& context, int index);

inline const Value& value_of(const Context& context, const Reference& reference) {
    return context.graph.values[reference.value];
}

/// Returns the shape of the node's first output, as the file says or libonnx infers.
Shape output_shape(Context& context);

/// Refuses a tensor that the runtime would refuse, or for which there is no memory.
void check_size(const Context& context, const std::string& name, const Shape& shape);

/// Refuses numbers that are not in [low, high].  Call it before computing with numbers of a file,
/// which may be of any size.
void check_between(const Context& context, const std::vector<std::int64_t>& numbers,
                   std::int64_t low, std::int64_t high, const char* attribute);

/// Returns the axis counted from the front; a negative one counts from the end.
std::size_t axis_of(const Context& context, std::int64_t axis, std::size_t rank);

/// Returns the shape to which numpy broadcasts two shapes.
Shape broadcast_shape(const Context& context, const Shape& left, const Shape& right);

} // namespace overtake::compiler
