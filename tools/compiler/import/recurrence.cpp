// SPDX-License-Identifier: MIT
#include "compiler/import/recurrence.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/onnx/recurrence_gates.hpp"
#include "compiler/onnx/rewrite.hpp"

namespace overtake::compiler {
namespace {

// Inputs of the operators, by their index.
enum Input { x, weights, recurrent, bias, lengths, state, cells, peepholes };

std::optional<Shape> shape_of(const Context& context, int index) {
    const std::string& name = context.node->input(index);
    if (const auto constant = context.constants.find(name); constant != context.constants.end())
        return constant->second.shape;
    if (const auto found = context.references.find(name); found != context.references.end())
        return found->second.shape;
    return std::nullopt;
}

bool has_shape(const Context& context, int index, const Shape& shape) {
    return !has_input(context, index) || shape_of(context, index) == shape;
}

// Whether all sequences of the batch have all steps.
bool has_whole_sequences(const Context& context, std::int64_t steps) {
    if (!has_input(context, lengths))
        return true;
    const auto given = context.constants.find(context.node->input(lengths));
    return given != context.constants.end() &&
           std::ranges::all_of(integers_of(given->second),
                               [&](std::int64_t length) { return length >= steps; });
}

// Nothing where the device has no form of it, or it is damaged.
std::optional<RecurrenceSize> size_of(const Context& context) {
    const RecurrenceKind& kind = *recurrence_kind(context.node->op_type());
    const auto input = has_input(context, x) ? shape_of(context, x) : std::nullopt;
    for (const int index : {weights, recurrent, bias, peepholes})
        if (has_input(context, index) ? !is_constant(context, index) : index <= recurrent)
            return std::nullopt;
    const auto r = shape_of(context, recurrent);
    if (!input || input->size() != 3 || is_constant(context, x) || !r || r->size() != 3)
        return std::nullopt;
    const Attributes attributes(*context.node);
    const bool batch_first = attributes.integer("layout", 0) != 0;
    const std::string direction = attributes.text("direction", "forward");
    const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
    const std::int64_t steps = (*input)[batch_first ? 1 : 0], batch = (*input)[batch_first ? 0 : 1],
                       features = (*input)[2], hidden = (*r)[2], rows = kind.gates * hidden;
    const Shape of_state =
        batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
    const bool fits = has_shape(context, weights, {directions, rows, features}) &&
                      has_shape(context, recurrent, {directions, rows, hidden}) &&
                      has_shape(context, bias, {directions, 2 * rows}) &&
                      has_shape(context, state, of_state) && has_shape(context, cells, of_state) &&
                      has_shape(context, peepholes, {directions, 3 * hidden}) &&
                      attributes.integer("hidden_size", hidden) == hidden &&
                      (directions == 2 || direction == "forward" || direction == "reverse") &&
                      attributes.real("clip", 0) >= 0 && has_whole_sequences(context, steps);
    if (!fits || std::min({steps, batch, features, hidden}) < 1)
        return std::nullopt;
    return RecurrenceSize{steps, batch, features, hidden, kind.gates, directions};
}

bool has_known_functions(const Context& context, std::int64_t directions) {
    try {
        gate_functions(*context.node, directions);
    } catch (const CannotRewrite&) {
        return false;
    }
    return true;
}

bool is_named(const Context& context, const std::vector<std::string>& names) {
    return std::ranges::find(names, node_name(context)) != names.end();
}

} // namespace

bool is_unrolled(const Context& context) {
    const ImportOptions& options = context.options;
    if (!recurrence_kind(context.node->op_type()) || options.all_on_cpu ||
        is_named(context, options.run_on_cpu) || options.keep_on_cpu.contains(node_name(context)))
        return false;
    const std::optional<RecurrenceSize> size = size_of(context);
    if (!size || !has_known_functions(context, size->directions))
        return false;
    return is_named(context, options.run_on_bpu) ||
           options.stay_on_bpu.contains(node_name(context)) ||
           (options.unrolls && options.unrolls(*size));
}

} // namespace overtake::compiler
