// SPDX-License-Identifier: MIT
//
// What the nodes of a quantised ONNX model say: constants, scales, zero points.
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

/// Of onnx::TensorProto: INT8 or UINT8.
bool is_byte(int type);

/// Reads one node after the other.  What a node has in another form than is asked for is a
/// CompileError that names file, node and operator.  Refers to the graph, which has to outlive it.
class QdqNodes {
protected:
    QdqNodes(const onnx::GraphProto& graph, const std::string& path);

    [[noreturn]] void refuse(const std::string& reason) const;

    /// Of the node: its input, which has to be there.
    const std::string& input(int index) const;
    std::int64_t attribute(const char* name, std::int64_t otherwise) const;
    float real_attribute(const char* name, float otherwise) const;
    std::string text_attribute(const char* name, const char* otherwise) const;
    std::vector<float> floats(int index) const;

    /// The constant tensor of this name as it stands in the model, or nothing.
    const onnx::TensorProto* constant(const std::string& name) const;
    /// One of integers, as it stands or made by QuantizeLinear.
    std::optional<Integers> integer_constant(const std::string& name) const;

    /// What the scale and zero point at the inputs `scale_index` and the next one say of a tensor
    /// that is computed, as signed bytes.  Zero points that are left out are 0 of type `otherwise`.
    Quantisation activation(int scale_index, int otherwise = onnx::TensorProto::UINT8) const;
    Integers zero_points(int scale_index, std::size_t count, int otherwise) const;
    /// The numbers that a constant stands for; several scales are along `axis`.
    std::vector<float> dequantised(const Integers& constant, int scale_index,
                                   std::int64_t axis) const;
    /// What a QuantizeLinear without a zero point makes.
    int output_type() const;
    /// These refuse what the device has no form for.
    void check_type(int type) const;
    void check_blocks() const;
    /// The node is a QuantizeLinear of a constant: its output is one of integers from now on.
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
