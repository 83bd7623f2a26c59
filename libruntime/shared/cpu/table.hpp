// SPDX-License-Identifier: MIT
//
// The entries that each file of operators adds to the table in operation.cpp.
#pragma once

#include "cpu/operation.hpp"

namespace overtake::cpu {

struct Entry {
    CpuOpType type;
    const char* name;
    std::string (*check)(const Operation&);
    Kernel (*make)(const Operation&); ///< in planes
    /// Null: the operator has only the form that make() makes.
    std::shared_ptr<const Prepared> (*prepare)(const Operation&) = nullptr;
};

/// The form in which all values are planes.
NodeForm all_planes(const Operation& operation, double ns);

/// Prepares an operator that computes in planes and, unless `blocked` is null, with its output and
/// the inputs of `blocked_form` in blocks.
std::shared_ptr<const Prepared> prepare_forms(const Operation& operation, double planes_ns,
                                              Kernel (*planes)(const Operation&),
                                              const NodeForm& blocked_form = {},
                                              Kernel (*blocked)(const Operation&) = nullptr);

/// Returns the shape of a value in blocks as an array of its own: (batch, block, axes..., lane).
Shape shape_in_blocks(const Shape& shape, Layout blocks);

/// Does the same as prepare_forms() for an operator that has a form with all values in blocks:
/// make() of the same operation on shape_in_blocks(), with `integers`.
std::shared_ptr<const Prepared> prepare_in_blocks(const Operation& operation, double ns_of_each,
                                                  Kernel (*make)(const Operation&),
                                                  const std::vector<std::int64_t>& integers);

/// A function that changes each of so many elements in place.
using InPlace = std::function<void(float*, std::size_t)>;
InPlace unary_in_place(Unary function, const std::vector<float>& reals);

/// Adds the following operations to `alone`; `operation` is the whole.
std::shared_ptr<const Prepared> with_following(const Operation& operation,
                                               std::shared_ptr<const Prepared> alone);

std::span<const Entry> unary_operators();
std::span<const Entry> binary_operators();
std::span<const Entry> movement_operators();
std::span<const Entry> reduction_operators();
std::span<const Entry> selection_operators();
std::span<const Entry> product_operators();
std::span<const Entry> convolution_operators();
std::span<const Entry> pool_operators();
std::span<const Entry> custom_operators();
std::span<const Entry> scan_operators();
std::span<const Entry> grid_operators();
std::span<const Entry> region_operators();
std::span<const Entry> recurrence_operators();

/// Computes c (rows, columns) = a (rows, inner) * b (inner, columns), all row-major.  Throws Error
/// ENOMEM.
void multiply(const float* a, const float* b, float* c, std::size_t rows, std::size_t inner,
              std::size_t columns);

} // namespace overtake::cpu
