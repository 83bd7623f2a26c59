// SPDX-License-Identifier: MIT
#include "compiler/passes/widen_activations.hpp"

#include <algorithm>
#include <numeric>

#include "overtake_isa.h"

namespace overtake::compiler {
namespace {

// Values that have the same number of bits: a forest with one of them as the root of each tree.
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

// Returns how many products are added up for one output of the node.
std::uint64_t products_of(const Graph& graph, const Node& node) {
    if (const auto* convolution = node.as<op::Convolution>())
        return convolution->weights.size() / convolution->bias.size();
    return node.is<op::MatrixProduct>() ? graph.values[node.inputs[0]].channels : 0;
}

bool is_given(const Value& value) {
    return value.given || value.user_type != UserType::float32;
}

} // namespace

NarrowNodes widen_activations(Graph& graph, const std::vector<std::size_t>& wanted,
                              const std::vector<ValueId>& kept) {
    NarrowNodes narrow;
    Groups groups(graph.values.size());
    std::vector<bool> is_wanted(graph.values.size()), is_fixed(graph.values.size());
    for (const Node& node : graph.nodes)
        if (node.on_bpu() && keeps_quantisation(node) && !gathers_quantisation(node))
            groups.join(node.inputs[0], node.output);
    const auto fix = [&](ValueId value) { is_fixed[groups.root(value)] = true; };
    for (ValueId id = 0; id < graph.values.size(); ++id)
        if (is_given(graph.values[id]))
            fix(id);
    for (const ValueId value : kept)
        fix(value);
    const std::vector<bool> has_fixed_scale = is_fixed;
    const auto adds_up_too_many = [&](const Node& node) {
        return node.on_bpu() && products_of(graph, node) > OVERTAKE_MAX_INT16_PRODUCTS;
    };
    for (const Node& node : graph.nodes)
        if (adds_up_too_many(node))
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
    for (const std::size_t index : wanted) {
        const Node& node = graph.nodes[index];
        if (has_fixed_scale[groups.root(node.output)])
            narrow.fixed.push_back(index);
        if (adds_up_too_many(node))
            narrow.many_products.push_back(index);
    }
    return narrow;
}

} // namespace overtake::compiler
