// SPDX-License-Identifier: MIT
#include "onnx_file.hpp"

#include <cstring>
#include <fstream>
#include <limits>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>
#include <onnx/version_converter/convert.h>

#include "error.hpp"

namespace overtake::compiler {
namespace {

constexpr int oldest_opset = 7;
constexpr int target_opset = 13;
constexpr int newest_opset = 17;

// libonnx reports over many lines; ours is one.
std::string one_line(std::string text) {
    std::string line;
    for (char character : text) {
        const bool is_space = character == '\n' || character == '\t' || character == ' ';
        if (!is_space)
            line += character;
        else if (!line.empty() && line.back() != ' ')
            line += ' ';
    }
    while (!line.empty() && line.back() == ' ')
        line.pop_back();
    return line;
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

void set_batch_to_one(onnx::ModelProto& model) {
    for (auto& input : *model.mutable_graph()->mutable_input()) {
        if (!input.type().has_tensor_type() || !input.type().tensor_type().has_shape())
            continue;
        auto* shape = input.mutable_type()->mutable_tensor_type()->mutable_shape();
        if (shape->dim_size() > 0 && !shape->dim(0).has_dim_value())
            shape->mutable_dim(0)->set_dim_value(1);
    }
}

} // namespace

onnx::ModelProto load_onnx(const std::string& path, GivenScales& given) {
    onnx::ModelProto model = parse(path);
    const int opset = default_opset(model, path);
    if (opset < oldest_opset || opset > newest_opset)
        throw CompileError(path, "opset " + std::to_string(opset) +
                                     " is not supported; export it with opset 13 to 17");
    try {
        onnx::checker::check_model(model);
        set_batch_to_one(model);
        if (opset < target_opset)
            model = onnx::version_conversion::ConvertVersion(model, target_opset);
        given = remove_quantisation(model, path);
        onnx::shape_inference::InferShapes(model);
    } catch (const CompileError&) {
        throw;
    } catch (const std::exception& error) {
        throw CompileError(path, "libonnx refuses it: " + one_line(error.what()));
    }
    return model;
}

Constant read_constant(const onnx::TensorProto& tensor, const std::string& place) {
    const std::string what = "constant '" + tensor.name() + "' ";
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
        throw CompileError(place,
                           what + "lies outside the file; save the model with its data inside");
    Constant constant;
    std::size_t count = 1;
    for (std::int64_t size : tensor.dims()) {
        constant.shape.push_back(size);
        if (size < 0 || __builtin_mul_overflow(count, static_cast<std::size_t>(size), &count))
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
    if (tensor.data_type() == onnx::TensorProto::FLOAT)
        fill(constant.floats, tensor.float_data());
    else if (tensor.data_type() == onnx::TensorProto::INT64)
        fill(constant.integers, tensor.int64_data());
    else
        throw CompileError(place,
                           what + "is neither float32 nor int64; export the model in float32");
    return constant;
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
    return attribute ? attribute->s() : otherwise;
}

std::vector<std::int64_t> Attributes::integers(const std::string& name,
                                               std::vector<std::int64_t> otherwise) const {
    const auto* attribute = find(name);
    if (!attribute)
        return otherwise;
    return {attribute->ints().begin(), attribute->ints().end()};
}

const onnx::TensorProto* Attributes::tensor(const std::string& name) const {
    const auto* attribute = find(name);
    return attribute && attribute->has_t() ? &attribute->t() : nullptr;
}

} // namespace overtake::compiler
