// SPDX-License-Identifier: MIT
//
// Pool over windows of any number of dimensions.
#include <cmath>
#include <limits>

#include "cpu/table.hpp"

namespace overtake::cpu {

namespace {

enum class Kind : std::int64_t { maximum, average, average_with_padding, root_of_squares, count };

// integers: Kind, then kernel, strides, dilations, padding in front and padding behind, one for
// each spatial axis.  What lies beyond the padding never counts.
std::string check_pool(const Operation& operation) {
    if (operation.inputs.size() != 1)
        return "needs one input";
    const Shape &in = operation.inputs[0], &out = operation.output;
    if (in.size() < 3 || in.size() != out.size() || in[0] != out[0] || in[1] != out[1] ||
        operation.integers.size() != 1 + 5 * (in.size() - 2))
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
    float window(const float* in, std::size_t index) const {
        const auto &kernel = numbers_[0], &strides = numbers_[1], &dilations = numbers_[2],
                   &before = numbers_[3], &behind = numbers_[4];
        std::size_t taps = 1;
        for (const std::int64_t size : kernel)
            taps *= static_cast<std::size_t>(size);
        double sum = 0, squares = 0;
        float greatest = -std::numeric_limits<float>::infinity();
        std::size_t inside = 0, counted = 0;
        for (std::size_t tap = 0; tap < taps; tap++) {
            std::size_t rest = index, part = tap;
            std::int64_t offset = 0, stride = 1;
            bool is_inside = true, counts = true;
            for (std::size_t axis = in_.size(); axis-- > 0;) {
                const auto size = std::int64_t{in_[axis]};
                const std::int64_t at =
                    static_cast<std::int64_t>(rest % out_[axis]) * strides[axis] - before[axis] +
                    static_cast<std::int64_t>(part % static_cast<std::size_t>(kernel[axis])) *
                        dilations[axis];
                is_inside = is_inside && at >= 0 && at < size;
                counts = counts && at < size + behind[axis];
                offset += at * stride;
                stride *= size;
                rest /= out_[axis];
                part /= static_cast<std::size_t>(kernel[axis]);
            }
            counted += counts;
            if (!is_inside)
                continue;
            const float here = in[offset];
            inside++;
            sum += here;
            squares += double{here} * here;
            greatest = here > greatest ? here : greatest;
        }
        switch (kind_) {
        case Kind::maximum:
            return greatest;
        case Kind::average:
            return static_cast<float>(sum / static_cast<double>(inside > 0 ? inside : 1));
        case Kind::average_with_padding:
            return static_cast<float>(sum / static_cast<double>(counted > 0 ? counted : 1));
        default:
            return static_cast<float>(std::sqrt(squares));
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

constexpr Entry entries[] = {{CpuOpType::pool, "Pool", check_pool, make_pool}};

} // namespace

std::span<const Entry> pool_operators() {
    return entries;
}

} // namespace overtake::cpu
