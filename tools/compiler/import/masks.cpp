// SPDX-License-Identifier: MIT
#include "compiler/import/masks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>

namespace overtake::compiler {
namespace {

// Softmax turns a difference of x into a factor of e^x.  A constant beyond this limit, in one range
// with the tensor to which it is added, leaves steps that are too coarse for that.
constexpr float greatest_bias = 16;
// Elsewhere a constant this great is a mask.  Coordinates in pixels are smaller.
constexpr float least_mask = 5000;
// Features times a factor this great are a mask if Softmax follows.  Temperatures are smaller.
constexpr float least_factor = 256;

bool is_one_of(const std::set<std::string>& types, const onnx::NodeProto& node) {
    return types.contains(node.op_type());
}

// Whether the node distinguishes numbers that differ by little; such nodes run on the CPU.
bool chooses(const onnx::NodeProto& node) {
    static const std::set<std::string> types = {"Softmax", "LogSoftmax", "Hardmax",
                                                "ArgMax",  "ArgMin",     "TopK"};
    return is_one_of(types, node);
}

// Whether the node ends a mask's effect: numbers far below or far above zero do not pass it.
bool stops_masks(const onnx::NodeProto& node) {
    static const std::set<std::string> types = {
        "Elu",       "Exp",       "GlobalMaxPool", "HardSigmoid", "HardSwish", "MaxPool",
        "ReduceMax", "ReduceMin", "Selu",          "Sigmoid",     "Softplus",  "Tanh"};
    return is_one_of(types, node);
}

// Whether the node moves its first input, under whatever name or type.
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

// Whether the node may be between a mask and the node that it masks for.
bool leads_on(const onnx::NodeProto& node) {
    static const std::set<std::string> others = {"Clip",      "Concat",    "Neg",
                                                 "ReduceMax", "ReduceMin", "Relu"};
    return only_moves(node) || adds(node) || bounds(node) || scales(node) ||
           is_one_of(others, node);
}

// Whether the node makes features from data: its output is no mask.
bool computes(const onnx::NodeProto& node) {
    static const std::set<std::string> types = {
        "BatchNormalization", "GRU", "InstanceNormalization", "LSTM", "LayerNormalization",
        "LpNormalization",    "RNN"};
    return is_expensive(node.op_type()) || is_one_of(types, node);
}

float greatest(const Constant& constant) {
    float most = 0;
    for (std::int64_t number : constant.integers)
        most = std::max(most, std::abs(static_cast<float>(number)));
    for (float number : constant.floats)
        most = std::max(most, std::isfinite(number) ? std::abs(number)
                                                    : std::numeric_limits<float>::infinity());
    return most;
}

// Finds masks by walking through the nodes in their order and back.
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
    // The origin of a tensor's elements.
    struct Origin {
        bool is_computed = false; // from features
        float greatest_constant = 0;
    };

    // The masks to find in a tensor: none, great constants only, or also masks that a model's input
    // may be.
    enum class Wanted { nothing, great_masks, all_masks };

    const onnx::NodeProto& node(std::size_t number) const {
        return context_.model.graph().node(static_cast<int>(number));
    }

    const Constant* constant(const std::string& name) const {
        const auto found = context_.constants.find(name);
        return found == context_.constants.end() ? nullptr : &found->second;
    }

    Origin origin(const std::string& name) {
        if (const auto found = origins_.find(name); found != origins_.end())
            return found->second;
        const Constant* known = constant(name);
        return known ? origins_[name] = {false, greatest(*known)} : Origin{};
    }

    // Returns the number of inputs that hold data; the others are shapes or axes, for example.
    static int data_inputs(const onnx::NodeProto& node) {
        const bool has_one =
            only_moves(node) || node.op_type() == "Clip" || node.op_type().starts_with("Reduce");
        return has_one ? std::min(node.input_size(), 1) : node.input_size();
    }

    void find_origins() {
        for (std::size_t number = 0; number < count_; ++number) {
            Origin all{computes(node(number))};
            for (int index = 0; index < data_inputs(node(number)) && !all.is_computed; ++index) {
                const Origin one = origin(node(number).input(index));
                all.is_computed = one.is_computed;
                all.greatest_constant = std::max(all.greatest_constant, one.greatest_constant);
            }
            for (const std::string& output : node(number).output())
                if (!constant(output)) // a Constant node's output, or a folded one, has a value
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
        return leads_on(node) && !is_rounded(node) ? most : Wanted::nothing;
    }

    // Walks from the nodes that choose back to where masks may be added.
    void find_wanted() {
        for (const auto& output : context_.model.graph().output())
            want(output.name(), Wanted::great_masks);
        for (std::size_t number = count_; number-- > 0;) {
            const onnx::NodeProto& here = node(number);
            const Wanted least = chooses(here)       ? Wanted::all_masks
                                 : stops_masks(here) ? Wanted::great_masks
                                                     : Wanted::nothing;
            const Wanted what = std::max(least, wanted(here));
            for (int index = 0; index < data_inputs(here) && what != Wanted::nothing; ++index)
                if (!brings_mask(here, index, what))
                    want(here.input(index), what);
        }
    }

    bool brings_mask(const onnx::NodeProto& node, int index, Wanted what) {
        const std::string& input = node.input(index);
        const bool is_condition = node.op_type() == "Where" && index == 0;
        if (what == Wanted::nothing || is_condition)
            return false;
        const bool takes_all = what == Wanted::all_masks;
        const Origin from = origin(input);
        if (!constant(input))
            return adds(node) && !from.is_computed &&
                   (takes_all || from.greatest_constant >= least_mask);
        if (scales(node)) // a feature times this constant is a mask
            return takes_all && node.op_type() == "Mul" && from.greatest_constant >= least_factor;
        // A single number is a bound of a mask, but no mask itself.
        const bool is_tensor = element_count(constant(input)->shape) > 1;
        return (adds(node) || (bounds(node) && is_tensor)) &&
               from.greatest_constant >= (takes_all ? greatest_bias : least_mask);
    }

    // Walks from masks forward to the nodes that choose.
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
            if (!is_masked || is_rounded(here) || (what == Wanted::nothing && !stops_masks(here)))
                continue;
            take(number);
            if (what != Wanted::nothing)
                masked_.insert(here.output().begin(), here.output().end());
            masked_.erase(""); // outputs that are left out
        }
    }

    void take_what_makes_masks() {
        for (std::size_t number = count_; number-- > 0;) {
            const onnx::NodeProto& here = node(number);
            const auto makes = [&](const std::string& output) { return makers_.contains(output); };
            if (computes(here) || is_rounded(here) || std::ranges::none_of(here.output(), makes))
                continue;
            take(number);
            for (int index = 0; index < data_inputs(here); ++index)
                makers_.insert(here.input(index));
            makers_.erase(""); // inputs that are left out
        }
    }

    // Whether the model itself rounds an output to 8 bits: its range is that of the model.
    bool is_rounded(const onnx::NodeProto& node) const {
        return std::ranges::any_of(node.output(), [&](const std::string& name) {
            return context_.given.tensors.contains(name);
        });
    }

    void take(std::size_t number) {
        if (placements_[number] == Placement::bpu)
            taken_.insert(static_cast<int>(number));
    }

    const Context& context_;
    const std::vector<Placement>& placements_;
    const std::size_t count_;
    // By the name of the tensor.
    std::map<std::string, Origin> origins_;
    std::map<std::string, Wanted> wanted_;
    std::set<std::string> masked_;
    std::set<std::string> makers_; // masks, and the tensors that they are made from
    std::set<int> taken_;
};

// Whether the device computes features from this node's input.
bool is_computing(const Node& node) {
    return node.is<op::Convolution>() || node.is<op::MatrixProduct>() || node.is<op::Pool>();
}

// Returns values that the CPU makes and that both it and the device read.  Inputs of the model
// count as well if they are masks and no features.
std::vector<bool> shared_values(const Graph& graph) {
    std::vector<bool> on_cpu(graph.values.size()), on_device(graph.values.size()),
        of_device(graph.values.size());
    for (ValueId output : graph.outputs)
        on_cpu[output] = true;
    for (const Node& node : graph.nodes) {
        of_device[node.output] = node.on_bpu();
        for (ValueId input : node.inputs) {
            (node.on_bpu() ? on_device : on_cpu)[input] = true;
            if (is_computing(node) && std::ranges::count(graph.inputs, input) > 0)
                of_device[input] = true;
        }
    }
    for (ValueId value = 0; value < graph.values.size(); ++value)
        on_cpu[value] = on_cpu[value] && on_device[value] && !of_device[value];
    return on_cpu;
}

// Gives the device copies of these values.  Each copy comes right after the node that writes the
// value.
void copy_for_device(Graph& graph, const std::set<ValueId>& values) {
    std::map<ValueId, Node> copies;
    std::map<ValueId, ValueId> copied;
    std::vector<Node> nodes;
    for (ValueId value : values) {
        Value copy = graph.values[value];
        copy.name += ":device";
        copied[value] = graph.values.size();
        graph.values.push_back(copy);
        copies[value] = {copy.name, "Identity", op::Cpu{}, {value}, copied[value]};
    }
    for (ValueId input : graph.inputs)
        if (const auto copy = copies.find(input); copy != copies.end())
            nodes.push_back(copy->second);
    for (Node& node : graph.nodes) {
        for (ValueId& input : node.inputs)
            if (const auto copy = copied.find(input); node.on_bpu() && copy != copied.end())
                input = copy->second;
        const ValueId output = node.output;
        nodes.push_back(std::move(node));
        if (const auto copy = copies.find(output); copy != copies.end())
            nodes.push_back(copy->second);
    }
    graph.nodes = std::move(nodes);
}

} // namespace

Masks find_masks(const Context& context, const std::vector<Placement>& placements) {
    return MaskFinder(context, placements).run();
}

void keep_exact(Context& context, const std::set<std::string>& tensors) {
    const std::vector<bool> is_shared = shared_values(context.graph);
    std::set<ValueId> values;
    for (const std::string& name : tensors)
        if (const auto found = context.references.find(name); found != context.references.end())
            if (const ValueId value = found->second.value;
                is_shared[value] && !context.graph.values[value].given)
                values.insert(value);
    if (!values.empty())
        copy_for_device(context.graph, values);
}

} // namespace overtake::compiler
