// SPDX-License-Identifier: MIT
#include "compiler/import/import.hpp"

#include <algorithm>
#include <filesystem>
#include <new>
#include <set>
#include <utility>

#include "compiler/import/context.hpp"
#include "compiler/import/fold_constants.hpp"
#include "compiler/import/inputs_outputs.hpp"
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

// What a refused attempt has left is taken back.
bool try_bpu(Context& context, const Row& row, std::string& reason) {
    const std::size_t nodes = context.graph.nodes.size(), values = context.graph.values.size();
    const auto reordered = context.reordered;
    const std::vector<Value> before = context.graph.values; // an order may have been settled
    try {
        row.bpu(context);
        return true;
    } catch (const CompileError& error) {
        reason = error.what();
    }
    context.graph.nodes.resize(nodes);
    context.graph.values = before;
    context.graph.values.resize(values);
    context.reordered = reordered;
    std::erase_if(context.copied, [&](const auto& copied) { return copied.second >= values; });
    return false;
}

// Where the node has gone.
Placement import_node(Context& context, bool is_cheaper_on_cpu) {
    const auto found = operators().find(context.node->op_type());
    if (found == operators().end() ||
        !(context.node->domain().empty() || context.node->domain() == "ai.onnx"))
        refuse(context, "the operator is not supported");
    const Row& row = found->second;
    if (row.constant) {
        const std::size_t first = context.graph.nodes.size();
        row.constant(context);
        return context.graph.nodes.size() > first ? Placement::cpu : Placement::nowhere;
    }
    if (has_constant_inputs_only(context)) {
        fold_constant(context, row.cpu);
        return Placement::nowhere;
    }
    const auto named = [&](const std::vector<std::string>& names) {
        return std::ranges::find(names, node_name(context)) != names.end();
    };
    const bool wants_bpu = named(context.options.run_on_bpu);
    const bool wants_cpu = named(context.options.run_on_cpu) || (is_cheaper_on_cpu && !wants_bpu);
    const std::size_t before = context.graph.nodes.size();
    std::string reason;
    if (row.bpu && !has_integers(context) && !(wants_cpu && row.cpu) &&
        try_bpu(context, row, reason))
        return Placement::bpu;
    if (wants_bpu && row.bpu && !reason.empty())
        throw CompileError(reason, "and it is to run on the BPU");
    if (wants_bpu && !row.bpu && row.cpu && context.graph.nodes.size() == before)
        refuse(context, "has no form on the BPU, where it is to run");
    if (!row.cpu)
        throw CompileError(reason, "and it has no form on the CPU");
    row.cpu(context);
    return context.graph.nodes.size() > before ? Placement::cpu : Placement::nowhere;
}

// `on_cpu` are numbers of nodes that go to the CPU although the device could run them.
std::vector<Placement> import_all(Context& context, const std::set<int>& on_cpu) {
    context.graph.name = std::filesystem::path(context.path).stem().string();
    read_inputs(context);
    std::vector<Placement> placements;
    for (int number = 0; number < context.model.graph().node_size(); ++number) {
        context.node = &context.model.graph().node(number);
        context.parts = 0;
        try {
            placements.push_back(import_node(context, on_cpu.contains(number)));
        } catch (const std::bad_alloc&) {
            refuse(context, "needs more memory than there is");
        }
    }
    read_outputs(context);
    return placements;
}

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
    Context first{path, model, given, options, Libonnx(path)};
    const std::set<int> on_cpu = cheaper_on_cpu(model, import_all(first, {}));
    if (on_cpu.empty())
        return std::move(first.graph);
    Context second{path, model, given, options, Libonnx(path)};
    import_all(second, on_cpu);
    return std::move(second.graph);
}

} // namespace overtake::compiler
