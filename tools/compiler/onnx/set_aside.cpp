// SPDX-License-Identifier: MIT
#include "compiler/onnx/set_aside.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <onnx/defs/schema.h>

#include "compiler/ir/error.hpp"
#include "compiler/onnx/decompose.hpp"
#include "compiler/onnx/fold_conditions.hpp"
#include "compiler/onnx/remove_qdq.hpp"

namespace overtake::compiler {
namespace {

constexpr const char* domain_of_refused = "overtake.refused";
constexpr const char* domain_of_custom = "overtake.custom";
constexpr std::string_view between = "::"; // domain and type

bool is_known(const onnx::NodeProto& node, int opset) {
    if (is_custom(node) || node.domain() == domain_of_refused)
        return true;
    if (node.domain().empty() || node.domain() == "ai.onnx")
        return onnx::OpSchemaRegistry::Schema(node.op_type(), opset, "") != nullptr;
    return node.domain() == "com.microsoft" &&
           (is_quantised_operator(node.op_type()) || fused_operators().contains(node.op_type()));
}

// Puts the domain in front of a type that ONNX has, so that a custom Div, which was not checked, is
// not taken for ONNX's.
void qualify(onnx::NodeProto& node) {
    if (onnx::OpSchemaRegistry::Schema(node.op_type()) == nullptr)
        return;
    const std::string domain = node.domain().empty() ? "ai.onnx" : node.domain();
    node.set_op_type(domain + "." + node.op_type());
}

std::string reason_for(const onnx::NodeProto& node) {
    const bool is_onnx = node.domain().empty() || node.domain() == "ai.onnx";
    return is_onnx ? "the operator is not supported"
                   : "the operator is not supported; it is of domain '" + node.domain() +
                         "', so export it as operators of ONNX, or leave it to the program with "
                         "--custom-op-domain";
}

// ONNX Runtime's optimiser writes these as if ONNX had them, whatever the opset.
void move_to_onnx_runtime(onnx::NodeProto& node, int opset) {
    const std::string& type = node.op_type();
    if ((node.domain().empty() || node.domain() == "ai.onnx") &&
        (type == "LayerNormalization" || type == "SimplifiedLayerNormalization") &&
        !onnx::OpSchemaRegistry::Schema(type, opset, ""))
        node.set_domain("com.microsoft");
}

void set_aside_unknown(onnx::GraphProto& graph, int opset, Refusals& refusals) {
    for (auto& node : *graph.mutable_node()) {
        move_to_onnx_runtime(node, opset);
        for (auto& attribute : *node.mutable_attribute()) {
            if (attribute.has_g())
                set_aside_unknown(*attribute.mutable_g(), opset, refusals);
            for (auto& inner : *attribute.mutable_graphs())
                set_aside_unknown(inner, opset, refusals);
        }
        if (!is_known(node, opset)) {
            const std::string reason = reason_for(node);
            qualify(node);
            set_aside(node, reason, refusals);
        }
    }
}

void import_domain(onnx::ModelProto& model, const char* domain) {
    if (std::ranges::any_of(model.opset_import(),
                            [&](const auto& import) { return import.domain() == domain; }))
        return;
    auto* import = model.add_opset_import();
    import->set_domain(domain);
    import->set_version(1);
}

// Moves the nodes of one graph, and those of graphs in its nodes.  Returns whether there were any.
bool set_aside_custom(onnx::GraphProto& graph, const std::vector<std::string>& domains) {
    bool is_any = false;
    for (auto& node : *graph.mutable_node()) {
        for (auto& attribute : *node.mutable_attribute()) {
            if (attribute.has_g())
                is_any = set_aside_custom(*attribute.mutable_g(), domains) || is_any;
            for (auto& inner : *attribute.mutable_graphs())
                is_any = set_aside_custom(inner, domains) || is_any;
        }
        if (std::ranges::find(domains, node.domain()) == domains.end())
            continue;
        node.set_op_type(node.domain() + std::string(between) + node.op_type());
        node.set_domain(domain_of_custom);
        is_any = true;
    }
    return is_any;
}

// Returns the first output that has a name; null if none has.
const std::string* first_name(const onnx::NodeProto& node) {
    const auto& outputs = node.output();
    const auto named =
        std::ranges::find_if(outputs, [](const std::string& name) { return !name.empty(); });
    return named == outputs.end() ? nullptr : &*named;
}

// Returns the reason of a refused operator in a branch of an If: the If is refused for any
// condition.
std::optional<std::string> reason_inside(const onnx::NodeProto& node) {
    for (const auto& attribute : node.attribute())
        for (const auto& inner : attribute.g().node()) {
            if (node.op_type() != "If")
                return std::nullopt;
            if (inner.domain() != domain_of_refused) {
                if (const auto deeper = reason_inside(inner))
                    return deeper;
                continue;
            }
            const std::string* output = first_name(inner);
            const std::string name = inner.name().empty() && output ? *output : inner.name();
            return "its branch has node '" + name + "' (" + inner.op_type() +
                   "): " + one_line(inner.doc_string());
        }
    return std::nullopt;
}

// Names refusals by the outputs that nodes have now: those of inlined graphs have other names.
void name_refusals_anew(const onnx::GraphProto& graph, Refusals& refusals) {
    refusals.clear();
    for (const auto& node : graph.node())
        if (node.domain() == domain_of_refused && node.output_size() > 0)
            refusals[node.output(0)] = one_line(node.doc_string());
}

// An operator of the first opset, which is the same up to the newest.
constexpr const char* type_that_stays = "RandomUniform";

} // namespace

void set_aside(onnx::NodeProto& node, const std::string& reason, Refusals& refusals) {
    node.set_domain(domain_of_refused);
    node.clear_attribute();
    node.set_doc_string(reason); // goes where the node goes
    if (node.output_size() > 0)
        refusals[node.output(0)] = reason;
}

void import_domain_of(const Refusals& refusals, onnx::ModelProto& model) {
    if (!refusals.empty())
        import_domain(model, domain_of_refused);
}

bool is_custom(const onnx::NodeProto& node) {
    return node.domain() == domain_of_custom;
}

CustomType custom_type_of(const onnx::NodeProto& node) {
    const std::size_t at = node.op_type().rfind(between);
    return {node.op_type().substr(0, at), node.op_type().substr(at + between.size())};
}

void set_aside_custom(onnx::ModelProto& model, const std::vector<std::string>& domains) {
    if (set_aside_custom(*model.mutable_graph(), domains))
        import_domain(model, domain_of_custom);
}

void set_aside_unknown(onnx::ModelProto& model, int opset, Refusals& refusals) {
    set_aside_unknown(*model.mutable_graph(), opset, refusals);
    if (std::ranges::any_of(model.graph().node(), [](const onnx::NodeProto& node) {
            return node.domain() == "com.microsoft";
        }))
        import_domain(model, "com.microsoft");
    import_domain_of(refusals, model);
}

void set_aside_control_flow(onnx::ModelProto& model, Refusals& refusals) {
    name_refusals_anew(model.graph(), refusals);
    const ReasonsOfControlFlow reasons(model.graph());
    std::vector<std::pair<onnx::NodeProto*, std::string>> found;
    for (auto& node : *model.mutable_graph()->mutable_node())
        if (std::ranges::any_of(node.attribute(), [](const onnx::AttributeProto& attribute) {
                return attribute.has_g() || attribute.graphs_size() > 0;
            }))
            found.emplace_back(&node, reason_inside(node).value_or(reasons.of(node)));
    for (const auto& [node, reason] : found)
        set_aside(*node, reason, refusals);
    import_domain_of(refusals, model);
}

ForeignNodes disguise_foreign(onnx::GraphProto& graph) {
    ForeignNodes nodes;
    for (auto& node : *graph.mutable_node()) {
        const std::string* name = first_name(node);
        if (node.domain().empty() || node.domain() == "ai.onnx" || !name)
            continue;
        onnx::NodeProto& kept = nodes[*name];
        kept.set_op_type(node.op_type());
        kept.mutable_attribute()->Swap(node.mutable_attribute());
        node.set_op_type(type_that_stays);
    }
    return nodes;
}

void undisguise(onnx::GraphProto& graph, ForeignNodes nodes) {
    for (auto& node : *graph.mutable_node()) {
        const std::string* name = first_name(node);
        const auto found = name ? nodes.find(*name) : nodes.end();
        if (found == nodes.end())
            continue;
        node.set_op_type(found->second.op_type());
        node.mutable_attribute()->Swap(found->second.mutable_attribute());
    }
}

} // namespace overtake::compiler
