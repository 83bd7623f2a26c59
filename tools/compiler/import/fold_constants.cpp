// SPDX-License-Identifier: MIT
#include "compiler/import/fold_constants.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/float/onednn.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/fold_integers.hpp"
#include "compiler/import/nodes.hpp"
#include "compiler/ir/error.hpp"
#include "compiler/ir/limits.hpp"
#include "cpu/onednn.hpp"

namespace overtake::compiler {

namespace {

// Whether the operator only moves the elements of input `index`.
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

// Integers beyond those that float32 holds - "to the end" of a Slice is one - may be moved although
// they cannot be computed with.  Each becomes its place in a list until the node is done.
std::vector<std::int64_t> number_integers(Context& context) {
    bool is_needed = false, is_possible = true;
    for (int index = 0; index < context.node->input_size(); ++index) {
        if (!has_input(context, index))
            continue;
        const Constant& constant = constant_input(context, index);
        if (!moves(*context.node, index))
            is_possible = is_possible && std::ranges::count(context.node->input(),
                                                            input_name(context, index)) == 1;
        else if (!constant.floats.empty())
            is_possible = false;
        else
            is_needed = is_needed || std::ranges::any_of(constant.integers, is_beyond);
    }
    std::vector<std::int64_t> list;
    if (!is_needed || !is_possible)
        return list;
    std::set<std::string> done;
    for (int index = 0; index < context.node->input_size(); ++index)
        if (has_input(context, index) && moves(*context.node, index) &&
            done.insert(input_name(context, index)).second)
            for (std::int64_t& integer :
                 context.constants.at(input_name(context, index)).integers) {
                list.push_back(integer);
                integer = static_cast<std::int64_t>(list.size()) - 1;
            }
    return list;
}

// float32 may round integers next to 2^24 to it, so a result of 2^24 or more is not known to be
// exact.
void check_results(const Context& context) {
    for (const std::string& name : context.node->output())
        if (const auto found = context.constants.find(name); found != context.constants.end())
            for (const std::int64_t integer : found->second.integers)
                if (integer >= max_exact_integer || integer <= -max_exact_integer)
                    refuse(context, "gives the integer " + std::to_string(integer) +
                                        ", which float32 may have rounded");
}

// Whether the node casts a real, whose truncation is exact.
bool is_cast_of_real(const Context& context) {
    return context.node->op_type() == "Cast" && constant_input(context, 0).integers.empty();
}

// Turns places in the list back into integers, for inputs and outputs.
void restore_integers(Context& context, const std::vector<std::int64_t>& list) {
    std::set<std::string> names(context.node->output().begin(), context.node->output().end());
    for (int index = 0; index < context.node->input_size(); ++index)
        if (has_input(context, index) && moves(*context.node, index))
            names.insert(input_name(context, index));
    for (const std::string& name : names)
        if (const auto found = context.constants.find(name); found != context.constants.end())
            for (std::int64_t& integer : found->second.integers)
                integer = list[static_cast<std::size_t>(integer)];
}

// Refuses a folded value with too many elements, for which a file of a few bytes may ask.  The
// elements of the node's constants in the file come on top of the limit.
void check_folded(const Context& context, const Value& value) {
    std::size_t most = std::size_t{1} << 24;
    for (const std::string& name : context.node->input())
        if (const auto found = context.constants.find(name); found != context.constants.end())
            most += element_count(found->second.shape);
    if (value.elements() > most)
        refuse(context, "gives a huge constant, of shape " + to_text(value.shape));
}

bool uses_onednn(const Node& node) {
    const CpuOpType type = std::get<op::Cpu>(node.operation).type;
    return type == CpuOpType::matrix_product || type == CpuOpType::convolution ||
           type == CpuOpType::recurrence;
}

void fold_reals(Context& context, Import cpu) {
    if (!cpu)
        refuse(context, "its inputs are constants, which is not supported for this operator");
    const Mark before = mark(context);
    cpu(context);
    std::map<ValueId, std::vector<float>> results;
    for (ValueId id = before.values; id < context.graph.values.size(); ++id)
        if (context.graph.values[id].is_constant())
            results[id] = context.graph.values[id].constant;
    for (std::size_t index = before.nodes; index < context.graph.nodes.size(); ++index) {
        const Node& node = context.graph.nodes[index];
        check_folded(context, context.graph.values[node.output]);
        std::vector<float>& out = results[node.output];
        out.resize(context.graph.values[node.output].elements());
        cpu::Inputs inputs;
        for (ValueId input : node.inputs)
            inputs.emplace_back(results.at(input));
        try {
            if (uses_onednn(node)) // else oneDNN stays unlimited, for programs that run the model
                limit_onednn();
            const cpu::onednn::Threads threads;
            cpu::make_kernel(cpu_operation(context.graph, node))(inputs, out);
        } catch (const CompileError&) {
            throw;
        } catch (const Error& error) {
            refuse(context, error.what());
        }
    }
    for (const std::string& name : context.node->output()) {
        const auto found = context.references.find(name);
        if (name.empty() || found == context.references.end())
            continue;
        Constant constant;
        constant.shape = found->second.shape;
        const std::vector<float>& reals = results.at(found->second.value);
        constant.floats = reals;
        if (found->second.integer) {
            constant.integers = integers_of(constant);
            constant.floats.clear();
        }
        context.references.erase(found);
        context.constants[name] = std::move(constant);
    }
    take_back(context, before);
}

} // namespace

void fold_constant(Context& context, Import cpu) {
    if (fold_integers(context))
        return;
    const bool may_round = !is_cast_of_real(context) && !moves(*context.node, 0);
    const std::vector<std::int64_t> list = number_integers(context);
    fold_reals(context, cpu);
    if (!list.empty())
        restore_integers(context, list);
    else if (may_round)
        check_results(context);
}

} // namespace overtake::compiler
