// SPDX-License-Identifier: MIT
//
// QdqNodes: reads constants, scales and zero points of the nodes of a quantised ONNX model.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/ir/quantisation.hpp"

namespace overtake::compiler {

/// A constant tensor of integers.
struct Integers {
    int type; ///< onnx::TensorProto::INT8, UINT8 or INT32
    std::vector<std::int64_t> shape;
    std::vector<std::int32_t> data;
};

/// Whether a type of onnx::TensorProto is INT8 or UINT8.
bool is_byte(int type);

/// Reads one node after the other.  Throws CompileError that names file, node and operator if the
/// node has something in another form than the one asked for.  Refers to the graph, which has to
/// outlive it.
class QdqNodes {
protected:
    QdqNodes(const onnx::GraphProto& graph, const std::string& path);

    [[noreturn]] void refuse(const std::string& reason) const;

    /// Returns an input of the node, which has to have it.
    const std::string& input(int index) const;
    std::int64_t attribute(const char* name, std::int64_t otherwise) const;
    float real_attribute(const char* name, float otherwise) const;
    std::string text_attribute(const char* name, const char* otherwise) const;
    std::vector<float> floats(int index) const;

    /// Returns the constant tensor of this name as the model has it, or null.
    const onnx::TensorProto* constant(const std::string& name) const;
    /// Returns a constant of integers, as the model has it or made by QuantizeLinear.
    std::optional<Integers> integer_constant(const std::string& name) const;

    /// Returns the quantisation of a computed tensor, as signed bytes, from the scale at input
    /// `scale_index` and the zero point at the next input.  A zero point that is left out is 0 of
    /// type `otherwise`.
    Quantisation activation(int scale_index, int otherwise = onnx::TensorProto::UINT8) const;
    Integers zero_points(int scale_index, std::size_t count, int otherwise) const;
    /// Returns the numbers that a constant stands for; several scales are along `axis`.
    std::vector<float> dequantised(const Integers& constant, int scale_index,
                                   std::int64_t axis) const;
    /// Returns the type that a QuantizeLinear without a zero point makes.
    int output_type() const;
    /// Refuse a node that the device has no form for.
    void check_type(int type) const;
    void check_blocks() const;
    /// Folds a QuantizeLinear of a constant: its output is a constant of integers from then on.
    void fold_quantised_constant();

    const onnx::NodeProto* node_ = nullptr; ///< the node that is read

private:
    template <typename Element, typename Repeated>
    std::vector<Element> elements(const onnx::TensorProto& tensor, const Repeated& repeated) const;
    Integers integers(const onnx::TensorProto& tensor) const;
    float positive(float scale) const;
    std::size_t inner_size(const std::vector<std::int64_t>& shape, std::size_t scales,
                           std::int64_t axis) const;

    const std::string path_;
    std::map<std::string, const onnx::TensorProto*> constants_;
    std::map<std::string, Integers> folded_; // constants that a QuantizeLinear makes
};

} // namespace overtake::compiler
