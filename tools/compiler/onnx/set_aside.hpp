// SPDX-License-Identifier: MIT
//
// Sets aside nodes of operators that libonnx does not know, or whose graphs it would follow.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// The reasons why nodes are refused, by their first outputs.
using Refusals = std::map<std::string, std::string>;

/// An operator that is the program's own.
struct CustomType {
    std::string domain;
    std::string type;
};

/// Returns the type of a node that set_aside_custom() has moved.
CustomType custom_type_of(const onnx::NodeProto& node);
bool is_custom(const onnx::NodeProto& node);

/// Moves nodes of these domains, unchanged, to a domain that libonnx ignores, in graphs in nodes
/// too.
void set_aside_custom(onnx::ModelProto& model, const std::vector<std::string>& domains);

/// Moves a node to a domain that libonnx ignores and that import refuses.
void set_aside(onnx::NodeProto& node, const std::string& reason, Refusals& refusals);

/// Adds that domain to the model's imports if there are refusals.
void import_domain_of(const Refusals& refusals, onnx::ModelProto& model);

/// Moves nodes of operators that neither ONNX nor remove_qdq() knows to a domain that libonnx
/// ignores, in graphs in nodes too.  An operator of another domain with a name of ONNX's becomes
/// "DOMAIN.NAME".
void set_aside_unknown(onnx::ModelProto& model, int opset, Refusals& refusals);

/// Moves nodes that still have graphs in them, and removes these graphs.  From then on refusals are
/// of nodes of the graph itself, by the names that they have now.
void set_aside_control_flow(onnx::ModelProto& model, Refusals& refusals);

/// Nodes of domains other than ONNX's, by the first tensor that they make.
using ForeignNodes = std::map<std::string, onnx::NodeProto>;

/// Gives nodes of other domains a type that no opset has changed: libonnx's conversion finds types
/// by name, in any domain, and throws for unknown ones.
ForeignNodes disguise_foreign(onnx::GraphProto& graph);
/// Gives these nodes their types and attributes again.
void undisguise(onnx::GraphProto& graph, ForeignNodes nodes);

} // namespace overtake::compiler
