// SPDX-License-Identifier: MIT
#include "compiler/onnx/remove_dynamic_quantisation.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/error.hpp"
#include "compiler/onnx/file.hpp"
#include "compiler/onnx/fresh_names.hpp"
#include "compiler/onnx/libonnx.hpp"
#include "compiler/onnx/node_builder.hpp"
#include "compiler/onnx/tensor_facts.hpp"

namespace overtake::compiler {
namespace {

std::string shown(const onnx::NodeProto& node) {
    return "node '" + (node.name().empty() ? node.output(0) : node.name()) + "' (" +
           node.op_type() + ")";
}

bool is_product(const onnx::NodeProto& node) {
    return (node.op_type() == "ConvInteger" || node.op_type() == "MatMulInteger") &&
           node.input_size() >= 2 && node.output_size() == 1;
}

bool casts_to_float(const onnx::NodeProto& node) {
    const std::int64_t to = Attributes(node).integer("to", 0);
    return node.op_type() == "Cast" &&
           (to == onnx::TensorProto::FLOAT || to == onnx::TensorProto::DOUBLE);
}

// The part of a quantised value that a tensor behind a DynamicQuantizeLinear has.
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

// Thrown if a DynamicQuantizeLinear cannot be removed.
struct NotRemoved {
    std::size_t quantiser;
    std::string reason;
};

// Without rounding, a product of the bytes times their scale is the product of the real numbers.
// The equality holds only if no other node reads bytes, scale or product in between: every reader
// is known.
// No removed node depends on two quantisers, so one that stays makes no other one stay.
class DynamicRemover {
public:
    DynamicRemover(onnx::ModelProto& model, const std::string& path)
        : graph_(*model.mutable_graph()), path_(path), names_(graph_) {
        for (const auto& tensor : graph_.initializer())
            constants_[tensor.name()] = &tensor;
        for (const auto& node : graph_.node()) {
            if (const auto* tensor = Attributes(node).tensor("value");
                node.op_type() == "Constant" && tensor && node.output_size() > 0)
                constants_[node.output(0)] = tensor;
            if (is_product(node))
                read_by_products_.insert(node.input().begin(), node.input().end());
        }
    }

    /// Returns the bytes of the quantisers that stay.
    std::set<std::string> run() {
        for (onnx::NodeProto& node : *graph_.mutable_node())
            settle([&] { visit(node); });
        for (const auto& output : graph_.output())
            settle([&] {
                if (const Origin* origin = part(output.name()))
                    refuse_reader(*origin, "is output '" + output.name() + "' of the network");
            });
        for (const auto& [quantiser, apply] : changes_)
            if (!quantisers_[quantiser].is_kept)
                apply();
        for (onnx::TensorProto& tensor : added_)
            *graph_.add_initializer() = std::move(tensor);
        auto& infos = *graph_.mutable_value_info();
        infos.erase(
            std::remove_if(infos.begin(), infos.end(),
                           [&](const auto& info) { return changed_.contains(info.name()); }),
            infos.end());
        std::set<std::string> kept;
        for (const Quantiser& quantiser : quantisers_)
            if (quantiser.is_kept)
                kept.insert(quantiser.bytes);
        return kept;
    }

private:
    struct Origin {
        Part part;
        std::size_t quantiser;
    };

    struct Quantiser {
        std::string name, bytes;
        bool is_kept = false;
    };

    // Visits a node, and again for each quantiser that has to stay because of it.
    void settle(const std::function<void()>& visit) {
        for (bool is_done = false; !is_done;)
            try {
                visit();
                is_done = true;
            } catch (const NotRemoved& found) {
                Quantiser& quantiser = quantisers_[found.quantiser];
                // The device's products are of signed bytes with scales that are known beforehand.
                if (read_by_products_.contains(quantiser.bytes))
                    throw CompileError(path_, found.reason);
                quantiser.is_kept = true;
            }
    }

    void visit(onnx::NodeProto& node) {
        if (node.op_type() == "DynamicQuantizeLinear")
            visit_quantiser(node);
        else if (reads_parts(node))
            follow(node);
    }

    // Records a change, which run() makes once it knows which quantisers stay.
    void change(const Origin& origin, std::function<void()> apply) {
        changes_.emplace_back(origin.quantiser, std::move(apply));
    }

    void become(const std::string& tensor, const Origin& origin) {
        change(origin, [this, tensor] { changed_.insert(tensor); });
        parts_[tensor] = origin;
    }

    [[noreturn]] void refuse(const onnx::NodeProto& node, const std::string& reason) const {
        throw CompileError(path_, shown(node) + ": " + reason);
    }

    [[noreturn]] void refuse_reader(const Origin& origin, const std::string& reading) const {
        throw NotRemoved{origin.quantiser,
                         "node '" + quantisers_[origin.quantiser].name +
                             "' (DynamicQuantizeLinear): it quantises at run time, and its " +
                             name_of(origin.part) + " " + reading +
                             "; export the network in float32, or quantised with scales that are "
                             "constants"};
    }

    [[noreturn]] void refuse_reader(const onnx::NodeProto& node, const Origin& origin) const {
        refuse_reader(origin, "is read by " + shown(node) +
                                  ", which is more than a product of integers, a cast to float and "
                                  "scaling");
    }

    // Returns the part that the tensor has; null if it has none, or if its quantiser stays.
    const Origin* part(const std::string& name) const {
        const auto found = parts_.find(name);
        return found == parts_.end() || quantisers_[found->second.quantiser].is_kept
                   ? nullptr
                   : &found->second;
    }

    bool reads_parts(const onnx::NodeProto& node) const {
        return std::ranges::any_of(node.input(),
                                   [&](const std::string& name) { return part(name); });
    }

    // Follows a node that reads one part or several; refuses it unless its result is a known part.
    void follow(onnx::NodeProto& node) {
        if (is_product(node) && part(node.input(0)) && part(node.input(0))->part == Part::bytes) {
            const Origin bytes = *part(node.input(0));
            change(bytes, [this, &node, bytes] { dequantise_product(node, bytes); });
            parts_[node.output(0)] = {Part::product, bytes.quantiser};
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
            become(node.output(0), origin);
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

    // Follows a bias: a constant divided by the scale, rounded to an integer, to which a product is
    // added.  Without rounding that is the constant.  Returns whether the node is part of this.
    bool follow_bias(onnx::NodeProto& node, const Origin& origin) {
        static const std::set<std::string> roundings = {"Floor", "Round", "Cast", "Identity"},
                                           shapes = {"Reshape", "Squeeze", "Unsqueeze"};
        if (node.output_size() != 1)
            return false;
        Origin result{Part::bias, origin.quantiser};
        if (node.op_type() == "Div" && node.input_size() == 2 && origin.part == Part::scale &&
            constants_.contains(node.input(0))) {
            // the node does not change
        } else if (origin.part == Part::bias && roundings.contains(node.op_type())) {
            change(origin, [&node] {
                node.set_op_type("Identity");
                node.clear_attribute();
            });
        } else if (origin.part == Part::bias && shapes.contains(node.op_type()) &&
                   part(node.input(0)) &&
                   std::all_of(node.input().begin() + 1, node.input().end(),
                               [&](const auto& name) { return constants_.contains(name); })) {
            // the node changes the shape only
        } else if (node.op_type() == "Add" && node.input_size() == 2 && is_sum(node)) {
            result.part = Part::product;
        } else {
            return false;
        }
        become(node.output(0), result);
        return true;
    }

    // Whether the node adds a product and a bias in steps of the product.
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
        const std::size_t quantiser = quantisers_.size();
        const std::string& bytes = node.output(0);
        quantisers_.push_back({node.name().empty() ? bytes : node.name(), bytes});
        constexpr Part parts[] = {Part::bytes, Part::scale, Part::zero_point};
        for (int index = 0; index < node.output_size(); ++index)
            if (!node.output(index).empty())
                become(node.output(index), {parts[index], quantiser});
        change({Part::bytes, quantiser}, [this, &node] { stop_quantising(node); });
    }

    void stop_quantising(onnx::NodeProto& node) {
        if (const std::string& scale = node.output(1); !scale.empty())
            add_constant(scale, {}, {1.0f});
        if (const std::string& zero = node.output(2); !zero.empty())
            add_constant(zero, {}, {0.0f});
        node.set_op_type("Identity");
        node.mutable_output()->DeleteSubrange(1, 2);
    }

    std::optional<Constant> constant(const std::string& name) const {
        const auto found = constants_.find(name);
        if (found == constants_.end())
            return std::nullopt;
        return read_constant(*found->second, path_);
    }

    // Makes the product one of float weights without their zero point.  There may be one zero point
    // for each output: along the first axis for a convolution, along the last for a product.
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
    std::map<std::string, const onnx::TensorProto*> constants_;
    FreshNames names_;
    std::set<std::string> read_by_products_;
    std::vector<Quantiser> quantisers_;
    std::map<std::string, Origin> parts_;                                // by tensor
    std::vector<std::pair<std::size_t, std::function<void()>>> changes_; // by quantiser
    std::set<std::string> changed_;
    std::vector<onnx::TensorProto> added_;
};

// Writes each DequantizeLinear of bytes whose quantiser stays as Cast, Sub and Mul.
class KeptDequantisations {
public:
    KeptDequantisations(onnx::ModelProto& model, const std::set<std::string>& kept,
                        const std::string& path)
        : model_(model), graph_(*model.mutable_graph()), kept_(kept), path_(path), names_(graph_) {
        for (const auto& node : graph_.node())
            if (node.op_type() == "DynamicQuantizeLinear" && node.output_size() == 3)
                numbers_.insert({node.output(1), node.output(2)});
        numbers_.insert("");
    }

    void run() {
        if (std::ranges::any_of(graph_.node(), [&](const onnx::NodeProto& node) {
                return is_kept(node) &&
                       std::any_of(node.input().begin() + 1, node.input().end(),
                                   [&](const auto& name) { return !numbers_.contains(name); });
            }))
            find_shapes();
        google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
        for (onnx::NodeProto& node : *graph_.mutable_node())
            if (is_kept(node))
                write(node, nodes);
            else
                nodes.Add()->Swap(&node);
        graph_.mutable_node()->Swap(&nodes);
    }

private:
    bool is_kept(const onnx::NodeProto& node) const {
        return node.op_type() == "DequantizeLinear" && node.input_size() >= 2 &&
               node.output_size() == 1 && kept_.contains(node.input(0));
    }

    // Infers shapes into facts_; the graph keeps its own value infos and outputs.
    void find_shapes() {
        const auto infos = graph_.value_info();
        const auto outputs = graph_.output();
        Libonnx(path_).infer_shapes(model_);
        facts_.emplace(graph_);
        *graph_.mutable_value_info() = infos;
        *graph_.mutable_output() = outputs;
    }

    void write(const onnx::NodeProto& node,
               google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes) {
        NodeBuilder build(node, graph_, names_);
        std::string whole = build.cast(node.input(0), onnx::TensorProto::FLOAT);
        if (node.input_size() > 2 && !node.input(2).empty()) {
            const auto shape = shape_along_axis(node, node.input(2));
            const std::string zero = build.cast(node.input(2), onnx::TensorProto::FLOAT);
            whole = build("Sub", {whole, shape ? build.reshaped(zero, *shape) : zero});
        }
        const auto shape = shape_along_axis(node, node.input(1));
        build.last("Mul", {whole, shape ? build.reshaped(node.input(1), *shape) : node.input(1)});
        for (onnx::NodeProto& made : build.take())
            nodes.Add()->Swap(&made);
    }

    // Returns the shape of a scale or zero point for each position along the axis; nothing for a
    // single number.
    std::optional<std::vector<std::int64_t>> shape_along_axis(const onnx::NodeProto& node,
                                                              const std::string& name) const {
        if (numbers_.contains(name))
            return std::nullopt;
        const auto refuse = [&](const std::string& reason) {
            throw CompileError(path_, shown(node) + ": " + reason);
        };
        const auto shape = facts_->shape(name);
        if (!shape || shape->size() > 1)
            refuse("input '" + name +
                   "' must be a single number or one for each position along the axis, and its "
                   "shape must be known");
        if (shape->empty() || shape->front() == 1)
            return std::nullopt;
        const std::string& bytes = node.input(0);
        const auto rank = facts_->rank(bytes);
        if (!rank)
            refuse("input '" + name + "' has " + std::to_string(shape->front()) +
                   " numbers, and the dimensions of input '" + bytes +
                   "' are not known; export the network with static shapes");
        const auto count = static_cast<std::int64_t>(*rank);
        const std::int64_t given = Attributes(node).integer("axis", 1);
        const std::int64_t axis = given < 0 ? given + count : given;
        if (axis < 0 || axis >= count)
            refuse("axis " + std::to_string(given) + " lies outside the " + std::to_string(count) +
                   " dimensions of input '" + bytes + "'");
        const auto sizes = facts_->shape(bytes);
        if (sizes && (*sizes)[static_cast<std::size_t>(axis)] != shape->front())
            refuse("input '" + name + "' has " + std::to_string(shape->front()) +
                   " numbers, but axis " + std::to_string(given) + " of input '" + bytes +
                   "' has size " + std::to_string((*sizes)[static_cast<std::size_t>(axis)]));
        std::vector<std::int64_t> aligned(static_cast<std::size_t>(count - axis), 1);
        aligned.front() = shape->front();
        return aligned;
    }

    onnx::ModelProto& model_;
    onnx::GraphProto& graph_;
    const std::set<std::string>& kept_;
    const std::string& path_;
    FreshNames names_;
    std::set<std::string> numbers_;    // scales and zero points that are made at run time
    std::optional<TensorFacts> facts_; // where there are others
};

} // namespace

void remove_dynamic_quantisation(onnx::ModelProto& model, const std::string& path) {
    if (std::ranges::none_of(model.graph().node(), [](const onnx::NodeProto& node) {
            return node.op_type() == "DynamicQuantizeLinear";
        }))
        return;
    const std::set<std::string> kept = DynamicRemover(model, path).run();
    if (!kept.empty())
        KeptDequantisations(model, kept, path).run();
}

} // namespace overtake::compiler
