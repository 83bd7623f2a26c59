// SPDX-License-Identifier: MIT
#include "compiler/import/recurrence.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/onnx/recurrence_gates.hpp"
#include "compiler/onnx/rewrite.hpp"

namespace overtake::compiler {
namespace {

// The inputs of the operators, by their index.
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

constexpr const char* no_fit = "its inputs do not fit each other";
// All steps read the recurrent weights, each in a product of its own.
constexpr std::int64_t most_weights_read = std::int64_t{1} << 26;
constexpr std::int64_t most_steps = 1024;

struct Form {
    RecurrenceSize size;
    std::string refusal; // the device's refusal; empty: none
};

Form refused(std::string reason) {
    return {{}, std::move(reason)};
}

std::string computed_inputs(const Context& context) {
    static const std::pair<int, const char*> inputs[] = {{weights, "weights"},
                                                         {recurrent, "recurrent weights"},
                                                         {bias, "biases"},
                                                         {peepholes, "peepholes"}};
    for (const auto& [index, name] : inputs)
        if (has_input(context, index) && !is_constant(context, index))
            return std::string("its ") + name + " are computed";
    if (has_input(context, x) && is_constant(context, x))
        return "its input is a constant";
    return "";
}

// Whether all required inputs are there, and the input and the recurrent weights have three axes.
bool has_axes(const Context& context) {
    for (const int index : {x, weights, recurrent}) {
        const auto shape = has_input(context, index) ? shape_of(context, index) : std::nullopt;
        if (!shape || shape->size() != 3)
            return false;
    }
    return true;
}

bool is_too_large(const RecurrenceSize& size) {
    std::int64_t read = size.hidden;
    for (const std::int64_t factor : {size.hidden, size.gates, size.directions, size.steps})
        if (__builtin_mul_overflow(read, factor, &read) || read > most_weights_read)
            return true;
    return size.steps > most_steps;
}

Form form_of(const Context& context) {
    if (!has_axes(context))
        return refused(no_fit);
    const RecurrenceKind& kind = *recurrence_kind(context.node->op_type());
    const Shape input = *shape_of(context, x), r = *shape_of(context, recurrent);
    const Attributes attributes(*context.node);
    const bool batch_first = attributes.integer("layout", 0) != 0;
    const std::string direction = attributes.text("direction", "forward");
    const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
    const std::int64_t steps = input[batch_first ? 1 : 0], batch = input[batch_first ? 0 : 1],
                       features = input[2], hidden = r[2];
    if (std::min({steps, batch, features, hidden}) < 1 ||
        std::max({steps, batch, features, hidden}) > most_weights_read)
        return refused(no_fit);
    const std::int64_t rows = kind.gates * hidden;
    const Shape of_state =
        batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
    const bool fits = has_shape(context, weights, {directions, rows, features}) &&
                      has_shape(context, recurrent, {directions, rows, hidden}) &&
                      has_shape(context, bias, {directions, 2 * rows}) &&
                      has_shape(context, state, of_state) && has_shape(context, cells, of_state) &&
                      has_shape(context, peepholes, {directions, 3 * hidden}) &&
                      attributes.integer("hidden_size", hidden) == hidden &&
                      (directions == 2 || direction == "forward" || direction == "reverse") &&
                      attributes.real("clip", 0) >= 0;
    if (!fits)
        return refused(no_fit);
    if (!has_whole_sequences(context, steps))
        return refused("its sequences may end before the last step");
    try {
        gate_functions(*context.node, directions);
    } catch (const CannotRewrite& impossible) {
        return refused(impossible.reason);
    }
    return {{steps, batch, features, hidden, kind.gates, directions}, ""};
}

bool is_named(const Context& context, const std::vector<std::string>& names) {
    return std::ranges::find(names, node_name(context)) != names.end();
}

} // namespace

std::string why_on_cpu(const Context& context) {
    const ImportOptions& options = context.options;
    const bool wants_bpu = is_named(context, options.run_on_bpu);
    if (options.all_on_cpu || (!wants_bpu && is_named(context, options.run_on_cpu)))
        return "it is to run there";
    if (const auto kept = options.keep_on_cpu.find(node_name(context));
        kept != options.keep_on_cpu.end())
        return kept->second;
    if (const std::string computed = computed_inputs(context); !computed.empty())
        return computed;
    const Form form = form_of(context);
    if (!form.refusal.empty())
        return form.refusal;
    if (is_too_large(form.size))
        return "it has more than 1024 steps, or they read more than 67108864 recurrent weights";
    if (wants_bpu || options.stay_on_bpu.contains(node_name(context)))
        return "";
    return options.why_not_unrolled ? options.why_not_unrolled(form.size)
                                    : std::string("recurrences run there");
}

} // namespace overtake::compiler
