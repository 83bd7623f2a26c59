// SPDX-License-Identifier: MIT
#include "compiler/import/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <set>

#include "compiler/import/decomposition.hpp"
#include "compiler/import/fold_constants.hpp"
#include "compiler/import/nodes.hpp"
#include "compiler/ir/error.hpp"
#include "compiler/ir/limits.hpp"
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

void check_doubles(const onnx::TensorProto& tensor, const std::string& path) {
    if (tensor.data_type() != onnx::TensorProto::DOUBLE)
        return;
    std::vector<double> numbers(tensor.double_data().begin(), tensor.double_data().end());
    if (tensor.has_raw_data()) {
        numbers.resize(tensor.raw_data().size() / sizeof(double));
        if (!numbers.empty())
            std::memcpy(numbers.data(), tensor.raw_data().data(), numbers.size() * sizeof(double));
    }
    for (const double number : numbers)
        if (!std::isnan(number) && double{static_cast<float>(number)} != number)
            throw CompileError(path, "constant '" + tensor.name() +
                                         "' holds a DOUBLE that float32 does not hold exactly");
}

bool is_double(const Context& context, const std::string& name) {
    const auto found = context.types.find(name);
    return found != context.types.end() && found->second == onnx::TensorProto::DOUBLE;
}

bool has_doubles(const Context& context) {
    const auto is = [&](const std::string& name) { return is_double(context, name); };
    return std::ranges::any_of(context.node->input(), is) ||
           std::ranges::any_of(context.node->output(), is);
}

// Whether all are whole numbers that float32 computes with exactly; `together`: also their sum.
bool are_small_and_whole(const Constant& constant, bool together) {
    double sum = 0;
    for (const float real : reals_of(constant)) {
        if (!(std::abs(real) < static_cast<float>(max_exact_integer)) || real != std::trunc(real))
            return false;
        sum += together ? std::abs(double{real}) : 0.0;
    }
    return sum < static_cast<double>(max_exact_integer);
}

// Refuses a node of DOUBLE unless its result in float32, as computed here, is the same.  It is the
// same for operators that only move, round or compare numbers, and for arithmetic with small whole
// numbers.
void check_exactness(const Context& context) {
    static const std::set<std::string> without_rounding = {
        "Abs",      "Cast",      "Ceil",           "Clip",      "Concat",
        "Constant", "Equal",     "Expand",         "Flatten",   "Floor",
        "Gather",   "Greater",   "GreaterOrEqual", "Identity",  "IsInf",
        "IsNaN",    "Less",      "LessOrEqual",    "Max",       "Min",
        "Neg",      "Not",       "ReduceMax",      "ReduceMin", "Relu",
        "Reshape",  "Round",     "Shape",          "Sign",      "Size",
        "Slice",    "Split",     "Squeeze",        "Tile",      "Transpose",
        "Where",    "Unsqueeze", "ArgMax",         "ArgMin",    "ConstantOfShape"};
    static const std::set<std::string> arithmetic = {"Add", "Sub",        "Mul",      "Div",
                                                     "Mod", "ReduceProd", "ReduceSum"};
    if (!has_doubles(context) || without_rounding.contains(context.node->op_type()))
        return;
    if (!arithmetic.contains(context.node->op_type()))
        refuse(context, "computes with DOUBLE");
    const bool together = context.node->op_type() == "ReduceSum";
    for (const auto* names : {&context.node->input(), &context.node->output()})
        for (const std::string& name : *names)
            if (const auto found = context.constants.find(name);
                found != context.constants.end() && !are_small_and_whole(found->second, together))
                refuse(context, "computes with DOUBLE numbers that are not small and whole");
}

// Reads constants and shapes; a tensor that cannot be read or computed is missing for its readers.
void read_givens(Context& context) {
    const auto& graph = context.model.graph();
    for (const auto& tensor : graph.initializer())
        refusal_of([&] {
            check_doubles(tensor, context.path);
            context.constants[tensor.name()] = read_constant(tensor, context.path);
        });
    for (const auto& tensor : graph.initializer())
        context.types[tensor.name()] = tensor.data_type();
    for (const auto* infos : {&graph.input(), &graph.output()})
        for (const auto& info : *infos)
            context.types[info.name()] = info.type().tensor_type().elem_type();
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

void compute_node(Context& context) {
    const auto row = operators().find(context.node->op_type());
    if (row == operators().end())
        refuse(context, "the operator is not supported");
    if (const onnx::TensorProto* tensor = Attributes(*context.node).tensor("value"))
        check_doubles(*tensor, context.path);
    is_made_constant(context, row->second);
    check_exactness(context);
}

// Computes the node, or the nodes that replace it if there are any.
void compute(Context& context, FreshNames& names) {
    const onnx::NodeProto& node = *context.node;
    const std::vector<onnx::NodeProto> made = decomposed(context, names);
    for (const onnx::NodeProto& each : made) {
        context.node = &each;
        const auto refusal = refusal_of([&] { compute_node(context); });
        context.node = &node;
        if (refusal)
            refuse(context, *refusal);
    }
    if (made.empty())
        compute_node(context);
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
    FreshNames names(model.graph());
    for (const auto& node : model.graph().node()) {
        context.node = &node;
        context.parts = 0;
        const Mark before = mark(context);
        if (!refusal_of([&] { compute(context, names); }))
            continue;
        take_back(context, before);
        for (const std::string& name : node.output())
            context.constants.erase(name);
    }
    return {context.constants.begin(), context.constants.end()};
}

} // namespace overtake::compiler
