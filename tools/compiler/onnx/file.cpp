// SPDX-License-Identifier: MIT
#include "compiler/onnx/file.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include "compiler/ir/error.hpp"
#include "compiler/ir/limits.hpp"
#include "compiler/onnx/checks.hpp"
#include "compiler/onnx/flatten_softmax.hpp"
#include "compiler/onnx/fold_conditions.hpp"
#include "compiler/onnx/fuse_layer_norm.hpp"
#include "compiler/onnx/fuse_space_to_depth.hpp"
#include "compiler/onnx/half_precision.hpp"
#include "compiler/onnx/inline_functions.hpp"
#include "compiler/onnx/inputs.hpp"
#include "compiler/onnx/libonnx.hpp"
#include "compiler/onnx/newer_opsets.hpp"
#include "compiler/onnx/old_resizes.hpp"
#include "compiler/onnx/remove_dynamic_quantisation.hpp"
#include "compiler/onnx/remove_edge_nodes.hpp"
#include "compiler/onnx/settle_attributes.hpp"
#include "compiler/onnx/settle_ceil_mode.hpp"
#include "compiler/onnx/sort_nodes.hpp"
#include "compiler/onnx/types.hpp"
#include "compiler/onnx/versions.hpp"
#include "compiler/onnx/widen_shifts.hpp"

namespace overtake::compiler {
namespace {

constexpr int target_opset = 13;

// Keeps protobuf from writing errors to stderr: the compiler reports them in its own message.
class ProtobufSilence {
    google::protobuf::LogSilencer silencer_;
};

// Refuses an empty file, a compiled model and an array.
void refuse_other_files(const std::string& path, std::ifstream& file) {
    std::string start(8, '\0');
    file.read(start.data(), static_cast<std::streamsize>(start.size()));
    if (file.gcount() == 0)
        throw CompileError(path, "is empty; export the network again");
    file.clear();
    file.seekg(0);
    if (start.compare(4, 4, "OVM1") == 0 || start.compare(4, 4, "OVP1") == 0)
        throw CompileError(path, "is a compiled model already; name the ONNX file it came from");
    if (start.starts_with("\x93NUMPY"))
        throw CompileError(path, "is an array; name an ONNX file, and samples with --calibration");
}

bool is_configuration(const std::string& path) {
    return path.ends_with(".yaml") || path.ends_with(".yml");
}

onnx::ModelProto parse(const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error))
        throw CompileError(path, "is a directory; name an ONNX file");
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw CompileError(path, std::string(std::strerror(errno)) + "; name a readable ONNX file");
    if (std::filesystem::is_regular_file(path, error))
        refuse_other_files(path, file);
    const ProtobufSilence silence;
    google::protobuf::io::IstreamInputStream stream(&file);
    google::protobuf::io::CodedInputStream coded(&stream);
    coded.SetTotalBytesLimit(std::numeric_limits<int>::max());
    onnx::ModelProto model;
    if (!model.ParseFromCodedStream(&coded) || !model.has_graph())
        throw CompileError(path, is_configuration(path)
                                     ? "not an ONNX model; give a configuration file with -c"
                                     : "not an ONNX model; is the file whole?");
    return model;
}

int default_opset(const onnx::ModelProto& model, const std::string& path) {
    for (const auto& import : model.opset_import())
        if (import.domain().empty() || import.domain() == "ai.onnx")
            return static_cast<int>(import.version());
    throw CompileError(path,
                       std::string("names no opset; export it again with one of ") + opset_range);
}

std::string external_entry(const onnx::TensorProto& tensor, const std::string& key) {
    for (const auto& entry : tensor.external_data())
        if (entry.key() == key)
            return entry.value();
    return "";
}

// Reads constants in files beside the model's, and in no other folder.
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

// Returns the types of the outputs.  They are set again at the end: outputs of bytes become
// numbers, but the user gets bytes.
std::vector<int> types_of_outputs(const onnx::ModelProto& model) {
    std::vector<int> types;
    for (const auto& output : model.graph().output())
        types.push_back(output.type().tensor_type().elem_type());
    return types;
}

void set_types_of_outputs(onnx::ModelProto& model, const std::vector<int>& types) {
    for (std::size_t index = 0; index < types.size(); ++index)
        if (auto& output = *model.mutable_graph()->mutable_output(static_cast<int>(index));
            types[index] != onnx::TensorProto::UNDEFINED && output.type().has_tensor_type())
            output.mutable_type()->mutable_tensor_type()->set_elem_type(types[index]);
}

// Settles the parts that no opset defines: functions, names, constants and the order of nodes.
void settle_graph(onnx::ModelProto& model, const std::string& path) {
    inline_functions(model, path);
    model.clear_training_info();
    check_text(model.graph(), path);
    read_external_data(model, path);
    check_contents(model, path);
    sort_nodes(*model.mutable_graph(), path);
}

// Checks the properties on which libonnx relies without checking; then libonnx checks.
void check_file(onnx::ModelProto& model, int opset, Libonnx& libonnx,
                const std::vector<std::string>& custom_domains, Refusals& refusals,
                const std::string& path) {
    set_aside_custom(model, custom_domains);
    set_aside_unknown(model, opset, refusals);
    check_parameters(model.graph(), opset, path);
    libonnx.check(model);
}

void add_kinds(const onnx::GraphProto& graph, std::set<std::string>& kinds) {
    for (const auto& node : graph.node())
        kinds.insert(node.op_type());
}

void add_node_names(const onnx::GraphProto& graph, std::set<std::string>& names) {
    for (const auto& node : graph.node()) {
        names.insert(node.name());
        if (node.output_size() > 0)
            names.insert(node.output(0));
    }
}

void convert(onnx::ModelProto& model, int opset, Libonnx& libonnx, const std::string& path) {
    if (opset >= target_opset)
        return;
    if (has_softmax(model)) {
        libonnx.infer_shapes(model);
        flatten_softmax(model, opset, path);
    }
    ForeignNodes foreign = disguise_foreign(*model.mutable_graph());
    libonnx.convert(model, target_opset);
    undisguise(*model.mutable_graph(), std::move(foreign));
}

// Refuses an opset that is too old, and warns of a newer one than newest_opset: import refuses the
// operators that it adds, and takes the others for those of newest_opset.
void check_opset(int opset, const InputSettings& settings, const std::string& path) {
    if (opset < oldest_opset)
        throw CompileError(path, "opset " + std::to_string(opset) +
                                     " is not supported; export it with opset " + opset_range);
    if (opset > newest_opset && settings.warn)
        settings.warn(path + ": opset " + std::to_string(opset) + " is newer than " +
                      std::to_string(newest_opset) +
                      ", so its operators are taken for those of that opset");
}

} // namespace

Network load_onnx(const std::string& path, const InputSettings& settings,
                  const Evaluate& evaluate) {
    Network network{parse(path), {}, {}, {}};
    onnx::ModelProto& model = network.model;
    const int given_opset = default_opset(model, path);
    check_opset(given_opset, settings, path);
    const int opset = std::min(given_opset, known_opset);
    model.set_ir_version(std::min<std::int64_t>(model.ir_version(), known_ir_version));
    Libonnx libonnx(path);
    try {
        add_kinds(model.graph(), network.nodes.kinds);
        settle_graph(model, path);
        add_kinds(model.graph(), network.nodes.kinds);
        lower_to_known_opset(model, libonnx, network.refusals);
        check_file(model, opset, libonnx, settings.custom_domains, network.refusals, path);
        add_node_names(model.graph(), network.nodes.names);
        add_kinds(model.graph(), network.nodes.kinds);
        set_input_shapes(model, settings, path);
        remove_edge_nodes(model, settings.removed, libonnx, settings.warn);
        const std::vector<int> output_types = types_of_outputs(model);
        network.was_half_precise = widen_half_precision(*model.mutable_graph());
        set_inputs(model, settings, path);
        check_input_shapes(model, path);
        fold_conditions(model, opset, libonnx, evaluate, network.refusals,
                        [&](const std::string& text) {
                            if (settings.warn)
                                settings.warn(path + ": " + text);
                        });
        set_aside_control_flow(model, network.refusals);
        check_references(model, path);
        remove_dynamic_quantisation(model, path);
        settle_attributes(model, opset);
        settle_ceil_mode(model, libonnx);
        convert(model, opset, libonnx, path);
        name_rule_of_old_resizes(model, opset);
        widen_shifts(model, libonnx, network.refusals);
        network.given = remove_qdq(model, path);
        libonnx.infer_shapes(model);
        check_types(model, path);
        fuse_layer_norm(model);
        fuse_space_to_depth(model);
        remove_dead_nodes(model);
        set_types_of_outputs(model, output_types);
    } catch (const std::bad_alloc&) {
        throw CompileError(path, "there is not enough memory for it");
    } catch (const std::length_error&) {
        throw CompileError(path, "is larger than memory can be");
    }
    return network;
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
        if (size < 0 || size > max_elements ||
            (without_zeros *= static_cast<std::size_t>(std::max<std::int64_t>(size, 1))) >
                static_cast<std::size_t>(max_elements))
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
    // Reads elements of another type than the constant's.
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
    case onnx::TensorProto::INT16:
        convert(std::int16_t{}, constant.integers, tensor.int32_data());
        break;
    case onnx::TensorProto::UINT16:
        convert(std::uint16_t{}, constant.integers, tensor.int32_data());
        break;
    case onnx::TensorProto::UINT32:
        convert(std::uint32_t{}, constant.integers, tensor.uint64_data());
        break;
    case onnx::TensorProto::UINT64:
        convert(std::uint64_t{}, constant.integers, tensor.uint64_data());
        if (std::ranges::any_of(constant.integers, [](std::int64_t number) { return number < 0; }))
            throw CompileError(place, what + "holds a number of 2^63 or more; export it in int64");
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

bool write_typed(const Constant& constant, int type, const std::string& name,
                 onnx::TensorProto& tensor) {
    const std::vector<float>& reals = constant.floats;
    const std::vector<std::int64_t>& integers = constant.integers;
    const bool is_real = type == onnx::TensorProto::FLOAT;
    if (is_real ? reals.empty() : integers.empty())
        return false;
    switch (type) {
    case onnx::TensorProto::FLOAT:
        tensor.mutable_float_data()->Assign(reals.begin(), reals.end());
        break;
    case onnx::TensorProto::INT64:
        tensor.mutable_int64_data()->Assign(integers.begin(), integers.end());
        break;
    case onnx::TensorProto::INT32:
    case onnx::TensorProto::BOOL:
        for (const std::int64_t integer : integers)
            tensor.add_int32_data(static_cast<std::int32_t>(integer));
        break;
    default:
        return false;
    }
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const std::int64_t size : constant.shape)
        tensor.add_dims(size);
    return true;
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
