// SPDX-License-Identifier: MIT
#include "compiler/onnx/fresh_names.hpp"

namespace overtake::compiler {

FreshNames::FreshNames(const onnx::GraphProto& graph) {
    add(graph);
}

std::string FreshNames::take(const std::string& wanted) {
    std::string name = wanted;
    while (!names_.insert(name).second)
        name += "_";
    return name;
}

void FreshNames::add(const onnx::GraphProto& graph) {
    for (const auto* infos : {&graph.input(), &graph.output(), &graph.value_info()})
        for (const auto& info : *infos)
            names_.insert(info.name());
    for (const auto& tensor : graph.initializer())
        names_.insert(tensor.name());
    for (const auto& tensor : graph.sparse_initializer())
        names_.insert(tensor.values().name());
    for (const auto& node : graph.node()) {
        names_.insert(node.input().begin(), node.input().end());
        names_.insert(node.output().begin(), node.output().end());
        for (const auto& attribute : node.attribute()) {
            if (attribute.has_g())
                add(attribute.g());
            for (const auto& inner : attribute.graphs())
                add(inner);
        }
    }
}

std::string fresh_name(std::string wanted, std::set<std::string>& names) {
    while (!names.insert(wanted).second)
        wanted += "_";
    return wanted;
}

} // namespace overtake::compiler
