// SPDX-License-Identifier: MIT
#include "compiler/onnx/inline_branch.hpp"

#include <map>
#include <utility>

#include "compiler/onnx/fresh_names.hpp"

namespace overtake::compiler {
namespace {

void rename(std::string& name, const Renames& renames) {
    if (const auto found = renames.find(name); found != renames.end())
        name = found->second;
}

// Returns the names that a graph makes itself.
std::set<std::string> made_in(const onnx::GraphProto& graph) {
    std::set<std::string> made;
    for (const auto& input : graph.input())
        made.insert(input.name());
    for (const auto& tensor : graph.initializer())
        made.insert(tensor.name());
    for (const auto& node : graph.node())
        made.insert(node.output().begin(), node.output().end());
    made.erase("");
    return made;
}

void rename_in(onnx::NodeProto& node, const Renames& renames, std::set<std::string>& names);

// A graph in a node reads names from around it, but for those that it makes itself.  If a tensor
// around it gets such a name, the graph's own tensor is renamed.
void rename_in(onnx::GraphProto& graph, Renames renames, std::set<std::string>& names) {
    std::set<std::string> taken;
    for (const auto& [from, to] : renames)
        if (from != to)
            taken.insert(to);
    for (const std::string& name : made_in(graph)) {
        renames.erase(name);
        if (taken.contains(name))
            renames[name] = fresh_name(name, names);
    }
    for (auto& node : *graph.mutable_node())
        rename_in(node, renames, names);
    for (auto& tensor : *graph.mutable_initializer())
        rename(*tensor.mutable_name(), renames);
    for (auto* infos : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()})
        for (auto& info : *infos)
            rename(*info.mutable_name(), renames);
}

void rename_in(onnx::NodeProto& node, const Renames& renames, std::set<std::string>& names) {
    for (auto* list : {node.mutable_input(), node.mutable_output()})
        for (std::string& name : *list)
            rename(name, renames);
    for (auto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g())
            rename_in(*attribute.mutable_g(), renames, names);
        for (auto& graph : *attribute.mutable_graphs())
            rename_in(graph, renames, names);
    }
}

} // namespace

void add_names(const onnx::GraphProto& graph, std::set<std::string>& names) {
    for (const auto* infos : {&graph.input(), &graph.output()})
        for (const auto& info : *infos)
            names.insert(info.name());
    for (const auto& tensor : graph.initializer())
        names.insert(tensor.name());
    for (const auto& node : graph.node()) {
        names.insert(node.input().begin(), node.input().end());
        names.insert(node.output().begin(), node.output().end());
        for (const auto& attribute : node.attribute()) {
            if (attribute.has_g())
                add_names(attribute.g(), names);
            for (const auto& inner : attribute.graphs())
                add_names(inner, names);
        }
    }
}

std::vector<onnx::NodeProto> inline_branch(const onnx::NodeProto& node, onnx::GraphProto branch,
                                           onnx::GraphProto& graph, std::set<std::string>& names,
                                           Renames renames) {
    std::set<std::string> made;
    for (const auto& inner : branch.node())
        made.insert(inner.output().begin(), inner.output().end());
    made.erase("");
    std::vector<onnx::NodeProto> aliases;
    for (int index = 0; index < branch.output_size() && index < node.output_size(); ++index) {
        const std::string& source = branch.output(index).name();
        if (node.output(index).empty())
            continue;
        if (made.contains(source) && renames.emplace(source, node.output(index)).second)
            continue;
        onnx::NodeProto& alias = aliases.emplace_back();
        alias.set_op_type("Identity");
        alias.set_name(node.output(index));
        alias.add_input(source);
        alias.add_output(node.output(index));
    }
    for (const std::string& name : made)
        if (!renames.contains(name))
            renames[name] = fresh_name(name, names);
    for (auto& tensor : *branch.mutable_initializer()) {
        const std::string name = fresh_name(tensor.name(), names);
        renames[tensor.name()] = name;
        tensor.set_name(name);
        graph.add_initializer()->Swap(&tensor);
    }
    for (const auto& info : branch.value_info())
        if (const auto found = renames.find(info.name()); found != renames.end()) {
            auto& kept = *graph.add_value_info();
            kept = info;
            kept.set_name(found->second);
        }
    std::set<std::string> names_inside;
    add_names(branch, names_inside);
    for (const auto& [from, to] : renames)
        names_inside.insert(to);
    std::vector<onnx::NodeProto> nodes;
    for (auto& inner : *branch.mutable_node())
        nodes.push_back(std::move(inner));
    for (onnx::NodeProto& alias : aliases)
        nodes.push_back(std::move(alias));
    const std::size_t aliases_from = nodes.size() - aliases.size();
    for (std::size_t index = 0; index < nodes.size(); ++index)
        if (index < aliases_from)
            rename_in(nodes[index], renames, names_inside);
        else
            rename(*nodes[index].mutable_input(0), renames);
    return nodes;
}

const onnx::GraphProto* branch_of(const onnx::NodeProto& node, bool condition) {
    for (const auto& attribute : node.attribute())
        if (attribute.name() == (condition ? "then_branch" : "else_branch") && attribute.has_g())
            return &attribute.g();
    return nullptr;
}

} // namespace overtake::compiler
