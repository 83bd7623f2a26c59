// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

namespace overtake::host_profile {

/// Sums of products of a matrix's columns, and of the columns with the right side; rows are added
/// one by one.
class NormalEquations {
public:
    explicit NormalEquations(std::size_t columns)
        : columns_(columns), products_(columns * columns), right_(columns) {}

    void add(const std::vector<double>& row, double right);

    /// Returns x >= 0 with the least |Ax - b| (non-negative least squares by Lawson and Hanson).
    std::vector<double> solve_non_negative() const;

private:
    std::size_t columns_;
    std::vector<double> products_, right_;
};

} // namespace overtake::host_profile
