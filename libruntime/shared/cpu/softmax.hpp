// SPDX-License-Identifier: MIT
//
// Softmax on oneDNN.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace overtake {

/// Softmax along one axis of a dense float32 array.  One thread at a time.
class Softmax {
public:
    /// 1..8 dimensions, each at least 1; axis in range.  Throws Error ENOMEM.
    Softmax(const std::vector<std::uint32_t>& shape, int axis);
    ~Softmax();
    Softmax(Softmax&&) noexcept;

    /// Both hold the product of shape.
    void run(std::span<const float> in, std::span<float> out);

private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace overtake
