// SPDX-License-Identifier: MIT
#include "compiler/onnx/checks.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include <onnx/defs/schema.h>

#include "compiler/ir/error.hpp"
#include "compiler/ir/limits.hpp"
#include "compiler/onnx/file.hpp"

namespace overtake::compiler {
namespace {

using Parameter = onnx::OpSchema::FormalParameter;

// Calls `check` with each node, also in graphs in nodes.
template <typename Check>
void for_each_node(const onnx::GraphProto& graph, const Check& check) {
    for (const auto& node : graph.node()) {
        check(node);
        for (const auto& attribute : node.attribute()) {
            if (attribute.has_g())
                for_each_node(attribute.g(), check);
            for (const auto& inner : attribute.graphs())
                for_each_node(inner, check);
        }
    }
}

// Calls `check` with each graph, also in nodes.
template <typename Check>
void for_each_graph(const onnx::GraphProto& graph, const Check& check) {
    check(graph);
    for_each_node(graph, [&](const onnx::NodeProto& node) {
        for (const auto& attribute : node.attribute()) {
            if (attribute.has_g())
                check(attribute.g());
            std::ranges::for_each(attribute.graphs(), check);
        }
    });
}

// Checks that each node has an output, which code that names nodes by their outputs needs.
void check_outputs(const onnx::GraphProto& graph, const std::string& path) {
    for_each_node(graph, [&](const onnx::NodeProto& node) {
        if (node.output_size() == 0)
            throw CompileError(path, "node '" + node.name() + "' (" + node.op_type() +
                                         "): has no output");
    });
}

std::string place_of(const onnx::NodeProto& node) {
    const bool is_named = !node.name().empty() || node.output_size() == 0;
    return "node '" + (is_named ? node.name() : node.output(0)) + "' (" + node.op_type() + "): ";
}

std::string in_number(int least, int most) {
    if (least == most)
        return std::to_string(least);
    if (most == std::numeric_limits<int>::max())
        return std::to_string(least) + " or more";
    return std::to_string(least) + " to " + std::to_string(most);
}

// Checks that parameters that an operator needs have names.
void check_single(const onnx::NodeProto& node, const std::vector<Parameter>& parameters,
                  const google::protobuf::RepeatedPtrField<std::string>& names, const char* what,
                  const std::string& path) {
    for (int index = 0; index < names.size() && index < static_cast<int>(parameters.size());
         ++index)
        if (names[index].empty() &&
            parameters[static_cast<std::size_t>(index)].GetOption() == onnx::OpSchema::Single)
            throw CompileError(path, place_of(node) + "its " + what + " " + std::to_string(index) +
                                         " has no name, and " + node.op_type() + " needs it");
}

void check_count(const onnx::NodeProto& node, int count, int least, int most, const char* what,
                 const std::string& path) {
    if (count < least || count > most)
        throw CompileError(path, place_of(node) + "has " + std::to_string(count) + " " + what +
                                     (count == 1 ? "" : "s") + ", and " + node.op_type() + " has " +
                                     in_number(least, most));
}

// Checks attributes by which, and by whose products, libonnx divides.
void check_divisors(const onnx::GraphProto& graph, const std::string& path) {
    constexpr std::int64_t most = 1 << 30;
    static const std::set<std::string> names = {"strides", "dilations", "kernel_shape", "group",
                                                "blocksize"};
    const auto fits = [](std::int64_t number) { return number >= 1 && number <= most; };
    for_each_node(graph, [&](const onnx::NodeProto& node) {
        for (const auto& attribute : node.attribute())
            if (names.contains(attribute.name()) && ((attribute.has_i() && !fits(attribute.i())) ||
                                                     !std::ranges::all_of(attribute.ints(), fits)))
                throw CompileError(path, "node '" + node.name() + "' (" + node.op_type() +
                                             "): " + attribute.name() + " must lie in 1.." +
                                             std::to_string(most));
    });
}

// Returns the bytes of an element as raw data; 0 for a type that is not known here.
std::size_t raw_size(int type) {
    switch (type) {
    case onnx::TensorProto::DOUBLE:
    case onnx::TensorProto::INT64:
    case onnx::TensorProto::UINT64:
    case onnx::TensorProto::COMPLEX64:
        return 8;
    case onnx::TensorProto::FLOAT:
    case onnx::TensorProto::INT32:
    case onnx::TensorProto::UINT32:
        return 4;
    case onnx::TensorProto::FLOAT16:
    case onnx::TensorProto::BFLOAT16:
    case onnx::TensorProto::INT16:
    case onnx::TensorProto::UINT16:
        return 2;
    case onnx::TensorProto::INT8:
    case onnx::TensorProto::UINT8:
    case onnx::TensorProto::BOOL:
        return 1;
    case onnx::TensorProto::COMPLEX128:
        return 16;
    default:
        return 0;
    }
}

// Returns how many elements a tensor has; nothing if its bytes are no whole number of elements, or
// the size of an element is not known.
std::optional<std::size_t> held_elements(const onnx::TensorProto& tensor) {
    if (tensor.has_raw_data()) {
        const std::size_t size = raw_size(tensor.data_type());
        if (size == 0 || tensor.raw_data().size() % size != 0)
            return std::nullopt;
        return tensor.raw_data().size() / size;
    }
    switch (tensor.data_type()) {
    case onnx::TensorProto::FLOAT:
        return static_cast<std::size_t>(tensor.float_data_size());
    case onnx::TensorProto::COMPLEX64:
        return static_cast<std::size_t>(tensor.float_data_size() / 2);
    case onnx::TensorProto::DOUBLE:
        return static_cast<std::size_t>(tensor.double_data_size());
    case onnx::TensorProto::COMPLEX128:
        return static_cast<std::size_t>(tensor.double_data_size() / 2);
    case onnx::TensorProto::INT64:
        return static_cast<std::size_t>(tensor.int64_data_size());
    case onnx::TensorProto::UINT32:
    case onnx::TensorProto::UINT64:
        return static_cast<std::size_t>(tensor.uint64_data_size());
    case onnx::TensorProto::STRING:
        return static_cast<std::size_t>(tensor.string_data_size());
    default:
        return static_cast<std::size_t>(tensor.int32_data_size());
    }
}

// Checks that a tensor has as many elements as its shape says.  libonnx copies all of its bytes to
// memory for its whole elements only, and reads a scalar of a tensor without elements.
void check_elements(const onnx::TensorProto& tensor, const std::string& path) {
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
        return;
    std::size_t count = 1;
    bool is_possible = true;
    for (const std::int64_t size : tensor.dims())
        is_possible = is_possible && size >= 0 &&
                      !__builtin_mul_overflow(count, static_cast<std::size_t>(size), &count);
    if (!is_possible)
        throw CompileError(path, "constant '" + tensor.name() + "' has an impossible shape");
    if (held_elements(tensor) != count)
        throw CompileError(path, "constant '" + tensor.name() +
                                     "' has more or fewer elements than its shape says");
}

void check_constants(const onnx::GraphProto& graph, const std::string& path) {
    for_each_graph(graph, [&](const onnx::GraphProto& each) {
        for (const auto& tensor : each.initializer())
            check_elements(tensor, path);
    });
    for_each_node(graph, [&](const onnx::NodeProto& node) {
        for (const auto& attribute : node.attribute()) {
            if (attribute.has_t())
                check_elements(attribute.t(), path);
            for (const auto& tensor : attribute.tensors())
                check_elements(tensor, path);
        }
    });
}

// Checks dimensions, some of which libonnx counts down by one stride at a time.
void check_dimensions(const onnx::GraphProto& graph, const std::string& path) {
    for_each_graph(graph, [&](const onnx::GraphProto& each) {
        for (const auto* infos : {&each.input(), &each.output(), &each.value_info()})
            for (const auto& info : *infos)
                for (const auto& dimension : info.type().tensor_type().shape().dim())
                    if (dimension.dim_value() > max_elements)
                        throw CompileError(path, "tensor '" + info.name() + "' has more than " +
                                                     std::to_string(max_elements) + " elements");
    });
}

// Checks that nodes read tensors that exist, and removes value infos of tensors that no node makes.
// libonnx's conversion follows null pointers for the name of no tensor.  Its inference takes the
// shape of an input from a value info of that name, if there is one.
void check_names(onnx::ModelProto& model, const std::string& path) {
    auto& graph = *model.mutable_graph();
    std::set<std::string> names, made;
    for (const auto& input : graph.input())
        names.insert(input.name());
    for (const auto& tensor : graph.initializer())
        if (model.ir_version() >= 4)
            names.insert(tensor.name());
    for (const auto& node : graph.node()) {
        made.insert(node.output().begin(), node.output().end());
        for (const std::string& input : node.input())
            if (!input.empty() && !names.contains(input))
                throw CompileError(path, "node '" + node.name() + "' (" + node.op_type() +
                                             "): nothing makes its input '" + input + "'");
        names.insert(node.output().begin(), node.output().end());
    }
    for (const auto& output : graph.output())
        if (!names.contains(output.name()))
            throw CompileError(path, "nothing makes the output '" + output.name() + "'");
    auto& infos = *graph.mutable_value_info();
    int kept = 0;
    for (int index = 0; index < infos.size(); ++index)
        if (made.contains(infos[index].name()))
            infos.SwapElements(kept++, index);
    infos.DeleteSubrange(kept, infos.size() - kept);
}

using Dimensions = std::vector<std::int64_t>;

// Dimensions of tensors as far as they are known; -1 is any size.
class KnownDimensions {
public:
    explicit KnownDimensions(const onnx::GraphProto& graph) {
        for (const auto& info : graph.value_info())
            add(infos_, info);
        for (const auto& info : graph.input())
            add(inputs_, info);
        for (const auto& tensor : graph.initializer())
            constants_.emplace(tensor.name(), &tensor);
        for (const auto& node : graph.node())
            for (const std::string& output : node.output())
                writers_.emplace(output, &node);
    }

    std::optional<Dimensions> of(const std::string& name) {
        const auto [known, is_new] = known_.try_emplace(name);
        if (is_new)
            known->second = found(name);
        return known->second;
    }

private:
    std::optional<Dimensions> found(std::string name) const {
        if (const auto said = infos_.find(name); said != infos_.end())
            return said->second; // which is what inference believes
        // Skips nodes that keep the shape.  This ends, since each tensor is made once, and before
        // nodes read it.
        for (auto writer = writers_.find(name); writer != writers_.end();
             writer = writers_.find(name)) {
            const onnx::NodeProto& node = *writer->second;
            const onnx::TensorProto* constant = Attributes(node).tensor("value");
            if (node.op_type() == "Constant" && constant)
                return of_constant(*constant);
            if ((node.op_type() != "DequantizeLinear" && node.op_type() != "QuantizeLinear" &&
                 node.op_type() != "Identity" && node.op_type() != "Cast") ||
                node.input_size() == 0)
                break;
            name = node.input(0);
        }
        if (const auto constant = constants_.find(name); constant != constants_.end())
            return of_constant(*constant->second);
        if (const auto input = inputs_.find(name); input != inputs_.end())
            return input->second;
        return std::nullopt;
    }

    using Infos = std::unordered_map<std::string, Dimensions>;

    static void add(Infos& infos, const onnx::ValueInfoProto& info) {
        if (!info.type().tensor_type().has_shape())
            return;
        Dimensions dimensions;
        for (const auto& dimension : info.type().tensor_type().shape().dim())
            dimensions.push_back(dimension.has_dim_value() ? dimension.dim_value() : -1);
        infos.emplace(info.name(), std::move(dimensions));
    }

    static Dimensions of_constant(const onnx::TensorProto& tensor) {
        return {tensor.dims().begin(), tensor.dims().end()};
    }

    Infos infos_, inputs_;
    std::unordered_map<std::string, const onnx::TensorProto*> constants_;
    std::unordered_map<std::string, const onnx::NodeProto*> writers_;
    std::unordered_map<std::string, std::optional<Dimensions>> known_; // of those asked for
};

// Checks the weights of convolutions.  libonnx reads their dimensions without checking how many
// there are, and prefers kernel_shape if this contradicts them.
void check_weights(const onnx::ModelProto& model, const std::string& path) {
    static const std::map<std::string, int> weights_inputs = {
        {"Conv", 1}, {"ConvTranspose", 1}, {"ConvInteger", 1}, {"QLinearConv", 3}};
    KnownDimensions known(model.graph());
    for (const auto& node : model.graph().node()) {
        const auto found = weights_inputs.find(node.op_type());
        if (found == weights_inputs.end() || node.input_size() <= found->second)
            continue;
        const std::string& weights = node.input(found->second);
        const auto dimensions = known.of(weights);
        if (!dimensions)
            continue;
        const std::string place = "node '" + node.name() + "' (" + node.op_type() + "): ";
        if (dimensions->size() < 3)
            throw CompileError(path,
                               place + "input '" + weights + "' has less than three dimensions");
        const auto fits = [](std::int64_t said, std::int64_t is) { return is < 0 || said == is; };
        const auto kernel = Attributes(node).integers("kernel_shape", {});
        if (!kernel.empty() && !std::ranges::equal(kernel, std::span(*dimensions).subspan(2), fits))
            throw CompileError(path, place + "its kernel_shape is not that of its weights");
    }
}

} // namespace

void check_text(const onnx::GraphProto& graph, const std::string& path) {
    const auto check = [&](const std::string& name) {
        if (std::ranges::any_of(name, is_control))
            throw CompileError(path, "a name holds control characters: '" + one_line(name) +
                                         "'; rename it");
    };
    for_each_graph(graph, [&](const onnx::GraphProto& each) {
        for (const auto* infos : {&each.input(), &each.output(), &each.value_info()})
            for (const auto& info : *infos)
                check(info.name());
        for (const auto& tensor : each.initializer())
            check(tensor.name());
    });
    for_each_node(graph, [&](const onnx::NodeProto& node) {
        check(node.name());
        check(node.op_type());
        std::ranges::for_each(node.input(), check);
        std::ranges::for_each(node.output(), check);
        for (const auto& attribute : node.attribute())
            if (attribute.has_t())
                check(attribute.t().name());
    });
}

void check_contents(const onnx::ModelProto& model, const std::string& path) {
    check_outputs(model.graph(), path);
    check_constants(model.graph(), path);
    check_divisors(model.graph(), path);
    check_dimensions(model.graph(), path);
}

void check_parameters(const onnx::GraphProto& graph, int opset, const std::string& path) {
    for_each_node(graph, [&](const onnx::NodeProto& node) {
        const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
        const auto* schema = onnx::OpSchemaRegistry::Schema(node.op_type(), opset, domain);
        if (!schema || !domain.empty())
            return;
        check_count(node, node.input_size(), schema->min_input(), schema->max_input(), "input",
                    path);
        check_count(node, node.output_size(), schema->min_output(), schema->max_output(), "output",
                    path);
        check_single(node, schema->inputs(), node.input(), "input", path);
        check_single(node, schema->outputs(), node.output(), "output", path);
    });
}

void check_references(onnx::ModelProto& model, const std::string& path) {
    check_names(model, path);
    check_weights(model, path);
}

} // namespace overtake::compiler
