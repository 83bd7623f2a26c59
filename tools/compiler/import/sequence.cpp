// SPDX-License-Identifier: MIT
//
// Sequences of tensors: lists that exist during import only, so their lengths and positions are
// known there.
#include "compiler/import/importer.hpp"

#include <algorithm>

namespace overtake::compiler {

std::vector<Reference>& Importer::sequence_input() {
    const auto found = sequences_.find(input_name(0));
    if (found == sequences_.end())
        refuse("sequence '" + input_name(0) + "' is not known");
    return found->second;
}

// A position in front of which (or at which) something happens; from the end where negative.
std::size_t Importer::sequence_position(int index, std::size_t limit) const {
    const auto position = integers_of(constant_input(index));
    const auto count = static_cast<std::int64_t>(sequences_.at(input_name(0)).size());
    if (position.size() != 1)
        refuse("its position is no single number");
    const std::int64_t at = position[0] < 0 ? position[0] + count : position[0];
    if (at < 0 || at >= static_cast<std::int64_t>(limit))
        refuse("its position lies outside the sequence");
    return static_cast<std::size_t>(at);
}

void Importer::sequence_construct() {
    std::vector<Reference> list;
    for (int index = 0; index < node_->input_size(); ++index)
        list.push_back(cpu_input(index));
    sequences_[node_->output(0)] = std::move(list);
}

void Importer::sequence_insert() {
    std::vector<Reference> list = sequence_input();
    const std::size_t at = has_input(2) ? sequence_position(2, list.size() + 1) : list.size();
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), cpu_input(1));
    sequences_[node_->output(0)] = std::move(list);
}

void Importer::sequence_erase() {
    std::vector<Reference> list = sequence_input();
    if (list.empty())
        refuse("erases from an empty sequence");
    const std::size_t at = has_input(1) ? sequence_position(1, list.size()) : list.size() - 1;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
    sequences_[node_->output(0)] = std::move(list);
}

void Importer::sequence_at() {
    const std::vector<Reference>& list = sequence_input();
    references_[node_->output(0)] = list[sequence_position(1, list.size())];
}

void Importer::sequence_length() {
    Constant constant;
    constant.integers = {static_cast<std::int64_t>(sequence_input().size())};
    constants_[node_->output(0)] = std::move(constant);
}

void Importer::concat_from_sequence() {
    std::vector<Reference> list = sequence_input();
    const bool is_new = Attributes(*node_).integer("new_axis", 0) != 0;
    if (list.empty())
        refuse("joins nothing");
    const std::size_t axis =
        axis_of(Attributes(*node_).integer("axis", 0), list[0].shape.size() + is_new);
    for (Reference& part : list)
        if (is_new)
            part.shape.insert(part.shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    Shape shape = list[0].shape;
    shape[axis] = 0;
    for (const Reference& part : list) {
        if (part.shape.size() != shape.size())
            refuse("its tensors differ in rank");
        shape[axis] += part.shape[axis];
    }
    Reference result =
        cpu_node({CpuOpType::concat, {static_cast<std::int64_t>(axis)}, {}}, list, shape);
    result.integer = list[0].integer;
    finish_cpu(result);
}

void Importer::split_to_sequence() {
    const Reference input = cpu_input(0);
    const std::size_t axis = axis_of(Attributes(*node_).integer("axis", 0), input.shape.size());
    const std::int64_t length = input.shape[axis];
    std::vector<std::int64_t> sizes = {1};
    const bool drops_axis = !has_input(1) && Attributes(*node_).integer("keepdims", 1) == 0;
    if (has_input(1))
        sizes = integers_of(constant_input(1));
    const bool is_one_size = !has_input(1) || constant_input(1).shape.empty();
    std::vector<Reference> list;
    std::int64_t first = 0;
    for (std::size_t index = 0; first < length; ++index) {
        if (!is_one_size && index >= sizes.size())
            refuse("its parts do not add up to " + std::to_string(length));
        const std::int64_t size = is_one_size ? sizes.at(0) : sizes[index];
        if (size < 1)
            refuse("gives an empty tensor");
        const std::int64_t count = std::min(size, length - first);
        Shape shape = input.shape;
        shape[axis] = count;
        std::vector<std::int64_t> steps(shape.size(), 1);
        for (std::size_t i = shape.size(); i-- > 1;)
            steps[i - 1] = steps[i] * input.shape[i];
        Reference part = cpu_view(input, first * steps[axis], steps, shape);
        if (drops_axis)
            part.shape.erase(part.shape.begin() + static_cast<std::ptrdiff_t>(axis));
        list.push_back(part);
        first += count;
    }
    sequences_[node_->output(0)] = std::move(list);
}

} // namespace overtake::compiler
