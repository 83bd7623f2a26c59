// SPDX-License-Identifier: MIT
#include "compiler/onnx/types.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnx/defs/data_type_utils.h>
#include <onnx/defs/schema.h>

#include "compiler/ir/error.hpp"

namespace overtake::compiler {
namespace {

using Parameter = onnx::OpSchema::FormalParameter;

// Returns "int64" for tensor(int64); sequences and other types as libonnx writes them.
std::string type_name(const std::string& type) {
    constexpr std::string_view prefix = "tensor(";
    if (!type.starts_with(prefix))
        return type;
    return type.substr(prefix.size(), type.size() - prefix.size() - 1);
}

class TypeCheck {
public:
    TypeCheck(const onnx::ModelProto& model, const std::string& path) : model_(model), path_(path) {
        const auto& graph = model.graph();
        for (const auto* infos : {&graph.value_info(), &graph.output(), &graph.input()})
            for (const auto& info : *infos)
                add(info.name(), info.type());
        for (const auto& tensor : graph.initializer()) {
            onnx::TypeProto type;
            type.mutable_tensor_type()->set_elem_type(tensor.data_type());
            add(tensor.name(), type);
        }
        for (const auto& import : model.opset_import())
            if (import.domain().empty() || import.domain() == "ai.onnx")
                opset_ = static_cast<int>(import.version());
    }

    void run() {
        for (const auto& node : model_.graph().node()) {
            const bool is_onnx = node.domain().empty() || node.domain() == "ai.onnx";
            node_ = &node;
            if (const auto* schema =
                    onnx::OpSchemaRegistry::Schema(node.op_type(), opset_, onnx::ONNX_DOMAIN);
                schema && is_onnx)
                check(*schema);
        }
    }

private:
    struct Bound {
        std::string name, type;
    };

    void add(const std::string& name, const onnx::TypeProto& type) {
        if (type.has_tensor_type() &&
            type.tensor_type().elem_type() == onnx::TensorProto::UNDEFINED)
            return;
        try {
            types_[name] = *onnx::Utils::DataTypeUtils::ToType(type);
        } catch (const std::exception&) {
            // an invalid type is not known
        }
    }

    [[noreturn]] void refuse(const std::string& reason) const {
        const std::string& name =
            node_->name().empty() && node_->output_size() > 0 ? node_->output(0) : node_->name();
        throw CompileError(path_,
                           fmt::format("node '{}' ({}): {}", name, node_->op_type(), reason));
    }

    void check(const onnx::OpSchema& schema) {
        const auto& parameters = schema.inputs();
        std::map<std::string, Bound> bound; // by the letter that stands for a type
        for (int index = 0; index < node_->input_size() && !parameters.empty(); ++index) {
            const auto place = std::min(static_cast<std::size_t>(index), parameters.size() - 1);
            const auto found = types_.find(node_->input(index));
            if (!node_->input(index).empty() && found != types_.end())
                check(parameters[place], {found->first, found->second}, bound);
        }
    }

    void check(const Parameter& parameter, const Bound& input,
               std::map<std::string, Bound>& bound) const {
        std::set<std::string> allowed;
        for (const auto* type : parameter.GetTypes())
            allowed.insert(type_name(*type));
        if (!allowed.contains(type_name(input.type)))
            refuse(fmt::format("input '{}' is of type {}; the operator takes {} there", input.name,
                               type_name(input.type), fmt::join(allowed, ", ")));
        if (!parameter.GetIsHomogeneous())
            return;
        const auto [other, is_first] = bound.emplace(parameter.GetTypeStr(), input);
        if (!is_first && other->second.type != input.type)
            refuse(fmt::format("inputs '{}' of type {} and '{}' of type {} have to be of one type",
                               other->second.name, type_name(other->second.type), input.name,
                               type_name(input.type)));
    }

    const onnx::ModelProto& model_;
    const std::string& path_;
    const onnx::NodeProto* node_ = nullptr;
    std::unordered_map<std::string, std::string> types_; // by name of the tensor
    int opset_ = 0;
};

} // namespace

void check_types(const onnx::ModelProto& model, const std::string& path) {
    TypeCheck(model, path).run();
}

bool is_short_integer(int type) {
    return type == onnx::TensorProto::INT8 || type == onnx::TensorProto::UINT8 ||
           type == onnx::TensorProto::INT16 || type == onnx::TensorProto::UINT16;
}

} // namespace overtake::compiler
