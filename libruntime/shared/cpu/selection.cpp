// SPDX-License-Identifier: MIT
//
// TopK and NonMaxSuppression.
#include <algorithm>
#include <numeric>

#include "cpu/table.hpp"

namespace overtake::cpu {

namespace {

// integers: axis, greatest (1) or least (0), indices (1) or values (0).  The output has the number.
std::string check_top_k(const Operation& operation) {
    if (operation.inputs.size() != 1 || operation.integers.size() != 3 ||
        operation.inputs[0].size() != operation.output.size())
        return "needs one input and three numbers";
    const Shape &from = operation.inputs[0], &to = operation.output;
    const std::int64_t axis = operation.integers[0];
    if (axis < 0 || axis >= static_cast<std::int64_t>(from.size()))
        return "its axis lies outside the tensor";
    for (std::size_t i = 0; i < from.size(); i++)
        if (i == static_cast<std::size_t>(axis) ? to[i] > from[i] : to[i] != from[i])
            return "shapes do not fit each other";
    return "";
}

Kernel make_top_k(const Operation& operation) {
    const auto axis = static_cast<std::size_t>(operation.integers[0]);
    const Extents from = around(operation.inputs[0], axis);
    return [from, count = operation.output[axis], greatest = operation.integers[1] != 0,
            indices = operation.integers[2] != 0, order = std::vector<std::size_t>(from.length)](
               const Inputs& in, std::span<float> out) mutable {
        for (std::size_t outer = 0; outer < from.outer; outer++)
            for (std::size_t inner = 0; inner < from.inner; inner++) {
                const auto value = [&](std::size_t i) {
                    return in[0][(outer * from.length + i) * from.inner + inner];
                };
                std::iota(order.begin(), order.end(), 0);
                // Equal elements keep their order; there is an order even for NaN.
                const auto is_before = [&](std::size_t a, std::size_t b) {
                    const float x = value(a), y = value(b);
                    if (x != x || y != y)
                        return x == x && y != y;
                    return greatest ? x > y : x < y;
                };
                // stable_sort() would allocate.
                std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
                    return is_before(a, b) || (a < b && !is_before(b, a));
                });
                for (std::size_t i = 0; i < count; i++)
                    out[(outer * count + i) * from.inner + inner] =
                        indices ? static_cast<float>(order[i]) : value(order[i]);
            }
    };
}

// integers: centre and size (1) or corners (0), most boxes of a class.  reals: the greatest
// intersection over union of two kept boxes, the score that a kept box exceeds.  Inputs: boxes
// (batch, n, 4), scores (batch, classes, n).  Output: rows of (batch, class, box); unused rows are
// -1.
std::string check_suppression(const Operation& operation) {
    if (operation.inputs.size() != 2 || operation.integers.size() != 2 ||
        operation.reals.size() != 2)
        return "needs two inputs, two integers and two reals";
    const Shape &boxes = operation.inputs[0], &scores = operation.inputs[1];
    if (boxes.size() != 3 || scores.size() != 3 || boxes[2] != 4 || boxes[0] != scores[0] ||
        boxes[1] != scores[2])
        return "boxes and scores do not fit each other";
    return operation.output.size() == 2 && operation.output[1] == 3
               ? ""
               : "its output is not rows of three";
}

struct Box {
    float top, left, bottom, right;

    float area() const { return (bottom - top) * (right - left); }
    float overlap(const Box& other) const {
        const float height = std::min(bottom, other.bottom) - std::max(top, other.top);
        const float width = std::min(right, other.right) - std::max(left, other.left);
        if (height <= 0 || width <= 0)
            return 0;
        const float both = height * width;
        return both / (area() + other.area() - both);
    }
};

Box read_box(const float* numbers, bool centre) {
    if (centre)
        return {numbers[1] - numbers[3] / 2, numbers[0] - numbers[2] / 2,
                numbers[1] + numbers[3] / 2, numbers[0] + numbers[2] / 2};
    return {std::min(numbers[0], numbers[2]), std::min(numbers[1], numbers[3]),
            std::max(numbers[0], numbers[2]), std::max(numbers[1], numbers[3])};
}

// The indices of boxes of one class, with room for all of them.
struct Boxes {
    explicit Boxes(std::size_t count) {
        candidates.reserve(count);
        kept.reserve(count);
    }
    // Copies the room, not the content.
    Boxes(const Boxes& other) : Boxes(other.candidates.capacity()) {}
    Boxes& operator=(const Boxes&) = delete;

    std::vector<std::size_t> candidates, kept;
};

// Returns the kept boxes of one class, best first.
const std::vector<std::size_t>& suppress(const float* boxes, const float* scores, std::size_t count,
                                         const Operation& operation, Boxes& of_class) {
    auto& [candidates, kept] = of_class;
    candidates.clear();
    kept.clear();
    for (std::size_t i = 0; i < count; i++)
        if (scores[i] > operation.reals[1])
            candidates.push_back(i);
    // Equal scores keep their order.  stable_sort() would allocate.
    std::ranges::sort(candidates, [&](std::size_t a, std::size_t b) {
        return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
    });
    const bool centre = operation.integers[0] != 0;
    for (const std::size_t candidate : candidates) {
        if (static_cast<std::int64_t>(kept.size()) >= operation.integers[1])
            break;
        const Box box = read_box(boxes + 4 * candidate, centre);
        if (std::ranges::none_of(kept, [&](std::size_t other) {
                return box.overlap(read_box(boxes + 4 * other, centre)) > operation.reals[0];
            }))
            kept.push_back(candidate);
    }
    return kept;
}

Kernel make_suppression(const Operation& operation) {
    return [operation, of_class = Boxes(operation.inputs[1][2])](const Inputs& in,
                                                                 std::span<float> out) mutable {
        const std::size_t classes = operation.inputs[1][1], count = operation.inputs[1][2];
        std::ranges::fill(out, -1.0f);
        std::size_t row = 0;
        for (std::size_t batch = 0; batch < operation.inputs[0][0]; batch++)
            for (std::size_t kind = 0; kind < classes; kind++)
                for (const std::size_t box :
                     suppress(in[0].data() + batch * count * 4,
                              in[1].data() + (batch * classes + kind) * count, count, operation,
                              of_class)) {
                    if (row == operation.output[0])
                        return;
                    out[3 * row] = static_cast<float>(batch);
                    out[3 * row + 1] = static_cast<float>(kind);
                    out[3 * row++ + 2] = static_cast<float>(box);
                }
    };
}

constexpr Entry selection_table[] = {
    {CpuOpType::top_k, "TopK", check_top_k, make_top_k},
    {CpuOpType::non_max_suppression, "NonMaxSuppression", check_suppression, make_suppression},
};

} // namespace

std::span<const Entry> selection_operators() {
    return selection_table;
}

} // namespace overtake::cpu
