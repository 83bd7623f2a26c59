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
#include "compiler/onnx/fresh_names.hpp"
#include "compiler/onnx/libonnx.hpp"
#include "compiler/onnx/node_builder.hpp"
#include "compiler/onnx/tensor_facts.hpp"
#include "compiler/onnx/versions.hpp"

namespace overtake::compiler {
namespace {

using Numbers = std::vector<std::int64_t>;

// Why a node cannot be lowered, and what would help.
struct Impossible {
    std::string reason;
};

void drop_attribute(onnx::NodeProto& node, const std::string& name) {
    for (int index = node.attribute_size() - 1; index >= 0; --index)
        if (node.attribute(index).name() == name)
            node.mutable_attribute()->DeleteSubrange(index, 1);
}

void drop_input(onnx::NodeProto& node, int index) {
    if (index < node.input_size())
        node.mutable_input()->DeleteSubrange(index, 1);
}

bool has_input(const onnx::NodeProto& node, int index) {
    return index < node.input_size() && !node.input(index).empty();
}

// One node becomes several; `facts` are of the graph that it is in.
struct Downgrade {
    onnx::NodeProto& node;
    int opset;
    const TensorFacts& facts;
    NodeBuilder build;

    Attributes attributes() const { return Attributes(node); }

    Numbers constant(int index, const char* what) const {
        if (const auto numbers = facts.integers(node.input(index)))
            return *numbers;
        throw Impossible{std::string("its ") + what +
                         " are computed; export it with constant ones"};
    }

    std::size_t rank(const std::string& tensor) const {
        if (const auto rank = facts.rank(tensor))
            return *rank;
        throw Impossible{"the rank of '" + tensor +
                         "' is not known; export it with the shapes of its tensors"};
    }

    Numbers axes_in(std::size_t rank, Numbers axes) const {
        for (std::int64_t& axis : axes) {
            const auto size = static_cast<std::int64_t>(rank);
            if (axis < -size || axis >= size)
                throw Impossible{"its axes are not those of its input; is the file damaged?"};
            axis += axis < 0 ? size : 0;
        }
        return axes;
    }
};

void lower_reduction(Downgrade& l) {
    static const std::vector<std::string> exact = {"ReduceMax", "ReduceMin", "ReduceMean",
                                                   "ReduceProd"};
    const bool does_nothing = l.attributes().integer("noop_with_empty_axes", 0) != 0;
    drop_attribute(l.node, "noop_with_empty_axes");
    const Numbers axes = has_input(l.node, 1) ? l.constant(1, "axes") : Numbers{};
    while (l.node.input_size() > 1)
        l.node.mutable_input()->RemoveLast();
    if (!axes.empty()) {
        set_integers(l.node, "axes", axes);
    } else if (does_nothing) {
        if (std::ranges::find(exact, l.node.op_type()) == exact.end())
            throw Impossible{"it reduces over no axis; export it with axes"};
        l.node.clear_attribute();
        l.node.set_op_type("Identity");
    }
}

void lower_gelu(Downgrade& l) {
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

void lower_mish(Downgrade& l) {
    const std::string x = l.node.input(0);
    l.build.last("Mul", {x, l.build("Tanh", {l.build("Softplus", {x})})});
}

void lower_swish(Downgrade& l) {
    const std::string x = l.node.input(0);
    const float alpha = l.attributes().real("alpha", 1);
    const std::string scaled = alpha == 1 ? x : l.build("Mul", {x, l.build.real(alpha)});
    l.build.last("Mul", {x, l.build("Sigmoid", {scaled})});
}

// Scale and bias are one for each group before opset 21, one for each channel since.
void lower_group_normalization(Downgrade& l) {
    const std::int64_t groups = l.attributes().integer("num_groups", 0);
    const float epsilon = l.attributes().real("epsilon", 1e-5f);
    if (groups < 1 || l.node.input_size() < 3)
        throw Impossible{"it has no groups, or no scale and bias; is the file damaged?"};
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

void lower_rms_normalization(Downgrade& l) {
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
        throw Impossible{"it has no scale; is the file damaged?"};
    l.build.last("Mul", {normal, l.node.input(1)});
}

void lower_cast_like(Downgrade& l) {
    const auto type = l.node.input_size() > 1 ? l.facts.type(l.node.input(1)) : std::nullopt;
    if (!type)
        throw Impossible{"the type of its second input is not known; export it with Cast"};
    l.node.clear_attribute();
    drop_input(l.node, 1);
    l.node.set_op_type("Cast");
    auto& to = *l.node.add_attribute();
    to.set_name("to");
    to.set_type(onnx::AttributeProto::INT);
    to.set_i(*type);
}

// Pads of all axes, where those of some are given.
void lower_pad(Downgrade& l) {
    if (l.attributes().text("mode", "constant") == "wrap")
        throw Impossible{"its mode is wrap; pad with constant, edge or reflect"};
    if (!has_input(l.node, 3)) {
        while (l.node.input_size() > 3)
            l.node.mutable_input()->RemoveLast();
        return;
    }
    const std::size_t rank = l.rank(l.node.input(0));
    const Numbers axes = l.axes_in(rank, l.constant(3, "axes"));
    const Numbers given = l.constant(1, "pads");
    if (given.size() != 2 * axes.size())
        throw Impossible{"its pads are not two for each axis; is the file damaged?"};
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

// Scales or sizes of all axes, where those of some are given.
void spread_over_axes(Downgrade& l, const Numbers& chosen) {
    const std::size_t rank = l.rank(l.node.input(0));
    const Numbers axes = l.axes_in(rank, chosen);
    const auto at = [&](std::size_t index) { return static_cast<std::size_t>(axes[index]); };
    if (has_input(l.node, 3)) {
        const Numbers given = l.constant(3, "sizes");
        const auto shape = l.facts.shape(l.node.input(0));
        if (given.size() != axes.size() || !shape)
            throw Impossible{"it resizes some axes to sizes, and the shape of its input is open; "
                             "export it with a fixed shape"};
        Numbers sizes = *shape;
        for (std::size_t index = 0; index < axes.size(); ++index)
            sizes[at(index)] = given[index];
        l.node.set_input(3, l.build.integers(sizes));
    } else {
        const auto given = has_input(l.node, 2) ? l.facts.reals(l.node.input(2)) : std::nullopt;
        if (!given || given->size() != axes.size())
            throw Impossible{"its scales are computed; export it with constant ones"};
        std::vector<float> scales(rank, 1);
        for (std::size_t index = 0; index < axes.size(); ++index)
            scales[at(index)] = (*given)[index];
        l.node.set_input(2, l.build.reals(scales));
    }
}

void lower_resize(Downgrade& l) {
    const Attributes attributes = l.attributes();
    const bool has_sizes = has_input(l.node, 3);
    if (attributes.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize")
        throw Impossible{"coordinate transformation 'tf_crop_and_resize' is not supported; crop "
                         "with Slice, and resize then"};
    if (attributes.integer("antialias", 0) != 0)
        throw Impossible{"its antialias is on; export it without"};
    if (has_sizes && attributes.text("keep_aspect_ratio_policy", "stretch") != "stretch")
        throw Impossible{"it keeps the aspect ratio; export it with the sizes that come of that"};
    if (attributes.text("coordinate_transformation_mode", "half_pixel") == "half_pixel_symmetric") {
        const auto scales = has_input(l.node, 2) ? l.facts.reals(l.node.input(2)) : std::nullopt;
        if (!has_sizes && !(scales && are_whole(*scales)))
            throw Impossible{"its half_pixel_symmetric has scales that are not whole; export it "
                             "with half_pixel"};
        set_text(l.node, "coordinate_transformation_mode", "half_pixel");
    }
    if (attributes.has("axes"))
        spread_over_axes(l, attributes.integers("axes", {}));
    for (const char* name : {"axes", "antialias", "keep_aspect_ratio_policy"})
        drop_attribute(l.node, name);
}

void lower_average_pool(Downgrade& l) {
    for (const std::int64_t dilation : l.attributes().integers("dilations", {}))
        if (dilation != 1)
            throw Impossible{"its dilations are not 1; a dilated average is not supported"};
    drop_attribute(l.node, "dilations");
}

void lower_quantisation(Downgrade& l) {
    const std::int64_t type = l.attributes().integer("output_dtype", 0);
    if (l.attributes().integer("block_size", 0) != 0)
        throw Impossible{"it has a scale for each block; quantise with one for each channel"};
    for (const char* name : {"saturate", "block_size", "output_dtype", "precision"})
        drop_attribute(l.node, name);
    if (l.node.op_type() != "QuantizeLinear" || has_input(l.node, 2) || type == 0)
        return;
    if (type != onnx::TensorProto::INT8 && type != onnx::TensorProto::UINT8)
        throw Impossible{"its output is neither int8 nor uint8; quantise to one of these"};
    while (l.node.input_size() > 2)
        l.node.mutable_input()->RemoveLast();
    l.node.add_input(l.build.zero_point(static_cast<int>(type),
                                        l.facts.shape(l.node.input(1)).value_or(Numbers{})));
}

// Where the size of the axis is not a multiple, the last part is smaller.
void lower_split(Downgrade& l) {
    const std::int64_t parts = l.attributes().integer("num_outputs", 0);
    drop_attribute(l.node, "num_outputs");
    if (parts == 0 || has_input(l.node, 1))
        return;
    if (parts != l.node.output_size())
        throw Impossible{"it has more or fewer outputs than num_outputs; is the file damaged?"};
    const auto shape = l.facts.shape(l.node.input(0));
    if (!shape || shape->empty())
        return;
    const Numbers axis = l.axes_in(shape->size(), {l.attributes().integer("axis", 0)});
    const std::int64_t size = (*shape)[static_cast<std::size_t>(axis[0])];
    const std::int64_t each = (size + parts - 1) / parts, rest = size - each * (parts - 1);
    if (rest == each)
        return;
    if (rest < 1)
        throw Impossible{"its last part would be empty; export it with the sizes of its parts"};
    Numbers sizes(static_cast<std::size_t>(parts), each);
    sizes.back() = rest;
    if (l.node.input_size() > 1)
        l.node.mutable_input()->RemoveLast();
    l.node.add_input(l.build.integers(sizes));
}

using Lower = void (*)(Downgrade&);

// What needs no shape, and takes the unknown operators away that shapes would end at.
const std::map<std::string, Lower>& first_pass() {
    static const std::map<std::string, Lower> table = {
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
        {"Cast",
         [](Downgrade& l) {
             drop_attribute(l.node, "saturate");
             drop_attribute(l.node, "round_mode");
         }},
    };
    return table;
}

// What needs shapes or types.
const std::map<std::string, Lower>& second_pass() {
    static const std::map<std::string, Lower> table = {
        {"GroupNormalization", lower_group_normalization},
        {"RMSNormalization", lower_rms_normalization},
        {"CastLike", lower_cast_like},
        {"Pad", lower_pad},
        {"Resize", lower_resize},
        {"Split", lower_split},
    };
    return table;
}

class Pass {
public:
    Pass(onnx::ModelProto& model, int opset, const std::map<std::string, Lower>& table,
         Refusals& refusals)
        : opset_(opset), table_(table), refusals_(refusals), names_(model.graph()),
          facts_(model.graph()) {}

    void run(onnx::GraphProto& graph) {
        std::vector<onnx::NodeProto> nodes;
        for (auto& node : *graph.mutable_node()) {
            for (auto& attribute : *node.mutable_attribute()) {
                if (attribute.has_g())
                    run(*attribute.mutable_g());
                for (auto& inner : *attribute.mutable_graphs())
                    run(inner);
            }
            lower(node, graph, nodes);
        }
        graph.clear_node();
        for (onnx::NodeProto& node : nodes)
            *graph.add_node() = std::move(node);
    }

private:
    void lower(onnx::NodeProto& node, onnx::GraphProto& graph,
               std::vector<onnx::NodeProto>& nodes) {
        const auto found = table_.find(node.op_type());
        const bool is_onnx = node.domain().empty() || node.domain() == "ai.onnx";
        if (found == table_.end() || !is_onnx || node.input_size() == 0 ||
            node.output_size() == 0) {
            nodes.push_back(std::move(node));
            return;
        }
        Downgrade lowering{node, opset_, facts_, NodeBuilder(node, graph, names_)};
        try {
            found->second(lowering);
        } catch (const Impossible& impossible) {
            set_aside(node, impossible.reason, refusals_);
            nodes.push_back(std::move(node));
            return;
        }
        std::vector<onnx::NodeProto> made = lowering.build.take();
        const bool is_replaced = !made.empty();
        for (onnx::NodeProto& each : made)
            nodes.push_back(std::move(each));
        if (!is_replaced)
            nodes.push_back(std::move(node));
    }

    const int opset_;
    const std::map<std::string, Lower>& table_;
    Refusals& refusals_;
    FreshNames names_;
    TensorFacts facts_;
};

bool has_any(const onnx::GraphProto& graph, const std::map<std::string, Lower>& table) {
    return std::ranges::any_of(graph.node(), [&](const onnx::NodeProto& node) {
        return table.contains(node.op_type()) ||
               std::ranges::any_of(node.attribute(), [&](const onnx::AttributeProto& attribute) {
                   return (attribute.has_g() && has_any(attribute.g(), table)) ||
                          attribute.graphs_size() > 0;
               });
    });
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
    Pass(model, opset, first_pass(), refusals).run(*model.mutable_graph());
    // One after the other, as shapes behind a node may be known only when it is lowered.
    for (const auto& [type, lower] : second_pass()) {
        const std::map<std::string, Lower> one = {{type, lower}};
        if (!has_any(model.graph(), one))
            continue;
        libonnx.infer_shapes(model);
        Pass(model, opset, one, refusals).run(*model.mutable_graph());
    }
}

} // namespace overtake::compiler
