// SPDX-License-Identifier: MIT
//
// Softmax.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace overtake {

/// Softmax along one axis of a dense float32 array.  Takes all its memory at once, so that run()
/// needs none.  One thread at a time.
class Softmax {
public:
    /// Takes 1..8 dimensions, each at least 1, and an axis in range.  Throws std::bad_alloc.
    Softmax(const std::vector<std::uint32_t>& shape, int axis);

    /// Both arrays have as many elements as the shape.
    void run(std::span<const float> in, std::span<float> out);

private:
    void run_rows(const float* in, float* out) const;
    void run_columns(const float* in, float* out);

    std::size_t outer_ = 1, length_, inner_ = 1;
    std::vector<float> greatest_, sums_; ///< by place after the axis
};

} // namespace overtake
