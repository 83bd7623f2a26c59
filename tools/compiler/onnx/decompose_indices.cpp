// SPDX-License-Identifier: MIT
//
// Rules for GatherND, ScatterND, OneHot and MaxUnpool.
#include "compiler/onnx/decompose.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace overtake::compiler {
namespace {

using Numbers = std::vector<std::int64_t>;
// The CPU computes integers exactly up to this number.
constexpr std::int64_t most_positions = (1 << 24) - 1;
// A position outside any tensor, counted from either end, so that an operator that reads it refuses
// it.
constexpr std::int64_t no_position = -(1 << 24);

std::int64_t product_of(const Numbers& sizes) {
    std::int64_t result = 1;
    for (const std::int64_t size : sizes)
        if (__builtin_mul_overflow(result, size, &result) || result > most_positions)
            throw CannotRewrite{"its tensors have more than 16777215 positions"};
    return result;
}

Numbers sizes_between(const Numbers& sizes, std::size_t first, std::size_t end) {
    return {sizes.begin() + static_cast<std::ptrdiff_t>(first),
            sizes.begin() + static_cast<std::ptrdiff_t>(end)};
}

// Positions in the indexed axes taken as one axis.  `tensor` has the shape (batches, indices of a
// batch).
struct FlatPositions {
    std::string tensor;
    std::int64_t batches, count;
    std::int64_t among; // positions of one batch
    Numbers inner;      // sizes of what lies at a position
};

FlatPositions flat_positions(Rewrite& r, const Numbers& data, const std::string& indices,
                             std::size_t batch_axes) {
    const Numbers shape = r.shape(indices);
    const auto depth = static_cast<std::size_t>(shape.empty() ? 0 : shape.back());
    if (shape.size() <= batch_axes || depth < 1 || data.size() < batch_axes + depth)
        throw CannotRewrite{"its indices do not fit its data; is the file damaged?"};
    const Numbers sizes = sizes_between(data, batch_axes, batch_axes + depth);
    Numbers steps(depth, 1);
    for (std::size_t axis = depth - 1; axis-- > 0;)
        steps[axis] = steps[axis + 1] * sizes[axis + 1];
    FlatPositions result{"", product_of(sizes_between(data, 0, batch_axes)),
                         product_of(sizes_between(shape, batch_axes, shape.size() - 1)),
                         product_of(sizes), sizes_between(data, batch_axes + depth, data.size())};
    const std::string all =
        r.facts.type(indices).value_or(onnx::TensorProto::INT64) == onnx::TensorProto::INT64
            ? indices
            : r.build.cast(indices, onnx::TensorProto::INT64);
    const std::string limits = r.build.integers(sizes), zero = r.build.integers({0});
    const std::string from_front =
        r.build("Where", {r.build("Less", {all, zero}), r.build("Add", {all, limits}), all});
    const std::string is_inside = r.build("And", {r.build("Less", {from_front, limits}),
                                                  r.build("GreaterOrEqual", {from_front, zero})});
    const auto last = static_cast<std::int64_t>(shape.size()) - 1;
    std::string sum = r.build.summed(r.build("Mul", {from_front, r.build.integers(steps)}), {last});
    onnx::NodeProto& all_inside =
        r.build.node("ReduceMin", {r.build.cast(is_inside, onnx::TensorProto::INT64)});
    set_integers(all_inside, "axes", {last});
    set_integer(all_inside, "keepdims", 0);
    const std::string inside = all_inside.output(0);
    const Numbers rows{result.batches, result.count};
    const std::string has_place =
        r.build.reshaped(r.build.cast(inside, onnx::TensorProto::BOOL), rows);
    sum = r.build.reshaped(sum, rows);
    if (result.batches > 1) {
        Numbers offsets;
        for (std::int64_t batch = 0; batch < result.batches; ++batch)
            offsets.push_back(batch * result.among);
        product_of({result.batches, result.among});
        sum = r.build("Add", {sum, r.build.integers(offsets, {result.batches, 1})});
    }
    result.tensor = r.build("Where", {has_place, sum, r.build.integers({no_position})});
    return result;
}

Numbers with_inner(Numbers sizes, const Numbers& inner) {
    sizes.insert(sizes.end(), inner.begin(), inner.end());
    return sizes;
}

} // namespace

void decompose_gather_nd(Rewrite& r) {
    const std::string data = r.node.input(0), indices = r.node.input(1);
    const Numbers shape = r.shape(data), of_indices = r.shape(indices);
    const std::int64_t batch_axes = r.attributes().integer("batch_dims", 0);
    if (batch_axes < 0 || batch_axes >= static_cast<std::int64_t>(shape.size()))
        throw CannotRewrite{"its batch_dims are not axes of its data; is the file damaged?"};
    const FlatPositions positions =
        flat_positions(r, shape, indices, static_cast<std::size_t>(batch_axes));
    const std::string rows =
        r.build.reshaped(data, with_inner({positions.batches * positions.among}, positions.inner));
    const std::string found = r.build("Gather", {rows, positions.tensor});
    r.build.last(
        "Reshape",
        {found, r.build.integers(with_inner(sizes_between(of_indices, 0, of_indices.size() - 1),
                                            positions.inner))});
}

void decompose_scatter_nd(Rewrite& r) {
    const std::string data = r.node.input(0), indices = r.node.input(1);
    const Numbers shape = r.shape(data), of_indices = r.shape(indices);
    const FlatPositions positions = flat_positions(r, shape, indices, 0);
    if (r.shape(r.node.input(2)) !=
        with_inner(sizes_between(of_indices, 0, of_indices.size() - 1), positions.inner))
        throw CannotRewrite{"its updates do not fit its indices and data; is the file damaged?"};
    const std::int64_t inner = product_of(positions.inner);
    const std::string rows = r.build.reshaped(data, {positions.among, inner});
    const std::string updates = r.build.reshaped(r.node.input(2), {positions.count, inner});
    std::string places = r.build.reshaped(positions.tensor, {positions.count, 1});
    if (inner > 1)
        places = r.build("Expand", {places, r.build.integers({positions.count, inner})});
    onnx::NodeProto& scattered = r.build.node("ScatterElements", {rows, places, updates});
    set_integer(scattered, "axis", 0);
    set_text(scattered, "reduction", r.attributes().text("reduction", "none"));
    const std::string result = scattered.output(0);
    r.build.last("Reshape", {result, r.build.integers(shape)});
}

// Writes MaxUnpool as elements at their places among zeros, of a size that follows from the pool.
// If output_shape is given, it is at least as large, and more zeros lie behind them.
void decompose_max_unpool(Rewrite& r) {
    const std::string x = r.node.input(0);
    const Numbers shape = r.shape(x), kernel = r.attributes().integers("kernel_shape", {});
    const std::size_t axes = kernel.size();
    const Numbers strides = r.attributes().integers("strides", Numbers(axes, 1));
    const Numbers pads = r.attributes().integers("pads", Numbers(2 * axes));
    if (axes < 1 || shape.size() != axes + 2 || strides.size() != axes || pads.size() != 2 * axes ||
        r.shape(r.node.input(1)) != shape)
        throw CannotRewrite{"its kernel, strides, pads or indices do not fit its input; is the "
                            "file damaged?"};
    Numbers whole(shape.begin(), shape.begin() + 2);
    for (std::size_t axis = 0; axis < axes; ++axis) {
        std::int64_t size = 0;
        if (__builtin_mul_overflow(shape[axis + 2] - 1, strides[axis], &size) || pads[axis] < 0 ||
            pads[axis + axes] < 0 || pads[axis] > most_positions ||
            pads[axis + axes] > most_positions || size > most_positions ||
            (size += kernel[axis] - pads[axis] - pads[axis + axes]) < 1)
            throw CannotRewrite{"its pads leave nothing of it, or it has more than 16777215 "
                                "positions"};
        whole.push_back(size);
    }
    const std::int64_t count = product_of(whole);
    const std::string flat = r.build.reshaped(x, {-1});
    const std::string places = r.build.reshaped(r.node.input(1), {-1});
    // No number is less than itself, so this makes a zero that the model need not hold.
    const std::string one = r.build("Slice", {flat, r.build.integers({0}), r.build.integers({1})});
    const std::string zero = r.build.cast(r.build("Less", {one, one}),
                                          r.facts.type(x).value_or(onnx::TensorProto::FLOAT));
    const std::string zeros = r.build("Expand", {zero, r.build.integers({count})});
    const std::string scattered = r.build("ScatterElements", {zeros, places, flat});
    if (!r.has_input(2)) {
        r.build.last("Reshape", {scattered, r.build.integers(whole)});
        return;
    }
    const Numbers given = r.constant(2, "sizes");
    Numbers behind(2 * shape.size());
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (given.size() != shape.size() || given[axis] < whole[axis])
            throw CannotRewrite{"its output_shape is smaller than what its pool was made of"};
        behind[shape.size() + axis] = given[axis] - whole[axis];
    }
    product_of(given);
    const std::string placed = r.build.reshaped(scattered, whole);
    r.build.last("Pad", {placed, r.build.integers(behind)});
}

void decompose_one_hot(Rewrite& r) {
    const std::string indices = r.node.input(0);
    const std::size_t rank = r.rank(indices);
    std::int64_t depth = 0;
    if (const auto whole = r.facts.integers(r.node.input(1)); whole && whole->size() == 1)
        depth = (*whole)[0];
    else if (const auto real = r.facts.reals(r.node.input(1)); real && real->size() == 1)
        depth = (*real)[0] >= 1 && (*real)[0] <= most_positions
                    ? static_cast<std::int64_t>((*real)[0])
                    : 0;
    else
        throw CannotRewrite{"its depth is computed; export it with a constant one"};
    if (depth < 1 || depth > most_positions)
        throw CannotRewrite{"its depth is not 1 to 16777215"};
    const Numbers axis = r.axes_in(rank + 1, {r.attributes().integer("axis", -1)});
    Numbers numbers, shape(rank + 1, 1);
    for (std::int64_t number = 0; number < depth; ++number)
        numbers.push_back(number);
    shape[static_cast<std::size_t>(axis[0])] = depth;
    const std::string range = r.build.integers(numbers, shape);
    const std::string whole =
        r.build.unsqueezed(r.build.cast(indices, onnx::TensorProto::INT64), axis);
    const std::string from_end = r.build("Add", {whole, r.build.integers({depth})});
    const std::string is_hot =
        r.build("Or", {r.build("Equal", {whole, range}), r.build("Equal", {from_end, range})});
    const auto value = [&](std::int64_t position) {
        return r.build("Gather",
                       {r.node.input(2), r.build.number(onnx::TensorProto::INT64, position)});
    };
    const std::string off = value(0), on = value(1);
    r.build.last("Where", {is_hot, on, off});
}

} // namespace overtake::compiler
