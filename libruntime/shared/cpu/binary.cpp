// SPDX-License-Identifier: MIT
//
// Operators of two inputs, and of three (Select), element by element; elements may be used several
// times.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "cpu/table.hpp"
#include "cpu/vectors.hpp"

namespace overtake::cpu {

namespace {

// Finds the elements of operands for each element of a shape.  Axes are joined where all operands
// advance alike.  Along the last remaining axis each operand advances by one or stays.
template <std::size_t Count>
class Rows {
public:
    Rows(const Shape& shape, const std::array<Shape, Count>& operands) {
        std::array<std::vector<std::size_t>, Count> strides;
        for (std::size_t i = 0; i < Count; i++)
            strides[i] = broadcast_strides(operands[i], shape);
        for (std::size_t axis = 0; axis < shape.size(); axis++) {
            Axis next{shape[axis], {}};
            for (std::size_t i = 0; i < Count; i++)
                next.strides[i] = strides[i][axis];
            if (next.length > 1 || (axes_.empty() && axis + 1 == shape.size()))
                append(next);
        }
        position_.resize(axes_.size());
    }

    // Calls visit(offsets of the operands, index of the output) once for each group of count()
    // consecutive rows.
    template <typename Visit>
    void for_each(const Visit& visit) {
        std::array<std::size_t, Count> offsets{};
        std::ranges::fill(position_, 0);
        const std::size_t outer = axes_.size() - std::min<std::size_t>(axes_.size(), 2);
        for (std::size_t index = 0;; index += length() * count()) {
            visit(offsets, index);
            std::size_t axis = outer;
            for (; axis > 0; axis--) {
                const Axis& next = axes_[axis - 1];
                for (std::size_t i = 0; i < Count; i++)
                    offsets[i] += next.strides[i];
                if (++position_[axis - 1] < next.length)
                    break;
                for (std::size_t i = 0; i < Count; i++)
                    offsets[i] -= next.strides[i] * next.length;
                position_[axis - 1] = 0;
            }
            if (axis == 0)
                return;
        }
    }

    std::size_t length() const { return axes_.back().length; }
    std::size_t step(std::size_t operand) const { return axes_.back().strides[operand]; }
    std::size_t count() const { return axes_.size() > 1 ? axes_[axes_.size() - 2].length : 1; }
    std::size_t stride(std::size_t operand) const {
        return axes_.size() > 1 ? axes_[axes_.size() - 2].strides[operand] : 0;
    }

private:
    struct Axis {
        std::size_t length;
        std::array<std::size_t, Count> strides;
    };

    void append(const Axis& next) {
        if (axes_.empty()) {
            axes_.push_back(next);
            return;
        }
        Axis& last = axes_.back();
        bool goes_on = true;
        for (std::size_t i = 0; i < Count; i++)
            goes_on = goes_on && last.strides[i] == next.strides[i] * next.length;
        if (!goes_on) {
            axes_.push_back(next);
            return;
        }
        last = {last.length * next.length, next.strides};
    }

    std::vector<Axis> axes_;
    std::vector<std::size_t> position_;
};

float truth(bool value) {
    return value ? 1.0f : 0.0f;
}

float modulo(float a, float b) { // of integers; the result has the sign of the divisor
    return b == 0 ? 0.0f : a - b * std::floor(a / b);
}

inline float apply(Binary function, float a, float b) {
    switch (function) {
    case Binary::add:
        return a + b;
    case Binary::subtract:
        return a - b;
    case Binary::multiply:
        return a * b;
    case Binary::divide:
        return a / b;
    case Binary::power:
        return std::pow(a, b);
    case Binary::maximum:
        return std::isnan(a) || a > b ? a : b;
    case Binary::minimum:
        return std::isnan(a) || a < b ? a : b;
    case Binary::integer_divide:
        return b == 0 ? 0.0f : std::trunc(a / b);
    case Binary::modulo:
        return modulo(a, b);
    case Binary::floating_modulo:
        return std::fmod(a, b);
    case Binary::equal:
        return truth(a == b);
    case Binary::less:
        return truth(a < b);
    case Binary::less_or_equal:
        return truth(a <= b);
    case Binary::greater:
        return truth(a > b);
    case Binary::greater_or_equal:
        return truth(a >= b);
    case Binary::logical_and:
        return truth(a != 0 && b != 0);
    case Binary::logical_or:
        return truth(a != 0 || b != 0);
    case Binary::logical_xor:
        return truth((a != 0) != (b != 0));
    case Binary::parametric_relu:
        return a < 0 ? a * b : a;
    case Binary::count:
        break;
    }
    return 0;
}

// Rows that follow each other.  A step along a row is 0 or 1; a stride leads to the next row.
struct RowShape {
    std::size_t length, count;
    std::array<std::size_t, 2> steps, strides;
};

using RowFunction = void (*)(const float* a, const float* b, float* out, const RowShape& shape);

template <Binary function>
inline void one_row(const float* a, std::size_t step_a, const float* b, std::size_t step_b,
                    float* out, std::size_t length) {
    if (step_a == 1 && step_b == 1) {
        for (std::size_t i = 0; i < length; i++)
            out[i] = apply(function, a[i], b[i]);
    } else if (step_a == 1) {
        const float other = *b;
        for (std::size_t i = 0; i < length; i++)
            out[i] = apply(function, a[i], other);
    } else {
        const float other = *a;
        for (std::size_t i = 0; i < length; i++)
            out[i] = apply(function, other, b[i * step_b]);
    }
}

// Computes consecutive rows in one call, since a call for each block would take longer than its
// lanes.  Rows as long as a block have loops of constant length.
template <Binary function>
void rows_of(const float* a, const float* b, float* out, const RowShape& shape) {
    with_vectors([a, b, out, shape]() mutable {
        const auto [step_a, step_b] = shape.steps;
        for (std::size_t row = 0; row < shape.count; row++) {
            if (shape.length == 8 && step_a == 1 && step_b == 1)
                one_row<function>(a, 1, b, 1, out, 8);
            else if (shape.length == 16 && step_a == 1 && step_b == 1)
                one_row<function>(a, 1, b, 1, out, 16);
            else
                one_row<function>(a, step_a, b, step_b, out, shape.length);
            a += shape.strides[0];
            b += shape.strides[1];
            out += shape.length;
        }
    });
}

template <std::size_t... functions>
RowFunction row_of(Binary function, std::index_sequence<functions...>) {
    constexpr std::array<RowFunction, sizeof...(functions)> all = {
        rows_of<static_cast<Binary>(functions)>...};
    return all.at(static_cast<std::size_t>(function));
}

class BinaryRows {
public:
    BinaryRows(Binary function, const Shape& a, const Shape& b, const Shape& out)
        : rows_(out, {a, b}),
          function_(row_of(function,
                           std::make_index_sequence<static_cast<std::size_t>(Binary::count)>())) {}

    void run(std::span<const float> a, std::span<const float> b, std::span<float> out) {
        const RowShape shape{rows_.length(),
                             rows_.count(),
                             {rows_.step(0), rows_.step(1)},
                             {rows_.stride(0), rows_.stride(1)}};
        rows_.for_each([&](const auto& offsets, std::size_t index) {
            function_(a.data() + offsets[0], b.data() + offsets[1], out.data() + index, shape);
        });
    }

private:
    Rows<2> rows_;
    const RowFunction function_;
};

// integers: Binary
std::string check_binary(const Operation& operation) {
    if (operation.inputs.size() != 2 || operation.integers.size() != 1)
        return "needs two inputs and one number";
    if (operation.integers[0] < 0 ||
        operation.integers[0] >= static_cast<std::int64_t>(Binary::count))
        return "no such function";
    return broadcast(operation.inputs[0], operation.inputs[1]) == operation.output
               ? ""
               : "shapes do not fit each other";
}

Binary function_of(const Operation& operation) {
    return static_cast<Binary>(operation.integers[0]);
}

Kernel make_binary(const Operation& operation) {
    return [rows = BinaryRows(function_of(operation), operation.inputs[0], operation.inputs[1],
                              operation.output)](const Inputs& in, std::span<float> out) mutable {
        rows.run(in[0], in[1], out);
    };
}

// The form of an operand where the output is in blocks; `none`: the operand has no such form.
enum class Part { none, one_element, blocked, known };

// Returns the shape with as many dimensions as the output has.
Shape aligned(const Shape& shape, const Shape& output) {
    Shape result(output.size() - shape.size(), 1);
    result.insert(result.end(), shape.begin(), shape.end());
    return result;
}

Part part_of(const Operation& operation, std::size_t input) {
    const Shape &shape = operation.inputs[input], &output = operation.output;
    if (elements(shape) == 1)
        return Part::one_element;
    if (aligned(shape, output)[1] != output[1])
        return Part::none;
    if (input < operation.known.size() && !operation.known[input].empty())
        return Part::known;
    return shape.size() == output.size() ? Part::blocked : Part::none;
}

std::vector<float> blocked_copy(const Shape& shape, Layout blocks, std::span<const float> planes) {
    std::vector<float> result(stored_elements(shape, blocks));
    const std::size_t lanes = lanes_of(blocks);
    const std::size_t channels = shape[1], area = planes.size() / shape[0] / channels;
    const std::size_t of_batch = result.size() / shape[0];
    for (std::size_t i = 0; i < planes.size(); i++) {
        const std::size_t channel = i / area % channels;
        result[i / area / channels * of_batch + (channel / lanes * area + i % area) * lanes +
               channel % lanes] = planes[i];
    }
    return result;
}

// Makes a kernel whose output is in blocks.  Copies known operands into blocks once.
Kernel make_blocked_binary(const Operation& operation) {
    std::array<Shape, 2> shapes;
    std::array<std::vector<float>, 2> known;
    for (std::size_t i = 0; i < 2; i++) {
        const Part part = part_of(operation, i);
        const Shape whole = aligned(operation.inputs[i], operation.output);
        shapes[i] = part == Part::one_element ? Shape{1} : shape_in_blocks(whole, operation.blocks);
        if (part == Part::known)
            known[i] = blocked_copy(whole, operation.blocks, operation.known[i]);
    }
    return [rows = BinaryRows(function_of(operation), shapes[0], shapes[1],
                              shape_in_blocks(operation.output, operation.blocks)),
            known, shape = operation.output,
            blocks = operation.blocks](const Inputs& in, std::span<float> out) mutable {
        const auto operand = [&](std::size_t i) {
            return known[i].empty() ? in[i] : std::span<const float>(known[i]);
        };
        rows.run(operand(0), operand(1), out);
        clear_spare_lanes(shape, blocks, out);
    };
}

std::shared_ptr<const Prepared> prepare_binary(const Operation& operation) {
    const double planes_ns =
        operation.costs.elements_ns(elements(operation.output), operation.costs.element);
    NodeForm form;
    bool has_blocked_form = can_be_blocked(operation.output), has_blocks = false;
    for (std::size_t i = 0; i < 2 && has_blocked_form; i++) {
        const Part part = part_of(operation, i);
        has_blocked_form = part != Part::none;
        has_blocks = has_blocks || part == Part::blocked;
        form.inputs.push_back(
            static_cast<LayoutNumber>(part == Part::blocked ? operation.blocks : Layout::planes));
    }
    if (!has_blocked_form || !has_blocks)
        return prepare_forms(operation, planes_ns, make_binary);
    form.output = static_cast<LayoutNumber>(operation.blocks);
    form.ns = operation.costs.elements_ns(stored_elements(operation.output, operation.blocks),
                                          operation.costs.element);
    return prepare_forms(operation, planes_ns, make_binary, form, make_blocked_binary);
}

std::string check_select(const Operation& operation) {
    if (operation.inputs.size() != 3)
        return "needs three inputs";
    const Shape values = broadcast(operation.inputs[1], operation.inputs[2]);
    return !values.empty() && broadcast(operation.inputs[0], values) == operation.output
               ? ""
               : "shapes do not fit each other";
}

Kernel make_select(const Operation& operation) {
    return [rows = Rows<3>(operation.output,
                           {operation.inputs[0], operation.inputs[1], operation.inputs[2]})](
               const Inputs& in, std::span<float> out) mutable {
        rows.for_each([&](const auto& offsets, std::size_t index) {
            for (std::size_t row = 0; row < rows.count(); row++)
                for (std::size_t i = 0; i < rows.length(); i++) {
                    const auto value = [&](std::size_t k) {
                        return in[k][offsets[k] + row * rows.stride(k) + i * rows.step(k)];
                    };
                    out[index + row * rows.length() + i] = value(0) != 0 ? value(1) : value(2);
                }
        });
    };
}

constexpr Entry binary_table[] = {
    {CpuOpType::binary, "Binary", check_binary, make_binary, prepare_binary},
    {CpuOpType::select, "Select", check_select, make_select},
};

} // namespace

std::span<const Entry> binary_operators() {
    return binary_table;
}

} // namespace overtake::cpu
