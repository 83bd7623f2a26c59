// SPDX-License-Identifier: MIT
//
// One import under way.  The methods are spread over import_*.cpp by subject; import.cpp has the
// table of operators and what frames the nodes.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/import/import.hpp"
#include "compiler/import/partition.hpp"
#include "compiler/ir/graph.hpp"
#include "compiler/ir/limits.hpp"
#include "compiler/onnx/file.hpp"
#include "compiler/onnx/libonnx.hpp"
#include "compiler/onnx/remove_qdq.hpp"

namespace overtake::compiler {

using Shape = std::vector<std::int64_t>;

/// What a tensor name of the file stands for.  Flatten and the like give a value a second name
/// with another shape.
struct Reference {
    ValueId value;
    Shape shape;
    bool integer = false; // integers or truth values, held as reals
};

/// Elements first, first + step, ... of one axis of ONNX.
struct SlicedAxis {
    std::size_t axis;
    std::int64_t first, step, count;
};

std::string to_text(const Shape& shape);
std::size_t element_count(const Shape& shape);
std::vector<float> reals_of(const Constant& constant);
std::vector<std::int64_t> integers_of(const Constant& constant);
std::optional<Positions> resize_positions(const std::string& mode, double scale,
                                          std::int64_t inputs, std::int64_t outputs);
/// Which input a mode of Resize chooses, before it is clamped.  Unknown modes round to the floor.
std::int64_t round_position(const std::string& mode, double position);

class Importer {
public:
    /// `on_cpu` are numbers of nodes that go to the CPU although the device could run them.
    Importer(const std::string& path, const onnx::ModelProto& model, const GivenScales& given,
             const ImportOptions& options, std::set<int> on_cpu = {})
        : path_(path), libonnx_(path), model_(model), given_(given), options_(options),
          on_cpu_(std::move(on_cpu)) {}

    Graph run();
    /// By node of the file; after run().
    const std::vector<Placement>& placements() const { return placements_; }
    static std::vector<SupportedOperator> supported();

private:
    using Handler = void (Importer::*)();
    // How an operator gets into the graph; null where it cannot.
    struct Entry {
        Handler bpu = nullptr;
        Handler cpu = nullptr;
        const char* on_bpu = ""; // what the device wants, for people
        const char* on_cpu = "";
        Handler constant = nullptr; // for those that only make constants
    };
    static const std::map<std::string, Entry>& operators();

    void import_node(int number);
    bool try_bpu(const Entry& entry, std::string& reason);
    void fold_constant(const Entry& entry);
    void fold_reals(const Entry& entry);
    void check_folded(const Value& value) const;
    std::vector<std::int64_t> number_integers();
    void restore_integers(const std::vector<std::int64_t>& list);
    bool has_constant_inputs_only() const;
    bool has_integers() const;
    void infer_shape();

    // One handler for each operator; they work on node_.
    void convolution();
    void transposed_convolution();
    void batch_normalization();
    void relu();
    void clip();
    void pool();
    void global_pool();
    void reduce();
    void pad();
    void depth_to_space();
    void gather();
    void expand();
    void tile();
    void transpose();
    void arithmetic();
    void quotient();
    void extreme();
    void sum();
    void power();
    void parametric_relu();
    void gemm();
    void matrix_product();
    void flatten();
    void reshape();
    void alias();
    void concat();
    void slice();
    void split();
    void resize();
    void function();

    // The same for the CPU.
    void cpu_unary();
    void cpu_binary();
    void cpu_where();
    void cpu_clip();
    void cpu_cast();
    void cpu_batch_normalization();
    void cpu_transpose();
    void cpu_slice();
    void cpu_split();
    void cpu_expand();
    void cpu_tile();
    void cpu_depth_to_space();
    void cpu_gather();
    void cpu_gather_elements();
    void cpu_concat();
    void cpu_pad();
    void cpu_resize();
    void cpu_softmax();
    void cpu_layer_normalization();
    void cpu_instance_normalization();
    void cpu_reduce();
    void cpu_global_pool();
    void cpu_arg_reduce();
    void cpu_top_k();
    void cpu_non_max_suppression();
    void cpu_matrix_product();
    void cpu_gemm();
    void cpu_convolution();
    void cpu_pool();

    // Those that give a tensor another name or shape, wherever it is.
    void squeeze();
    void unsqueeze();
    // Those of sequences.
    void sequence_construct();
    void sequence_insert();
    void sequence_erase();
    void sequence_at();
    void sequence_length();
    void concat_from_sequence();
    void split_to_sequence();
    std::vector<Reference>& sequence_input();
    std::size_t sequence_position(int index, std::size_t limit) const;

    // And those that are constants once shapes are known.
    void constant();
    void shape_constant();
    void constant_of_shape();
    void range_constant();

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
    Shape output_shape();

    // For the CPU.  What is made with cpu_node() has no name in the file until finish_cpu().
    Reference cpu_input(int index);
    Reference cpu_constant(const Shape& shape, std::vector<float> elements);
    Reference cpu_node(const CpuForm& form, const std::vector<Reference>& inputs,
                       const Shape& shape);
    ValueId with_own_shape(const Reference& reference);
    void finish_cpu(const Reference& result, int output = 0);
    Reference cpu_view(const Reference& input, std::int64_t offset, std::vector<std::int64_t> steps,
                       const Shape& shape);
    Reference cpu_repeated(const Reference& input, std::vector<std::int64_t>& repeats);
    Reference cpu_truncated(const Reference& input);
    Reference cpu_product(Reference left, Reference right);
    Shape expanded_shape(const Shape& from);
    Shape broadcast_shape(const Shape& left, const Shape& right) const;
    void check_scales() const;
    void check_between(const std::vector<std::int64_t>& numbers, std::int64_t low,
                       std::int64_t high, const char* attribute) const;
    std::size_t axis_of(std::int64_t axis, std::size_t rank) const;
    std::vector<std::int64_t> permutation(std::size_t rank) const;
    std::vector<SlicedAxis> sliced_axes(const Shape& shape) const;
    std::vector<std::int64_t> split_sizes(std::int64_t size) const;
    std::vector<std::int64_t> reduced_axes(std::size_t rank) const;
    std::vector<std::int64_t> pads_of(std::size_t rank) const;
    float fill_of() const;
    Shape reduced_shape(const Shape& shape, const std::vector<std::int64_t>& axes) const;
    std::vector<std::int64_t> padding_of(const std::vector<std::int64_t>& extents,
                                         const std::vector<std::int64_t>& strides,
                                         const Shape& sizes, const Shape& counts,
                                         bool is_given) const;

    // For the device.
    void check_size(const std::string& name, const Shape& shape) const;
    void check_scale(double scale, std::int64_t outputs) const;
    ValueId add_host_value(const std::string& name, const Shape& shape);
    ValueId add_value(const std::string& name, const Shape& shape, Order order = Order::planes);
    Value laid_out(const std::string& name, const Shape& shape, Order order) const;
    ValueId in_order(const Reference& reference, Order order);
    ValueId reshaped(const Reference& reference, Order order);
    ValueId transposed_matrix(const Reference& reference);
    ValueId add_permute(ValueId from, Value to, const std::array<std::size_t, 3>& axes);
    bool is_on_device(ValueId value) const;
    bool is_read_by_cpu(ValueId value) const;
    const Node* writer_of(ValueId value) const;
    Reference image_input(int index);
    ValueId own_shape_of_output(const Reference& reference);
    std::vector<std::int64_t> spatial_attribute(const std::string& name, std::int64_t neutral,
                                                const Shape& image) const;
    void add_rows_product(const Reference& input, std::vector<float> weights,
                          std::vector<float> bias);
    Node new_node(Operator op) const;
    void check_weights(int index) const;
    void check_finite(const Node& node) const;
    void finish(Node node, ValueId output);
    void finish_like(const Reference& input, Node node);
    Window read_window(const std::vector<std::int64_t>& kernel, const Value& input) const;
    Window read_taps(const std::vector<std::int64_t>& kernel, const Shape& image) const;
    void check_taps(const Window& window, const Value& input, const Value& output) const;
    void check_pool_size(const Window& window) const;
    void check_window(const Window& window, const Value& input, const Value& output) const;
    // One of axis_*, and how many of its elements one of ONNX's axis is.
    struct DevicePlace {
        std::size_t axis;
        std::uint32_t factor;
    };
    DevicePlace device_place(const Value& value, std::size_t axis) const;
    bool transpose_groups(const Reference& input, const std::vector<std::int64_t>& perm,
                          const Shape& shape);
    void add_slice(ValueId input, const std::array<Stretch, 3>& stretches, const std::string& name,
                   const Shape& shape);
    void read_transposed_padding(Window& window, const Value& input, const Value& output) const;
    void check_output_channels(const Value& output, std::int64_t channels) const;
    std::vector<float> convolution_bias(std::int64_t outputs) const;
    // A computed tensor or a constant.
    struct Operand {
        Reference reference;
        const Constant* constant;
    };
    Operand operand(int index) const;
    ValueId device_constant(const Constant& constant, const Shape& shape, Order order);
    bool lie_alike(const Reference& left, const Reference& right) const;
    void check_broadcast(ValueId input, ValueId output) const;
    Reference add_pair(Operator op, const Operand& left, const Operand& right,
                       const std::string& name);
    Reference add_chain(Operator op, const std::string& name);
    void add_function(const Reference& input, std::function<float(float)> function);
    void add_scaling(const Reference& input, const std::vector<float>& operand, int constant_index);
    void add_global_pool(Operator op, bool keeps_dimensions);
    Padding padding_on_device() const;
    std::uint32_t reduced_on_device(const Value& value,
                                    const std::vector<std::int64_t>& axes) const;
    Reference stretch_of(const Reference& input, std::size_t axis, std::int64_t first,
                         std::int64_t count, const std::string& name);
    Reference joined(const std::vector<Reference>& parts, std::size_t axis,
                     const std::string& name);
    void add_affine(const Reference& input, std::vector<float> scale, std::vector<float> offset);
    std::optional<std::vector<float>> per_channel(const Constant& constant,
                                                  const Reference& other) const;
    void add_fully_connected(std::vector<float> weights, std::vector<float> bias);

    void read_constants();
    void read_inputs();
    void read_shapes();
    void read_outputs();
    void apply_given_weights(Node& node) const;
    void apply_given_tensors();

    const std::string path_;
    Libonnx libonnx_;
    const onnx::ModelProto& model_;
    const GivenScales& given_;
    const ImportOptions& options_;
    const std::set<int> on_cpu_;
    std::vector<Placement> placements_;
    const onnx::NodeProto* node_ = nullptr;
    Graph graph_;
    std::unordered_map<std::string, Constant> constants_;
    std::unordered_map<std::string, Reference> references_;
    std::unordered_map<std::string, Shape> shapes_;
    std::unordered_map<std::string, int> types_; // of TensorProto
    std::map<std::pair<ValueId, Order>, ValueId> reordered_;
    std::map<std::pair<ValueId, Shape>, ValueId> copied_; // on the CPU, for another shape
    std::unordered_map<std::string, std::vector<Reference>> sequences_;
    int parts_ = 0; // of the node at hand
};

} // namespace overtake::compiler
