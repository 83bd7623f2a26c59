// SPDX-License-Identifier: MIT
#include "compiler/onnx/inline_functions.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <google/protobuf/unknown_field_set.h>

#include "compiler/ir/error.hpp"
#include "compiler/onnx/inline_branch.hpp"

namespace overtake::compiler {
namespace {

constexpr int most_nodes_inlined = 1 << 20;
constexpr int deepest = 64;               // calls in calls
constexpr int field_of_defaults = 11;     // FunctionProto.attribute_proto, since IR version 9
constexpr int field_of_overload = 13;     // FunctionProto.overload, since IR version 10
constexpr int field_of_node_overload = 8; // NodeProto.overload

using AttributesByName = std::map<std::string, onnx::AttributeProto>;

bool is_default_domain(const std::string& domain) {
    return domain.empty() || domain == "ai.onnx";
}

std::int64_t
default_opset_of(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
    for (const auto& import : imports)
        if (is_default_domain(import.domain()))
            return import.version();
    return 0;
}

// Returns the texts of a field that this version of libonnx may not know.
std::vector<std::string> texts_of(const google::protobuf::Message& message, int number) {
    std::vector<std::string> texts;
    const auto* reflection = message.GetReflection();
    const auto* field = message.GetDescriptor()->FindFieldByNumber(number);
    const bool is_text = field && field->type() == google::protobuf::FieldDescriptor::TYPE_STRING;
    if (is_text && reflection->HasField(message, field))
        texts.push_back(reflection->GetString(message, field));
    if (field && field->is_repeated() && !is_text)
        for (int index = 0; index < reflection->FieldSize(message, field); ++index)
            texts.push_back(
                reflection->GetRepeatedMessage(message, field, index).SerializePartialAsString());
    const auto& unknown = reflection->GetUnknownFields(message);
    for (int index = 0; index < unknown.field_count(); ++index)
        if (const auto& found = unknown.field(index);
            found.number() == number &&
            found.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
            texts.push_back(found.length_delimited());
    return texts;
}

std::string overload_of(const google::protobuf::Message& message, int number) {
    const std::vector<std::string> texts = texts_of(message, number);
    return texts.empty() ? "" : texts.back();
}

using Key = std::pair<std::pair<std::string, std::string>, std::string>;

class Inliner {
public:
    Inliner(onnx::ModelProto& model, const std::string& path) : path_(path) {
        const std::int64_t opset = default_opset_of(model.opset_import());
        for (const auto& function : model.functions()) {
            const std::int64_t own = default_opset_of(function.opset_import());
            if (own == 0 || own == opset)
                functions_.emplace(Key{{function.domain(), function.name()},
                                       overload_of(function, field_of_overload)},
                                   &function);
        }
        add_names(model.graph(), names_);
    }

    void run(onnx::GraphProto& graph, int depth = 0) {
        std::vector<onnx::NodeProto> nodes;
        for (auto& node : *graph.mutable_node())
            expand(std::move(node), graph, nodes, depth);
        graph.clear_node();
        for (onnx::NodeProto& node : nodes)
            *graph.add_node() = std::move(node);
    }

private:
    const onnx::FunctionProto* called_by(const onnx::NodeProto& node) const {
        const auto found = functions_.find(
            Key{{node.domain(), node.op_type()}, overload_of(node, field_of_node_overload)});
        return found == functions_.end() ? nullptr : found->second;
    }

    void expand(onnx::NodeProto node, onnx::GraphProto& graph, std::vector<onnx::NodeProto>& nodes,
                int depth) {
        const onnx::FunctionProto* function = called_by(node);
        if (!function) {
            for (auto& attribute : *node.mutable_attribute()) {
                if (attribute.has_g())
                    run(*attribute.mutable_g(), depth);
                for (auto& inner : *attribute.mutable_graphs())
                    run(inner, depth);
            }
            nodes.push_back(std::move(node));
            return;
        }
        if (depth == deepest || (count_ += function->node_size()) > most_nodes_inlined)
            throw CompileError(path_, "its functions call themselves, or have more than " +
                                          std::to_string(most_nodes_inlined) +
                                          " nodes; export it without functions");
        for (onnx::NodeProto& inner : body_of(*function, node, graph))
            expand(std::move(inner), graph, nodes, depth + 1);
    }

    // Returns the function's nodes with the names and attributes of the call.
    std::vector<onnx::NodeProto> body_of(const onnx::FunctionProto& function,
                                         const onnx::NodeProto& call, onnx::GraphProto& graph) {
        const AttributesByName attributes = attributes_of(function, call);
        onnx::GraphProto body;
        *body.mutable_node() = function.node();
        set_attributes(body, attributes);
        for (auto& inner : *body.mutable_node())
            inner.set_name(call.name() + "/" + inner.name());
        for (const std::string& output : function.output())
            body.add_output()->set_name(output);
        Renames inputs;
        for (int index = 0; index < function.input_size(); ++index)
            inputs[function.input(index)] = index < call.input_size() ? call.input(index) : "";
        return inline_branch(call, std::move(body), graph, names_, inputs);
    }

    static AttributesByName attributes_of(const onnx::FunctionProto& function,
                                          const onnx::NodeProto& call) {
        AttributesByName attributes;
        for (const auto& attribute : call.attribute())
            attributes[attribute.name()] = attribute;
        for (const std::string& bytes : texts_of(function, field_of_defaults))
            if (onnx::AttributeProto attribute; attribute.ParsePartialFromString(bytes))
                attributes.emplace(attribute.name(), attribute);
        return attributes;
    }

    // Sets attributes that refer to those of the call; if the call lacks one, the node does too.
    static void set_attributes(onnx::GraphProto& graph, const AttributesByName& attributes) {
        for (auto& node : *graph.mutable_node())
            for (int index = node.attribute_size() - 1; index >= 0; --index) {
                onnx::AttributeProto& attribute = *node.mutable_attribute(index);
                if (attribute.has_g())
                    set_attributes(*attribute.mutable_g(), attributes);
                for (auto& inner : *attribute.mutable_graphs())
                    set_attributes(inner, attributes);
                if (attribute.ref_attr_name().empty())
                    continue;
                const std::string name = attribute.name();
                const auto found = attributes.find(attribute.ref_attr_name());
                if (found == attributes.end()) {
                    node.mutable_attribute()->DeleteSubrange(index, 1);
                } else {
                    attribute = found->second;
                    attribute.set_name(name);
                }
            }
    }

    const std::string& path_;
    std::map<Key, const onnx::FunctionProto*> functions_;
    std::set<std::string> names_;
    int count_ = 0;
};

} // namespace

void inline_functions(onnx::ModelProto& model, const std::string& path) {
    if (model.functions_size() == 0)
        return;
    Inliner(model, path).run(*model.mutable_graph());
    model.clear_functions();
}

} // namespace overtake::compiler
