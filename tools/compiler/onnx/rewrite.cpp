// SPDX-License-Identifier: MIT
#include "compiler/onnx/rewrite.hpp"

#include <algorithm>
#include <utility>

#include "compiler/onnx/fresh_names.hpp"

namespace overtake::compiler {
namespace {

class Pass {
public:
    Pass(onnx::ModelProto& model, int opset, const RewriteRules& rules, Refusals& refusals)
        : opset_(opset), rules_(rules), refusals_(refusals), names_(model.graph()),
          facts_(model.graph()) {}

    void run(onnx::GraphProto& graph) {
        std::vector<onnx::NodeProto> nodes;
        for (auto& node : *graph.mutable_node()) {
            for (auto& attribute : *node.mutable_attribute()) {
                if (attribute.has_g())
                    run(*attribute.mutable_g());
                for (auto& inner : *attribute.mutable_graphs())
                    run(inner);
            }
            rewrite(node, graph, nodes);
        }
        graph.clear_node();
        for (onnx::NodeProto& node : nodes)
            *graph.add_node() = std::move(node);
    }

private:
    void rewrite(onnx::NodeProto& node, onnx::GraphProto& graph,
                 std::vector<onnx::NodeProto>& nodes) {
        const auto found = rules_.find(node.op_type());
        const bool is_onnx = node.domain().empty() || node.domain() == "ai.onnx";
        if (found == rules_.end() || !is_onnx || node.input_size() == 0 ||
            node.output_size() == 0) {
            nodes.push_back(std::move(node));
            return;
        }
        Rewrite here{node, opset_, facts_, NodeBuilder(node, graph, names_)};
        try {
            found->second(here);
        } catch (const CannotRewrite& impossible) {
            set_aside(node, impossible.reason, refusals_);
            nodes.push_back(std::move(node));
            return;
        }
        std::vector<onnx::NodeProto> made = here.build.take();
        const bool is_replaced = !made.empty();
        for (onnx::NodeProto& each : made)
            nodes.push_back(std::move(each));
        if (!is_replaced)
            nodes.push_back(std::move(node));
    }

    const int opset_;
    const RewriteRules& rules_;
    Refusals& refusals_;
    FreshNames names_;
    TensorFacts facts_;
};

} // namespace

bool Rewrite::has_input(int index) const {
    return index < node.input_size() && !node.input(index).empty();
}

bool Rewrite::has_output(int index) const {
    return index < node.output_size() && !node.output(index).empty();
}

std::vector<std::int64_t> Rewrite::constant(int index, const char* what) const {
    if (const auto numbers = facts.integers(node.input(index)))
        return *numbers;
    throw CannotRewrite{std::string("its ") + what + " are computed; export it with constant ones"};
}

std::size_t Rewrite::rank(const std::string& tensor) const {
    if (const auto rank = facts.rank(tensor))
        return *rank;
    throw CannotRewrite{"the rank of '" + tensor +
                        "' is not known; export it with the shapes of its tensors"};
}

std::vector<std::int64_t> Rewrite::shape(const std::string& tensor) const {
    if (const auto shape = facts.shape(tensor))
        return *shape;
    throw CannotRewrite{"the shape of '" + tensor +
                        "' is not known; export it with the shapes of its tensors"};
}

int Rewrite::type(const std::string& tensor) const {
    if (const auto type = facts.type(tensor))
        return *type;
    throw CannotRewrite{"the type of '" + tensor +
                        "' is not known; export it with the types of its tensors"};
}

std::vector<std::int64_t> Rewrite::axes_in(std::size_t rank, std::vector<std::int64_t> axes) const {
    for (std::int64_t& axis : axes) {
        const auto size = static_cast<std::int64_t>(rank);
        if (axis < -size || axis >= size)
            throw CannotRewrite{"its axes are not those of its input; is the file damaged?"};
        axis += axis < 0 ? size : 0;
    }
    return axes;
}

void rewrite_nodes(onnx::ModelProto& model, int opset, const RewriteRules& rules,
                   Refusals& refusals) {
    Pass(model, opset, rules, refusals).run(*model.mutable_graph());
    import_domain_of(refusals, model);
}

bool has_any(const onnx::GraphProto& graph, const RewriteRules& rules) {
    return std::ranges::any_of(graph.node(), [&](const onnx::NodeProto& node) {
        return rules.contains(node.op_type()) ||
               std::ranges::any_of(node.attribute(), [&](const onnx::AttributeProto& attribute) {
                   return (attribute.has_g() && has_any(attribute.g(), rules)) ||
                          attribute.graphs_size() > 0;
               });
    });
}

} // namespace overtake::compiler
