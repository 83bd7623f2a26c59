// SPDX-License-Identifier: MIT
//
// Random bytes are hardly ever a graph, so mutations change the protobuf classes of a model.
#include <algorithm>
#include <limits>
#include <random>

#include <onnx/onnx_pb.h>

#include "compiler/import/import.hpp"
#include "mutate_sizes.hpp"
#include "run_import.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace overtake::fuzz {

namespace {

using onnx::AttributeProto;
using onnx::NodeProto;
using onnx::TensorProto;

// Names of attributes of operators.
constexpr const char* attribute_names[] = {"axis",
                                           "axes",
                                           "keepdims",
                                           "kernel_shape",
                                           "strides",
                                           "pads",
                                           "dilations",
                                           "group",
                                           "auto_pad",
                                           "ceil_mode",
                                           "count_include_pad",
                                           "alpha",
                                           "beta",
                                           "gamma",
                                           "epsilon",
                                           "perm",
                                           "to",
                                           "mode",
                                           "value",
                                           "value_int",
                                           "value_ints",
                                           "value_float",
                                           "value_floats",
                                           "value_string",
                                           "split",
                                           "blocksize",
                                           "largest",
                                           "sorted",
                                           "transA",
                                           "transB",
                                           "output_padding",
                                           "output_shape",
                                           "coordinate_transformation_mode",
                                           "nearest_mode",
                                           "cubic_coeff_a",
                                           "exclude_outside",
                                           "start",
                                           "end",
                                           "allowzero",
                                           "select_last_index",
                                           "fmod",
                                           "lambd",
                                           "bias",
                                           "batch_dims",
                                           "new_axis",
                                           "approximate",
                                           "p",
                                           "num_outputs",
                                           "center_point_box",
                                           "training_mode",
                                           "scales",
                                           "starts",
                                           "ends",
                                           "min",
                                           "max",
                                           "body"};
constexpr const char* texts[] = {"SAME_UPPER",
                                 "SAME_LOWER",
                                 "VALID",
                                 "NOTSET",
                                 "constant",
                                 "reflect",
                                 "edge",
                                 "wrap",
                                 "nearest",
                                 "linear",
                                 "cubic",
                                 "half_pixel",
                                 "pytorch_half_pixel",
                                 "align_corners",
                                 "asymmetric",
                                 "tf_crop_and_resize",
                                 "DCR",
                                 "CRD",
                                 "floor",
                                 "ceil",
                                 "round_prefer_floor",
                                 "",
                                 "%s\n"};

class Mutator {
public:
    explicit Mutator(std::uint32_t seed) : random_(seed) {}

    std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }

    void mutate(onnx::ModelProto& model) {
        onnx::GraphProto& graph = *model.mutable_graph();
        collect_names(graph);
        if (below(3) == 0)
            return mutate_sizes(graph, [this](std::size_t limit) { return below(limit); });
        switch (below(14)) {
        case 0:
            return header(model);
        case 1:
        case 2:
        case 3:
            return constant(graph);
        case 4:
            return info(below(3) ? *graph.mutable_input() : *graph.mutable_output());
        case 5:
            return info(*graph.mutable_value_info());
        case 6:
            return nodes(graph);
        default:
            return node(graph);
        }
    }

private:
    std::int64_t number() {
        static constexpr std::int64_t values[] = {-1,
                                                  -2,
                                                  -3,
                                                  -4,
                                                  0,
                                                  5,
                                                  7,
                                                  8,
                                                  16,
                                                  31,
                                                  32,
                                                  64,
                                                  255,
                                                  256,
                                                  4096,
                                                  65535,
                                                  1 << 20,
                                                  1 << 24,
                                                  (1ll << 31) - 1,
                                                  1ll << 31,
                                                  1ll << 32,
                                                  1ll << 40,
                                                  1ll << 62,
                                                  std::numeric_limits<std::int64_t>::max(),
                                                  std::numeric_limits<std::int64_t>::min(),
                                                  -(1ll << 31),
                                                  -(1ll << 40)};
        return below(3) ? static_cast<std::int64_t>(below(5)) : values[below(std::size(values))];
    }

    float real() {
        static constexpr float values[] = {0, 1, -1, 0.5f, 2, 1e-38f, 1e38f, -1e38f, 1e-6f, 3e9f};
        return below(12)  ? values[below(std::size(values))]
               : below(2) ? std::numeric_limits<float>::quiet_NaN()
                          : std::numeric_limits<float>::infinity();
    }

    void collect_names(const onnx::GraphProto& graph) {
        names_.assign({"", "absent"});
        for (const auto& value : graph.input())
            names_.push_back(value.name());
        for (const auto& tensor : graph.initializer())
            names_.push_back(tensor.name());
        for (const NodeProto& node : graph.node())
            names_.insert(names_.end(), node.output().begin(), node.output().end());
    }

    const std::string& name() { return names_[below(names_.size())]; }

    template <typename Repeated>
    auto* any(Repeated& list) {
        return list.size() == 0
                   ? nullptr
                   : list.Mutable(static_cast<int>(below(static_cast<std::size_t>(list.size()))));
    }

    void header(onnx::ModelProto& model) {
        const auto version = static_cast<std::int64_t>(below(20));
        if (below(4) == 0)
            model.set_ir_version(below(4) ? version : number());
        else if (auto* import = any(*model.mutable_opset_import()))
            below(8) ? import->set_version(below(8) ? version : number())
                     : import->set_domain(below(2) ? "ai.onnx" : "com.example");
        else
            model.add_opset_import()->set_version(13);
    }

    /// Adds, removes or changes a number.
    template <typename Numbers, typename Make>
    void list(Numbers& numbers, const Make& make) {
        const std::size_t how = below(6);
        if (how == 0 || numbers.size() == 0)
            numbers.Add(make());
        else if (how == 1)
            numbers.RemoveLast();
        else
            numbers.Set(static_cast<int>(below(static_cast<std::size_t>(numbers.size()))), make());
    }

    void tensor(TensorProto& tensor) {
        static constexpr int types[] = {TensorProto::FLOAT, TensorProto::INT64, TensorProto::INT32,
                                        TensorProto::INT8,  TensorProto::UINT8, TensorProto::BOOL,
                                        TensorProto::DOUBLE};
        switch (below(8)) {
        case 0:
            return list(*tensor.mutable_dims(), [&] { return number(); });
        case 1:
            return tensor.set_data_type(below(8) ? types[below(std::size(types))]
                                                 : static_cast<int>(below(20)));
        case 2:
            return tensor.set_name(name());
        case 3: // as many elements as the shape has, or nearly so
            return elements(tensor);
        case 4:
            tensor.set_data_location(TensorProto::EXTERNAL);
            tensor.add_external_data()->set_key(below(2) ? "location" : "offset");
            return tensor.mutable_external_data(0)->set_value(below(2) ? "model.onnx" : "1");
        default:
            return contents(tensor);
        }
    }

    void elements(TensorProto& tensor) {
        std::size_t count = 1;
        for (const std::int64_t size : tensor.dims())
            count *= static_cast<std::size_t>(size);
        if (count > 4096)
            return;
        tensor.clear_raw_data();
        tensor.clear_float_data();
        tensor.clear_int64_data();
        for (std::size_t i = 0; i < count + (below(8) == 0); i++)
            if (tensor.data_type() == TensorProto::INT64)
                tensor.add_int64_data(number());
            else
                tensor.add_float_data(real());
    }

    void contents(TensorProto& tensor) {
        if (tensor.has_raw_data() && !tensor.raw_data().empty()) {
            std::string& raw = *tensor.mutable_raw_data();
            const std::int64_t whole = number();
            if (below(8) == 0)
                raw.resize(raw.size() - 1);
            else if (tensor.data_type() == TensorProto::INT64 && raw.size() >= 8)
                raw.replace(below(raw.size() / 8) * 8, 8,
                            {reinterpret_cast<const char*>(&whole), 8});
            else
                raw[below(raw.size())] = static_cast<char>(random_());
        } else if (tensor.float_data_size() > 0) {
            list(*tensor.mutable_float_data(), [&] { return real(); });
        } else if (tensor.int32_data_size() > 0) {
            list(*tensor.mutable_int32_data(), [&] { return static_cast<std::int32_t>(number()); });
        } else {
            list(*tensor.mutable_int64_data(), [&] { return number(); });
        }
    }

    void constant(onnx::GraphProto& graph) {
        if (below(12) == 0) {
            TensorProto& added = *graph.add_initializer();
            added.set_name("made" + std::to_string(below(4)));
            added.set_data_type(below(2) ? TensorProto::INT64 : TensorProto::FLOAT);
            for (std::size_t axis = below(3); axis > 0; axis--)
                added.add_dims(static_cast<std::int64_t>(1 + below(4)));
            elements(added);
        } else if (TensorProto* chosen = any(*graph.mutable_initializer())) {
            tensor(*chosen);
        } else {
            node(graph);
        }
    }

    template <typename Infos>
    void info(Infos& infos) {
        auto* chosen = any(infos);
        if (!chosen || below(12) == 0) {
            chosen = infos.Add();
            chosen->set_name(name());
            chosen->mutable_type()->mutable_tensor_type()->set_elem_type(TensorProto::FLOAT);
        }
        auto& type = *chosen->mutable_type()->mutable_tensor_type();
        const std::size_t how = below(12);
        if (how == 0) {
            chosen->set_name(name());
        } else if (how == 1) {
            type.set_elem_type(static_cast<int>(below(17)));
        } else if (how == 2) {
            type.clear_shape();
        } else if (how == 3) {
            chosen->mutable_type()->clear_value();
        } else if (how == 4 && type.shape().dim_size() > 0) {
            type.mutable_shape()->mutable_dim()->RemoveLast();
        } else if (how == 5 || type.shape().dim_size() == 0) {
            type.mutable_shape()->add_dim()->set_dim_value(number());
        } else {
            auto* dimension = any(*type.mutable_shape()->mutable_dim());
            if (how == 6)
                dimension->set_dim_param("n");
            else
                dimension->set_dim_value(number());
        }
    }

    void nodes(onnx::GraphProto& graph) {
        auto& list = *graph.mutable_node();
        if (list.size() == 0)
            return;
        const auto place = [&] {
            return static_cast<int>(below(static_cast<std::size_t>(list.size())));
        };
        switch (below(4)) {
        case 0:
            list.DeleteSubrange(place(), 1);
            return;
        case 1:
            list.SwapElements(place(), place());
            return;
        default: { // a copy of a node, with another input and output
            NodeProto added = list.Get(place());
            if (added.input_size() > 0)
                added.set_input(0, name());
            if (added.output_size() > 0)
                added.set_output(0, "added" + std::to_string(list.size()));
            added.set_name(below(2) ? "added" : "");
            if (auto* output = any(*graph.mutable_output()); output && added.output_size() > 0)
                output->set_name(added.output(0));
            *list.Add() = std::move(added);
        }
        }
    }

    void node(onnx::GraphProto& graph) {
        NodeProto* chosen = any(*graph.mutable_node());
        if (!chosen)
            return;
        switch (below(14)) {
        case 0:
            return chosen->set_op_type(operators_[below(operators_.size())].type);
        case 1:
        case 2:
            if (chosen->input_size() > 0)
                chosen->set_input(
                    static_cast<int>(below(static_cast<std::size_t>(chosen->input_size()))),
                    name());
            return;
        case 3:
            return chosen->add_input(name());
        case 4:
            if (chosen->input_size() > 0)
                chosen->mutable_input()->RemoveLast();
            return;
        case 5:
            if (chosen->output_size() > 0 && below(2))
                chosen->mutable_output()->RemoveLast();
            else
                chosen->add_output(below(2) ? name() : "out" + std::to_string(below(4)));
            return;
        case 6:
            return chosen->set_domain(below(2) ? "" : "com.example");
        case 7:
        case 8:
            return add_attribute(*chosen);
        case 9:
            if (chosen->attribute_size() > 0)
                chosen->mutable_attribute()->RemoveLast();
            return;
        default:
            if (AttributeProto* attribute = any(*chosen->mutable_attribute()))
                change(*attribute);
            else
                add_attribute(*chosen);
        }
    }

    void add_attribute(NodeProto& node) {
        AttributeProto& attribute = *node.add_attribute();
        attribute.set_name(attribute_names[below(std::size(attribute_names))]);
        switch (below(6)) {
        case 0:
            attribute.set_type(AttributeProto::FLOAT);
            return attribute.set_f(real());
        case 1:
            attribute.set_type(AttributeProto::STRING);
            return attribute.set_s(texts[below(std::size(texts))]);
        case 2:
            attribute.set_type(AttributeProto::INT);
            return attribute.set_i(number());
        case 3:
            attribute.set_type(AttributeProto::TENSOR);
            attribute.mutable_t()->set_data_type(TensorProto::FLOAT);
            return tensor(*attribute.mutable_t());
        case 4:
            attribute.set_type(AttributeProto::FLOATS);
            return attribute.add_floats(real());
        default:
            attribute.set_type(AttributeProto::INTS);
            for (std::size_t count = below(7); count > 0; count--)
                attribute.add_ints(number());
        }
    }

    void change(AttributeProto& attribute) {
        switch (attribute.type()) {
        case AttributeProto::FLOAT:
            return attribute.set_f(real());
        case AttributeProto::STRING:
            return attribute.set_s(texts[below(std::size(texts))]);
        case AttributeProto::INT:
            return attribute.set_i(number());
        case AttributeProto::TENSOR:
            return tensor(*attribute.mutable_t());
        case AttributeProto::FLOATS:
            return list(*attribute.mutable_floats(), [&] { return real(); });
        case AttributeProto::INTS:
            return list(*attribute.mutable_ints(), [&] { return number(); });
        case AttributeProto::GRAPH:
            collect_names(attribute.g());
            return node(*attribute.mutable_g());
        default:
            return attribute.set_type(AttributeProto::INT);
        }
    }

    std::mt19937 random_;
    std::vector<std::string> names_;
    const std::vector<compiler::SupportedOperator> operators_ = compiler::supported_operators();
};

} // namespace

void mutate_onnx(std::vector<std::uint8_t>& bytes, std::size_t most, std::uint32_t seed) {
    Mutator mutator(seed);
    const google::protobuf::LogSilencer silence;
    onnx::ModelProto model;
    if (mutator.below(16) != 0 &&
        model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) && model.has_graph()) {
        for (std::size_t changes = 1 + mutator.below(4); changes > 0; changes--)
            mutator.mutate(model);
        const std::string made = model.SerializeAsString();
        if (!made.empty() && made.size() <= most)
            bytes.assign(made.begin(), made.end());
        return;
    }
    const std::size_t size = bytes.size();
    bytes.resize(most);
    bytes.resize(LLVMFuzzerMutate(bytes.data(), std::min(size, most), most));
}

} // namespace overtake::fuzz
