// SPDX-License-Identifier: MIT
#include "compiler/onnx/remove_dynamic_quantisation.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "compiler/ir/error.hpp"
#include "compiler/onnx/file.hpp"

namespace overtake::compiler {
namespace {

class DynamicRemover {
public:
    DynamicRemover(onnx::ModelProto& model, const std::string& path)
        : graph_(*model.mutable_graph()), path_(path) {
        for (const auto& tensor : graph_.initializer())
            constants_[tensor.name()] = &tensor;
        for (const auto& node : graph_.node())
            if (const auto* tensor = Attributes(node).tensor("value");
                node.op_type() == "Constant" && tensor && node.output_size() > 0)
                constants_[node.output(0)] = tensor;
    }

    void run() {
        for (onnx::NodeProto& node : *graph_.mutable_node())
            if (node.op_type() == "DynamicQuantizeLinear" && feeds_products_only(node))
                stop_quantising(node);
            else if (is_product(node) && quantised_.contains(node.input(0)))
                dequantise_product(node);
        for (onnx::TensorProto& tensor : added_)
            *graph_.add_initializer() = std::move(tensor);
        auto& infos = *graph_.mutable_value_info();
        for (int index = infos.size() - 1; index >= 0; --index)
            if (changed_.contains(infos[index].name()))
                infos.DeleteSubrange(index, 1);
    }

private:
    static bool is_product(const onnx::NodeProto& node) {
        return (node.op_type() == "ConvInteger" || node.op_type() == "MatMulInteger") &&
               node.input_size() >= 2 && node.output_size() == 1;
    }

    // Whoever else reads the bytes may want them as they are.
    bool feeds_products_only(const onnx::NodeProto& node) const {
        const std::string& bytes = node.output(0);
        const auto reads = [&](const auto& other) { return other.name() == bytes; };
        return std::ranges::none_of(graph_.output(), reads) &&
               std::ranges::all_of(graph_.node(), [&](const onnx::NodeProto& reader) {
                   const auto count = std::ranges::count(reader.input(), bytes);
                   return count == 0 || (count == 1 && is_product(reader) && reader.input(0) == bytes);
               });
    }

    [[noreturn]] void refuse(const onnx::NodeProto& node, const std::string& reason) const {
        throw CompileError(path_,
                           "node '" + (node.name().empty() ? node.output(0) : node.name()) +
                               "' (" + node.op_type() + "): " + reason);
    }

    void add_constant(const std::string& name, const std::vector<std::int64_t>& shape,
                      std::vector<float> reals) {
        write_constant({shape, std::move(reals), {}}, name, added_.emplace_back());
    }

    void stop_quantising(onnx::NodeProto& node) {
        if (node.output_size() != 3 || node.input_size() != 1)
            refuse(node, "has not one input and three outputs");
        const std::string bytes = node.output(0), scale = node.output(1), zero = node.output(2);
        if (!scale.empty())
            add_constant(scale, {}, {1.0f});
        if (!zero.empty())
            add_constant(zero, {}, {0.0f});
        quantised_[bytes] = zero;
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
    void dequantise_product(onnx::NodeProto& node) {
        const bool is_convolution = node.op_type() == "ConvInteger";
        if (node.input_size() > 2 && !node.input(2).empty() &&
            node.input(2) != quantised_.at(node.input(0)))
            refuse(node, "reads input '" + node.input(0) + "' with another zero point");
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
            weights->shape.empty() ? 0
                                   : static_cast<std::size_t>(is_convolution
                                                                  ? weights->shape.front()
                                                                  : weights->shape.back());
        if (zeros.size() != 1 && zeros.size() != outputs)
            refuse(node, "its weights have neither one zero point nor one for each output");
        std::vector<float> reals(count);
        for (std::size_t index = 0; index < count; ++index)
            reals[index] = static_cast<float>(weights->integers[index] -
                                              zeros[index / std::max<std::size_t>(run, 1) %
                                                    zeros.size()]);
        const std::string name = node.output(0) + ":weights";
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
    std::map<std::string, std::string> quantised_; // bytes and their zero point
    std::set<std::string> changed_;
    std::vector<onnx::TensorProto> added_;
};

} // namespace

void remove_dynamic_quantisation(onnx::ModelProto& model, const std::string& path) {
    if (std::ranges::any_of(model.graph().node(), [](const onnx::NodeProto& node) {
            return node.op_type() == "DynamicQuantizeLinear";
        }))
        DynamicRemover(model, path).run();
}

} // namespace overtake::compiler
