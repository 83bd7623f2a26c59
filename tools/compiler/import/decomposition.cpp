// SPDX-License-Identifier: MIT
#include "compiler/import/decomposition.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "compiler/import/recurrence.hpp"
#include "compiler/import/survey.hpp"
#include "compiler/onnx/decompose.hpp"
#include "compiler/onnx/recurrence_gates.hpp"
#include "compiler/onnx/tensor_facts.hpp"

namespace overtake::compiler {

namespace {

constexpr std::size_t most_of_a_fact = 1 << 10; // elements of constants that rules may ask for
constexpr std::size_t most_written = std::size_t{1} << 26;

// Returns the type of a tensor; UNDEFINED if it is not known.
int known_type(const Context& context, const std::string& name) {
    const auto found = context.types.find(name);
    return found != context.types.end() ? found->second : int{onnx::TensorProto::UNDEFINED};
}

void add_info(onnx::GraphProto& graph, const std::string& name, int type, const Shape& shape) {
    auto& info = *graph.add_value_info();
    info.set_name(name);
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape();
    for (const std::int64_t size : shape)
        tensor.mutable_shape()->add_dim()->set_dim_value(size);
}

// Returns the facts that are known of the node's inputs.
TensorFacts facts_of(const Context& context) {
    onnx::GraphProto graph;
    std::vector<std::pair<std::string, int>> types;
    for (const std::string& name : context.node->input()) {
        if (const auto constant = context.constants.find(name);
            constant != context.constants.end()) {
            types.emplace_back(name, known_type(context, name));
            if (element_count(constant->second.shape) <= most_of_a_fact)
                write_constant(constant->second, name, *graph.add_initializer());
            else
                add_info(graph, name, types.back().second, constant->second.shape);
        } else if (const auto found = context.references.find(name);
                   found != context.references.end()) {
            add_info(graph, name, known_type(context, name), found->second.shape);
        }
    }
    TensorFacts facts(graph);
    for (const auto& [name, type] : types)
        facts.set_type(name, type);
    return facts;
}

// Returns the rule for the node; null if the node stays unchanged.
RewriteRule rule_for(const Context& context, bool is_onnx) {
    if (is_onnx && recurrence_kind(context.node->op_type()))
        return why_on_cpu(context).empty() ? decompose_recurrence : nullptr;
    const RewriteRules& rules = is_onnx ? decompositions() : fused_operators();
    const auto rule = rules.find(context.node->op_type());
    return rule == rules.end() ? nullptr : rule->second;
}

} // namespace

std::vector<onnx::NodeProto> decomposed(Context& context, FreshNames& names) {
    const onnx::NodeProto& node = *context.node;
    const bool is_onnx = node.domain().empty() || node.domain() == "ai.onnx";
    if ((!is_onnx && node.domain() != "com.microsoft") || node.input_size() == 0 ||
        node.output_size() == 0 || waits_for_refused(context))
        return {};
    const RewriteRule rule = rule_for(context, is_onnx);
    if (!rule)
        return {};
    onnx::NodeProto written = node;
    onnx::GraphProto constants;
    const TensorFacts facts = facts_of(context);
    Rewrite here{written, 0, facts, NodeBuilder(written, constants, names)};
    try {
        rule(here);
    } catch (const CannotRewrite& impossible) {
        refuse(context, impossible.reason);
    }
    for (const onnx::TensorProto& tensor : constants.initializer())
        context.written_constants += element_count({tensor.dims().begin(), tensor.dims().end()});
    if (context.written_constants > most_written)
        refuse(context, "it and operators before it are written with more than " +
                            std::to_string(most_written) + " constants");
    for (const onnx::TensorProto& tensor : constants.initializer()) {
        context.constants[tensor.name()] = read_constant(tensor, context.path);
        context.types[tensor.name()] = tensor.data_type();
    }
    context.graph.accumulators.insert(here.accumulators.begin(), here.accumulators.end());
    std::vector<onnx::NodeProto> nodes = here.build.take();
    for (const onnx::NodeProto& part : nodes)
        context.graph.wholes.emplace(node_name_of(part), Whole{node_name(context), node.op_type(),
                                                               rule == decompose_recurrence});
    return nodes;
}

} // namespace overtake::compiler
