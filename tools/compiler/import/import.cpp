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
#include "compiler/import/fold_constants.hpp"
#include "compiler/import/inputs_outputs.hpp"
#include "compiler/import/masks.hpp"
#include "compiler/import/nodes.hpp"
#include "compiler/import/operators.hpp"
#include "compiler/import/partition.hpp"
#include "compiler/ir/error.hpp"

namespace overtake::compiler {

namespace {

bool has_constant_inputs_only(const Context& context) {
    bool any = false;
    for (int index = 0; index < context.node->input_size(); ++index)
        if (has_input(context, index)) {
            any = true;
            if (!is_constant(context, index))
                return false;
        }
    return any;
}

bool has_integers(const Context& context) {
    return std::ranges::any_of(context.node->input(), [&](const std::string& name) {
        const auto found = context.references.find(name);
        return found != context.references.end() && found->second.integer;
    });
}

// Which operator the node is; a refusal where it is none that the table knows.
const Row& row_of(const Context& context) {
    const auto found = operators().find(context.node->op_type());
    if (found == operators().end() ||
        !(context.node->domain().empty() || context.node->domain() == "ai.onnx"))
        refuse(context, "the operator is not supported");
    return found->second;
}

// Where the node at hand has gone; `before` is the mark in front of it.
Placement import_node(Context& context, const Mark before, bool is_better_on_cpu) {
    const Row& row = row_of(context);
    const auto cpu_or_nowhere = [&] {
        return context.graph.nodes.size() > before.nodes ? Placement::cpu : Placement::nowhere;
    };
    if (row.constant) {
        row.constant(context);
        return cpu_or_nowhere();
    }
    if (has_constant_inputs_only(context)) {
        fold_constant(context, row.cpu);
        return Placement::nowhere;
    }
    const auto named = [&](const std::vector<std::string>& names) {
        return std::ranges::find(names, node_name(context)) != names.end();
    };
    const bool wants_bpu = named(context.options.run_on_bpu);
    const bool wants_cpu =
        named(context.options.run_on_cpu) ||
        (!wants_bpu &&
         (is_better_on_cpu || context.options.keep_on_cpu.contains(node_name(context))));
    std::optional<std::string> refusal;
    if (row.bpu && !has_integers(context) && !(wants_cpu && row.cpu)) {
        refusal = refusal_of([&] { row.bpu(context); });
        if (!refusal)
            return Placement::bpu;
        take_back(context, before);
    }
    if (wants_bpu && refusal)
        throw CompileError(*refusal, "and it is to run on the BPU");
    if (wants_bpu && !row.bpu && row.cpu)
        refuse(context, "has no form on the BPU, where it is to run");
    if (!row.cpu)
        throw CompileError(refusal.value_or(""), "and it has no form on the CPU");
    row.cpu(context);
    return cpu_or_nowhere();
}

// A name with a shape of its own stands for as many elements as its value has: what reads the value
// goes by either shape.
void check_output_sizes(const Context& context) {
    for (const std::string& name : context.node->output()) {
        const auto found = context.references.find(name);
        if (found != context.references.end() &&
            element_count(found->second.shape) != value_of(context, found->second).elements())
            refuse(context, "its output '" + name + "' of shape " + to_text(found->second.shape) +
                                " would have more or fewer elements than what it is made of");
    }
}

// Goes through the nodes of the file, and where nodes turn out to be cheaper or more exact on the
// CPU goes on from the first of them once more.
class Walk {
public:
    explicit Walk(Context& context) : context_(context) {}

    void run() {
        import_from(0, {});
        masks_ = find_masks(context_, placements_);
        std::set<int> on_cpu = masks_.nodes;
        for (int number : on_cpu)
            placements_[static_cast<std::size_t>(number)] = Placement::cpu;
        on_cpu.merge(cheaper_on_cpu(context_.model, placements_));
        if (on_cpu.empty())
            return;
        const auto first = static_cast<std::size_t>(*on_cpu.begin());
        take_back(context_, marks_[first]);
        marks_.resize(first);
        placements_.resize(first);
        import_from(*on_cpu.begin(), on_cpu);
    }

    const Masks& masks() const { return masks_; }

private:
    // `on_cpu` are numbers of nodes that go to the CPU although the device could run them.
    void import_from(int first, const std::set<int>& on_cpu) {
        for (int number = first; number < context_.model.graph().node_size(); ++number) {
            context_.node = &context_.model.graph().node(number);
            context_.parts = 0;
            marks_.push_back(mark(context_));
            try {
                placements_.push_back(
                    import_node(context_, marks_.back(), on_cpu.contains(number)));
                check_output_sizes(context_);
            } catch (const std::bad_alloc&) {
                refuse(context_, "needs more memory than there is");
            }
        }
    }

    Context& context_;
    std::vector<Mark> marks_; // by node of the file: in front of it
    std::vector<Placement> placements_;
    Masks masks_;
};

void check_names(const onnx::ModelProto& model, const std::string& path,
                 const std::vector<std::string>& names, const char* option) {
    for (const std::string& name : names)
        if (std::ranges::none_of(model.graph().node(), [&](const onnx::NodeProto& node) {
                return node.name() == name || (node.output_size() > 0 && node.output(0) == name);
            }))
            throw CompileError(std::string(option) + " " + name, path + " has no such node");
}

} // namespace

Graph import_onnx(const std::string& path, const ImportOptions& options) {
    GivenScales given;
    const onnx::ModelProto model = load_onnx(path, given, options.input_shapes);
    check_names(model, path, options.run_on_cpu, "run_on_cpu");
    check_names(model, path, options.run_on_bpu, "run_on_bpu");
    Context context{path, model, given, options, Libonnx(path)};
    context.graph.name = std::filesystem::path(path).stem().string();
    read_inputs(context);
    Walk walk(context);
    walk.run();
    read_outputs(context);
    keep_exact(context, walk.masks().tensors);
    return std::move(context.graph);
}

} // namespace overtake::compiler
