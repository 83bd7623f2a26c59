// SPDX-License-Identifier: MIT
#include "compiler/onnx/newer_opsets.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/onnx/file.hpp"
#include "compiler/onnx/libonnx.hpp"
#include "compiler/onnx/node_builder.hpp"
#include "compiler/onnx/rewrite.hpp"
#include "compiler/onnx/tensor_facts.hpp"
#include "compiler/onnx/versions.hpp"

namespace overtake::compiler {
namespace {

using Numbers = std::vector<std::int64_t>;

void drop_attribute(onnx::NodeProto& node, const std::string& name) {
    for (int index = node.attribute_size() - 1; index >= 0; --index)
        if (node.attribute(index).name() == name)
            node.mutable_attribute()->DeleteSubrange(index, 1);
}

void drop_input(onnx::NodeProto& node, int index) {
    if (index < node.input_size())
        node.mutable_input()->DeleteSubrange(index, 1);
}

void lower_reduction(Rewrite& l) {
    static const std::vector<std::string> exact = {"ReduceMax", "ReduceMin", "ReduceMean",
                                                   "ReduceProd"};
    const bool does_nothing = l.attributes().integer("noop_with_empty_axes", 0) != 0;
    drop_attribute(l.node, "noop_with_empty_axes");
    const Numbers axes = l.has_input(1) ? l.constant(1, "axes") : Numbers{};
    while (l.node.input_size() > 1)
        l.node.mutable_input()->RemoveLast();
    if (!axes.empty()) {
        set_integers(l.node, "axes", axes);
    } else if (does_nothing) {
        if (std::ranges::find(exact, l.node.op_type()) == exact.end())
            throw CannotRewrite{"it reduces over no axis; export it with axes"};
        l.node.clear_attribute();
        l.node.set_op_type("Identity");
    }
}

void lower_gelu(Rewrite& l) {
    const std::string x = l.node.input(0);
    const bool by_tanh = l.attributes().text("approximate", "none") == "tanh";
    std::string sum;
    if (by_tanh) {
        const std::string cube = l.build("Mul", {l.build("Mul", {x, x}), x});
        const std::string inner =
            l.build("Add", {x, l.build("Mul", {cube, l.build.real(0.044715f)})});
        const auto factor = static_cast<float>(std::sqrt(2 / std::numbers::pi));
        sum = l.build("Tanh", {l.build("Mul", {inner, l.build.real(factor)})});
    } else {
        const auto root = static_cast<float>(std::numbers::sqrt2);
        sum = l.build("Erf", {l.build("Div", {x, l.build.real(root)})});
    }
    sum = l.build("Add", {sum, l.build.real(1)});
    l.build.last("Mul", {l.build("Mul", {x, sum}), l.build.real(0.5f)});
}

void lower_mish(Rewrite& l) {
    const std::string x = l.node.input(0);
    l.build.last("Mul", {x, l.build("Tanh", {l.build("Softplus", {x})})});
}

void lower_swish(Rewrite& l) {
    const std::string x = l.node.input(0);
    const float alpha = l.attributes().real("alpha", 1);
    const std::string scaled = alpha == 1 ? x : l.build("Mul", {x, l.build.real(alpha)});
    l.build.last("Mul", {x, l.build("Sigmoid", {scaled})});
}

// Before opset 21 there is one scale and bias for each group; since then for each channel.
void lower_group_normalization(Rewrite& l) {
    const std::int64_t groups = l.attributes().integer("num_groups", 0);
    const float epsilon = l.attributes().real("epsilon", 1e-5f);
    if (groups < 1 || l.node.input_size() < 3)
        throw CannotRewrite{"it has no groups, or no scale and bias; is the file damaged?"};
    const std::string &x = l.node.input(0), &scale = l.node.input(1), &bias = l.node.input(2);
    const std::string shape = l.build("Shape", {x});
    const std::string rows = l.build("Reshape", {x, l.build.integers({0, groups, -1})});
    const bool is_by_group = l.opset < 21;
    const std::vector<float> ones(static_cast<std::size_t>(groups), 1), zeros(ones.size(), 0);
    onnx::NodeProto& normalised =
        l.build.node("InstanceNormalization", {rows, is_by_group ? scale : l.build.reals(ones),
                                               is_by_group ? bias : l.build.reals(zeros)});
    set_real(normalised, "epsilon", epsilon);
    const std::string result = normalised.output(0);
    if (is_by_group) {
        l.build.last("Reshape", {result, shape});
        return;
    }
    Numbers per_channel(l.rank(x) - 1, 1);
    per_channel[0] = -1;
    const auto along = [&](const std::string& tensor) {
        return l.build("Reshape", {tensor, l.build.integers(per_channel)});
    };
    const std::string whole = l.build("Reshape", {result, shape});
    l.build.last("Add", {l.build("Mul", {whole, along(scale)}), along(bias)});
}

void lower_rms_normalization(Rewrite& l) {
    const std::string x = l.node.input(0);
    const auto rank = static_cast<std::int64_t>(l.rank(x));
    const Numbers first = l.axes_in(l.rank(x), {l.attributes().integer("axis", -1)});
    Numbers axes;
    for (std::int64_t axis = first[0]; axis < rank; ++axis)
        axes.push_back(axis);
    const float epsilon = l.attributes().real("epsilon", 1e-5f);
    onnx::NodeProto& mean = l.build.node("ReduceMean", {l.build("Mul", {x, x})});
    set_integers(mean, "axes", axes);
    const std::string squares = mean.output(0);
    const std::string root = l.build("Sqrt", {l.build("Add", {squares, l.build.real(epsilon)})});
    const std::string normal = l.build("Div", {x, root});
    if (l.node.input_size() < 2)
        throw CannotRewrite{"it has no scale; is the file damaged?"};
    l.build.last("Mul", {normal, l.node.input(1)});
}

void lower_cast(Rewrite& l) {
    drop_attribute(l.node, "saturate");
    drop_attribute(l.node, "round_mode");
}

// Writes pads of all axes where the node gives those of some.
void lower_pad(Rewrite& l) {
    if (l.attributes().text("mode", "constant") == "wrap")
        throw CannotRewrite{"its mode is wrap; pad with constant, edge or reflect"};
    if (!l.has_input(3)) {
        while (l.node.input_size() > 3)
            l.node.mutable_input()->RemoveLast();
        return;
    }
    const std::size_t rank = l.rank(l.node.input(0));
    const Numbers axes = l.axes_in(rank, l.constant(3, "axes"));
    const Numbers given = l.constant(1, "pads");
    if (given.size() != 2 * axes.size())
        throw CannotRewrite{"its pads are not two for each axis; is the file damaged?"};
    Numbers pads(2 * rank, 0);
    for (std::size_t index = 0; index < axes.size(); ++index) {
        pads[static_cast<std::size_t>(axes[index])] = given[index];
        pads[static_cast<std::size_t>(axes[index]) + rank] = given[index + axes.size()];
    }
    drop_input(l.node, 3);
    l.node.set_input(1, l.build.integers(pads));
}

bool are_whole(const std::vector<float>& scales) {
    return std::ranges::all_of(scales, [](float scale) { return scale == std::nearbyint(scale); });
}

// Writes scales or sizes of all axes where the node gives those of some.
void spread_over_axes(Rewrite& l, const Numbers& chosen) {
    const std::size_t rank = l.rank(l.node.input(0));
    const Numbers axes = l.axes_in(rank, chosen);
    const auto at = [&](std::size_t index) { return static_cast<std::size_t>(axes[index]); };
    if (l.has_input(3)) {
        const Numbers given = l.constant(3, "sizes");
        const auto shape = l.facts.shape(l.node.input(0));
        if (given.size() != axes.size() || !shape)
            throw CannotRewrite{
                "it resizes some axes to sizes, and the shape of its input is open; "
                "export it with a fixed shape"};
        Numbers sizes = *shape;
        for (std::size_t index = 0; index < axes.size(); ++index)
            sizes[at(index)] = given[index];
        l.node.set_input(3, l.build.integers(sizes));
    } else {
        const auto given = l.has_input(2) ? l.facts.reals(l.node.input(2)) : std::nullopt;
        if (!given || given->size() != axes.size())
            throw CannotRewrite{"its scales are computed; export it with constant ones"};
        std::vector<float> scales(rank, 1);
        for (std::size_t index = 0; index < axes.size(); ++index)
            scales[at(index)] = (*given)[index];
        l.node.set_input(2, l.build.reals(scales));
    }
}

void lower_resize(Rewrite& l) {
    const Attributes attributes = l.attributes();
    const bool has_sizes = l.has_input(3);
    if (attributes.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize")
        throw CannotRewrite{"coordinate transformation 'tf_crop_and_resize' is not supported; crop "
                            "with Slice, and resize then"};
    if (attributes.integer("antialias", 0) != 0)
        throw CannotRewrite{"its antialias is on; export it without"};
    if (has_sizes && attributes.text("keep_aspect_ratio_policy", "stretch") != "stretch")
        throw CannotRewrite{
            "it keeps the aspect ratio; export it with the sizes that come of that"};
    if (attributes.text("coordinate_transformation_mode", "half_pixel") == "half_pixel_symmetric") {
        const auto scales = l.has_input(2) ? l.facts.reals(l.node.input(2)) : std::nullopt;
        if (!has_sizes && !(scales && are_whole(*scales)))
            throw CannotRewrite{"its half_pixel_symmetric has scales that are not whole; export it "
                                "with half_pixel"};
        set_text(l.node, "coordinate_transformation_mode", "half_pixel");
    }
    if (attributes.has("axes"))
        spread_over_axes(l, attributes.integers("axes", {}));
    for (const char* name : {"axes", "antialias", "keep_aspect_ratio_policy"})
        drop_attribute(l.node, name);
}

void lower_average_pool(Rewrite& l) {
    for (const std::int64_t dilation : l.attributes().integers("dilations", {}))
        if (dilation != 1)
            throw CannotRewrite{"its dilations are not 1; a dilated average is not supported"};
    drop_attribute(l.node, "dilations");
}

void lower_quantisation(Rewrite& l) {
    const std::int64_t type = l.attributes().integer("output_dtype", 0);
    if (l.attributes().integer("block_size", 0) != 0)
        throw CannotRewrite{"it has a scale for each block; quantise with one for each channel"};
    for (const char* name : {"saturate", "block_size", "output_dtype", "precision"})
        drop_attribute(l.node, name);
    if (l.node.op_type() != "QuantizeLinear" || l.has_input(2) || type == 0)
        return;
    if (type != onnx::TensorProto::INT8 && type != onnx::TensorProto::UINT8)
        throw CannotRewrite{"its output is neither int8 nor uint8; quantise to one of these"};
    while (l.node.input_size() > 2)
        l.node.mutable_input()->RemoveLast();
    l.node.add_input(l.build.zero_point(static_cast<int>(type),
                                        l.facts.shape(l.node.input(1)).value_or(Numbers{})));
}

// The last part is smaller if the size of the axis is not a multiple.
void lower_split(Rewrite& l) {
    const std::int64_t parts = l.attributes().integer("num_outputs", 0);
    drop_attribute(l.node, "num_outputs");
    if (parts == 0 || l.has_input(1))
        return;
    if (parts != l.node.output_size())
        throw CannotRewrite{"it has more or fewer outputs than num_outputs; is the file damaged?"};
    const auto shape = l.facts.shape(l.node.input(0));
    if (!shape || shape->empty())
        return;
    const Numbers axis = l.axes_in(shape->size(), {l.attributes().integer("axis", 0)});
    const std::int64_t size = (*shape)[static_cast<std::size_t>(axis[0])];
    const std::int64_t each = (size + parts - 1) / parts, rest = size - each * (parts - 1);
    if (rest == each)
        return;
    if (rest < 1)
        throw CannotRewrite{"its last part would be empty; export it with the sizes of its parts"};
    Numbers sizes(static_cast<std::size_t>(parts), each);
    sizes.back() = rest;
    if (l.node.input_size() > 1)
        l.node.mutable_input()->RemoveLast();
    l.node.add_input(l.build.integers(sizes));
}

// Rules that need no shape, and remove unknown operators, at which inference of shapes would end.
const RewriteRules& first_pass() {
    static const RewriteRules rules = {
        {"ReduceMax", lower_reduction},
        {"ReduceMin", lower_reduction},
        {"ReduceMean", lower_reduction},
        {"ReduceProd", lower_reduction},
        {"ReduceL1", lower_reduction},
        {"ReduceL2", lower_reduction},
        {"ReduceLogSum", lower_reduction},
        {"ReduceLogSumExp", lower_reduction},
        {"ReduceSumSquare", lower_reduction},
        {"Gelu", lower_gelu},
        {"Mish", lower_mish},
        {"Swish", lower_swish},
        {"AveragePool", lower_average_pool},
        {"QuantizeLinear", lower_quantisation},
        {"DequantizeLinear", lower_quantisation},
        {"Cast", lower_cast},
        {"CastLike", lower_cast},
    };
    return rules;
}

// Rules that need shapes or types.
const RewriteRules& second_pass() {
    static const RewriteRules rules = {
        {"GroupNormalization", lower_group_normalization},
        {"RMSNormalization", lower_rms_normalization},
        {"Pad", lower_pad},
        {"Resize", lower_resize},
        {"Split", lower_split},
    };
    return rules;
}

} // namespace

void lower_to_known_opset(onnx::ModelProto& model, Libonnx& libonnx, Refusals& refusals) {
    int opset = 0;
    for (auto& import : *model.mutable_opset_import())
        if (import.domain().empty() || import.domain() == "ai.onnx") {
            opset = std::max(opset, static_cast<int>(import.version()));
            import.set_version(std::min<std::int64_t>(import.version(), known_opset));
        }
    if (opset <= known_opset)
        return;
    rewrite_nodes(model, opset, first_pass(), refusals);
    // One after the other, as shapes behind a node may be known only when it is lowered.
    for (const auto& [type, rule] : second_pass()) {
        const RewriteRules one = {{type, rule}};
        if (!has_any(model.graph(), one))
            continue;
        libonnx.infer_shapes(model);
        rewrite_nodes(model, opset, one, refusals);
    }
}

} // namespace overtake::compiler
