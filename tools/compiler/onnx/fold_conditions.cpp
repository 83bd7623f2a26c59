// SPDX-License-Identifier: MIT
#include "compiler/onnx/fold_conditions.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "compiler/ir/error.hpp"
#include "compiler/onnx/inline_branch.hpp"
#include "compiler/onnx/unroll_loops.hpp"
#include "compiler/onnx/versions.hpp"

namespace overtake::compiler {
namespace {

constexpr const char* domain_without_operators = "overtake.open";

bool is_onnx(const onnx::NodeProto& node) {
    return node.domain().empty() || node.domain() == "ai.onnx";
}

bool has_graphs(const onnx::NodeProto& node) {
    return std::ranges::any_of(node.attribute(), [](const onnx::AttributeProto& attribute) {
        return attribute.has_g() || attribute.graphs_size() > 0;
    });
}

bool is_control_flow(const onnx::NodeProto& node) {
    return (node.op_type() == "If" || node.op_type() == "Loop") && is_onnx(node);
}

// Removes the shapes of tensors, except outputs of the program's own operators, whose shapes cannot
// be inferred.
void forget_known_shapes(onnx::GraphProto& graph) {
    std::set<std::string> custom;
    for (const auto& node : graph.node())
        if (is_custom(node))
            custom.insert(node.output().begin(), node.output().end());
    auto& infos = *graph.mutable_value_info();
    const auto end = std::stable_partition(
        infos.begin(), infos.end(), [&](const auto& info) { return custom.contains(info.name()); });
    infos.erase(end, infos.end());
}

class ConditionFolder {
public:
    ConditionFolder(onnx::ModelProto& model, int opset, Libonnx& libonnx, const Evaluate& evaluate,
                    Refusals& refusals)
        : model_(model), graph_(*model.mutable_graph()), opset_(opset), libonnx_(libonnx),
          evaluate_(evaluate), refusals_(refusals), unroller_(opset, libonnx, evaluate) {}

    bool has_conditions() const { return std::ranges::any_of(graph_.node(), is_control_flow); }

    // Makes one step; returns whether it changed the graph.  First takes the branches and loops
    // that are known without inferred shapes, since shapes of branches that are not taken say
    // nothing of the nodes behind.
    bool step() {
        bool any = false;
        for (read_types(); inline_branches() || unroll_loops(); read_types())
            any = true;
        if (!has_conditions())
            return any;
        infer_shapes();
        read_types();
        any = fold_constants() || any;
        forget_known_shapes(graph_); // they are those of the graph before
        return any;
    }

    // Replaces the first If whose branches give outputs of the same shapes by both branches and a
    // choice between their outputs.  If shapes depend on Ifs within them, these are replaced as
    // well.  Returns whether there was such an If.
    bool run_both_branches(const std::function<void(const std::string&)>& warn) {
        const std::set<std::string> outer = names_in_use();
        for (int number = 0; number < graph_.node_size(); ++number) {
            const onnx::NodeProto node = graph_.node(number);
            const ReasonsOfControlFlow reasons(graph_);
            if (!may_run_both(node) || !reasons.follows_from_inputs(node.input(0)) ||
                !tried_.insert(node.output(0)).second)
                continue;
            const google::protobuf::RepeatedPtrField<onnx::NodeProto> before = graph_.node();
            std::vector<Choice> choices = inline_both(number);
            bool is_one_shape = are_alike(choices);
            for (int inner = 0; !is_one_shape && inner < graph_.node_size();) {
                if (!may_run_both(graph_.node(inner)) ||
                    outer.contains(graph_.node(inner).output(0))) {
                    ++inner;
                    continue;
                }
                std::ranges::copy(inline_both(inner), std::back_inserter(choices));
                is_one_shape = are_alike(choices);
            }
            if (!is_one_shape) {
                *graph_.mutable_node() = before;
                continue;
            }
            if (warn)
                warn("node '" + (node.name().empty() ? node.output(0) : node.name()) +
                     "' (If): both branches run each time, as " + reasons.of(node));
            return true;
        }
        return false;
    }

private:
    using Choice = std::array<std::string, 2>; // tensors: of then, of else

    // Whether both branches may run: an operator of this opset chooses between tensors.
    bool may_run_both(const onnx::NodeProto& node) const {
        constexpr int opset_of_where = 9;
        return node.op_type() == "If" && is_onnx(node) && opset_ >= opset_of_where &&
               node.input_size() == 1 && node.output_size() > 0 &&
               std::ranges::none_of(node.output(), &std::string::empty) && branch_of(node, true) &&
               branch_of(node, false);
    }

    bool are_alike(const std::vector<Choice>& choices) {
        infer_shapes();
        read_types();
        forget_known_shapes(graph_); // the graph is about to change
        return std::ranges::all_of(
            choices, [&](const Choice& choice) { return is_alike(choice[0], choice[1]); });
    }

    bool is_alike(const std::string& one, const std::string& other) const {
        const auto first = infos_.find(one), second = infos_.find(other);
        if (first == infos_.end() || second == infos_.end())
            return false;
        const auto shape = static_shape(first->second);
        return shape && shape == static_shape(second->second) &&
               first->second.type().tensor_type().elem_type() ==
                   second->second.type().tensor_type().elem_type();
    }

    std::set<std::string> names_in_use() const {
        std::set<std::string> names;
        for (const auto& [name, tensor] : constants_)
            names.insert(name);
        for (const auto& input : graph_.input())
            names.insert(input.name());
        for (const auto& node : graph_.node())
            names.insert(node.output().begin(), node.output().end());
        return names;
    }

    // Replaces an If by both of its branches; returns, for each output, the tensors that they make.
    std::vector<Choice> inline_both(int number) {
        std::set<std::string> names = names_in_use();
        const auto fresh = [&](std::string name) {
            while (!names.insert(name).second)
                name += "_";
            return name;
        };
        google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
        std::vector<Choice> choices;
        for (int index = 0; index < graph_.node_size(); ++index) {
            onnx::NodeProto& node = *graph_.mutable_node(index);
            if (index != number) {
                nodes.Add()->Swap(&node);
                continue;
            }
            choices.resize(static_cast<std::size_t>(node.output_size()));
            for (const bool condition : {true, false}) {
                onnx::NodeProto taken = node;
                for (int output = 0; output < taken.output_size(); ++output) {
                    const std::string name =
                        fresh(node.output(output) + (condition ? ":then" : ":else"));
                    taken.set_output(output, name);
                    choices[static_cast<std::size_t>(output)][condition ? 0 : 1] = name;
                }
                for (onnx::NodeProto& inner :
                     inline_branch(taken, *branch_of(taken, condition), graph_, names))
                    nodes.Add()->Swap(&inner);
            }
            // Without dimensions, which an output may lack too.
            onnx::NodeProto& condition = *nodes.Add();
            condition.set_op_type("Squeeze");
            condition.set_name(fresh(node.output(0) + ":condition"));
            *condition.add_input() = node.input(0);
            *condition.add_output() = condition.name();
            for (int output = 0; output < node.output_size(); ++output) {
                onnx::NodeProto& chosen = *nodes.Add();
                chosen.set_op_type("Where");
                chosen.set_name(fresh(node.output(output) + ":chosen"));
                *chosen.add_input() = condition.name();
                for (const std::string& name : choices[static_cast<std::size_t>(output)])
                    *chosen.add_input() = name;
                *chosen.add_output() = node.output(output);
            }
        }
        graph_.mutable_node()->Swap(&nodes);
        return choices;
    }

    // Infers shapes as if the remaining Ifs and Loops were unknown operators: libonnx would take
    // the shape of one of their branches for that of their output.  The outputs of the graph stay
    // as the file says.
    void infer_shapes() {
        forget_known_shapes(graph_);
        const auto outputs = graph_.output();
        std::vector<std::pair<onnx::NodeProto*, std::string>> domains;
        for (onnx::NodeProto& node : *graph_.mutable_node())
            if (is_control_flow(node)) {
                domains.emplace_back(&node, node.domain());
                node.set_domain(domain_without_operators);
            }
        auto* import = model_.add_opset_import();
        import->set_domain(domain_without_operators);
        import->set_version(1);
        libonnx_.infer_shapes(model_);
        model_.mutable_opset_import()->RemoveLast();
        for (const auto& [node, domain] : domains)
            node->set_domain(domain);
        inferred_outputs_ = graph_.output();
        *graph_.mutable_output() = outputs;
    }

    void read_types() {
        infos_.clear();
        for (const auto* list : {&std::as_const(graph_).value_info(),
                                 &std::as_const(graph_).input(), &std::as_const(inferred_outputs_)})
            for (const auto& info : *list)
                infos_[info.name()] = info;
        constants_.clear();
        for (const auto& tensor : graph_.initializer())
            constants_[tensor.name()] = &tensor;
    }

    // Whether the node's outputs follow from `known` and from shapes alone.
    bool is_constant(const onnx::NodeProto& node, const std::set<std::string>& known) const {
        static const std::set<std::string> others = {"Bernoulli",     "If",
                                                     "Loop",          "Multinomial",
                                                     "RandomNormal",  "RandomNormalLike",
                                                     "RandomUniform", "RandomUniformLike",
                                                     "Scan"};
        if (!is_onnx(node) || has_graphs(node) || others.contains(node.op_type()))
            return false;
        if (node.op_type() == "Constant")
            return true;
        const bool asks_for_shape = node.op_type() == "Shape" || node.op_type() == "Size";
        if (asks_for_shape && node.input_size() == 1 && !known.contains(node.input(0))) {
            const auto info = infos_.find(node.input(0));
            return info != infos_.end() && static_shape(info->second);
        }
        return node.input_size() > 0 && std::ranges::all_of(node.input(), [&](const auto& name) {
                   return name.empty() || known.contains(name) || constants_.contains(name);
               });
    }

    // Returns the nodes that have constant outputs, as a model of their own.
    onnx::ModelProto constant_part(std::vector<int>& numbers) const {
        onnx::ModelProto part;
        part.set_ir_version(8);
        auto* opset = part.add_opset_import();
        opset->set_version(opset_);
        onnx::GraphProto& graph = *part.mutable_graph();
        graph.set_name("constants");
        std::set<std::string> known, given;
        for (int number = 0; number < graph_.node_size(); ++number) {
            const onnx::NodeProto& node = graph_.node(number);
            if (!is_constant(node, known))
                continue;
            numbers.push_back(number);
            *graph.add_node() = node;
            for (const std::string& name : node.input()) {
                if (name.empty() || known.contains(name) || !given.insert(name).second)
                    continue;
                if (const auto constant = constants_.find(name); constant != constants_.end())
                    *graph.add_initializer() = *constant->second;
                else
                    *graph.add_input() = infos_.at(name);
            }
            for (const std::string& name : node.output()) {
                known.insert(name);
                if (const auto info = infos_.find(name); info != infos_.end())
                    *graph.add_output() = info->second;
            }
        }
        return part;
    }

    bool fold_constants() {
        std::vector<int> numbers;
        onnx::ModelProto part = constant_part(numbers);
        if (part.graph().output_size() == 0)
            return false;
        std::map<std::string, Constant> values;
        try {
            if (opset_ < opset_of_evaluation)
                libonnx_.convert(part, opset_of_evaluation);
            values = evaluate_(part);
        } catch (const CompileError&) {
            return false; // the code that needs the constants reports it
        }
        bool any = false;
        for (const int number : numbers)
            any = replace(*graph_.mutable_node(number), values) || any;
        remove_emptied();
        read_types();
        return any;
    }

    // Replaces the node by constants, if all of its outputs are known.
    bool replace(onnx::NodeProto& node, const std::map<std::string, Constant>& values) {
        std::vector<onnx::TensorProto> tensors;
        for (const std::string& name : node.output()) {
            const auto value = values.find(name);
            const auto info = infos_.find(name);
            if (value == values.end() || info == infos_.end() ||
                !write_typed(value->second, info->second.type().tensor_type().elem_type(), name,
                             tensors.emplace_back()))
                return false;
        }
        for (onnx::TensorProto& tensor : tensors)
            *graph_.add_initializer() = std::move(tensor);
        node.Clear();
        return true;
    }

    void remove_emptied() {
        google::protobuf::RepeatedPtrField<onnx::NodeProto> kept;
        for (onnx::NodeProto& node : *graph_.mutable_node())
            if (!node.op_type().empty())
                kept.Add()->Swap(&node);
        graph_.mutable_node()->Swap(&kept);
    }

    std::optional<bool> condition_of(const onnx::NodeProto& node) const {
        if (node.op_type() != "If" || !is_onnx(node) || node.input_size() != 1)
            return std::nullopt;
        const auto found = constants_.find(node.input(0));
        if (found == constants_.end())
            return std::nullopt;
        const Constant constant = read_constant(*found->second, "condition");
        return constant.integers.size() == 1 ? std::optional(constant.integers[0] != 0)
                                             : std::nullopt;
    }

    bool inline_branches() {
        if (std::ranges::none_of(graph_.node(), [&](const auto& node) {
                const auto condition = condition_of(node);
                return condition && branch_of(node, *condition);
            }))
            return false;
        std::set<std::string> names = names_in_use();
        bool any = false;
        google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
        for (onnx::NodeProto& node : *graph_.mutable_node()) {
            const std::optional<bool> condition = condition_of(node);
            const onnx::GraphProto* branch = condition ? branch_of(node, *condition) : nullptr;
            if (!branch) {
                nodes.Add()->Swap(&node);
                continue;
            }
            for (onnx::NodeProto& inner : inline_branch(node, *branch, graph_, names))
                nodes.Add()->Swap(&inner);
            any = true;
        }
        graph_.mutable_node()->Swap(&nodes);
        return any;
    }

    // Unrolls loops, and refuses one that is too long.  Returns whether there was either.
    bool unroll_loops() {
        std::set<std::string> names = names_in_use();
        bool any = false;
        google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
        for (onnx::NodeProto& node : *graph_.mutable_node()) {
            const bool is_loop = node.op_type() == "Loop" && is_onnx(node);
            const Trips trips = is_loop ? unroller_.trips_of(node, constants_) : Trips();
            if (!trips.refusal.empty()) {
                set_aside(node, trips.refusal, refusals_);
                import_domain_of(refusals_, model_);
            }
            any = any || trips.count || !trips.refusal.empty();
            if (!trips.count) {
                nodes.Add()->Swap(&node);
                continue;
            }
            for (onnx::NodeProto& inner : unroller_.unroll(node, *trips.count, graph_, names))
                nodes.Add()->Swap(&inner);
        }
        graph_.mutable_node()->Swap(&nodes);
        return any;
    }

    onnx::ModelProto& model_;
    onnx::GraphProto& graph_;
    const int opset_;
    Libonnx& libonnx_;
    const Evaluate& evaluate_;
    Refusals& refusals_;
    LoopUnroller unroller_;
    google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> inferred_outputs_;
    std::map<std::string, onnx::ValueInfoProto> infos_;
    ConstantsByName constants_;
    std::set<std::string> tried_; // first outputs of Ifs
};

// Removes the shapes that a file gives for branches of an If, also in bodies of loops.  They need
// not hold for the branch that is taken, and libonnx would use them.
void forget_shapes_of_branches(onnx::GraphProto& graph) {
    for (auto& node : *graph.mutable_node())
        for (auto& attribute : *node.mutable_attribute()) {
            if (!is_control_flow(node) || !attribute.has_g())
                continue;
            onnx::GraphProto& branch = *attribute.mutable_g();
            forget_known_shapes(branch);
            for (auto& output : *branch.mutable_output())
                if (output.type().has_tensor_type())
                    output.mutable_type()->mutable_tensor_type()->clear_shape();
            forget_shapes_of_branches(branch);
        }
}

} // namespace

void fold_conditions(onnx::ModelProto& model, int opset, Libonnx& libonnx, const Evaluate& evaluate,
                     Refusals& refusals, const std::function<void(const std::string&)>& warn) {
    ConditionFolder folder(model, opset, libonnx, evaluate, refusals);
    forget_shapes_of_branches(*model.mutable_graph());
    do {
        while (folder.has_conditions() && folder.step()) {
        }
    } while (folder.has_conditions() && folder.run_both_branches(warn));
}

ReasonsOfControlFlow::ReasonsOfControlFlow(const onnx::GraphProto& graph) {
    static const std::set<std::string> chance = {"Bernoulli",     "Multinomial",
                                                 "RandomNormal",  "RandomNormalLike",
                                                 "RandomUniform", "RandomUniformLike"};
    for (const auto& input : graph.input())
        origins_[input.name()].inputs = {input.name()};
    for (const auto& node : graph.node()) {
        Origin origin;
        origin.is_random = chance.contains(node.op_type());
        for (const std::string& name : node.input())
            if (const auto found = origins_.find(name); found != origins_.end()) {
                origin.inputs.insert(found->second.inputs.begin(), found->second.inputs.end());
                origin.is_random = origin.is_random || found->second.is_random;
            }
        while (origin.inputs.size() > most_named + 1)
            origin.inputs.erase(std::prev(origin.inputs.end()));
        for (const std::string& name : node.output())
            origins_[name] = origin;
    }
}

bool ReasonsOfControlFlow::follows_from_inputs(const std::string& tensor) const {
    const auto found = origins_.find(tensor);
    return found != origins_.end() && !found->second.inputs.empty();
}

std::string ReasonsOfControlFlow::of(const onnx::NodeProto& node) const {
    if (node.op_type() == "Loop" || node.op_type() == "Scan")
        return "loops are not supported";
    if (node.op_type() != "If" || node.input_size() != 1)
        return "graphs in nodes are not supported";
    const std::string condition = "its condition '" + node.input(0) + "' ";
    const auto found = origins_.find(node.input(0));
    const Origin origin = found == origins_.end() ? Origin() : found->second;
    if (origin.inputs.empty() && !origin.is_random)
        return condition + "follows from constants, but cannot be computed exactly here (DOUBLE "
                           "numbers, for one, only where float32 holds them); simplify the model "
                           "before the export";
    std::string names;
    std::size_t count = 0;
    for (const std::string& name : origin.inputs)
        if (count++ < most_named)
            names += (names.empty() ? "'" : ", '") + name + "'";
    std::string reason = condition + "is only known at run time";
    if (!origin.inputs.empty())
        reason += ", from " + names + (count > most_named ? ", ..." : "");
    if (count == 1)
        reason += "; if that is always the same, give it with --set-input " +
                  *origin.inputs.begin() + "=VALUE";
    return reason;
}

} // namespace overtake::compiler
