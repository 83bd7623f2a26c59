// SPDX-License-Identifier: MIT
//
// Pool over windows of any number of dimensions.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cpu/table.hpp"

namespace overtake::cpu {

namespace {

constexpr std::size_t most_axes = 6; // behind batch and channels

enum class Kind : std::int64_t { maximum, average, average_with_padding, root_of_squares, count };

// integers: Kind, then kernel, strides, dilations, padding in front and padding behind, one for
// each spatial axis.  What lies beyond the padding never counts.
std::string check_pool(const Operation& operation) {
    if (operation.inputs.size() != 1)
        return "needs one input";
    const Shape &in = operation.inputs[0], &out = operation.output;
    if (in.size() < 3 || in.size() > 2 + most_axes || in.size() != out.size() || in[0] != out[0] ||
        in[1] != out[1] || operation.integers.size() != 1 + 5 * (in.size() - 2))
        return "shapes do not fit each other";
    if (operation.integers[0] < 0 ||
        operation.integers[0] >= static_cast<std::int64_t>(Kind::count))
        return "no such pool";
    const std::size_t axes = in.size() - 2;
    for (std::size_t i = 1; i < operation.integers.size(); i++)
        if (operation.integers[i] < (i <= 3 * axes ? 1 : 0) || operation.integers[i] > 1 << 20)
            return "kernel, strides, dilations or padding are out of range";
    return "";
}

class Pool {
public:
    explicit Pool(const Operation& operation)
        : kind_(static_cast<Kind>(operation.integers[0])),
          in_(operation.inputs[0].begin() + 2, operation.inputs[0].end()),
          out_(operation.output.begin() + 2, operation.output.end()) {
        const std::size_t axes = in_.size();
        for (std::size_t part = 0; part < 5; part++)
            for (std::size_t axis = 0; axis < axes; axis++)
                numbers_[part].push_back(operation.integers[1 + part * axes + axis]);
    }

    void run(std::span<const float> in, std::span<float> out) const {
        const std::size_t windows = elements(out_), area = elements(in_);
        for (std::size_t index = 0; index < out.size(); index++)
            out[index] = window(in.data() + index / windows * area, index % windows);
    }

private:
    // Where one window lies along one axis.
    struct Stretch {
        std::int64_t first;   // position of its first tap inside the tensor
        std::int64_t count;   // taps inside
        std::int64_t counted; // and in the padding that counts
    };

    // Only what lies inside is looked at, however great kernel and padding are.
    Stretch stretch(std::size_t axis, std::int64_t window) const {
        const std::int64_t kernel = numbers_[0][axis], dilation = numbers_[2][axis],
                           behind = numbers_[4][axis], size = in_[axis];
        const std::int64_t start = window * numbers_[1][axis] - numbers_[3][axis];
        const auto taps_before = [&](std::int64_t position) {
            const std::int64_t distance = position - start;
            return distance <= 0 ? 0 : std::min((distance + dilation - 1) / dilation, kernel);
        };
        const std::int64_t skipped = taps_before(0);
        return {start + skipped * dilation, taps_before(size) - skipped,
                taps_before(size + behind)};
    }

    float window(const float* in, std::size_t index) const {
        const std::size_t axes = in_.size();
        std::array<Stretch, most_axes> stretches;
        std::array<std::int64_t, most_axes> strides, taps{};
        strides[axes - 1] = 1;
        double inside = 1, counted = 1;
        std::int64_t offset = 0;
        for (std::size_t axis = axes; axis-- > 0;) {
            stretches[axis] = stretch(axis, static_cast<std::int64_t>(index % out_[axis]));
            index /= out_[axis];
            inside *= static_cast<double>(stretches[axis].count);
            counted *= static_cast<double>(stretches[axis].counted);
            if (stretches[axis].count > 0) // what lies outside may be too far to count
                offset += stretches[axis].first * strides[axis];
            if (axis > 0)
                strides[axis - 1] = strides[axis] * in_[axis];
        }
        Sums sums;
        while (inside > 0) {
            sums.add(in[offset]);
            std::size_t axis = axes;
            while (axis-- > 0) {
                const std::int64_t step = numbers_[2][axis] * strides[axis];
                offset += step;
                if (++taps[axis] < stretches[axis].count)
                    break;
                offset -= step * taps[axis];
                taps[axis] = 0;
            }
            if (axis > axes) // wrapped: the last tap has been added
                break;
        }
        return result(sums, inside, counted);
    }

    struct Sums {
        void add(float here) {
            sum += here;
            squares += double{here} * here;
            greatest = here > greatest ? here : greatest;
        }
        double sum = 0, squares = 0;
        float greatest = -std::numeric_limits<float>::infinity();
    };

    float result(const Sums& sums, double inside, double counted) const {
        switch (kind_) {
        case Kind::maximum:
            return sums.greatest;
        case Kind::average:
            return static_cast<float>(sums.sum / std::max(inside, 1.0));
        case Kind::average_with_padding:
            return static_cast<float>(sums.sum / std::max(counted, 1.0));
        default:
            return static_cast<float>(std::sqrt(sums.squares));
        }
    }

    const Kind kind_;
    const Shape in_, out_;
    std::vector<std::int64_t> numbers_[5];
};

Kernel make_pool(const Operation& operation) {
    return
        [pool = Pool(operation)](const Inputs& in, std::span<float> out) { pool.run(in[0], out); };
}

constexpr Entry pool_table[] = {{CpuOpType::pool, "Pool", check_pool, make_pool}};

} // namespace

std::span<const Entry> pool_operators() {
    return pool_table;
}

} // namespace overtake::cpu
