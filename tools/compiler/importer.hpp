// SPDX-License-Identifier: MIT
//
// One import under way.  The methods are spread over import_*.cpp by subject; import.cpp has the
// table of operators and what frames the nodes.
#pragma once

#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph.hpp"
#include "onnx_file.hpp"
#include "prequantised.hpp"

namespace overtake::compiler {

using Shape = std::vector<std::int64_t>;

constexpr std::int64_t max_dimension = 1 << 20;
constexpr std::int64_t max_window = 65535; // 16 bits in an instruction

/// What a tensor name of the file stands for.  Flatten and the like give a value a second name
/// with another shape.
struct Reference {
    ValueId value;
    Shape shape;
};

std::string to_text(const Shape& shape);
std::size_t element_count(const Shape& shape);

class Importer {
public:
    Importer(const std::string& path, const onnx::ModelProto& model, const GivenScales& given)
        : path_(path), model_(model), given_(given) {}

    Graph run();

private:
    using Handler = void (Importer::*)();
    static const std::map<std::string, Handler>& handlers();

    // One handler for each operator; they work on node_.
    void convolution();
    void transposed_convolution();
    void batch_normalization();
    void relu();
    void clip();
    void pool();
    void global_pool();
    void reduce_mean();
    void arithmetic();
    void extreme();
    void gemm();
    void matrix_product();
    void flatten();
    void reshape();
    void softmax();
    void alias();
    void concat();
    void slice();
    void split();
    void resize();
    void constant();
    void function();

    [[noreturn]] void refuse(const std::string& reason) const;
    std::string node_name() const;
    bool has_input(int index) const;
    const std::string& input_name(int index) const;
    bool is_constant(int index) const;
    const Constant& constant_input(int index) const;
    const std::vector<float>& float_input(int index) const;
    const Reference& variable_input(int index) const;
    const Value& value_of(const Reference& reference) const {
        return graph_.values[reference.value];
    }
    Shape output_shape() const;

    ValueId add_value(const std::string& name, const Shape& shape);
    Node new_node(Operator op) const;
    void finish(Node node, ValueId output);
    void finish_like(const Reference& input, Node node);
    Window read_window(const std::vector<std::int64_t>& kernel, const Value& input) const;
    Window read_taps(const std::vector<std::int64_t>& kernel) const;
    void check_taps(const Window& window, const Value& input, const Value& output) const;
    void check_window(const Window& window, const Value& input, const Value& output) const;
    std::size_t device_axis(const Reference& reference, std::int64_t axis) const;
    void add_slice(const Reference& input, const std::array<Stretch, 3>& stretches,
                   const std::string& name, const Shape& shape);
    void read_transposed_padding(Window& window, const Value& input, const Value& output) const;
    std::vector<float> convolution_bias(std::int64_t outputs) const;
    void add_binary(Operator op);
    void add_global_pool(Operator op, const Shape& shape);
    void add_affine(const Reference& input, std::vector<float> scale, std::vector<float> offset);
    std::vector<float> per_channel(const Constant& constant, const Reference& other) const;
    void add_fully_connected(std::vector<float> weights, std::vector<float> bias);

    void read_constants();
    void read_inputs();
    void read_shapes();
    void read_outputs();
    void check_softmax() const;
    void apply_given_weights(Node& node) const;
    void apply_given_tensors();

    const std::string path_;
    const onnx::ModelProto& model_;
    const GivenScales& given_;
    const onnx::NodeProto* node_ = nullptr;
    Graph graph_;
    std::unordered_map<std::string, Constant> constants_;
    std::unordered_map<std::string, Reference> references_;
    std::unordered_map<std::string, Shape> shapes_;
};

} // namespace overtake::compiler
