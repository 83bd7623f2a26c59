// SPDX-License-Identifier: MIT
#include "compiler/import/sequences.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/attributes.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"

namespace overtake::compiler {

namespace {

std::vector<Reference>& sequence_input(Context& context) {
    const auto found = context.sequences.find(input_name(context, 0));
    if (found == context.sequences.end())
        refuse(context, "sequence '" + input_name(context, 0) + "' is not known");
    return found->second;
}

// Returns the position that input `index` gives; a negative one counts from the end.  Refuses a
// position that is not below `limit`.
std::size_t sequence_position(const Context& context, int index, std::size_t limit) {
    const auto position = integers_of(constant_input(context, index));
    const auto count =
        static_cast<std::int64_t>(context.sequences.at(input_name(context, 0)).size());
    if (position.size() != 1)
        refuse(context, "its position is no single number");
    const std::int64_t at = position[0] < 0 ? position[0] + count : position[0];
    if (at < 0 || at >= static_cast<std::int64_t>(limit))
        refuse(context, "its position lies outside the sequence");
    return static_cast<std::size_t>(at);
}

} // namespace

void import_sequence_construct(Context& context) {
    std::vector<Reference> list;
    for (int index = 0; index < context.node->input_size(); ++index)
        list.push_back(cpu_input(context, index));
    context.sequences[context.node->output(0)] = std::move(list);
}

void import_sequence_insert(Context& context) {
    std::vector<Reference> list = sequence_input(context);
    const std::size_t at =
        has_input(context, 2) ? sequence_position(context, 2, list.size() + 1) : list.size();
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), cpu_input(context, 1));
    context.sequences[context.node->output(0)] = std::move(list);
}

void import_sequence_erase(Context& context) {
    std::vector<Reference> list = sequence_input(context);
    if (list.empty())
        refuse(context, "erases from an empty sequence");
    const std::size_t at =
        has_input(context, 1) ? sequence_position(context, 1, list.size()) : list.size() - 1;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
    context.sequences[context.node->output(0)] = std::move(list);
}

void import_sequence_at(Context& context) {
    const std::vector<Reference>& list = sequence_input(context);
    context.references[context.node->output(0)] = list[sequence_position(context, 1, list.size())];
}

void import_sequence_length(Context& context) {
    Constant constant;
    constant.integers = {static_cast<std::int64_t>(sequence_input(context).size())};
    context.constants[context.node->output(0)] = std::move(constant);
}

void import_concat_from_sequence(Context& context) {
    std::vector<Reference> list = sequence_input(context);
    const bool is_new = Attributes(*context.node).integer("new_axis", 0) != 0;
    if (list.empty())
        refuse(context, "joins nothing");
    const std::size_t axis = axis_of(context, Attributes(*context.node).integer("axis", 0),
                                     list[0].shape.size() + is_new);
    std::vector<Shape> shapes;
    for (Reference& part : list) {
        if (is_new && axis <= part.shape.size())
            part.shape.insert(part.shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
        shapes.push_back(part.shape);
    }
    const Shape shape = joined_shape(context, shapes, axis);
    Reference result =
        cpu_node(context, {CpuOpType::concat, {static_cast<std::int64_t>(axis)}, {}}, list, shape);
    result.integer = list[0].integer;
    finish_cpu(context, result);
}

void import_split_to_sequence(Context& context) {
    const Reference input = cpu_input(context, 0);
    const std::size_t axis =
        axis_of(context, Attributes(*context.node).integer("axis", 0), input.shape.size());
    const std::int64_t length = input.shape[axis];
    std::vector<std::int64_t> sizes = {1};
    const bool drops_axis =
        !has_input(context, 1) && Attributes(*context.node).integer("keepdims", 1) == 0;
    if (has_input(context, 1))
        sizes = integers_of(constant_input(context, 1));
    const bool is_one_size = !has_input(context, 1) || constant_input(context, 1).shape.empty();
    if (std::ranges::any_of(sizes, [](std::int64_t size) { return size < 1; }))
        refuse(context, "gives an empty tensor");
    if (!is_one_size &&
        (std::ranges::any_of(sizes, [&](std::int64_t size) { return size > length; }) ||
         std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) != length))
        refuse(context, "its parts do not add up to " + std::to_string(length));
    std::vector<Reference> list;
    std::int64_t first = 0;
    for (std::size_t index = 0; first < length; ++index) {
        const std::int64_t size = is_one_size ? sizes.at(0) : sizes[index];
        const std::int64_t count = std::min(size, length - first);
        Shape shape = input.shape;
        shape[axis] = count;
        std::vector<std::int64_t> steps(shape.size(), 1);
        for (std::size_t i = shape.size(); i-- > 1;)
            steps[i - 1] = steps[i] * input.shape[i];
        Reference part = cpu_view(context, input, first * steps[axis], steps, shape);
        if (drops_axis)
            part.shape.erase(part.shape.begin() + static_cast<std::ptrdiff_t>(axis));
        list.push_back(part);
        first += count;
    }
    context.sequences[context.node->output(0)] = std::move(list);
}

} // namespace overtake::compiler
