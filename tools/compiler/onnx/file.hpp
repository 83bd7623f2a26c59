// SPDX-License-Identifier: MIT
//
// Reads ONNX files through libonnx: checks them, converts them to a known opset and infers shapes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/onnx/inputs.hpp"
#include "compiler/onnx/remove_qdq.hpp"
#include "compiler/onnx/set_aside.hpp"

namespace overtake::compiler {

/// A constant of the model.  Only one of the two vectors has its elements.
struct Constant {
    std::vector<std::int64_t> shape;
    std::vector<float> floats;
    std::vector<std::int64_t> integers;
    std::optional<Quantisation> given = std::nullopt; // meaning of the model's own bytes
};

/// Computes a graph without inputs (or with inputs of which it reads only the shape) and returns
/// the constants that it makes, as far as it can.  Its opset is at least 13.
using Evaluate = std::function<std::map<std::string, Constant>(const onnx::ModelProto& model)>;

/// The nodes that a file has before conditions are folded.
struct FileNodes {
    std::set<std::string> names; ///< of each node, and of its first output
    std::set<std::string> kinds; ///< their operators, functions and those of newer opsets included
};

/// A network in the form that import takes.
struct Network {
    onnx::ModelProto model;
    GivenScales given;
    FileNodes nodes;
    Refusals refusals;             ///< nodes that libonnx has not seen; import refuses them
    bool was_half_precise = false; ///< it had FLOAT16 or BFLOAT16, which are float32 now
};

/// Reads `path` and rewrites it for import.  Inlines functions, checks the file, sorts nodes,
/// lowers opsets above 17 to 17, gives inputs the user's shapes and values and a batch of 1 where
/// there is none, removes nodes that the user names, makes half precision float, folds conditions,
/// unrolls loops, raises opsets below 13 to 13 (13 to 17 mean the same for every operator that
/// import knows), makes a quantised model a float one with given scales, infers shapes, checks
/// types and fuses operators.  Throws CompileError naming the file.
Network load_onnx(const std::string& path, const InputSettings& settings, const Evaluate& evaluate);

/// Reads a tensor of numbers stored in the file itself: reals become float32, integers and truth
/// values int64.  Throws CompileError for others.
Constant read_constant(const onnx::TensorProto& tensor, const std::string& place);

/// Writes a constant as a tensor: float32 or int64.
void write_constant(const Constant& constant, const std::string& name, onnx::TensorProto& tensor);

/// Writes a constant as a tensor of that type; false for types that constants cannot have here.
bool write_typed(const Constant& constant, int type, const std::string& name,
                 onnx::TensorProto& tensor);

/// Returns the static shape, or nothing if there is none.
std::optional<std::vector<std::int64_t>> static_shape(const onnx::ValueInfoProto& info);

/// The attributes of one node.  The caller passes ONNX's default where it reads an attribute.
class Attributes {
public:
    explicit Attributes(const onnx::NodeProto& node) : node_(node) {}
    bool has(const std::string& name) const { return find(name) != nullptr; }
    std::int64_t integer(const std::string& name, std::int64_t otherwise) const;
    float real(const std::string& name, float otherwise) const;
    std::string text(const std::string& name, const std::string& otherwise) const;
    std::vector<std::int64_t> integers(const std::string& name,
                                       std::vector<std::int64_t> otherwise) const;
    std::vector<float> reals(const std::string& name) const; // empty if there is none
    const onnx::TensorProto* tensor(const std::string& name) const;

private:
    const onnx::AttributeProto* find(const std::string& name) const;
    const onnx::NodeProto& node_;
};

} // namespace overtake::compiler
