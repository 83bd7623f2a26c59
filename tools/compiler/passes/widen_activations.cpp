// SPDX-License-Identifier: MIT
#include "compiler/passes/widen_activations.hpp"

#include <algorithm>
#include <numeric>

#include "overtake_isa.h"

namespace overtake::compiler {
namespace {

// Values that have the same number of bits: a forest, each tree of which has one of them as root.
class Groups {
public:
    explicit Groups(std::size_t values) : parents_(values) {
        std::iota(parents_.begin(), parents_.end(), ValueId{0});
    }
    ValueId root(ValueId value) {
        while (parents_[value] != value)
            value = parents_[value] = parents_[parents_[value]];
        return value;
    }
    void join(ValueId one, ValueId other) { parents_[root(one)] = root(other); }

private:
    std::vector<ValueId> parents_;
};

// Products that are added up to one output of the node.
std::uint64_t products_of(const Graph& graph, const Node& node) {
    if (const auto* convolution = node.as<op::Convolution>())
        return convolution->weights.size() / convolution->bias.size();
    return node.is<op::MatrixProduct>() ? graph.values[node.inputs[0]].channels : 0;
}

bool has_fixed_scale(const Value& value) {
    return value.given || value.user_type != UserType::float32;
}

} // namespace

std::vector<std::size_t> widen_activations(Graph& graph, const std::vector<std::size_t>& wanted,
                                           const std::vector<ValueId>& kept) {
    Groups groups(graph.values.size());
    std::vector<bool> is_wanted(graph.values.size()), is_fixed(graph.values.size());
    for (const Node& node : graph.nodes)
        if (node.on_bpu() && keeps_quantisation(node) && !gathers_quantisation(node))
            groups.join(node.inputs[0], node.output);
    const auto fix = [&](ValueId value) { is_fixed[groups.root(value)] = true; };
    for (ValueId id = 0; id < graph.values.size(); ++id)
        if (has_fixed_scale(graph.values[id]))
            fix(id);
    for (const ValueId value : kept)
        fix(value);
    for (const Node& node : graph.nodes)
        if (node.on_bpu() && products_of(graph, node) > OVERTAKE_MAX_INT16_PRODUCTS)
            for (const ValueId input : node.inputs)
                fix(input);
    for (const std::size_t index : wanted) {
        const Node& node = graph.nodes[index];
        for (const ValueId input : node.inputs)
            is_wanted[groups.root(input)] = true;
        is_wanted[groups.root(node.output)] = true;
    }
    for (ValueId id = 0; id < graph.values.size(); ++id)
        graph.values[id].is_int16 = is_wanted[groups.root(id)] && !is_fixed[groups.root(id)];
    std::vector<std::size_t> refused;
    std::ranges::copy_if(wanted, std::back_inserter(refused), [&](std::size_t index) {
        return !graph.values[graph.nodes[index].output].is_int16;
    });
    return refused;
}

} // namespace overtake::compiler
