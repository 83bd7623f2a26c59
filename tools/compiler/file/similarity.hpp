// SPDX-License-Identifier: MIT
#pragma once

#include <span>

namespace overtake::compiler {

/// How near values come to a reference, over any number of arrays.  What is not finite in the
/// reference has no counterpart; what is not finite only in the values counts as 0.
class Similarity {
public:
    /// Both of the same size.
    void add(std::span<const float> values, std::span<const float> reference);

    /// 1 where both are zero, NaN where the reference has no finite element.
    double cosine() const;
    /// Root mean square of the difference over that of the reference; NaN as above.
    double error() const;

private:
    double product_ = 0, values_ = 0, reference_ = 0, difference_ = 0;
    bool has_any_ = false;
};

} // namespace overtake::compiler
