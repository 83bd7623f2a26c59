// SPDX-License-Identifier: MIT
//
// Sets nodes aside from libonnx: operators that it does not know, and nodes with graphs in them,
// which it would process as well.
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

/// Moves nodes of these domains, also those in graphs in nodes, to a domain that libonnx ignores.
/// Their types become "DOMAIN::TYPE"; nothing else changes.
void set_aside_custom(onnx::ModelProto& model, const std::vector<std::string>& domains);

/// Moves a node to a domain that libonnx ignores and that import refuses.
void set_aside(onnx::NodeProto& node, const std::string& reason, Refusals& refusals);

/// Adds that domain to the model's imports if there are refusals.
void import_domain_of(const Refusals& refusals, onnx::ModelProto& model);

/// Moves nodes of operators that neither ONNX nor this compiler knows, also those in graphs in
/// nodes, to a domain that libonnx ignores.  An unknown operator with a name of ONNX's becomes
/// "DOMAIN.NAME".
void set_aside_unknown(onnx::ModelProto& model, int opset, Refusals& refusals);

/// Moves nodes that still have graphs in them, and removes these graphs.  Afterwards,
/// `refusals` has only nodes of the model's own graph, by the present names of their outputs.
void set_aside_control_flow(onnx::ModelProto& model, Refusals& refusals);

/// Nodes of domains other than ONNX's, by the first tensor that they make.
using ForeignNodes = std::map<std::string, onnx::NodeProto>;

/// Gives nodes of other domains a type that no opset has changed: libonnx's conversion finds types
/// by name, in any domain, and throws for unknown ones.
ForeignNodes disguise_foreign(onnx::GraphProto& graph);
/// Gives these nodes their types and attributes again.
void undisguise(onnx::GraphProto& graph, ForeignNodes nodes);

} // namespace overtake::compiler
