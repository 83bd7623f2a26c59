// SPDX-License-Identifier: MIT
//
// Gather with known positions on the device.
#include "compiler/import/bpu/operators.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/import/bpu/order.hpp"
#include "compiler/import/bpu/parts.hpp"
#include "compiler/import/context.hpp"

namespace overtake::compiler {

namespace {

// The positions first, first + 1, ...
struct Run {
    std::int64_t first;
    std::int64_t count;
};

std::vector<Run> runs_of(const std::vector<std::int64_t>& positions) {
    std::vector<Run> runs;
    for (std::int64_t position : positions)
        if (!runs.empty() && runs.back().first + runs.back().count == position)
            ++runs.back().count;
        else
            runs.push_back({position, 1});
    return runs;
}

} // namespace

// Imports a Gather: runs of consecutive positions are slices.
void bpu_gather(Context& context) {
    Reference input = variable_input(context, 0);
    const Constant& indices = constant_input(context, 1);
    const std::size_t axis =
        axis_of(context, Attributes(*context.node).integer("axis", 0), input.shape.size());
    const std::int64_t size = input.shape[axis];
    std::vector<std::int64_t> positions = integers_of(indices);
    for (std::int64_t& position : positions) {
        position += position < 0 ? size : 0;
        if (position < 0 || position >= size)
            refuse(context, "position " + std::to_string(position) + " lies outside the tensor");
    }
    const std::vector<Run> runs = runs_of(positions);
    if (runs.empty() || runs.size() > most_pieces)
        refuse(context, "gathers from more than " + std::to_string(most_pieces) + " places");
    input.value = in_order(context, input, value_of(context, input).order);
    const std::string& name = context.node->output(0);
    std::vector<Reference> parts;
    for (const Run& run : runs)
        parts.push_back(
            stretch_of(context, input, axis, run.first, run.count,
                       runs.size() == 1 ? name : name + ":" + std::to_string(parts.size())));
    Reference result = parts.size() == 1 ? parts[0] : joined(context, parts, axis, name);
    result.shape.erase(result.shape.begin() + static_cast<std::ptrdiff_t>(axis));
    result.shape.insert(result.shape.begin() + static_cast<std::ptrdiff_t>(axis),
                        indices.shape.begin(), indices.shape.end());
    context.references[name] = result;
}

} // namespace overtake::compiler
