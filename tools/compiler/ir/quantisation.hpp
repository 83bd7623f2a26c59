// SPDX-License-Identifier: MIT
#pragma once

namespace overtake::compiler {

/// An int8 element q stands for scale * (q - zero_point).
struct Quantisation {
    float scale = 1.0f;
    int zero_point = 0;

    float real(int q) const { return scale * static_cast<float>(q - zero_point); }
    /// The nearest q as the runtime rounds it; see overtake::quantise().
    int nearest(float real) const;

    bool operator==(const Quantisation&) const = default;
};

} // namespace overtake::compiler
