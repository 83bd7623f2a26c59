// SPDX-License-Identifier: MIT
#include "compiler/onnx/remove_dynamic_quantisation.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/error.hpp"
#include "compiler/onnx/file.hpp"
#include "compiler/onnx/fresh_names.hpp"
#include "compiler/onnx/node_builder.hpp"

namespace overtake::compiler {
namespace {

bool is_product(const onnx::NodeProto& node) {
    return (node.op_type() == "ConvInteger" || node.op_type() == "MatMulInteger") &&
           node.input_size() >= 2 && node.output_size() == 1;
}

bool casts_to_float(const onnx::NodeProto& node) {
    const std::int64_t to = Attributes(node).integer("to", 0);
    return node.op_type() == "Cast" &&
           (to == onnx::TensorProto::FLOAT || to == onnx::TensorProto::DOUBLE);
}

// What a tensor is that comes of a DynamicQuantizeLinear.
enum class Part { bytes, scale, zero_point, product, bias };

const char* name_of(Part part) {
    switch (part) {
    case Part::bytes:
        return "bytes";
    case Part::scale:
        return "scale";
    case Part::zero_point:
        return "zero point";
    case Part::bias:
        return "bias";
    case Part::product:
        break;
    }
    return "product";
}

// Why a DynamicQuantizeLinear cannot become nothing, and which it is: the name of its bytes.
struct NotRemoved {
    std::string bytes, reason;
};

// Without rounding, a product of the bytes times their scale is the product of the real numbers.
// This holds only if nothing looks at bytes, scale, or product in between: every reader is known.
class DynamicRemover {
public:
    /// Those that make `kept` stay.
    DynamicRemover(onnx::ModelProto& model, const std::string& path,
                   const std::set<std::string>& kept)
        : graph_(*model.mutable_graph()), path_(path), kept_(kept), names_(graph_) {
        for (const auto& tensor : graph_.initializer())
            constants_[tensor.name()] = &tensor;
        for (const auto& node : graph_.node())
            if (const auto* tensor = Attributes(node).tensor("value");
                node.op_type() == "Constant" && tensor && node.output_size() > 0)
                constants_[node.output(0)] = tensor;
    }

    /// Throws NotRemoved; then the graph's nodes are of no use.
    void run() {
        for (onnx::NodeProto& node : *graph_.mutable_node())
            if (node.op_type() == "DynamicQuantizeLinear")
                visit_quantiser(node);
            else if (reads_parts(node))
                follow(node);
        for (const auto& output : graph_.output())
            if (const auto part = parts_.find(output.name()); part != parts_.end())
                refuse_reader(part->second, "is output '" + output.name() + "' of the network");
        for (onnx::TensorProto& tensor : added_)
            *graph_.add_initializer() = std::move(tensor);
        auto& infos = *graph_.mutable_value_info();
        for (int index = infos.size() - 1; index >= 0; --index)
            if (changed_.contains(infos[index].name()))
                infos.DeleteSubrange(index, 1);
    }

private:
    struct Origin {
        Part part;
        std::string quantiser; // the name of its DynamicQuantizeLinear
        std::string bytes;     // what that makes
    };

    static std::string shown(const onnx::NodeProto& node) {
        return "node '" + (node.name().empty() ? node.output(0) : node.name()) + "' (" +
               node.op_type() + ")";
    }

    [[noreturn]] void refuse(const onnx::NodeProto& node, const std::string& reason) const {
        throw CompileError(path_, shown(node) + ": " + reason);
    }

    [[noreturn]] void refuse_reader(const Origin& origin, const std::string& reading) const {
        throw NotRemoved{origin.bytes, "node '" + origin.quantiser +
                                           "' (DynamicQuantizeLinear): it quantises at run time, "
                                           "and its " +
                                           name_of(origin.part) + " " + reading +
                                           "; export the network in float32, or quantised with "
                                           "scales that are constants"};
    }

    [[noreturn]] void refuse_reader(const onnx::NodeProto& node, const Origin& origin) const {
        refuse_reader(origin, "is read by " + shown(node) +
                                  ", which is more than a product of integers, a cast to float and "
                                  "scaling");
    }

    const Origin* part(const std::string& name) const {
        const auto found = parts_.find(name);
        return found == parts_.end() ? nullptr : &found->second;
    }

    bool reads_parts(const onnx::NodeProto& node) const {
        return std::ranges::any_of(node.input(),
                                   [&](const std::string& name) { return part(name); });
    }

    // The node reads one part or several; refused unless it is known what that makes.
    void follow(onnx::NodeProto& node) {
        if (is_product(node) && part(node.input(0)) && part(node.input(0))->part == Part::bytes) {
            const Origin bytes = *part(node.input(0));
            dequantise_product(node, bytes);
            parts_[node.output(0)] = {Part::product, bytes.quantiser, bytes.bytes};
            return;
        }
        const auto first =
            std::ranges::find_if(node.input(), [&](const std::string& name) { return part(name); });
        const Origin origin = *part(*first);
        if (follow_bias(node, origin))
            return;
        const bool can_be_scaled = origin.part == Part::scale || origin.part == Part::product;
        if (!can_be_scaled || node.output_size() != 1)
            refuse_reader(node, origin);
        const bool is_alias = node.op_type() == "Identity" || casts_to_float(node);
        if (node.input_size() == 1 && is_alias) {
            changed_.insert(node.output(0));
            parts_[node.output(0)] = origin;
            return;
        }
        if (node.op_type() != "Mul" || node.input_size() != 2)
            refuse_reader(node, origin);
        const std::string& factor = node.input(first == node.input().begin() ? 1 : 0);
        if (constants_.contains(factor)) {
            parts_[node.output(0)] = origin;
            return;
        }
        const Origin* other = part(factor);
        if (!other || other->quantiser != origin.quantiser || other->part == origin.part ||
            (other->part != Part::scale && other->part != Part::product))
            refuse_reader(node, origin);
    }

    // A constant over the scale, rounded to an integer, which a product is added to.  Without
    // rounding that is the constant.  Whether the node is on that way.
    bool follow_bias(onnx::NodeProto& node, const Origin& origin) {
        static const std::set<std::string> roundings = {"Floor", "Round", "Cast", "Identity"},
                                           shapes = {"Reshape", "Squeeze", "Unsqueeze"};
        if (node.output_size() != 1)
            return false;
        Origin result{Part::bias, origin.quantiser, origin.bytes};
        if (node.op_type() == "Div" && node.input_size() == 2 && origin.part == Part::scale &&
            constants_.contains(node.input(0))) {
            // as it is
        } else if (origin.part == Part::bias && roundings.contains(node.op_type())) {
            node.set_op_type("Identity");
            node.clear_attribute();
        } else if (origin.part == Part::bias && shapes.contains(node.op_type()) &&
                   part(node.input(0)) &&
                   std::all_of(node.input().begin() + 1, node.input().end(),
                               [&](const auto& name) { return constants_.contains(name); })) {
            // moves what it has
        } else if (node.op_type() == "Add" && node.input_size() == 2 && is_sum(node)) {
            result.part = Part::product;
        } else {
            return false;
        }
        changed_.insert(node.output(0));
        parts_[node.output(0)] = result;
        return true;
    }

    // Of a product and a bias in its steps.
    bool is_sum(const onnx::NodeProto& node) const {
        const Origin *one = part(node.input(0)), *other = part(node.input(1));
        return one && other && one->quantiser == other->quantiser &&
               std::minmax(one->part, other->part) == std::minmax(Part::product, Part::bias);
    }

    void add_constant(const std::string& name, const std::vector<std::int64_t>& shape,
                      std::vector<float> reals) {
        write_constant({shape, std::move(reals), {}}, name, added_.emplace_back());
    }

    void visit_quantiser(onnx::NodeProto& node) {
        if (node.output_size() != 3 || node.input_size() != 1)
            refuse(node, "has not one input and three outputs");
        if (const Origin* origin = part(node.input(0)))
            refuse_reader(node, *origin);
        if (!kept_.contains(node.output(0)))
            stop_quantising(node);
    }

    void stop_quantising(onnx::NodeProto& node) {
        const std::string bytes = node.output(0), scale = node.output(1), zero = node.output(2);
        const std::string name = node.name().empty() ? bytes : node.name();
        if (!scale.empty())
            add_constant(scale, {}, {1.0f});
        if (!zero.empty())
            add_constant(zero, {}, {0.0f});
        parts_[bytes] = {Part::bytes, name, bytes};
        parts_[scale] = {Part::scale, name, bytes};
        parts_[zero] = {Part::zero_point, name, bytes};
        parts_.erase("");
        changed_.insert({bytes, scale, zero});
        node.set_op_type("Identity");
        node.mutable_output()->DeleteSubrange(1, 2);
    }

    std::optional<Constant> constant(const std::string& name) const {
        const auto found = constants_.find(name);
        if (found == constants_.end())
            return std::nullopt;
        return read_constant(*found->second, path_);
    }

    // The weights without their zero point, which may be one for each output: of a convolution
    // along the first axis, of a product along the last.
    void dequantise_product(onnx::NodeProto& node, const Origin& bytes) {
        const bool is_convolution = node.op_type() == "ConvInteger";
        const Origin* zero_point = node.input_size() > 2 ? part(node.input(2)) : nullptr;
        if (!zero_point || zero_point->part != Part::zero_point ||
            zero_point->quantiser != bytes.quantiser)
            refuse(node, "reads input '" + node.input(0) +
                             "' without the zero point that its DynamicQuantizeLinear gives it");
        const auto weights = constant(node.input(1));
        if (!weights)
            refuse(node, "input '" + node.input(1) + "' must be a constant");
        std::vector<std::int64_t> zeros = {0};
        if (node.input_size() > 3 && !node.input(3).empty()) {
            const auto zero = constant(node.input(3));
            if (!zero || zero->integers.empty())
                refuse(node, "input '" + node.input(3) + "' must be a constant");
            zeros = zero->integers;
        }
        const std::size_t count = weights->integers.size();
        std::size_t run = 1; // elements side by side that share a zero point
        if (is_convolution && !weights->shape.empty() && weights->shape[0] > 0)
            run = count / static_cast<std::size_t>(weights->shape[0]);
        const std::size_t outputs =
            weights->shape.empty()
                ? 0
                : static_cast<std::size_t>(is_convolution ? weights->shape.front()
                                                          : weights->shape.back());
        if (zeros.size() != 1 && zeros.size() != outputs)
            refuse(node, "its weights have neither one zero point nor one for each output");
        std::vector<float> reals(count);
        for (std::size_t index = 0; index < count; ++index)
            reals[index] =
                static_cast<float>(weights->integers[index] -
                                   zeros[index / std::max<std::size_t>(run, 1) % zeros.size()]);
        const std::string name = names_.take(node.output(0) + ":weights");
        add_constant(name, weights->shape, std::move(reals));
        changed_.insert(node.output(0));
        const std::string source = node.input(0);
        node.set_op_type(is_convolution ? "Conv" : "MatMul");
        node.clear_input();
        node.add_input(source);
        node.add_input(name);
    }

    onnx::GraphProto& graph_;
    const std::string& path_;
    const std::set<std::string>& kept_;
    std::map<std::string, const onnx::TensorProto*> constants_;
    FreshNames names_;
    std::map<std::string, Origin> parts_; // by tensor
    std::set<std::string> changed_;
    std::vector<onnx::TensorProto> added_;
};

// The device's products are of signed bytes with scales that are known beforehand.
bool feeds_product(const onnx::GraphProto& graph, const std::string& bytes) {
    return std::ranges::any_of(graph.node(), [&](const onnx::NodeProto& node) {
        return is_product(node) && std::ranges::count(node.input(), bytes) > 0;
    });
}

// DequantizeLinear of bytes whose scale is computed, as the operators that it means.
void write_dequantisations(onnx::GraphProto& graph, const std::set<std::string>& kept) {
    FreshNames names(graph);
    google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
    for (onnx::NodeProto& node : *graph.mutable_node()) {
        if (node.op_type() != "DequantizeLinear" || node.input_size() < 2 ||
            node.output_size() != 1 || !kept.contains(node.input(0))) {
            nodes.Add()->Swap(&node);
            continue;
        }
        NodeBuilder build(node, graph, names);
        std::string whole = build.cast(node.input(0), onnx::TensorProto::FLOAT);
        if (node.input_size() > 2 && !node.input(2).empty())
            whole = build("Sub", {whole, build.cast(node.input(2), onnx::TensorProto::FLOAT)});
        build.last("Mul", {whole, node.input(1)});
        for (onnx::NodeProto& made : build.take())
            nodes.Add()->Swap(&made);
    }
    graph.mutable_node()->Swap(&nodes);
}

} // namespace

void remove_dynamic_quantisation(onnx::ModelProto& model, const std::string& path) {
    auto& graph = *model.mutable_graph();
    if (std::ranges::none_of(graph.node(), [](const onnx::NodeProto& node) {
            return node.op_type() == "DynamicQuantizeLinear";
        }))
        return;
    std::set<std::string> kept;
    for (bool is_done = false; !is_done;) {
        const auto before = graph.node();
        try {
            DynamicRemover(model, path, kept).run();
            is_done = true;
        } catch (const NotRemoved& quantiser) {
            *graph.mutable_node() = before;
            if (feeds_product(graph, quantiser.bytes) || !kept.insert(quantiser.bytes).second)
                throw CompileError(path, quantiser.reason);
        }
    }
    write_dequantisations(graph, kept);
}

} // namespace overtake::compiler
