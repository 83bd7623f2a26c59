// SPDX-License-Identifier: MIT
//
// Pool over windows of any number of dimensions, for one channel after the other or for a block at
// once.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "cpu/table.hpp"
#include "cpu/vectors.hpp"

namespace overtake::cpu {

namespace {

constexpr std::size_t most_axes = 6; // beside batch and channels

// The last two return the place of the greatest element, counted over the whole tensor; of equal
// elements the first counts.  By rows, elements along the last spatial axis are adjacent; by
// columns, along the first.
enum class Kind : std::int64_t {
    maximum,
    average,
    average_with_padding,
    root_of_squares,
    place_by_rows,
    place_by_columns,
    count
};

bool gives_places(const Operation& operation) {
    return operation.integers[0] >= static_cast<std::int64_t>(Kind::place_by_rows);
}

// integers: Kind, then kernel, strides, dilations, padding in front and padding behind, one of each
// for every spatial axis.  Elements beyond the padding never count.
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
    if (gives_places(operation) && elements(in) > std::size_t{1} << 24)
        return "places beyond 2^24 are not exact";
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

    // Pools planes, or blocks of `lanes` adjacent channels.
    template <std::size_t lanes>
    void run(std::span<const float> in, std::span<float> out) const {
        switch (kind_) {
        case Kind::maximum:
            return run_all<lanes, Greatest>(in, out);
        case Kind::root_of_squares:
            return run_all<lanes, Squares>(in, out);
        case Kind::place_by_rows:
        case Kind::place_by_columns:
            return run_all<lanes, Place>(in, out);
        default:
            return run_all<lanes, Sum>(in, out);
        }
    }

private:
    // The taps of one window along one axis.
    struct Stretch {
        std::int64_t first;   // position of its first tap inside the tensor
        std::int64_t count;   // taps inside the tensor
        std::int64_t counted; // those and taps in the padding that counts
    };

    // Returns the taps of a window in constant time, however large kernel and padding are.
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

    // The values that are kept of a lane's taps.
    struct Greatest {
        void add(float here, std::int64_t) { value = here > value ? here : value; }
        float value = -std::numeric_limits<float>::infinity();
    };
    struct Sum {
        void add(float here, std::int64_t) { value += here; }
        double value = 0;
    };
    struct Squares {
        void add(float here, std::int64_t) { value += double{here} * here; }
        double value = 0;
    };
    struct Place {
        void add(float here, std::int64_t at) {
            if (here > value || place < 0)
                place = at;
            value = here > value ? here : value;
        }
        float value = -std::numeric_limits<float>::infinity();
        std::int64_t place = -1; // in the plane
    };

    float result(Greatest greatest, double, double) const { return greatest.value; }
    float result(Sum sum, double inside, double counted) const {
        return static_cast<float>(sum.value /
                                  std::max(kind_ == Kind::average ? inside : counted, 1.0));
    }
    float result(Squares squares, double, double) const {
        return static_cast<float>(std::sqrt(squares.value));
    }
    float result(Place greatest, double, double) const {
        if (kind_ == Kind::place_by_rows || greatest.place < 0)
            return static_cast<float>(greatest.place);
        std::int64_t below = static_cast<std::int64_t>(elements(in_)), place = 0;
        for (std::size_t axis = in_.size(); axis-- > 0; greatest.place /= in_[axis]) {
            below /= in_[axis];
            place += greatest.place % in_[axis] * below;
        }
        return static_cast<float>(place);
    }

    template <std::size_t lanes, typename Kept>
    void run_all(std::span<const float> in, std::span<float> out) const {
        const std::size_t windows = elements(out_), area = elements(in_);
        with_vectors([&] {
            for (std::size_t index = 0; index < out.size() / lanes; index++) {
                run_window<lanes, Kept>(in.data() + index / windows * area * lanes, index % windows,
                                        out.data() + index * lanes);
                if constexpr (std::is_same_v<Kept, Place>)
                    out[index] += static_cast<float>(index / windows * area);
            }
        });
    }

    template <std::size_t lanes, typename Kept>
    void run_window(const float* in, std::size_t index, float* out) const {
        const std::size_t axes = in_.size();
        std::array<Stretch, most_axes> stretches;
        std::array<std::int64_t, most_axes> strides, taps{};
        strides[axes - 1] = lanes;
        double inside = 1, counted = 1;
        std::int64_t offset = 0;
        for (std::size_t axis = axes; axis-- > 0;) {
            stretches[axis] = stretch(axis, static_cast<std::int64_t>(index % out_[axis]));
            index /= out_[axis];
            inside *= static_cast<double>(stretches[axis].count);
            counted *= static_cast<double>(stretches[axis].counted);
            if (stretches[axis].count > 0) // a position outside may be too large to count
                offset += stretches[axis].first * strides[axis];
            if (axis > 0)
                strides[axis - 1] = strides[axis] * in_[axis];
        }
        std::array<Kept, lanes> kept;
        while (inside > 0) {
            for (std::size_t lane = 0; lane < lanes; lane++)
                kept[lane].add(in[offset + static_cast<std::int64_t>(lane)], offset);
            std::size_t axis = axes;
            while (axis-- > 0) {
                const std::int64_t step = numbers_[2][axis] * strides[axis];
                offset += step;
                if (++taps[axis] < stretches[axis].count)
                    break;
                offset -= step * taps[axis];
                taps[axis] = 0;
            }
            if (axis > axes) // it wrapped: the last tap has been added
                break;
        }
        for (std::size_t lane = 0; lane < lanes; lane++)
            out[lane] = result(kept[lane], inside, counted);
    }

    const Kind kind_;
    const Shape in_, out_;
    std::vector<std::int64_t> numbers_[5];
};

Kernel make_pool(const Operation& operation) {
    return [pool = Pool(operation)](const Inputs& in, std::span<float> out) {
        pool.run<1>(in[0], out);
    };
}

Kernel make_blocked_pool(const Operation& operation) {
    return [pool = Pool(operation), shape = operation.output,
            blocks = operation.blocks](const Inputs& in, std::span<float> out) {
        if (blocks == Layout::blocked_8)
            pool.run<8>(in[0], out);
        else
            pool.run<16>(in[0], out);
        clear_spare_lanes(shape, blocks, out); // the maximum of padding alone is no value
    };
}

std::shared_ptr<const Prepared> prepare_pool(const Operation& operation) {
    const auto blocked = static_cast<LayoutNumber>(operation.blocks);
    const LayoutCosts& costs = operation.costs;
    double taps = 1;
    for (std::size_t axis = 0; axis < operation.output.size() - 2; axis++)
        taps *= static_cast<double>(
            std::min<std::int64_t>(operation.integers[1 + axis], operation.inputs[0][2 + axis]));
    const std::size_t stored = stored_elements(operation.output, operation.blocks);
    const double in_planes = costs.elements_ns(elements(operation.output),
                                               costs.pool_in_planes + costs.tap_in_planes * taps);
    if (gives_places(operation))
        return prepare_forms(operation, in_planes, make_pool);
    return prepare_forms(
        operation, in_planes, make_pool,
        {{blocked},
         blocked,
         costs.elements_ns(stored, costs.pool_in_blocks + costs.tap_in_blocks * taps)},
        make_blocked_pool);
}

constexpr Entry pool_table[] = {{CpuOpType::pool, "Pool", check_pool, make_pool, prepare_pool}};

} // namespace

std::span<const Entry> pool_operators() {
    return pool_table;
}

} // namespace overtake::cpu
