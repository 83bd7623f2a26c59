// SPDX-License-Identifier: MIT
//
// Operators whose inputs are all constants: computed here and now, by the CPU's own kernels.
#include "compiler/import/importer.hpp"

#include <algorithm>
#include <set>

#include "compiler/ir/error.hpp"

namespace overtake::compiler {
namespace {

// Whether the operator only moves what input `index` holds.
bool moves(const onnx::NodeProto& node, int index) {
    static const std::set<std::string> movements = {
        "Expand", "Flatten", "Gather",  "GatherElements", "Identity",  "Reshape",
        "Slice",  "Split",   "Squeeze", "Tile",           "Transpose", "Unsqueeze"};
    if (node.op_type() == "Concat")
        return true;
    if (node.op_type() == "Cast")
        return Attributes(node).integer("to", 0) == onnx::TensorProto::INT64;
    return index == 0 && movements.contains(node.op_type());
}

bool is_beyond(std::int64_t integer) {
    return integer > max_exact_integer || integer < -max_exact_integer;
}

} // namespace

// Integers beyond what float32 holds - "to the end" of a Slice is one - may be moved although they
// cannot be computed with.  Each becomes its place in a list until the node is done.
std::vector<std::int64_t> Importer::number_integers() {
    bool is_needed = false, is_possible = true;
    for (int index = 0; index < node_->input_size(); ++index) {
        if (!has_input(index))
            continue;
        const Constant& constant = constant_input(index);
        if (!moves(*node_, index))
            is_possible = is_possible && std::ranges::count(node_->input(), input_name(index)) == 1;
        else if (!constant.floats.empty())
            is_possible = false;
        else
            is_needed = is_needed || std::ranges::any_of(constant.integers, is_beyond);
    }
    std::vector<std::int64_t> list;
    if (!is_needed || !is_possible)
        return list;
    std::set<std::string> done;
    for (int index = 0; index < node_->input_size(); ++index)
        if (has_input(index) && moves(*node_, index) && done.insert(input_name(index)).second)
            for (std::int64_t& integer : constants_.at(input_name(index)).integers) {
                list.push_back(integer);
                integer = static_cast<std::int64_t>(list.size()) - 1;
            }
    return list;
}

// The way back, for inputs and outputs.
void Importer::restore_integers(const std::vector<std::int64_t>& list) {
    std::set<std::string> names(node_->output().begin(), node_->output().end());
    for (int index = 0; index < node_->input_size(); ++index)
        if (has_input(index) && moves(*node_, index))
            names.insert(input_name(index));
    for (const std::string& name : names)
        if (const auto found = constants_.find(name); found != constants_.end())
            for (std::int64_t& integer : found->second.integers)
                integer = list[static_cast<std::size_t>(integer)];
}

void Importer::fold_constant(const Entry& entry) {
    const std::vector<std::int64_t> list = number_integers();
    fold_reals(entry);
    if (!list.empty())
        restore_integers(list);
}

// A file of a few bytes may ask for any number of elements; what it holds itself is fine.
void Importer::check_folded(const Value& value) const {
    std::size_t most = std::size_t{1} << 24;
    for (const std::string& name : node_->input())
        if (const auto found = constants_.find(name); found != constants_.end())
            most += element_count(found->second.shape);
    if (value.elements() > most)
        refuse("gives a huge constant, of shape " + to_text(value.shape));
}

void Importer::fold_reals(const Entry& entry) {
    if (!entry.cpu)
        refuse("its inputs are constants, which is not supported for this operator");
    const std::size_t first = graph_.nodes.size(), values = graph_.values.size();
    (this->*entry.cpu)();
    std::map<ValueId, std::vector<float>> results;
    for (ValueId id = values; id < graph_.values.size(); ++id)
        if (graph_.values[id].is_constant())
            results[id] = graph_.values[id].constant;
    for (std::size_t index = first; index < graph_.nodes.size(); ++index) {
        const Node& node = graph_.nodes[index];
        check_folded(graph_.values[node.output]);
        std::vector<float>& out = results[node.output];
        out.resize(graph_.values[node.output].elements());
        cpu::Inputs inputs;
        for (ValueId input : node.inputs)
            inputs.emplace_back(results.at(input));
        try {
            cpu::make_kernel(cpu_operation(graph_, node))(inputs, out);
        } catch (const CompileError&) {
            throw;
        } catch (const Error& error) {
            refuse(error.what());
        }
    }
    for (const std::string& name : node_->output()) {
        const auto found = references_.find(name);
        if (name.empty() || found == references_.end())
            continue;
        Constant constant;
        constant.shape = found->second.shape;
        const std::vector<float>& reals = results.at(found->second.value);
        constant.floats = reals;
        if (found->second.integer) {
            constant.integers = integers_of(constant);
            constant.floats.clear();
        }
        references_.erase(found);
        constants_[name] = std::move(constant);
    }
    graph_.nodes.resize(first);
    graph_.values.resize(values);
    std::erase_if(copied_, [&](const auto& entry) { return entry.second >= values; });
}

} // namespace overtake::compiler
