// SPDX-License-Identifier: MIT
#include "compiler/import/cpu/round.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "cpu/operation.hpp"

namespace overtake::compiler {

using cpu::Binary;
using cpu::Unary;

namespace {

class Rounder {
public:
    explicit Rounder(Graph& graph) : graph_(graph) {}

    void run(const Roundings& roundings) {
        const std::map<ValueId, Quantisation> wanted(roundings.begin(), roundings.end());
        std::vector<Node> nodes = std::move(graph_.nodes);
        graph_.nodes.clear();
        for (ValueId input : graph_.inputs)
            if (const auto found = wanted.find(input); found != wanted.end())
                round_input(input, found->second, nodes);
        for (Node& node : nodes) {
            const auto found = wanted.find(node.output);
            const ValueId target = node.output;
            if (found == wanted.end()) {
                graph_.nodes.push_back(std::move(node));
                continue;
            }
            name_ = node.name;
            node.output = value_like(target, "exact");
            const ValueId exact = node.output;
            graph_.nodes.push_back(std::move(node));
            round(exact, target, found->second);
        }
    }

private:
    // Makes all readers of the input read the rounded value.
    void round_input(ValueId input, const Quantisation& to, std::vector<Node>& readers) {
        name_ = graph_.values[input].name;
        const ValueId rounded = value_like(input, "rounded");
        graph_.values[rounded].given = to; // an output that is this value may be on the device
        round(input, rounded, to);
        for (Node& reader : readers)
            std::ranges::replace(reader.inputs, input, rounded);
    }

    ValueId value_like(ValueId like, const char* part) {
        Value value = graph_.values[like];
        value.name = name_ + ":" + part;
        value.given.reset();
        graph_.values.push_back(std::move(value));
        return graph_.values.size() - 1;
    }

    void add(CpuOpType type, std::int64_t which, std::vector<float> reals,
             std::vector<ValueId> inputs, ValueId output) {
        Node node;
        node.name = name_;
        node.onnx_type = "QuantizeLinear";
        node.operation = op::Cpu{type, {which}, std::move(reals)};
        node.inputs = std::move(inputs);
        node.output = output;
        graph_.nodes.push_back(std::move(node));
    }

    void round(ValueId exact, ValueId target, const Quantisation& to) {
        Value scale{name_ + ":scale", {1}};
        scale.constant = {to.scale};
        graph_.values.push_back(std::move(scale));
        const ValueId step = graph_.values.size() - 1;
        const auto unary = [](Unary which) { return static_cast<std::int64_t>(which); };
        const auto binary = [](Binary which) { return static_cast<std::int64_t>(which); };
        const ValueId steps = value_like(target, "steps"), whole = value_like(target, "whole"),
                      held = value_like(target, "held");
        const auto zero = static_cast<float>(to.zero_point);
        add(CpuOpType::binary, binary(Binary::divide), {}, {exact, step}, steps);
        add(CpuOpType::unary, unary(Unary::round), {}, {steps}, whole);
        add(CpuOpType::unary, unary(Unary::clip), {-128 - zero, 127 - zero}, {whole}, held);
        add(CpuOpType::binary, binary(Binary::multiply), {}, {held, step}, target);
    }

    Graph& graph_;
    std::string name_; // the node whose result is rounded
};

} // namespace

void round_on_cpu(Graph& graph, const Roundings& roundings) {
    if (!roundings.empty())
        Rounder(graph).run(roundings);
}

} // namespace overtake::compiler
