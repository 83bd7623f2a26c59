// SPDX-License-Identifier: MIT
#include "compiler/import/evaluate.hpp"

#include "compiler/import/fold_constants.hpp"
#include "compiler/import/nodes.hpp"
#include "compiler/onnx/remove_qdq.hpp"

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

// What cannot be read or computed is not there for who needs it.
void read_givens(Context& context) {
    const auto& graph = context.model.graph();
    for (const auto& tensor : graph.initializer())
        refusal_of([&] { context.constants[tensor.name()] = read_constant(tensor, context.path); });
    for (const auto& input : graph.input())
        if (const auto shape = static_shape(input))
            refusal_of([&] {
                const ValueId value = add_host_value(context, input.name(), *shape);
                context.references[input.name()] = {value, *shape};
            });
    for (const auto& output : graph.output())
        if (const auto shape = static_shape(output))
            context.shapes[output.name()] = *shape;
}

} // namespace

bool is_made_constant(Context& context, const Row& row) {
    if (row.constant) {
        row.constant(context);
        return true;
    }
    if (!has_constant_inputs_only(context))
        return false;
    fold_constant(context, row.cpu);
    return true;
}

std::map<std::string, Constant> evaluate(const std::string& path, const ImportOptions& options,
                                         const onnx::ModelProto& model) {
    const GivenScales none;
    Context context{path, model, none, options, Libonnx(path)};
    read_givens(context);
    for (const auto& node : model.graph().node()) {
        context.node = &node;
        context.parts = 0;
        const auto row = operators().find(node.op_type());
        const Mark before = mark(context);
        if (row == operators().end() ||
            refusal_of([&] { is_made_constant(context, row->second); }))
            take_back(context, before);
    }
    return {context.constants.begin(), context.constants.end()};
}

} // namespace overtake::compiler
