// SPDX-License-Identifier: MIT
#include "compiler/onnx/remove_qdq.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "compiler/onnx/qdq_nodes.hpp"

namespace overtake::compiler {
namespace {

using onnx::NodeProto;
using onnx::TensorProto;

// The places of an operator's operands and parameters: an operand is three inputs, the tensor, its
// scale and its zero point.
struct QuantisedOperator {
    const char* float_type;
    std::vector<int> operands; // first of the three
    int output_scale;          // the zero point is behind it
    int bias = -1;
};

const std::map<std::string, QuantisedOperator>& quantised_operators() {
    static const std::map<std::string, QuantisedOperator> table = {
        {"QLinearConv", {"Conv", {0, 3}, 6, 8}},
        {"QLinearMatMul", {"MatMul", {0, 3}, 6}},
        {"QGemm", {"Gemm", {0, 3}, 7, 6}},
        {"QLinearAdd", {"Add", {0, 3}, 6}},
        {"QLinearMul", {"Mul", {0, 3}, 6}},
        {"QLinearSigmoid", {"Sigmoid", {0}, 3}},
        {"QLinearLeakyRelu", {"LeakyRelu", {0}, 3}},
        {"QLinearAveragePool", {"AveragePool", {0}, 3}},
        {"QLinearGlobalAveragePool", {"GlobalAveragePool", {0}, 3}},
    };
    return table;
}

// Operators whose output has elements of their first input (Concat: of all inputs) unchanged,
// whatever these stand for.
bool moves_elements(const std::string& type) {
    static const std::set<std::string> types = {
        "Concat",       "DepthToSpace", "Dropout", "Expand",    "Flatten",
        "Gather",       "Identity",     "MaxPool", "Reshape",   "Slice",
        "SpaceToDepth", "Split",        "Squeeze", "Transpose", "Unsqueeze"};
    return types.contains(type);
}

class Remover : QdqNodes {
public:
    Remover(onnx::ModelProto& model, const std::string& path)
        : QdqNodes(model.graph(), path), graph_(*model.mutable_graph()) {}

    GivenScales run() {
        for (const auto& input : graph_.input())
            if (!constant(input.name()))
                read_input(input);
        scales_.is_quantised = is_quantised();
        if (!scales_.is_quantised && raw_.empty())
            return {};
        for (const NodeProto& node : graph_.node()) {
            node_ = &node;
            rewrite();
        }
        set_apart_byte_outputs();
        rename_outputs();
        graph_.mutable_node()->Clear();
        for (NodeProto& node : nodes_)
            *graph_.add_node() = std::move(node);
        remove_unused_constants();
        forget_types();
        return std::move(scales_);
    }

private:
    bool is_quantised() const {
        return std::ranges::any_of(graph_.node(), [](const NodeProto& node) {
            return is_quantised_operator(node.op_type()) &&
                   node.op_type() != "DynamicQuantizeLinear"; // computed on the CPU
        });
    }

    // Bytes that the user hands in are numbers: quantised with a scale of 1.
    void read_input(const onnx::ValueInfoProto& input) {
        inputs_.insert(input.name());
        const int type = input.type().tensor_type().elem_type();
        if (!is_byte(type))
            return;
        raw_[input.name()] = type;
        mark(input.name(), numbers(type));
        scales_.bytes[input.name()] = type == TensorProto::UINT8;
    }

    // Returns the quantisation of bytes of this type that stand for themselves.
    static Quantisation numbers(int type) { return {1.0f, type == TensorProto::UINT8 ? -128 : 0}; }

    void rewrite() {
        const std::string& type = node_->op_type();
        if (type == "QuantizeLinear")
            quantize();
        else if (type == "DequantizeLinear")
            dequantize();
        else if (type == "ConvInteger" || type == "MatMulInteger")
            refuse("computes its scales at run time, which the device cannot; quantise the model "
                   "statically");
        else if (type == "QLinearConcat")
            concat();
        else if (const auto found = quantised_operators().find(type);
                 found != quantised_operators().end())
            dequantise_operator(found->second);
        else if (type.starts_with("QLinear"))
            refuse("the operator is not supported");
        else if (type == "Cast" && raw_.contains(input(0)))
            cast();
        else
            keep();
    }

    std::string real_name(const std::string& name) const {
        const auto found = renamed_.find(name);
        return found == renamed_.end() ? name : found->second;
    }

    // Returns the quantisation of the float tensor that a quantised one stands for; null if there
    // is none.
    const Quantisation* quantised(const std::string& name) const {
        const auto found = quantised_.find(real_name(name));
        return found == quantised_.end() ? nullptr : &found->second;
    }

    void keep() {
        NodeProto node = *node_;
        const auto raw = std::ranges::find_if(
            node_->input(), [&](const std::string& name) { return raw_.contains(name); });
        const std::optional<Quantisation> kept = kept_quantisation();
        if (raw != node_->input().end() && !(kept && moves_elements(node.op_type())))
            refuse("works on the 8-bit tensor '" + *raw +
                   "' itself; only operators that move elements may");
        for (const std::string& output : node_->output()) {
            if (kept)
                mark(output, *kept);
            if (kept && !moves_elements(node.op_type()))
                scales_.rounded.insert(output);
            if (raw != node_->input().end())
                raw_[output] = raw_.at(*raw);
        }
        for (std::string& input : *node.mutable_input())
            input = real_name(input);
        nodes_.push_back(std::move(node));
    }

    // Returns the quantisation of the output if it is that of the inputs.
    std::optional<Quantisation> kept_quantisation() {
        const bool is_resize = node_->op_type() == "Resize";
        if (node_->input_size() == 0 || (!moves_elements(node_->op_type()) && !is_resize) ||
            !quantised(node_->input(0)))
            return std::nullopt;
        const Quantisation first = *quantised(node_->input(0));
        // Numbers between elements are rounded, so the model has to quantise the output in this
        // way.
        if (is_resize && text_attribute("mode", "nearest") != "nearest" &&
            !is_only_quantised_as(node_->output(0), first))
            return std::nullopt;
        if (node_->op_type() == "Concat")
            for (const std::string& name : node_->input())
                if (!quantised(name) || *quantised(name) != first)
                    return std::nullopt;
        return first;
    }

    void mark(const std::string& name, const Quantisation& quantisation) {
        if (!name.empty())
            quantised_[name] = scales_.tensors[name] = quantisation;
    }

    void add_float_constant(const std::string& name, const std::vector<std::int64_t>& shape,
                            const std::vector<float>& data) {
        TensorProto tensor;
        tensor.set_name(name);
        tensor.set_data_type(TensorProto::FLOAT);
        for (std::int64_t size : shape)
            tensor.add_dims(size);
        tensor.set_raw_data(data.data(), data.size() * sizeof(float));
        added_.push_back(std::move(tensor));
    }

    // Makes the constant `name` of integers, with scales at `scale_index`.
    void dequantise_constant(const std::string& name, const Integers& constant, int scale_index,
                             std::int64_t axis) {
        add_float_constant(name, constant.shape, dequantised(constant, scale_index, axis));
        if (!is_byte(constant.type))
            return;
        scales_.weights[name] = floats(scale_index);
        if (scales_.weights[name].size() == 1)
            scales_.constants[name] = activation(scale_index, constant.type);
    }

    // Converts bytes to numbers of another type.
    void cast() {
        NodeProto node = *node_;
        const std::string& source = input(0);
        node.set_input(0, read_as(real_name(source), numbers(raw_.at(source))));
        nodes_.push_back(std::move(node));
    }

    // Whether `source` is read only to be quantised in this way, or by Shape.
    bool is_only_quantised_as(const std::string& source, const Quantisation& quantisation) {
        const NodeProto* here = node_;
        bool is_only = std::ranges::none_of(
            graph_.output(), [&](const auto& output) { return output.name() == source; });
        for (const NodeProto& node : graph_.node()) {
            node_ = &node;
            if (std::ranges::count(node.input(), source) == 0 || node.op_type() == "Shape")
                continue;
            is_only = is_only && node.op_type() == "QuantizeLinear" &&
                      activation(1, output_type()) == quantisation;
        }
        node_ = here;
        return is_only;
    }

    void quantize() {
        check_blocks();
        if (constant(input(0)))
            return fold_quantised_constant();
        const Quantisation quantisation = activation(1, output_type());
        const std::string source = real_name(input(0));
        const std::string& target = node_->output(0);
        raw_[target] = zero_points(1, 1, output_type()).type;
        // An input that is quantised first thing need not be anything else.
        if (inputs_.contains(source) && !quantised_.contains(source) &&
            is_only_quantised_as(source, quantisation))
            mark(source, quantisation);
        if (const Quantisation* same = quantised(source); same && *same == quantisation)
            renamed_[target] = source;
        else
            round(source, target, quantisation);
    }

    // Adds target = source, clipped to the range that 8 bits of `quantisation` hold.
    void round(const std::string& source, const std::string& target,
               const Quantisation& quantisation) {
        add_float_constant(target + ":low", {}, {quantisation.real(-128)});
        add_float_constant(target + ":high", {}, {quantisation.real(127)});
        NodeProto clip;
        clip.set_op_type("Clip");
        clip.set_name(node_->name().empty() ? target : node_->name());
        clip.add_input(source);
        clip.add_input(target + ":low");
        clip.add_input(target + ":high");
        clip.add_output(target);
        nodes_.push_back(std::move(clip));
        mark(target, quantisation);
        scales_.rounded.insert(target);
    }

    void dequantize() {
        check_blocks();
        const std::string& target = node_->output(0);
        if (const auto constant = integer_constant(input(0)))
            return dequantise_constant(target, *constant, 1, attribute("axis", 1));
        renamed_[target] = operand(0);
    }

    // Returns the float tensor of an operand that is computed.
    std::string operand(int index) {
        const auto raw = raw_.find(input(index));
        const std::string name = real_name(input(index));
        if (raw == raw_.end() || !quantised(name))
            refuse("input '" + name +
                   "' does not come from a QuantizeLinear with a constant scale; "
                   "quantise the model statically");
        const Quantisation read = activation(index + 1, raw->second);
        if (zero_points(index + 1, 1, raw->second).type != raw->second)
            refuse("its zero point is not of the type of input '" + name + "'");
        return read_as(name, read);
    }

    // Returns the tensor whose bytes are those of `name` and have the quantisation `read`: itself,
    // or another.
    std::string read_as(const std::string& name, const Quantisation& read) {
        const Quantisation made = *quantised(name);
        if (made == read)
            return name;
        std::string& result = read_as_[{name, read.scale, read.zero_point}];
        if (!result.empty())
            return result;
        result = name + ":read" + std::to_string(read_as_.size());
        const float offset = made.scale * static_cast<float>(read.zero_point - made.zero_point);
        const std::string moved = add_step("Sub", name, offset, 0, result + ":moved");
        add_step("Mul", moved, read.scale / made.scale, 0, result);
        mark(result, read);
        scales_.rounded.insert(result); // to remove the errors of float32
        return result;
    }

    // target = source OPERATOR number; adds no node if the number changes nothing.
    std::string add_step(const char* type, const std::string& source, float number, float neutral,
                         const std::string& target) {
        if (number == neutral)
            return source;
        add_float_constant(target + ":by", {}, {number});
        add_node(type, {source, target + ":by"}, target);
        return target;
    }

    void add_node(const char* type, const std::vector<std::string>& inputs,
                  const std::string& target) {
        NodeProto node;
        node.set_op_type(type);
        node.set_name(target);
        for (const std::string& input : inputs)
            node.add_input(input);
        node.add_output(target);
        nodes_.push_back(std::move(node));
    }

    // Returns the axis of an operator's weights along which its outputs are.
    std::int64_t weights_axis() const {
        if (node_->op_type() == "QLinearConv")
            return 0;
        if (node_->op_type() == "QGemm" && attribute("transB", 0) != 0)
            return 0;
        return 1;
    }

    NodeProto float_node(const char* type) const {
        NodeProto node;
        node.set_op_type(type);
        node.set_name(node_->name());
        for (const auto& attribute : node_->attribute())
            if (attribute.name() != "channels_last")
                *node.add_attribute() = attribute;
        if (attribute("channels_last", 0) != 0)
            refuse("has its channels last; export it with channels first");
        return node;
    }

    void dequantise_operator(const QuantisedOperator& about) {
        const std::string& target = node_->output(0);
        NodeProto node = float_node(about.float_type);
        for (int index : about.operands) {
            const auto constant = integer_constant(input(index));
            if (constant) {
                const std::string name = target + ":" + std::to_string(index);
                dequantise_constant(name, *constant, index + 1, weights_axis());
                node.add_input(name);
            } else {
                node.add_input(operand(index));
            }
        }
        if (about.bias >= 0 && about.bias < node_->input_size() &&
            !node_->input(about.bias).empty())
            node.add_input(float_bias(about));
        node.add_output(target + ":real");
        nodes_.push_back(std::move(node));
        raw_[target] = zero_points(about.output_scale, 1, TensorProto::UINT8).type;
        round(target + ":real", target, activation(about.output_scale));
    }

    // A bias counts steps of the product of the operands' scales and QGemm's alpha.
    std::string float_bias(const QuantisedOperator& about) {
        const auto bias = integer_constant(input(about.bias));
        if (!bias || bias->type != TensorProto::INT32)
            refuse("its bias must be an int32 constant");
        const float input_scale = activation(about.operands[0] + 1).scale;
        const std::vector<float> scales = floats(about.operands[1] + 1);
        if (scales.size() != 1 && scales.size() != bias->data.size())
            refuse("its weights do not have one scale for each output");
        const double step = double{input_scale} * real_attribute("alpha", 1);
        std::vector<float> data(bias->data.size());
        for (std::size_t index = 0; index < data.size(); ++index)
            data[index] = static_cast<float>(step * scales[scales.size() == 1 ? 0 : index] *
                                             bias->data[index]);
        const std::string name = node_->output(0) + ":bias";
        add_float_constant(name, bias->shape, data);
        return name;
    }

    // Scale and zero point of the output come first here.
    void concat() {
        const std::string& target = node_->output(0);
        NodeProto node = float_node("Concat");
        for (int index = 2; index + 2 < node_->input_size(); index += 3)
            node.add_input(operand(index));
        node.add_output(target + ":real");
        nodes_.push_back(std::move(node));
        raw_[target] = zero_points(0, 1, TensorProto::UINT8).type;
        round(target + ":real", target, activation(0));
    }

    // Makes the outputs that are bytes: each gets a node that writes its bytes.  Other readers of
    // the tensor read the numbers that the bytes stand for, under another name.
    void set_apart_byte_outputs() {
        for (const auto& output : graph_.output()) {
            const std::string& name = output.name();
            if (!raw_.contains(name) || inputs_.contains(name))
                continue;
            std::string source = real_name(name);
            if (source == name) {
                source = renamed_[name] = name + ":real";
                mark(source, quantised_.at(name));
                if (scales_.rounded.erase(name) > 0)
                    scales_.rounded.insert(source);
                for (NodeProto& node : nodes_)
                    for (auto* names : {node.mutable_input(), node.mutable_output()})
                        std::ranges::replace(*names, name, source);
                for (auto& [other, real] : renamed_)
                    real = real == name ? source : real;
            }
            byte_outputs_[name] = source;
        }
        for (const auto& [name, source] : byte_outputs_)
            write_bytes(source, name, raw_.at(name));
    }

    // Makes `target` the bytes of `source` as numbers, rounded in float too.
    void write_bytes(const std::string& source, const std::string& target, int type) {
        const Quantisation made = *quantised(source), whole = numbers(type);
        const int zero = made.zero_point - whole.zero_point; // as the model has it
        const std::string steps = add_step("Div", source, made.scale, 1, target + ":steps");
        if (steps != source)
            mark(steps, {1.0f, made.zero_point});
        add_node("Round", {steps}, target + ":whole");
        mark(target + ":whole", {1.0f, made.zero_point});
        const std::string moved =
            add_step("Add", target + ":whole", static_cast<float>(zero), 0, target + ":moved");
        mark(moved, whole);
        add_float_constant(target + ":least", {}, {whole.real(-128)});
        add_float_constant(target + ":most", {}, {whole.real(127)});
        add_node("Clip", {moved, target + ":least", target + ":most"}, target);
        scales_.tensors[target] = whole;
    }

    // The model's outputs keep their names.
    void rename_outputs() {
        for (const auto& output : graph_.output()) {
            const std::string source = real_name(output.name());
            if (source == output.name() || byte_outputs_.contains(output.name()))
                continue;
            add_node("Identity", {source}, output.name());
            if (const Quantisation* given = quantised(source))
                scales_.tensors[output.name()] = *given;
        }
    }

    void remove_unused_constants() {
        for (TensorProto& tensor : added_)
            *graph_.add_initializer() = std::move(tensor);
        std::set<std::string> used;
        for (const NodeProto& node : graph_.node())
            used.insert(node.input().begin(), node.input().end());
        for (const auto& output : graph_.output())
            used.insert(output.name());
        auto* constants = graph_.mutable_initializer();
        for (int index = constants->size() - 1; index >= 0; --index)
            if (!used.contains(constants->Get(index).name()))
                constants->DeleteSubrange(index, 1);
        auto* nodes = graph_.mutable_node();
        for (int index = nodes->size() - 1; index >= 0; --index)
            if (nodes->Get(index).op_type() == "Constant" &&
                !used.contains(nodes->Get(index).output(0)))
                nodes->DeleteSubrange(index, 1);
    }

    // Removes types of bytes, which are those of the quantised model.  Inputs become floats; types
    // of tensors that nodes make are inferred again.
    void forget_types() {
        const auto set_type = [](auto& info, int type) {
            auto* tensor = info.mutable_type()->mutable_tensor_type();
            if (is_byte(tensor->elem_type()))
                tensor->set_elem_type(type);
        };
        for (auto& info : *graph_.mutable_input())
            set_type(info, TensorProto::FLOAT);
        for (auto* infos : {graph_.mutable_output(), graph_.mutable_value_info()})
            for (auto& info : *infos)
                set_type(info, TensorProto::UNDEFINED);
    }

    onnx::GraphProto& graph_;
    std::set<std::string> inputs_;
    std::map<std::string, std::string> renamed_;
    std::map<std::string, Quantisation> quantised_; // by name in the float model
    std::map<std::string, int> raw_; // types of tensors of bytes, by name in the quantised model
    std::map<std::tuple<std::string, float, int>, std::string> read_as_;
    std::map<std::string, std::string> byte_outputs_; // the tensor of each one's numbers
    std::vector<NodeProto> nodes_;
    std::vector<TensorProto> added_;
    GivenScales scales_;
};

} // namespace

bool is_quantised_operator(const std::string& type) {
    return type == "QuantizeLinear" || type == "DequantizeLinear" ||
           type == "DynamicQuantizeLinear" || type == "ConvInteger" || type == "MatMulInteger" ||
           quantised_operators().contains(type) || type.starts_with("QLinear");
}

GivenScales remove_qdq(onnx::ModelProto& model, const std::string& path) {
    return Remover(model, path).run();
}

} // namespace overtake::compiler
