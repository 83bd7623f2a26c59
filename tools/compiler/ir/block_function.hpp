// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

namespace overtake::compiler {

/// A function of one number that can compute many numbers at once.  A composition of short
/// functions calls each of them once per block, rather than once per number.
class BlockFunction {
public:
    /// The most numbers in a block.
    static constexpr std::size_t size = 256;
    /// Replaces each number of a block by its result.
    using Body = std::function<void(std::span<float>)>;

    explicit BlockFunction(Body body) : body_(std::move(body)) {}

    float operator()(float x) const {
        body_({&x, 1});
        return x;
    }

    void replace_all(std::span<float> numbers) const {
        for (; !numbers.empty(); numbers = numbers.subspan(std::min(size, numbers.size())))
            body_(numbers.first(std::min(size, numbers.size())));
    }

private:
    Body body_;
};

/// Replaces each number by its result, block by block if the function is a BlockFunction.
inline void replace_all(std::span<float> numbers, const std::function<float(float)>& function) {
    if (const auto* by_block = function.target<BlockFunction>())
        by_block->replace_all(numbers);
    else
        std::ranges::transform(numbers, numbers.begin(), function);
}

} // namespace overtake::compiler
