// SPDX-License-Identifier: MIT
#include "compiler/import/import.hpp"

#include <algorithm>
#include <filesystem>
#include <new>

#include "compiler/import/importer.hpp"
#include "compiler/import/partition.hpp"
#include "compiler/ir/error.hpp"

namespace overtake::compiler {

// What goes where, and what the table of supported operators says of it.
const std::map<std::string, Importer::Entry>& Importer::operators() {
    static const Entry by_table = {&Importer::function, &Importer::cpu_unary,
                                   "any shape with three device dimensions; a table", "any shape"};
    static const std::map<std::string, Entry> table = {
        {"Abs", by_table},
        {"Acos", by_table},
        {"Acosh", by_table},
        {"Add",
         {&Importer::arithmetic, &Importer::cpu_binary, "broadcasting per device dimension",
          "broadcasting"}},
        {"And", {nullptr, &Importer::cpu_binary, "", "broadcasting"}},
        {"ArgMax", {nullptr, &Importer::cpu_arg_reduce, "", "any shape"}},
        {"ArgMin", {nullptr, &Importer::cpu_arg_reduce, "", "any shape"}},
        {"Asin", by_table},
        {"Asinh", by_table},
        {"Atan", by_table},
        {"Atanh", by_table},
        {"AveragePool",
         {&Importer::pool, &Importer::cpu_pool, "1 or 2 axes, batch 1; no indices",
          "any number of axes; no indices"}},
        {"BatchNormalization",
         {&Importer::batch_normalization, &Importer::cpu_batch_normalization, "constant parameters",
          "constant parameters"}},
        {"Cast", {nullptr, &Importer::cpu_cast, "", "numbers and truth values, held as float32"}},
        {"Ceil", by_table},
        {"Celu", by_table},
        {"Clip",
         {&Importer::clip, &Importer::cpu_clip,
          "any shape with three device dimensions; constant bounds", "constant bounds"}},
        {"Concat",
         {&Importer::concat, &Importer::cpu_concat, "along a device dimension; also constants",
          "any shape"}},
        {"ConcatFromSequence",
         {nullptr, nullptr, "", "a sequence known here", &Importer::concat_from_sequence}},
        {"SequenceAt", {nullptr, nullptr, "", "a constant position", &Importer::sequence_at}},
        {"SequenceConstruct", {nullptr, nullptr, "", "known here", &Importer::sequence_construct}},
        {"SequenceEmpty", {nullptr, nullptr, "", "known here", &Importer::sequence_construct}},
        {"SequenceErase", {nullptr, nullptr, "", "a constant position", &Importer::sequence_erase}},
        {"SequenceInsert",
         {nullptr, nullptr, "", "a constant position", &Importer::sequence_insert}},
        {"SequenceLength", {nullptr, nullptr, "", "a constant", &Importer::sequence_length}},
        {"SplitToSequence", {nullptr, nullptr, "", "constant sizes", &Importer::split_to_sequence}},
        {"Constant", {nullptr, nullptr, "", "numbers", &Importer::constant}},
        {"ConstantOfShape",
         {nullptr, nullptr, "", "a constant shape", &Importer::constant_of_shape}},
        {"Conv",
         {&Importer::convolution, &Importer::cpu_convolution,
          "1 or 2 axes, batch 1, constant weights", "any number of axes"}},
        {"ConvTranspose",
         {&Importer::transposed_convolution, &Importer::cpu_convolution,
          "1 or 2 axes, batch 1, constant weights, strides within the kernel",
          "any number of axes"}},
        {"Cos", by_table},
        {"Cosh", by_table},
        {"DepthToSpace",
         {&Importer::depth_to_space, &Importer::cpu_depth_to_space, "images, batch 1",
          "any shape"}},
        {"Div",
         {&Importer::arithmetic, &Importer::cpu_binary,
          "by a constant, a number by a tensor, or of two functions of one tensor; broadcasting",
          "broadcasting"}},
        {"Dropout", {nullptr, &Importer::alias, "", "another name, no work"}},
        {"Elu", by_table},
        {"Equal", {nullptr, &Importer::cpu_binary, "", "broadcasting"}},
        {"Erf", by_table},
        {"Exp", by_table},
        {"Expand",
         {&Importer::expand, &Importer::cpu_expand, "of device dimensions; a constant shape",
          "a constant shape"}},
        {"Flatten", {nullptr, &Importer::flatten, "", "another name, no work"}},
        {"Floor", by_table},
        {"Gather",
         {&Importer::gather, &Importer::cpu_gather,
          "constant positions along a device dimension, in at most 64 runs", "any shape"}},
        {"GatherElements", {nullptr, &Importer::cpu_gather_elements, "", "any shape"}},
        {"Gemm",
         {&Importer::gemm, &Importer::cpu_gemm, "rows times a constant matrix", "any matrices"}},
        {"GlobalAveragePool",
         {&Importer::global_pool, &Importer::cpu_global_pool, "1 or 2 axes, batch 1",
          "any number of axes"}},
        {"GlobalMaxPool",
         {&Importer::global_pool, &Importer::cpu_global_pool, "1 or 2 axes, batch 1",
          "any number of axes"}},
        {"Greater", {nullptr, &Importer::cpu_binary, "", "broadcasting"}},
        {"GreaterOrEqual", {nullptr, &Importer::cpu_binary, "", "broadcasting"}},
        {"HardSigmoid", by_table},
        {"HardSwish", by_table},
        {"Identity", {nullptr, &Importer::alias, "", "another name, no work"}},
        {"InstanceNormalization",
         {nullptr, &Importer::cpu_instance_normalization, "", "any shape"}},
        {"IsInf", {nullptr, &Importer::cpu_unary, "", "any shape"}},
        {"IsNaN", {nullptr, &Importer::cpu_unary, "", "any shape"}},
        {"LayerNormalization", {nullptr, &Importer::cpu_layer_normalization, "", "one output"}},
        {"LeakyRelu", by_table},
        {"Less", {nullptr, &Importer::cpu_binary, "", "broadcasting"}},
        {"LessOrEqual", {nullptr, &Importer::cpu_binary, "", "broadcasting"}},
        {"Log", by_table},
        {"LogSoftmax", {nullptr, &Importer::cpu_softmax, "", "any axis"}},
        {"MatMul",
         {&Importer::matrix_product, &Importer::cpu_matrix_product,
          "rows times a constant matrix, or two computed ones of one rank; 32768 factors",
          "any shape"}},
        {"Max",
         {&Importer::extreme, &Importer::cpu_binary, "broadcasting per device dimension",
          "any number; broadcasting"}},
        {"MaxPool",
         {&Importer::pool, &Importer::cpu_pool, "1 or 2 axes, batch 1; no indices",
          "any number of axes; no indices"}},
        {"Mean",
         {&Importer::sum, &Importer::cpu_binary, "broadcasting per device dimension",
          "any number; broadcasting"}},
        {"Min",
         {&Importer::extreme, &Importer::cpu_binary, "broadcasting per device dimension",
          "any number; broadcasting"}},
        {"Mod", {nullptr, &Importer::cpu_binary, "", "broadcasting"}},
        {"Mul",
         {&Importer::arithmetic, &Importer::cpu_binary, "broadcasting per device dimension",
          "broadcasting"}},
        {"Neg", by_table},
        {"NonMaxSuppression",
         {nullptr, &Importer::cpu_non_max_suppression, "",
          "constant limits; rows of -1 fill the output"}},
        {"Not", {nullptr, &Importer::cpu_unary, "", "any shape"}},
        {"Or", {nullptr, &Importer::cpu_binary, "", "broadcasting"}},
        {"PRelu",
         {&Importer::parametric_relu, &Importer::cpu_binary,
          "a constant slope per channel, none above 1 or none below", "broadcasting"}},
        {"Pad",
         {&Importer::pad, &Importer::cpu_pad,
          "of device dimensions; constant, and along height and width edge, reflect",
          "constant pads; constant, edge, reflect, wrap"}},
        {"Pow",
         {&Importer::power, &Importer::cpu_binary, "of a tensor and a number; a table",
          "broadcasting"}},
        {"Range", {nullptr, nullptr, "", "constants", &Importer::range_constant}},
        {"Reciprocal", by_table},
        {"ReduceL1", {nullptr, &Importer::cpu_reduce, "", "constant axes"}},
        {"ReduceL2", {nullptr, &Importer::cpu_reduce, "", "constant axes"}},
        {"ReduceLogSum", {nullptr, &Importer::cpu_reduce, "", "constant axes"}},
        {"ReduceLogSumExp", {nullptr, &Importer::cpu_reduce, "", "constant axes"}},
        {"ReduceMax",
         {&Importer::reduce, &Importer::cpu_reduce,
          "over device dimensions; 131072 elements into one", "constant axes"}},
        {"ReduceMean",
         {&Importer::reduce, &Importer::cpu_reduce,
          "over device dimensions; 131072 elements into one", "constant axes"}},
        {"ReduceMin",
         {&Importer::reduce, &Importer::cpu_reduce,
          "over device dimensions; 131072 elements into one", "constant axes"}},
        {"ReduceProd", {nullptr, &Importer::cpu_reduce, "", "constant axes"}},
        {"ReduceSum",
         {&Importer::reduce, &Importer::cpu_reduce,
          "over device dimensions; 131072 elements into one", "constant axes"}},
        {"ReduceSumSquare", {nullptr, &Importer::cpu_reduce, "", "constant axes"}},
        {"Relu",
         {&Importer::relu, &Importer::cpu_unary, "any shape with three device dimensions",
          "any shape"}},
        {"Reshape", {nullptr, &Importer::reshape, "", "another name, no work; a constant shape"}},
        {"Resize",
         {&Importer::resize, &Importer::cpu_resize, "height and width, batch 1; nearest, linear",
          "any axes; nearest, linear, cubic"}},
        {"Round", by_table},
        {"Selu", by_table},
        {"Shape", {nullptr, nullptr, "", "a constant", &Importer::shape_constant}},
        {"Shrink", by_table},
        {"Sigmoid", by_table},
        {"Sign", by_table},
        {"Sin", by_table},
        {"Sinh", by_table},
        {"Size", {nullptr, nullptr, "", "a constant", &Importer::shape_constant}},
        {"Slice",
         {&Importer::slice, &Importer::cpu_slice,
          "along device dimensions; constant bounds; forwards", "constant bounds"}},
        {"Softmax", {nullptr, &Importer::cpu_softmax, "", "any axis"}},
        {"Softplus", by_table},
        {"Softsign", by_table},
        {"SpaceToDepth",
         {&Importer::depth_to_space, &Importer::cpu_depth_to_space, "images, batch 1",
          "any shape"}},
        {"Split",
         {&Importer::split, &Importer::cpu_split, "along a device dimension; constant sizes",
          "constant sizes"}},
        {"Sqrt", by_table},
        {"Squeeze", {nullptr, &Importer::squeeze, "", "another name, no work"}},
        {"Sub",
         {&Importer::arithmetic, &Importer::cpu_binary, "broadcasting per device dimension",
          "broadcasting"}},
        {"Sum",
         {&Importer::sum, &Importer::cpu_binary, "broadcasting per device dimension",
          "any number; broadcasting"}},
        {"Tan", by_table},
        {"Tanh", by_table},
        {"ThresholdedRelu", by_table},
        {"Tile",
         {&Importer::tile, &Importer::cpu_tile, "along device dimensions, 64 times each",
          "constant repeats"}},
        {"TopK", {nullptr, &Importer::cpu_top_k, "", "a constant number"}},
        {"Transpose",
         {&Importer::transpose, &Importer::cpu_transpose,
          "of three groups of axes that stay together; also for each of 64 others in front",
          "any shape"}},
        {"Unsqueeze", {nullptr, &Importer::unsqueeze, "", "another name, no work"}},
        {"Where", {nullptr, &Importer::cpu_where, "", "broadcasting"}},
        {"Xor", {nullptr, &Importer::cpu_binary, "", "broadcasting"}},
    };
    return table;
}

std::vector<SupportedOperator> Importer::supported() {
    std::vector<SupportedOperator> result;
    for (const auto& [type, entry] : operators())
        result.push_back({type, entry.on_bpu, entry.on_cpu});
    return result;
}

void Importer::read_constants() {
    if (model_.graph().sparse_initializer_size() > 0)
        throw CompileError(path_, "sparse constants are not supported; export dense ones");
    for (const auto& tensor : model_.graph().initializer())
        constants_[tensor.name()] = read_constant(tensor, path_);
}

static bool is_empty(const onnx::ValueInfoProto& info) {
    return std::ranges::any_of(info.type().tensor_type().shape().dim(), [](const auto& size) {
        return size.has_dim_value() && size.dim_value() < 1;
    });
}

void Importer::read_inputs() {
    for (const auto& input : model_.graph().input()) {
        if (constants_.contains(input.name()))
            continue;
        const std::string place = "input '" + input.name() + "' ";
        const int type = input.type().tensor_type().elem_type();
        const bool is_real = type == onnx::TensorProto::FLOAT || type == onnx::TensorProto::DOUBLE;
        const bool is_integer = type == onnx::TensorProto::INT64 ||
                                type == onnx::TensorProto::INT32 || type == onnx::TensorProto::BOOL;
        if (!input.type().has_tensor_type() || (!is_real && !is_integer))
            throw CompileError(path_, place +
                                          "is neither of reals nor of integers or truth values; "
                                          "export the model in float32");
        types_[input.name()] = type;
        const auto shape = static_shape(input);
        if (!shape && is_empty(input))
            throw CompileError(path_, place + "is empty: a dimension of its shape is less than 1; "
                                              "export the model with the shape that it gets");
        if (!shape)
            throw CompileError(path_, place + "has no static shape; give one with --input-shape " +
                                          input.name() + "=...");
        const ValueId value = add_host_value(input.name(), *shape);
        graph_.inputs.push_back(value);
        references_[input.name()] = {value, *shape, is_integer};
    }
    if (graph_.inputs.empty())
        throw CompileError(path_, "the model has no inputs; there is nothing to run");
    if (model_.graph().output().empty())
        throw CompileError(path_, "the model has no outputs; there is nothing to compute");
}

void Importer::read_shapes() {
    for (const auto* list : {&model_.graph().value_info(), &model_.graph().output()})
        for (const auto& info : *list)
            if (const auto shape = static_shape(info))
                shapes_[info.name()] = *shape;
}

namespace {

// Whether a tensor in device memory can be said to have either shape: dimensions of 1 are none, and
// a vector runs through whatever there is.
bool same_but_for_ones(Shape left, Shape right) {
    std::erase(left, 1);
    std::erase(right, 1);
    return left == right || right.size() <= 1;
}

} // namespace

// On the device if it can.
ValueId Importer::own_shape_of_output(const Reference& reference) {
    try {
        if (is_on_device(reference.value))
            return in_order(reference, value_of(reference).order);
    } catch (const CompileError&) { // it cannot
    }
    return with_own_shape(reference);
}

// Each output gets a value of its own that some node writes.
void Importer::read_outputs() {
    onnx::NodeProto identity;
    identity.set_op_type("Identity");
    node_ = &identity;
    for (const auto& output : model_.graph().output()) {
        identity.set_name(output.name());
        identity.clear_input();
        identity.clear_output();
        identity.add_input(output.name());
        identity.add_output(output.name());
        parts_ = 0;
        const Reference reference = cpu_input(0);
        const Value& value = value_of(reference);
        const Node* writer = writer_of(reference.value);
        // An operator of the CPU gives the shape that it computes.
        const bool is_same_run =
            same_but_for_ones(value.shape, reference.shape) && writer && writer->on_bpu();
        const bool is_own =
            writer && std::ranges::find(graph_.outputs, reference.value) == graph_.outputs.end();
        ValueId id = reference.value;
        if (is_own && (value.shape == reference.shape || (is_same_run && !is_read_by_cpu(id)))) {
            graph_.values[id].shape = reference.shape;
        } else if (value.shape == reference.shape && value.fits_device()) {
            Node node = new_node(Operator::copy);
            node.inputs = {id};
            graph_.values.push_back(value);
            node.output = id = graph_.values.size() - 1;
            graph_.nodes.push_back(std::move(node));
        } else if (value.shape == reference.shape) {
            id = cpu_node({CpuOpType::dequantize, {}, {}}, {reference}, reference.shape).value;
        } else {
            id = own_shape_of_output(reference);
        }
        graph_.values[id].name = output.name();
        graph_.outputs.push_back(id);
    }
}

bool Importer::is_read_by_cpu(ValueId value) const {
    return std::ranges::any_of(graph_.nodes, [&](const Node& node) {
        return !node.on_bpu() && std::ranges::find(node.inputs, value) != node.inputs.end();
    });
}

bool Importer::has_constant_inputs_only() const {
    bool any = false;
    for (int index = 0; index < node_->input_size(); ++index)
        if (has_input(index)) {
            any = true;
            if (!is_constant(index))
                return false;
        }
    return any;
}

bool Importer::has_integers() const {
    return std::ranges::any_of(node_->input(), [&](const std::string& name) {
        const auto found = references_.find(name);
        return found != references_.end() && found->second.integer;
    });
}

// What a refused attempt has left is taken back.
bool Importer::try_bpu(const Entry& entry, std::string& reason) {
    const std::size_t nodes = graph_.nodes.size(), values = graph_.values.size();
    const auto reordered = reordered_;
    const std::vector<Value> before = graph_.values; // an order may have been settled
    try {
        (this->*entry.bpu)();
        return true;
    } catch (const CompileError& error) {
        reason = error.what();
    }
    graph_.nodes.resize(nodes);
    graph_.values = before;
    graph_.values.resize(values);
    reordered_ = reordered;
    std::erase_if(copied_, [&](const auto& copied) { return copied.second >= values; });
    return false;
}

void Importer::import_node(int number) {
    node_ = &model_.graph().node(number);
    parts_ = 0;
    const auto found = operators().find(node_->op_type());
    if (found == operators().end() || !(node_->domain().empty() || node_->domain() == "ai.onnx"))
        refuse("the operator is not supported");
    const Entry& entry = found->second;
    if (entry.constant) {
        const std::size_t first = graph_.nodes.size();
        (this->*entry.constant)();
        if (graph_.nodes.size() > first)
            placements_.back() = Placement::cpu;
        return;
    }
    if (has_constant_inputs_only())
        return fold_constant(entry);
    const auto named = [&](const std::vector<std::string>& names) {
        return std::ranges::find(names, node_name()) != names.end();
    };
    const bool wants_bpu = named(options_.run_on_bpu);
    const bool wants_cpu = named(options_.run_on_cpu) || (on_cpu_.contains(number) && !wants_bpu);
    const std::size_t before = graph_.nodes.size();
    std::string reason;
    if (entry.bpu && !has_integers() && !(wants_cpu && entry.cpu) && try_bpu(entry, reason)) {
        placements_.back() = Placement::bpu;
        return;
    }
    if (wants_bpu && entry.bpu && !reason.empty())
        throw CompileError(reason, "and it is to run on the BPU");
    if (wants_bpu && !entry.bpu && entry.cpu && graph_.nodes.size() == before)
        refuse("has no form on the BPU, where it is to run");
    if (!entry.cpu)
        throw CompileError(reason, "and it has no form on the CPU");
    (this->*entry.cpu)();
    if (graph_.nodes.size() > before)
        placements_.back() = Placement::cpu;
}

Graph Importer::run() {
    graph_.name = std::filesystem::path(path_).stem().string();
    read_constants();
    read_inputs();
    read_shapes();
    for (int number = 0; number < model_.graph().node_size(); ++number) {
        placements_.push_back(Placement::nowhere);
        try {
            import_node(number);
        } catch (const std::bad_alloc&) {
            refuse("needs more memory than there is");
        }
    }
    read_outputs();
    apply_given_tensors();
    return std::move(graph_);
}

std::vector<SupportedOperator> supported_operators() {
    return Importer::supported();
}

namespace {

void check_names(const onnx::ModelProto& model, const std::string& path,
                 const std::vector<std::string>& names, const char* option) {
    for (const std::string& name : names)
        if (std::ranges::none_of(model.graph().node(), [&](const onnx::NodeProto& node) {
                return node.name() == name || (node.output_size() > 0 && node.output(0) == name);
            }))
            throw CompileError(std::string(option) + " " + name, path + " has no such node");
}

} // namespace

Graph import_onnx(const std::string& path, const ImportOptions& options) {
    GivenScales given;
    const onnx::ModelProto model = load_onnx(path, given, options.input_shapes);
    check_names(model, path, options.run_on_cpu, "run_on_cpu");
    check_names(model, path, options.run_on_bpu, "run_on_bpu");
    Importer first(path, model, given, options);
    Graph graph = first.run();
    const std::set<int> on_cpu = cheaper_on_cpu(model, first.placements());
    if (on_cpu.empty())
        return graph;
    return Importer(path, model, given, options, on_cpu).run();
}

} // namespace overtake::compiler
