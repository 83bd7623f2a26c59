// SPDX-License-Identifier: MIT
#include "compiler/host_profile/nnls.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace overtake::host_profile {
namespace {

// A column depends on the columns before it if their solution leaves a smaller part of it.
constexpr double least_pivot = 1e-10;
// A slope below this part of a column's length counts as none.
constexpr double least_slope = 1e-9;

// Columns scaled to length 1, and the set of those whose solution may be above 0.
class ActiveSet {
public:
    ActiveSet(std::size_t count, const std::vector<double>& products,
              const std::vector<double>& right)
        : count_(count), products_(products), right_(right), scale_(count), x_(count),
          is_free_(count), is_out_(count) {
        for (std::size_t column = 0; column < count; ++column) {
            scale_[column] = std::sqrt(products_[column * count + column]);
            is_out_[column] = !(scale_[column] > 0);
        }
        for (std::size_t row = 0; row < count; ++row) {
            if (is_out_[row])
                continue;
            right_[row] /= scale_[row];
            length_ = std::max(length_, std::fabs(right_[row]));
            for (std::size_t column = 0; column < count; ++column)
                if (!is_out_[column])
                    products_[row * count + column] /= scale_[row] * scale_[column];
        }
    }

    std::vector<double> run() {
        // Each column that enters reduces the error, so no set of columns repeats.  The bound is
        // for rounding errors, by which a set may.
        for (std::size_t round = 0; round < 4 * count_ + 16; ++round) {
            const std::size_t enters = steepest();
            if (enters == count_)
                break;
            is_free_[enters] = true;
            if (!descend())
                is_out_[enters] = true;
        }
        for (std::size_t column = 0; column < count_; ++column)
            x_[column] = is_free_[column] ? x_[column] / scale_[column] : 0;
        return x_;
    }

private:
    std::size_t steepest() const {
        std::size_t best = count_;
        double most = least_slope * length_;
        for (std::size_t column = 0; column < count_; ++column) {
            if (is_free_[column] || is_out_[column])
                continue;
            double slope = right_[column];
            for (std::size_t other = 0; other < count_; ++other)
                if (is_free_[other])
                    slope -= products_[column * count_ + other] * x_[other];
            if (slope > most) {
                most = slope;
                best = column;
            }
        }
        return best;
    }

    // Moves to the best solution of the free columns, or to the point where the first of them
    // becomes 0, and repeats.  Returns false if columns depend on each other: then columns whose
    // solution is 0, the last one among them, are not free any more.
    bool descend() {
        for (;;) {
            std::vector<double> best;
            if (!solve(best)) {
                for (std::size_t column = 0; column < count_; ++column)
                    is_free_[column] = is_free_[column] && x_[column] > 0;
                return false;
            }
            double step = 1;
            for (std::size_t column = 0; column < count_; ++column)
                if (is_free_[column] && best[column] <= 0)
                    step = std::min(step, x_[column] / (x_[column] - best[column]));
            for (std::size_t column = 0; column < count_; ++column) {
                if (!is_free_[column])
                    continue;
                x_[column] += step * (best[column] - x_[column]);
                if (step < 1 && x_[column] <= 1e-14 * length_) {
                    x_[column] = 0;
                    is_free_[column] = false;
                }
            }
            if (step == 1)
                return true;
        }
    }

    // Solves for the free columns alone, by Gaussian elimination; the products are symmetric and
    // have no negative pivots.
    bool solve(std::vector<double>& solution) const {
        std::vector<double> matrix = products_, right = right_;
        for (std::size_t pivot = 0; pivot < count_; ++pivot) {
            if (!is_free_[pivot])
                continue;
            const double at = matrix[pivot * count_ + pivot];
            if (!(at > least_pivot))
                return false;
            for (std::size_t row = 0; row < count_; ++row) {
                if (row == pivot || !is_free_[row])
                    continue;
                const double factor = matrix[row * count_ + pivot] / at;
                for (std::size_t column = 0; column < count_; ++column)
                    matrix[row * count_ + column] -= factor * matrix[pivot * count_ + column];
                right[row] -= factor * right[pivot];
            }
        }
        solution.assign(count_, 0);
        for (std::size_t row = 0; row < count_; ++row)
            if (is_free_[row])
                solution[row] = right[row] / matrix[row * count_ + row];
        return true;
    }

    const std::size_t count_;
    std::vector<double> products_, right_, scale_, x_;
    std::vector<bool> is_free_, is_out_;
    double length_ = 0;
};

} // namespace

void NormalEquations::add(const std::vector<double>& row, double right) {
    for (std::size_t i = 0; i < columns_; ++i) {
        right_[i] += row[i] * right;
        for (std::size_t j = 0; j < columns_; ++j)
            products_[i * columns_ + j] += row[i] * row[j];
    }
}

std::vector<double> NormalEquations::solve_non_negative() const {
    return ActiveSet(columns_, products_, right_).run();
}

} // namespace overtake::host_profile
