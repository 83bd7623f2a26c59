// SPDX-License-Identifier: MIT
#include "compiler/import/import.hpp"

#include <algorithm>
#include <filesystem>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/operators.hpp"
#include "compiler/import/decomposition.hpp"
#include "compiler/import/evaluate.hpp"
#include "compiler/import/inputs_outputs.hpp"
#include "compiler/import/masks.hpp"
#include "compiler/import/nodes.hpp"
#include "compiler/import/operators.hpp"
#include "compiler/import/partition.hpp"
#include "compiler/import/recurrence.hpp"
#include "compiler/import/spectra.hpp"
#include "compiler/import/survey.hpp"
#include "compiler/import/wishes.hpp"
#include "compiler/ir/error.hpp"
#include "compiler/onnx/recurrence_gates.hpp"
#include "compiler/onnx/types.hpp"

namespace overtake::compiler {

namespace {

bool has_integers(const Context& context) {
    return std::ranges::any_of(context.node->input(), [&](const std::string& name) {
        const auto found = context.references.find(name);
        return found != context.references.end() && found->second.integer;
    });
}

// Refuses arithmetic with integers of few bits, which may wrap around: integers are exact here.
void check_wrapping(const Context& context) {
    static const std::set<std::string> types = {"Add", "BitShift",   "CumSum",   "Div",
                                                "Mul", "Neg",        "Pow",      "Sub",
                                                "Sum", "ReduceProd", "ReduceSum"};
    const auto type = context.types.find(context.node->output(0));
    if (types.contains(context.node->op_type()) && type != context.types.end() &&
        is_short_integer(type->second) && has_integers(context))
        refuse(context, "computes in integers of 8 or 16 bits, which wrap around; cast them to "
                        "int32 or to float in front of it");
}

// Returns the table's row of the node's operator; refuses the node if there is none.
const Row& row_of(const Context& context) {
    const auto refusal = context.refusals.find(context.node->output(0));
    if (refusal != context.refusals.end())
        refuse(context, refusal->second);
    static const Row custom = {nullptr, cpu_custom, "", "code of the program that runs it"};
    if (is_custom(*context.node))
        return custom;
    const auto found = operators().find(context.node->op_type());
    if (found == operators().end() ||
        !(context.node->domain().empty() || context.node->domain() == "ai.onnx"))
        refuse(context, "the operator is not supported");
    return found->second;
}

// Imports the present node and returns where it went; `before` is the mark before it.  `refusal`
// becomes the device's refusal, if the node has a form there.
Placement import_node(Context& context, const Mark before, bool is_better_on_cpu,
                      std::optional<std::string>& refusal) {
    const Row& row = row_of(context);
    check_wrapping(context);
    const auto cpu_or_nowhere = [&] {
        return context.graph.nodes.size() > before.nodes ? Placement::cpu : Placement::nowhere;
    };
    if (is_made_constant(context, row))
        return cpu_or_nowhere();
    const auto named = [&](const std::vector<std::string>& names) {
        return std::ranges::find(names, node_name(context)) != names.end() ||
               (!context.part_of.empty() &&
                std::ranges::find(names, context.part_of) != names.end());
    };
    const bool wants_bpu = named(context.options.run_on_bpu);
    const bool wants_cpu =
        context.options.all_on_cpu || named(context.options.run_on_cpu) ||
        (!wants_bpu &&
         (is_better_on_cpu || context.options.keep_on_cpu.contains(node_name(context))));
    if (context.options.all_on_cpu && row.bpu && !row.cpu)
        refuse(context, "has no form on the CPU, where all nodes are to run");
    if (row.bpu && !has_integers(context) && !(wants_cpu && row.cpu)) {
        refusal = refusal_of([&] { row.bpu(context); });
        if (!refusal)
            return Placement::bpu;
        take_back(context, before);
    }
    if (wants_bpu && refusal)
        throw CompileError(*refusal, "and it is to run on the BPU");
    const std::string reason = recurrence_kind(context.node->op_type()) ? why_on_cpu(context) : "";
    const auto refuse_on_bpu = [&] {
        refuse(context, "has no form on the BPU, where it is to run" +
                            (reason.empty() ? reason : ": " + reason));
    };
    const bool has_no_form = wants_bpu && !row.bpu && row.cpu;
    if (has_no_form && context.part_of.empty())
        refuse_on_bpu();
    if (!row.cpu)
        throw CompileError(refusal.value_or(""), "and it has no form on the CPU");
    row.cpu(context);
    if (!reason.empty())
        refusal = reason;
    // Some parts of a node only give a tensor another shape.
    if (has_no_form && cpu_or_nowhere() == Placement::cpu)
        refuse_on_bpu();
    return cpu_or_nowhere();
}

// Checks outputs: a name with a shape of its own has as many elements as its value, since readers
// of the value use either shape.
void check_output_sizes(const Context& context) {
    for (const std::string& name : context.node->output()) {
        const auto found = context.references.find(name);
        if (found != context.references.end() &&
            element_count(found->second.shape) != value_of(context, found->second).elements())
            refuse(context, "its output '" + name + "' of shape " + to_text(found->second.shape) +
                                " would have more or fewer elements than what it is made of");
    }
}

NodeVerdict::Where where_is(Placement placement) {
    switch (placement) {
    case Placement::bpu:
        return NodeVerdict::Where::bpu;
    case Placement::cpu:
        return NodeVerdict::Where::cpu;
    case Placement::nowhere:
        break;
    }
    return NodeVerdict::Where::nowhere;
}

// Imports the nodes of the file.  If nodes turn out to be cheaper or more exact on the CPU, imports
// again from the first of these.
class Walk {
public:
    // The graph is that of the context.
    Walk(Context& context, onnx::GraphProto& graph) : context_(context), graph_(graph) {}

    // Returns whether no node is refused; nodes after a refused one are still imported.
    bool run() {
        import_all();
        if (has_refusals())
            return false;
        std::set<int> on_cpu = find_exact();
        for (int number : on_cpu)
            placements_[static_cast<std::size_t>(number)] = Placement::cpu;
        cheap_nodes_ = cheaper_on_cpu(context_.model, placements_, context_.given);
        std::erase_if(cheap_nodes_, [&](int number) {
            const auto index = static_cast<std::size_t>(number);
            return context_.options.stay_on_bpu.contains(verdicts_[index].name) ||
                   context_.options.stay_on_bpu.contains(parts_of_[index]);
        });
        on_cpu.insert(cheap_nodes_.begin(), cheap_nodes_.end());
        if (on_cpu.empty())
            return true;
        const auto first = static_cast<std::size_t>(*on_cpu.begin());
        take_back(context_, marks_[first]);
        marks_.resize(first);
        placements_.resize(first);
        verdicts_.resize(first);
        import_from(*on_cpu.begin(), on_cpu);
        return !has_refusals();
    }

    // Checks names of nodes of the file, and of the nodes that they are written as.
    void check_names(const std::vector<std::string>& names, const char* option) const {
        for (const std::string& name : names)
            if (!is_named(name))
                throw CompileError(std::string(option) + " " + name,
                                   context_.path + " has no such node");
    }

    /// Tensors that 8 bits do not hold, and that the CPU makes and reads.
    const std::set<std::string>& exact_tensors() const { return exact_tensors_; }
    const std::vector<NodeVerdict>& verdicts() const { return verdicts_; }

private:
    bool is_named(const std::string& name) const {
        return std::ranges::count(parts_of_, name) > 0 ||
               std::ranges::any_of(graph_.node(), [&](const onnx::NodeProto& node) {
                   return node.name() == name || (node.output_size() > 0 && node.output(0) == name);
               });
    }

    bool has_refusals() const {
        return std::ranges::any_of(verdicts_, [](const NodeVerdict& verdict) {
            return verdict.where == NodeVerdict::Where::refused;
        });
    }

    // Returns the numbers of nodes whose results 8 bits do not hold.
    std::set<int> find_exact() {
        Masks masks = find_masks(context_, placements_);
        Spectra spectra = find_spectra(context_, placements_);
        exact_tensors_ = std::move(masks.tensors);
        exact_tensors_.merge(spectra.tensors);
        mask_nodes_ = std::move(masks.nodes);
        spectrum_nodes_ = std::move(spectra.nodes);
        std::set<int> nodes = mask_nodes_;
        nodes.insert(spectrum_nodes_.begin(), spectrum_nodes_.end());
        return nodes;
    }

    // Imports all nodes; the nodes that a node is written as replace it in the graph.
    void import_all() {
        FreshNames names(graph_);
        google::protobuf::RepeatedPtrField<onnx::NodeProto> given;
        given.Swap(graph_.mutable_node());
        for (onnx::NodeProto& node : given) {
            std::vector<onnx::NodeProto> parts = written_as(node, names);
            if (parts.empty()) {
                import_next(std::move(node), "");
                continue;
            }
            const std::string whole = node_name(context_);
            for (onnx::NodeProto& part : parts)
                import_part(std::move(part), whole, names);
        }
    }

    // Writes an operator that has become a recurrence as other nodes again, if it can be.
    void import_part(onnx::NodeProto part, const std::string& whole, FreshNames& names) {
        std::vector<onnx::NodeProto> parts;
        if (recurrence_kind(part.op_type()))
            parts = written_as(part, names);
        if (parts.empty())
            import_next(std::move(part), whole);
        for (onnx::NodeProto& each : parts)
            import_next(std::move(each), whole);
    }

    void import_next(onnx::NodeProto node, const std::string& part_of) {
        *graph_.add_node() = std::move(node);
        parts_of_.push_back(part_of);
        import_from(graph_.node_size() - 1, {});
    }

    // Returns nothing if the node stays as it is, also if it is refused.
    std::vector<onnx::NodeProto> written_as(const onnx::NodeProto& node, FreshNames& names) {
        context_.node = &node;
        std::vector<onnx::NodeProto> made;
        const auto refusal = refusal_of([&] {
            try {
                made = decomposed(context_, names);
            } catch (const std::bad_alloc&) {
                refuse(context_, "needs more memory than there is");
            }
        });
        if (refusal)
            context_.refusals[node.output(0)] = reason_in(context_, *refusal);
        return made;
    }

    // `on_cpu` has the numbers of nodes that go to the CPU although the device could run them.
    void import_from(int first, const std::set<int>& on_cpu) {
        for (int number = first; number < graph_.node_size(); ++number) {
            context_.node = &graph_.node(number);
            context_.parts = 0;
            context_.part_of = parts_of_[static_cast<std::size_t>(number)];
            marks_.push_back(mark(context_));
            placements_.push_back(Placement::nowhere);
            verdicts_.push_back(
                {node_name(context_), context_.node->op_type(), NodeVerdict::Where::unknown, ""});
            if (waits_for_refused(context_)) {
                stand_in(context_);
                continue;
            }
            try {
                import_here(on_cpu.contains(number));
            } catch (const std::bad_alloc&) {
                refuse(context_, "needs more memory than there is");
            }
        }
    }

    void import_here(bool is_better_on_cpu) {
        std::optional<std::string> on_device;
        const auto refusal = refusal_of([&] {
            placements_.back() = import_node(context_, marks_.back(), is_better_on_cpu, on_device);
            check_output_sizes(context_);
        });
        NodeVerdict& verdict = verdicts_.back();
        verdict.where = refusal ? NodeVerdict::Where::refused : where_is(placements_.back());
        if (refusal) {
            verdict.reason = reason_in(context_, *refusal);
            take_back(context_, marks_.back());
            stand_in(context_);
        } else if (verdict.where == NodeVerdict::Where::cpu) {
            verdict.reason = on_device ? reason_in(context_, *on_device) : reason_for_cpu();
        }
    }

    // Returns why the present node, which the device was not asked to run, is on the CPU.
    std::string reason_for_cpu() const {
        const std::string name = node_name(context_);
        if (context_.options.all_on_cpu || std::ranges::find(context_.options.run_on_cpu, name) !=
                                               context_.options.run_on_cpu.end())
            return "it is to run there";
        if (const auto kept = context_.options.keep_on_cpu.find(name);
            kept != context_.options.keep_on_cpu.end())
            return kept->second;
        const int number = static_cast<int>(placements_.size()) - 1;
        if (mask_nodes_.contains(number))
            return "it makes or carries a mask, whose numbers 8 bits cannot hold";
        if (spectrum_nodes_.contains(number))
            return "a logarithm is taken of its powers, which span more than 8 bits hold";
        if (cheap_nodes_.contains(number))
            return "it costs next to nothing, and its neighbours are on the CPU";
        return "";
    }

    Context& context_;
    onnx::GraphProto& graph_;
    std::vector<std::string> parts_of_; // by node: the file's node that it is a part of
    std::vector<Mark> marks_;           // by node: before it
    std::vector<Placement> placements_;
    std::set<int> mask_nodes_, spectrum_nodes_, cheap_nodes_; // numbers of nodes
    std::set<std::string> exact_tensors_;
    std::vector<NodeVerdict> verdicts_;
};

// Throws CompileError if the network as a whole is refused; `survey` reports refused nodes.
Graph import_network(const std::string& path, const ImportOptions& asked, Survey& survey) {
    Network network = load_onnx(
        path,
        {asked.input_shapes, asked.set_inputs, asked.custom_domains, asked.removed, asked.warn},
        [&](const onnx::ModelProto& part) { return evaluate(path, asked, part); });
    const onnx::ModelProto& model = network.model;
    const ImportOptions options = with_wishes(asked, model.graph());
    Context context{path, model, network.given, options, Libonnx(path), network.refusals};
    context.graph.name = std::filesystem::path(path).stem().string();
    if (network.was_half_precise && options.warn)
        options.warn(path + ": its FLOAT16 or BFLOAT16 tensors are computed in float32");
    read_inputs(context);
    Walk walk(context, *network.model.mutable_graph());
    const bool is_whole = walk.run();
    walk.check_names(options.run_on_cpu, "run_on_cpu");
    walk.check_names(options.run_on_bpu, "run_on_bpu");
    std::vector<std::string> wide = options.int16;
    std::erase_if(wide, [&](const std::string& name) {
        return name == all_nodes || network.nodes.names.contains(name);
    });
    walk.check_names(wide, "--int16");
    report_wishes(options, network.nodes, model.graph(), context.graph, walk.verdicts());
    for (std::size_t number = 0; number < walk.verdicts().size(); ++number) {
        const NodeVerdict& verdict = walk.verdicts()[number];
        const auto& node = model.graph().node(static_cast<int>(number));
        // it stands for a QuantizeLinear; the file has no such Clip
        const bool only_rounds = node.op_type() == "Clip" && node.output_size() == 1 &&
                                 network.given.rounded.contains(node.output(0));
        if (!only_rounds || verdict.where == NodeVerdict::Where::refused)
            survey.nodes.push_back(verdict);
    }
    if (is_whole) {
        read_outputs(context);
        keep_exact(context, walk.exact_tensors());
    }
    return std::move(context.graph);
}

bool is_refused(const NodeVerdict& node) {
    return node.where == NodeVerdict::Where::refused;
}

// Whether options or a configuration file ask for the node to be on the CPU.
bool is_asked_for_on_cpu(const ImportOptions& options, const std::string& node) {
    return std::ranges::count(options.run_on_cpu, node) > 0 ||
           std::ranges::any_of(options.wishes, [&](const NodeWish& wish) {
               return wish.on == NodeWish::On::cpu && wish.name == node;
           });
}

// Warns of work on the CPU that no option asks for, if there is much of it.
void warn_of_work_on_cpu(const std::string& path, const Graph& graph, const Survey& survey,
                         const ImportOptions& options) {
    constexpr std::uint64_t parts = 100; // smaller parts of the work need no warning
    constexpr std::size_t most = 3;
    std::uint64_t all = 0;
    for (const Node& node : graph.nodes)
        all += multiply_accumulates(graph, node);
    std::size_t count = 0;
    for (const Node& node : graph.nodes) {
        const std::uint64_t macs = node.on_bpu() ? 0 : multiply_accumulates(graph, node);
        if (macs <= all / parts || options.keep_on_cpu.contains(node.name) ||
            is_asked_for_on_cpu(options, node.name))
            continue;
        const auto verdict = std::ranges::find(survey.nodes, node.name, &NodeVerdict::name);
        if (verdict == survey.nodes.end() || verdict->reason.empty() || ++count > most)
            continue;
        options.warn(path + ": " + describe(node) + " runs on the CPU, with " +
                     std::to_string(macs * parts / all) +
                     " % of the multiply-accumulates: " + verdict->reason);
    }
    if (count > most)
        options.warn(path + ": " + std::to_string(count - most) +
                     " more such nodes run on the CPU; --check has their reasons");
}

} // namespace

Survey survey_onnx(const std::string& path, const ImportOptions& options) {
    Survey survey;
    const auto refusal = refusal_of([&] { survey.graph = import_network(path, options, survey); });
    if (refusal)
        survey.refusal =
            refusal->starts_with(path + ": ") ? refusal->substr(path.size() + 2) : *refusal;
    return survey;
}

Graph import_onnx(const std::string& path, const ImportOptions& options) {
    Survey survey;
    Graph graph = import_network(path, options, survey);
    if (std::ranges::any_of(survey.nodes, is_refused))
        throw CompileError(path, text_of_refusals(survey.nodes));
    if (options.warn && !options.all_on_cpu)
        warn_of_work_on_cpu(path, graph, survey, options);
    return graph;
}

} // namespace overtake::compiler
