// SPDX-License-Identifier: MIT
#include "compiler/onnx/sort_nodes.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/ir/error.hpp"

namespace overtake::compiler {
namespace {

template <typename Visit>
void for_each_inner_graph(onnx::NodeProto& node, const Visit& visit) {
    for (auto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g())
            visit(*attribute.mutable_g());
        for (auto& graph : *attribute.mutable_graphs())
            visit(graph);
    }
}

void add_names_read(const onnx::NodeProto& node, std::set<std::string>& names);

// A graph in a node does not read the tensors that it makes itself from around it.
void add_names_read(const onnx::GraphProto& graph, std::set<std::string>& names) {
    std::set<std::string> read;
    for (const auto& node : graph.node())
        add_names_read(node, read);
    for (const auto& output : graph.output())
        read.insert(output.name());
    for (const auto& input : graph.input())
        read.erase(input.name());
    for (const auto& tensor : graph.initializer())
        read.erase(tensor.name());
    for (const auto& node : graph.node())
        for (const std::string& output : node.output())
            read.erase(output);
    names.insert(read.begin(), read.end());
}

void add_names_read(const onnx::NodeProto& node, std::set<std::string>& names) {
    names.insert(node.input().begin(), node.input().end());
    for (const auto& attribute : node.attribute()) {
        if (attribute.has_g())
            add_names_read(attribute.g(), names);
        for (const auto& graph : attribute.graphs())
            add_names_read(graph, names);
    }
}

// Visits nodes depth first from each node in turn, so that nodes that are in order do not move.
class NodeOrder {
public:
    NodeOrder(const onnx::GraphProto& graph, const std::string& path)
        : graph_(graph), path_(path), states_(static_cast<std::size_t>(graph.node_size())) {
        for (int number = 0; number < graph.node_size(); ++number)
            for (const std::string& output : graph.node(number).output())
                if (!output.empty())
                    writers_.emplace(output, number);
    }

    std::vector<int> find() {
        for (int number = 0; number < graph_.node_size(); ++number)
            if (state(number) == State::unseen)
                visit_from(number);
        return std::move(order_);
    }

private:
    enum class State { unseen, open, placed };
    struct Step {
        int number;
        std::vector<int> writers;
        std::size_t next = 0;
    };

    State& state(int number) { return states_[static_cast<std::size_t>(number)]; }

    void open(int number) {
        Step step{number, {}};
        std::set<std::string> names;
        add_names_read(graph_.node(number), names);
        for (const std::string& name : names)
            if (const auto writer = writers_.find(name); writer != writers_.end())
                step.writers.push_back(writer->second);
        std::ranges::sort(step.writers);
        state(number) = State::open;
        steps_.push_back(std::move(step));
    }

    void visit_from(int first) {
        open(first);
        while (!steps_.empty()) {
            Step& step = steps_.back();
            if (step.next == step.writers.size()) {
                state(step.number) = State::placed;
                order_.push_back(step.number);
                steps_.pop_back();
                continue;
            }
            const int writer = step.writers[step.next++];
            if (state(writer) == State::open)
                refuse_cycle(writer);
            if (state(writer) == State::unseen)
                open(writer);
        }
    }

    std::string name_of(int number) const {
        const auto& node = graph_.node(number);
        return "'" +
               (node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name()) + "'";
    }

    [[noreturn]] void refuse_cycle(int first) {
        constexpr std::size_t most_named = 8;
        auto step = std::ranges::find(steps_, first, &Step::number);
        std::string names;
        std::size_t count = 0;
        for (; step != steps_.end() && count < most_named; ++step, ++count)
            names += (names.empty() ? "" : ", ") + name_of(step->number);
        throw CompileError(path_, "nodes wait for each other in a cycle: " + names +
                                      (step == steps_.end() ? "" : ", ...") +
                                      "; export the model again");
    }

    const onnx::GraphProto& graph_;
    const std::string& path_;
    std::unordered_map<std::string, int> writers_;
    std::vector<State> states_;
    std::vector<Step> steps_;
    std::vector<int> order_;
};

} // namespace

void sort_nodes(onnx::GraphProto& graph, const std::string& path) {
    const std::vector<int> order = NodeOrder(graph, path).find();
    if (!std::ranges::is_sorted(order)) {
        google::protobuf::RepeatedPtrField<onnx::NodeProto> sorted;
        sorted.Reserve(graph.node_size());
        for (const int number : order)
            sorted.Add()->Swap(graph.mutable_node(number));
        graph.mutable_node()->Swap(&sorted);
    }
    for (auto& node : *graph.mutable_node())
        for_each_inner_graph(node, [&](onnx::GraphProto& inner) { sort_nodes(inner, path); });
}

} // namespace overtake::compiler
