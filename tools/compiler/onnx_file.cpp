// SPDX-License-Identifier: MIT
#include "onnx_file.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <set>
#include <span>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include "error.hpp"
#include "layer_norm.hpp"
#include "libonnx.hpp"
#include "shuffle.hpp"

namespace overtake::compiler {
namespace {

constexpr int oldest_opset = 6;
constexpr int target_opset = 13;
constexpr int newest_opset = 17;
constexpr std::int64_t most_elements = 1ll << 31; // of a tensor, as in the runtime

bool is_control(char character) {
    return static_cast<unsigned char>(character) < ' ' || character == 0x7f;
}

// Protobuf complains on stderr by itself; its complaint becomes part of our one line.
class ProtobufSilence {
    google::protobuf::LogSilencer silencer_;
};

onnx::ModelProto parse(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw CompileError(path, std::string(std::strerror(errno)) + "; name a readable ONNX file");
    const ProtobufSilence silence;
    google::protobuf::io::IstreamInputStream stream(&file);
    google::protobuf::io::CodedInputStream coded(&stream);
    coded.SetTotalBytesLimit(std::numeric_limits<int>::max());
    onnx::ModelProto model;
    if (!model.ParseFromCodedStream(&coded) || !model.has_graph())
        throw CompileError(path, "not an ONNX model; is the file whole?");
    return model;
}

int default_opset(const onnx::ModelProto& model, const std::string& path) {
    for (const auto& import : model.opset_import())
        if (import.domain().empty() || import.domain() == "ai.onnx")
            return static_cast<int>(import.version());
    throw CompileError(path, "names no opset; export it again with opset 13");
}

using Shapes = std::map<std::string, std::vector<std::int64_t>>;

// What the file says of tensors behind the inputs holds for its own shapes only.
void forget_shapes(onnx::ModelProto& model) {
    model.mutable_graph()->clear_value_info();
    for (auto& output : *model.mutable_graph()->mutable_output())
        if (output.type().has_tensor_type())
            output.mutable_type()->mutable_tensor_type()->clear_shape();
}

// Names stand in messages of one line, and in names of files.
void check_names_are_text(const onnx::GraphProto& graph, const std::string& path) {
    const auto check = [&](const std::string& name) {
        if (std::ranges::any_of(name, is_control))
            throw CompileError(path, "a name holds control characters: '" + one_line(name) +
                                         "'; rename it");
    };
    for (const auto* infos : {&graph.input(), &graph.output(), &graph.value_info()})
        for (const auto& info : *infos)
            check(info.name());
    for (const auto& tensor : graph.initializer())
        check(tensor.name());
    for (const auto& node : graph.node()) {
        check(node.name());
        check(node.op_type());
        std::ranges::for_each(node.input(), check);
        std::ranges::for_each(node.output(), check);
        for (const auto& attribute : node.attribute())
            if (attribute.has_t())
                check(attribute.t().name());
    }
}

bool has_graph(const onnx::NodeProto& node) {
    return std::ranges::any_of(node.attribute(), [](const onnx::AttributeProto& attribute) {
        return attribute.has_g() || attribute.graphs_size() > 0;
    });
}

// Of ONNX itself libonnx checks how many inputs and outputs each operator has; of others nothing,
// and nothing but quantised operators is known.  Graphs in nodes are taken by no operator here, and
// libonnx would walk through them.
void check_operators(const onnx::ModelProto& model, const std::string& path) {
    for (const auto& node : model.graph().node()) {
        const bool is_onnx = node.domain().empty() || node.domain() == "ai.onnx";
        const bool is_known =
            is_onnx || (node.domain() == "com.microsoft" && is_quantised_operator(node.op_type()));
        const std::string& name =
            node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
        const std::string place = "node '" + name + "' (" + node.op_type() + "): ";
        if (!is_known || has_graph(node))
            throw CompileError(path, place + "the operator is not supported");
        if (node.output_size() == 0)
            throw CompileError(path, place + "has no output");
    }
}

// libonnx divides by these and by their products.
void check_divisors(const onnx::ModelProto& model, const std::string& path) {
    constexpr std::int64_t most = 1 << 30;
    static const std::set<std::string> names = {"strides", "dilations", "kernel_shape", "group",
                                                "blocksize"};
    const auto fits = [](std::int64_t number) { return number >= 1 && number <= most; };
    for (const auto& node : model.graph().node())
        for (const auto& attribute : node.attribute())
            if (names.contains(attribute.name()) && ((attribute.has_i() && !fits(attribute.i())) ||
                                                     !std::ranges::all_of(attribute.ints(), fits)))
                throw CompileError(path, "node '" + node.name() + "' (" + node.op_type() +
                                             "): " + attribute.name() + " must lie in 1.." +
                                             std::to_string(most));
}

// Bytes of an element as raw data; 0 for what is not known here.
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

// How many elements a tensor holds; nothing where they are not whole or of no known size.
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

// libonnx copies as many bytes as there are to where as many elements as there may be whole have
// place, and reads scalars of tensors that have none.
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

void check_constants(const onnx::ModelProto& model, const std::string& path) {
    for (const auto& tensor : model.graph().initializer())
        check_elements(tensor, path);
    for (const auto& node : model.graph().node())
        for (const auto& attribute : node.attribute()) {
            if (attribute.has_t())
                check_elements(attribute.t(), path);
            for (const auto& tensor : attribute.tensors())
                check_elements(tensor, path);
        }
}

// libonnx counts down some of these one stride at a time.
void check_dimensions(const onnx::GraphProto& graph, const std::string& path) {
    for (const auto* infos : {&graph.input(), &graph.output(), &graph.value_info()})
        for (const auto& info : *infos)
            for (const auto& dimension : info.type().tensor_type().shape().dim())
                if (dimension.dim_value() > most_elements)
                    throw CompileError(path, "tensor '" + info.name() + "' has more than " +
                                                 std::to_string(most_elements) + " elements");
}

// libonnx's conversion follows null pointers where a name is not that of a value, and its inference
// believes what is said in passing of an input rather than the input.
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
    for (int index = infos.size() - 1; index >= 0; --index)
        if (!made.contains(infos[index].name()))
            infos.DeleteSubrange(index, 1);
}

using Dimensions = std::vector<std::int64_t>;

// Of a tensor that a node in front of `end` makes, or none, as far as they are known: -1 is any.
std::optional<Dimensions> dimensions_of(const onnx::ModelProto& model, std::string name, int end) {
    const auto& graph = model.graph();
    const auto known = [&](const auto& infos) -> std::optional<Dimensions> {
        for (const auto& info : infos)
            if (info.name() == name && info.type().tensor_type().has_shape()) {
                Dimensions dimensions;
                for (const auto& dimension : info.type().tensor_type().shape().dim())
                    dimensions.push_back(dimension.has_dim_value() ? dimension.dim_value() : -1);
                return dimensions;
            }
        return std::nullopt;
    };
    const auto of_constant = [](const onnx::TensorProto& tensor) {
        return Dimensions(tensor.dims().begin(), tensor.dims().end());
    };
    if (const auto dimensions = known(graph.value_info())) // which is what inference believes
        return dimensions;
    // What keeps the shape is passed over.
    for (int index = end - 1; index >= 0; --index) {
        const auto& node = graph.node(index);
        if (std::ranges::find(node.output(), name) == node.output().end())
            continue;
        const onnx::TensorProto* constant = Attributes(node).tensor("value");
        if (node.op_type() == "Constant" && constant)
            return of_constant(*constant);
        if (node.op_type() != "DequantizeLinear" && node.op_type() != "QuantizeLinear" &&
            node.op_type() != "Identity" && node.op_type() != "Cast")
            break;
        name = node.input(0);
    }
    for (const auto& tensor : graph.initializer())
        if (tensor.name() == name)
            return of_constant(tensor);
    return known(graph.input());
}

// libonnx takes the dimensions of a convolution's weights without looking how many there are, and
// goes by kernel_shape where it contradicts them.
void check_weights(const onnx::ModelProto& model, const std::string& path) {
    static const std::map<std::string, int> weights_inputs = {
        {"Conv", 1}, {"ConvTranspose", 1}, {"ConvInteger", 1}, {"QLinearConv", 3}};
    for (int index = 0; index < model.graph().node_size(); ++index) {
        const auto& node = model.graph().node(index);
        const auto found = weights_inputs.find(node.op_type());
        if (found == weights_inputs.end() || node.input_size() <= found->second)
            continue;
        const std::string& weights = node.input(found->second);
        const auto dimensions = dimensions_of(model, weights, index);
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

// The shapes that the user gives, and a batch of 1 where none is.
void set_input_shapes(onnx::ModelProto& model, const Shapes& shapes, const std::string& path) {
    for (const auto& [name, shape] : shapes)
        if (std::ranges::none_of(model.graph().input(), [&name = name](const auto& input) {
                return input.name() == name;
            }))
            throw CompileError("--input-shape " + name, path + " has no such input");
    bool is_other = false;
    for (auto& input : *model.mutable_graph()->mutable_input()) {
        if (const auto given = shapes.find(input.name());
            given != shapes.end() && input.type().has_tensor_type()) {
            auto* dimensions = input.mutable_type()->mutable_tensor_type()->mutable_shape();
            const bool fits = dimensions->dim_size() == 0 ||
                              dimensions->dim_size() == static_cast<int>(given->second.size());
            if (!fits)
                throw CompileError("--input-shape " + input.name(),
                                   path + ": the input has " +
                                       std::to_string(dimensions->dim_size()) + " dimensions");
            for (int axis = 0; axis < dimensions->dim_size(); ++axis)
                is_other = is_other || (dimensions->dim(axis).has_dim_value() &&
                                        dimensions->dim(axis).dim_value() !=
                                            given->second[static_cast<std::size_t>(axis)]);
            dimensions->clear_dim();
            for (std::int64_t size : given->second)
                dimensions->add_dim()->set_dim_value(size);
            continue;
        }
        if (!input.type().has_tensor_type() || !input.type().tensor_type().has_shape())
            continue;
        auto* shape = input.mutable_type()->mutable_tensor_type()->mutable_shape();
        if (shape->dim_size() > 0 && !shape->dim(0).has_dim_value())
            shape->mutable_dim(0)->set_dim_value(1);
    }
    if (is_other)
        forget_shapes(model);
}

std::string external_entry(const onnx::TensorProto& tensor, const std::string& key) {
    for (const auto& entry : tensor.external_data())
        if (entry.key() == key)
            return entry.value();
    return "";
}

// Constants that lie in files beside the model's, nowhere else.
void read_external_data(onnx::ModelProto& model, const std::string& path) {
    for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
        if (tensor.data_location() != onnx::TensorProto::EXTERNAL)
            continue;
        const std::string what = "constant '" + tensor.name() + "' ";
        const std::filesystem::path location = external_entry(tensor, "location");
        if (location.empty() || location.is_absolute() ||
            std::ranges::find(location, std::filesystem::path("..")) != location.end())
            throw CompileError(path, what + "lies outside the model's directory");
        const auto number = [&](const char* key) {
            const std::string text = external_entry(tensor, key);
            return text.empty() ? 0ull : std::strtoull(text.c_str(), nullptr, 10);
        };
        const auto file_path = std::filesystem::path(path).parent_path() / location;
        std::error_code error;
        const std::uint64_t size = std::filesystem::file_size(file_path, error);
        const std::uint64_t offset = number("offset");
        const std::uint64_t length =
            number("length") > 0 || error ? number("length") : size - offset;
        if (error || offset > size || length > size - offset)
            throw CompileError(path, what + "lies in " + one_line(location.string()) +
                                         ", which does not hold it; is the file beside the model?");
        std::ifstream file(file_path, std::ios::binary);
        std::string data(length, '\0');
        file.seekg(static_cast<std::streamoff>(offset));
        if (!file.read(data.data(), static_cast<std::streamsize>(length)))
            throw CompileError(path, what + "cannot be read from " + one_line(location.string()));
        tensor.set_raw_data(std::move(data));
        tensor.clear_external_data();
        tensor.set_data_location(onnx::TensorProto::DEFAULT);
    }
}

} // namespace

std::string one_line(const std::string& text) {
    std::string line;
    for (char character : text) {
        const bool is_space = is_control(character) || character == ' ';
        if (!is_space)
            line += character;
        else if (!line.empty() && line.back() != ' ')
            line += ' ';
    }
    while (!line.empty() && line.back() == ' ')
        line.pop_back();
    return line;
}

onnx::ModelProto load_onnx(const std::string& path, GivenScales& given,
                           const Shapes& input_shapes) {
    onnx::ModelProto model = parse(path);
    const int opset = default_opset(model, path);
    if (opset < oldest_opset || opset > newest_opset)
        throw CompileError(path, "opset " + std::to_string(opset) +
                                     " is not supported; export it with opset 13 to 17");
    check_names_are_text(model.graph(), path);
    read_external_data(model, path);
    model.clear_functions(); // what calls them is of another domain
    model.clear_training_info();
    check_operators(model, path);
    check_constants(model, path);
    check_divisors(model, path);
    check_dimensions(model.graph(), path);
    libonnx::check(model, path);
    check_names(model, path);
    check_weights(model, path);
    set_input_shapes(model, input_shapes, path);
    if (opset < target_opset)
        model = libonnx::convert(model, target_opset, path);
    given = remove_quantisation(model, path);
    libonnx::infer_shapes(model, path);
    recognise_layer_normalization(model);
    recognise_shuffles(model);
    remove_dead_nodes(model);
    return model;
}

Constant read_constant(const onnx::TensorProto& tensor, const std::string& place) {
    const std::string what = "constant '" + tensor.name() + "' ";
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
        throw CompileError(place,
                           what + "lies outside the file; save the model with its data inside");
    Constant constant;
    std::size_t count = 1, without_zeros = 1; // no product of some of the sizes overflows
    for (std::int64_t size : tensor.dims()) {
        constant.shape.push_back(size);
        count *= static_cast<std::size_t>(size);
        if (size < 0 || size > most_elements ||
            (without_zeros *= static_cast<std::size_t>(std::max<std::int64_t>(size, 1))) >
                static_cast<std::size_t>(most_elements))
            throw CompileError(place, what + "has an impossible shape");
    }
    const auto fill = [&](auto& target, const auto& repeated) {
        using Element = typename std::decay_t<decltype(target)>::value_type;
        const std::string& raw = tensor.raw_data();
        if (tensor.has_raw_data()
                ? raw.size() / sizeof(Element) != count || raw.size() % sizeof(Element) != 0
                : static_cast<std::size_t>(repeated.size()) != count)
            throw CompileError(place, what + "has more or fewer elements than its shape says");
        if (tensor.has_raw_data()) {
            target.resize(count);
            if (count > 0)
                std::memcpy(target.data(), raw.data(), raw.size());
        } else {
            target.assign(repeated.begin(), repeated.end());
        }
    };
    // Of another type than it is kept in.
    const auto convert = [&](auto element, auto& target, const auto& repeated) {
        std::vector<decltype(element)> read;
        fill(read, repeated);
        target.assign(read.begin(), read.end());
    };
    switch (tensor.data_type()) {
    case onnx::TensorProto::FLOAT:
        fill(constant.floats, tensor.float_data());
        break;
    case onnx::TensorProto::DOUBLE:
        convert(double{}, constant.floats, tensor.double_data());
        break;
    case onnx::TensorProto::INT64:
        fill(constant.integers, tensor.int64_data());
        break;
    case onnx::TensorProto::INT32:
        convert(std::int32_t{}, constant.integers, tensor.int32_data());
        break;
    case onnx::TensorProto::UINT8:
        convert(std::uint8_t{}, constant.integers, tensor.int32_data());
        break;
    case onnx::TensorProto::INT8:
        convert(std::int8_t{}, constant.integers, tensor.int32_data());
        break;
    case onnx::TensorProto::BOOL:
        convert(std::uint8_t{}, constant.integers, tensor.int32_data());
        break;
    default:
        throw CompileError(place, what + "is of type " +
                                      onnx::TensorProto::DataType_Name(tensor.data_type()) +
                                      ", which is not supported; export the model in float32");
    }
    return constant;
}

void write_constant(const Constant& constant, const std::string& name, onnx::TensorProto& tensor) {
    tensor.set_name(name);
    for (std::int64_t size : constant.shape)
        tensor.add_dims(size);
    const bool is_integer = !constant.integers.empty();
    tensor.set_data_type(is_integer ? onnx::TensorProto::INT64 : onnx::TensorProto::FLOAT);
    if (is_integer)
        tensor.mutable_int64_data()->Assign(constant.integers.begin(), constant.integers.end());
    else
        tensor.mutable_float_data()->Assign(constant.floats.begin(), constant.floats.end());
}

std::optional<std::vector<std::int64_t>> static_shape(const onnx::ValueInfoProto& info) {
    if (!info.type().has_tensor_type() || !info.type().tensor_type().has_shape())
        return std::nullopt;
    std::vector<std::int64_t> shape;
    for (const auto& dimension : info.type().tensor_type().shape().dim()) {
        if (!dimension.has_dim_value() || dimension.dim_value() < 1)
            return std::nullopt;
        shape.push_back(dimension.dim_value());
    }
    return shape;
}

const onnx::AttributeProto* Attributes::find(const std::string& name) const {
    for (const auto& attribute : node_.attribute())
        if (attribute.name() == name)
            return &attribute;
    return nullptr;
}

std::int64_t Attributes::integer(const std::string& name, std::int64_t otherwise) const {
    const auto* attribute = find(name);
    return attribute ? attribute->i() : otherwise;
}

float Attributes::real(const std::string& name, float otherwise) const {
    const auto* attribute = find(name);
    return attribute ? attribute->f() : otherwise;
}

std::string Attributes::text(const std::string& name, const std::string& otherwise) const {
    const auto* attribute = find(name);
    std::string value = attribute ? attribute->s() : otherwise;
    std::ranges::replace_if(value, is_control, '?'); // it is shown where it is not known
    return value;
}

std::vector<std::int64_t> Attributes::integers(const std::string& name,
                                               std::vector<std::int64_t> otherwise) const {
    const auto* attribute = find(name);
    if (!attribute)
        return otherwise;
    return {attribute->ints().begin(), attribute->ints().end()};
}

std::vector<float> Attributes::reals(const std::string& name) const {
    const auto* attribute = find(name);
    if (!attribute)
        return {};
    return {attribute->floats().begin(), attribute->floats().end()};
}

const onnx::TensorProto* Attributes::tensor(const std::string& name) const {
    const auto* attribute = find(name);
    return attribute && attribute->has_t() ? &attribute->t() : nullptr;
}

} // namespace overtake::compiler
