// SPDX-License-Identifier: MIT
//
// Operators that libonnx does not know, or that it would follow into graphs of their own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// Why nodes are refused, by their first outputs.
using Refusals = std::map<std::string, std::string>;

/// An operator that is the program's own.
struct CustomType {
    std::string domain;
    std::string type;
};

/// Of a node that set_aside_custom() has moved.
CustomType custom_type_of(const onnx::NodeProto& node);
bool is_custom(const onnx::NodeProto& node);

/// Moves nodes of these domains, as they are, to one where libonnx leaves them alone, in graphs in
/// nodes too.
void set_aside_custom(onnx::ModelProto& model, const std::vector<std::string>& domains);

/// Moves a node to a domain of its own, where libonnx leaves it alone and import refuses it.
void set_aside(onnx::NodeProto& node, const std::string& reason, Refusals& refusals);

/// The model names that domain if there are refusals.
void import_domain_of(const Refusals& refusals, onnx::ModelProto& model);

/// Moves nodes of operators that neither ONNX nor remove_qdq() knows to a domain of their own,
/// where libonnx leaves them alone, in graphs in nodes too.  One that bears a name of ONNX's
/// becomes "DOMAIN.NAME".
void set_aside_unknown(onnx::ModelProto& model, int opset, Refusals& refusals);

/// The same with nodes that still have graphs in them, which are taken away.  From then on
/// refusals are of nodes of the graph itself, by the names that they have now.
void set_aside_control_flow(onnx::ModelProto& model, Refusals& refusals);

/// Nodes of domains other than ONNX's, by the first tensor that they make.
using ForeignNodes = std::map<std::string, onnx::NodeProto>;

/// Gives nodes of other domains a type that no opset has changed: libonnx's conversion looks types
/// up by name, whatever their domain, and throws at those it does not know.
ForeignNodes disguise_foreign(onnx::GraphProto& graph);
/// Gives them their types and attributes again.
void undisguise(onnx::GraphProto& graph, ForeignNodes nodes);

} // namespace overtake::compiler
