// SPDX-License-Identifier: MIT
#include "compiler/import/masks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

namespace overtake::compiler {
namespace {

// Softmax sees a difference of x as a factor of e^x: a constant beyond this, in one range with what
// it is added to, leaves steps too coarse for that.
constexpr float greatest_bias = 16;
// What is so great elsewhere is there to mask.  Coordinates in pixels stay below.
constexpr float least_mask = 5000;

bool is_one_of(const std::set<std::string>& types, const onnx::NodeProto& node) {
    return types.contains(node.op_type());
}

// They run on the CPU, and tell numbers from each other that differ by little.
bool chooses(const onnx::NodeProto& node) {
    static const std::set<std::string> types = {"Softmax", "LogSoftmax", "Hardmax",
                                                "ArgMax",  "ArgMin",     "TopK"};
    return is_one_of(types, node);
}

// They end what a mask does: far below zero they are flat.
bool saturates(const onnx::NodeProto& node) {
    static const std::set<std::string> types = {"Exp", "Sigmoid"};
    return is_one_of(types, node);
}

// Whose first input is what they move, under whatever name or type.
bool only_moves(const onnx::NodeProto& node) {
    static const std::set<std::string> types = {
        "Cast",    "Dropout", "Expand", "Flatten", "Gather", "Identity",  "Pad",
        "Reshape", "Slice",   "Split",  "Squeeze", "Tile",   "Transpose", "Unsqueeze"};
    return is_one_of(types, node);
}

bool adds(const onnx::NodeProto& node) {
    static const std::set<std::string> types = {"Add", "Sub", "Sum", "Where"};
    return is_one_of(types, node);
}

bool bounds(const onnx::NodeProto& node) {
    static const std::set<std::string> types = {"Max", "Min"};
    return is_one_of(types, node);
}

bool scales(const onnx::NodeProto& node) {
    static const std::set<std::string> types = {"Mul", "Div"};
    return is_one_of(types, node);
}

// What may stand between a mask and what it masks for.
bool leads_on(const onnx::NodeProto& node) {
    static const std::set<std::string> others = {"Clip", "Concat", "Neg", "ReduceMax", "Relu"};
    return only_moves(node) || adds(node) || bounds(node) || scales(node) ||
           is_one_of(others, node);
}

// What data become features in: no mask is made of its output.
bool computes(const onnx::NodeProto& node) {
    static const std::set<std::string> types = {
        "BatchNormalization", "GRU", "InstanceNormalization", "LSTM", "LayerNormalization",
        "LpNormalization",    "RNN"};
    return is_expensive(node.op_type()) || is_one_of(types, node);
}

float greatest(const Constant& constant) {
    float most = 0;
    for (float number : reals_of(constant))
        most = std::max(most, std::isfinite(number) ? std::abs(number)
                                                    : std::numeric_limits<float>::infinity());
    return most;
}

// Where masks are, found by going through the nodes in their order and back.
class MaskFinder {
public:
    MaskFinder(const Context& context, const std::vector<Placement>& placements)
        : context_(context), placements_(placements), count_(placements.size()) {}

    Masks run() {
        find_origins();
        find_wanted();
        find_masked();
        take_what_makes_masks();
        makers_.merge(masked_);
        return {std::move(taken_), std::move(makers_)};
    }

private:
    // What a tensor is made of.
    struct Origin {
        bool is_computed = false; // of features
        float greatest_constant = 0;
    };

    // What counts as a mask in a tensor: nothing, great constants only, or also what a model's
    // input may make one.
    enum class Wanted { nothing, great_masks, all_masks };

    const onnx::NodeProto& node(std::size_t number) const {
        return context_.model.graph().node(static_cast<int>(number));
    }

    const Constant* constant(const std::string& name) const {
        const auto found = context_.constants.find(name);
        return found == context_.constants.end() ? nullptr : &found->second;
    }

    Origin origin(const std::string& name) const {
        const Constant* known = constant(name);
        if (known)
            return {false, greatest(*known)};
        const auto found = origins_.find(name);
        return found == origins_.end() ? Origin{} : found->second;
    }

    // Inputs that hold data; the others are shapes, axes and the like.
    static int data_inputs(const onnx::NodeProto& node) {
        const bool has_one =
            only_moves(node) || node.op_type() == "Clip" || node.op_type() == "ReduceMax";
        return has_one ? std::min(node.input_size(), 1) : node.input_size();
    }

    void find_origins() {
        for (std::size_t number = 0; number < count_; ++number) {
            Origin all{computes(node(number))};
            for (int index = 0; index < data_inputs(node(number)); ++index) {
                const Origin one = origin(node(number).input(index));
                all.is_computed = all.is_computed || one.is_computed;
                all.greatest_constant = std::max(all.greatest_constant, one.greatest_constant);
            }
            for (const std::string& output : node(number).output())
                origins_[output] = all;
        }
    }

    void want(const std::string& name, Wanted what) {
        if (!constant(name))
            wanted_[name] = std::max(wanted_[name], what);
    }

    Wanted wanted(const onnx::NodeProto& node) const {
        Wanted most = Wanted::nothing;
        for (const std::string& output : node.output())
            if (const auto found = wanted_.find(output); found != wanted_.end())
                most = std::max(most, found->second);
        return leads_on(node) ? most : Wanted::nothing;
    }

    // From what chooses back to where masks may be added.
    void find_wanted() {
        for (const auto& output : context_.model.graph().output())
            want(output.name(), Wanted::great_masks);
        for (std::size_t number = count_; number-- > 0;) {
            const onnx::NodeProto& here = node(number);
            const Wanted what = chooses(here)     ? Wanted::all_masks
                                : saturates(here) ? Wanted::great_masks
                                                  : wanted(here);
            for (int index = 0; index < data_inputs(here) && what != Wanted::nothing; ++index)
                if (!brings_mask(here, index, what))
                    want(here.input(index), what);
        }
    }

    bool brings_mask(const onnx::NodeProto& node, int index, Wanted what) const {
        const std::string& input = node.input(index);
        const bool is_condition = node.op_type() == "Where" && index == 0;
        if (what == Wanted::nothing || is_condition)
            return false;
        const bool takes_all = what == Wanted::all_masks;
        const Origin from = origin(input);
        if (!constant(input))
            return adds(node) && !from.is_computed &&
                   (takes_all || from.greatest_constant >= least_mask);
        if (scales(node)) // what a feature makes of it is a mask
            return takes_all && from.greatest_constant >= least_mask;
        // One number bounds a mask, or all the same there is none.
        const bool is_tensor = element_count(constant(input)->shape) > 1;
        return (adds(node) || (bounds(node) && is_tensor)) &&
               from.greatest_constant >= (takes_all ? greatest_bias : least_mask);
    }

    // From masks on to what chooses.
    void find_masked() {
        for (std::size_t number = 0; number < count_; ++number) {
            const onnx::NodeProto& here = node(number);
            const Wanted what = wanted(here);
            bool is_masked = false;
            for (int index = 0; index < data_inputs(here); ++index) {
                const bool is_mask = brings_mask(here, index, what);
                if (is_mask)
                    makers_.insert(here.input(index));
                is_masked = is_masked || is_mask || masked_.contains(here.input(index));
            }
            if (!is_masked || (what == Wanted::nothing && !saturates(here)))
                continue;
            take(number);
            if (what != Wanted::nothing)
                masked_.insert(here.output().begin(), here.output().end());
        }
    }

    void take_what_makes_masks() {
        for (std::size_t number = count_; number-- > 0;) {
            const onnx::NodeProto& here = node(number);
            const auto makes = [&](const std::string& output) { return makers_.contains(output); };
            if (computes(here) || std::ranges::none_of(here.output(), makes))
                continue;
            take(number);
            for (int index = 0; index < data_inputs(here); ++index)
                makers_.insert(here.input(index));
        }
    }

    // What the model rounds to 8 bits itself stays where it is rounded.
    void take(std::size_t number) {
        const auto is_rounded = [&](const std::string& name) {
            return context_.given.tensors.contains(name);
        };
        if (placements_[number] == Placement::bpu &&
            std::ranges::none_of(node(number).output(), is_rounded))
            taken_.insert(static_cast<int>(number));
    }

    const Context& context_;
    const std::vector<Placement>& placements_;
    const std::size_t count_;
    // By the tensor's name.
    std::map<std::string, Origin> origins_;
    std::map<std::string, Wanted> wanted_;
    std::set<std::string> masked_;
    std::set<std::string> makers_; // masks, and what they are made of
    std::set<int> taken_;
};

// Whether the CPU makes the value, and both it and the device read it.
bool is_shared(const Graph& graph, ValueId value) {
    bool on_device = false, on_cpu = std::ranges::count(graph.outputs, value) > 0;
    for (const Node& node : graph.nodes) {
        if (node.output == value && node.on_bpu())
            return false;
        if (std::ranges::count(node.inputs, value) > 0)
            (node.on_bpu() ? on_device : on_cpu) = true;
    }
    return on_device && on_cpu;
}

// Gives the readers on the device a copy, which stands right behind the node that writes the value.
void copy_for_device(Graph& graph, ValueId value) {
    Value copied = graph.values[value];
    copied.name += ":device";
    graph.values.push_back(std::move(copied));
    Node copy{graph.values.back().name, "Identity", op::Cpu{}, {value}, graph.values.size() - 1};
    for (Node& node : graph.nodes)
        if (node.on_bpu())
            std::ranges::replace(node.inputs, value, copy.output);
    const auto writer = std::ranges::find(graph.nodes, value, &Node::output);
    graph.nodes.insert(writer == graph.nodes.end() ? graph.nodes.begin() : writer + 1,
                       std::move(copy));
}

} // namespace

Masks find_masks(const Context& context, const std::vector<Placement>& placements) {
    return MaskFinder(context, placements).run();
}

void keep_exact(Context& context, const std::set<std::string>& tensors) {
    std::set<ValueId> values;
    for (const std::string& name : tensors)
        if (const auto found = context.references.find(name); found != context.references.end())
            values.insert(found->second.value);
    for (ValueId value : values)
        if (!context.graph.values[value].given && is_shared(context.graph, value))
            copy_for_device(context.graph, value);
}

} // namespace overtake::compiler
