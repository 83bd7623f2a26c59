// SPDX-License-Identifier: MIT
#include "compiler/onnx/graph_index.hpp"

namespace overtake::compiler {

GraphIndex::GraphIndex(onnx::GraphProto& graph) {
    for (const auto& tensor : graph.initializer())
        constants_[tensor.name()] = &tensor;
    for (onnx::NodeProto& node : *graph.mutable_node()) {
        for (const std::string& output : node.output())
            writers_[output] = &node;
        for (const std::string& input : node.input())
            readers_[input].push_back(&node);
    }
    for (const auto& output : graph.output())
        readers_[output.name()].push_back(nullptr);
    for (const auto* list : {&graph.value_info(), &graph.input(), &graph.output()})
        for (const auto& value : *list)
            if (const auto shape = static_shape(value))
                shapes_[value.name()] = *shape;
}

const onnx::NodeProto* GraphIndex::writer(const std::string& name, const char* type) const {
    const auto found = writers_.find(name);
    const bool fits = found != writers_.end() && found->second->op_type() == type;
    return fits ? found->second : nullptr;
}

onnx::NodeProto* GraphIndex::sole_reader(const std::string& name, const char* type) const {
    const auto found = readers_.find(name);
    const bool fits = found != readers_.end() && found->second.size() == 1 && found->second[0] &&
                      found->second[0]->op_type() == type;
    return fits ? found->second[0] : nullptr;
}

const onnx::TensorProto* GraphIndex::constant(const std::string& name) const {
    if (const auto found = constants_.find(name); found != constants_.end())
        return found->second;
    const onnx::NodeProto* node = writer(name, "Constant");
    return node ? Attributes(*node).tensor("value") : nullptr;
}

std::vector<std::int64_t> GraphIndex::shape(const std::string& name) const {
    const auto found = shapes_.find(name);
    return found == shapes_.end() ? std::vector<std::int64_t>() : found->second;
}

} // namespace overtake::compiler
