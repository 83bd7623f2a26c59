// SPDX-License-Identifier: MIT
//
// What each file of operators gives the table in operation.cpp.
#pragma once

#include "cpu/operation.hpp"

namespace overtake::cpu {

struct Entry {
    CpuOpType type;
    const char* name;
    std::string (*check)(const Operation&);
    Kernel (*make)(const Operation&);
};

std::span<const Entry> elementwise_operators();
std::span<const Entry> movement_operators();
std::span<const Entry> reduction_operators();
std::span<const Entry> selection_operators();
std::span<const Entry> product_operators();
std::span<const Entry> convolution_operators();
std::span<const Entry> pool_operators();
std::span<const Entry> custom_operators();

/// c (rows, columns) = a (rows, inner) * b (inner, columns); all row-major.  Throws Error ENOMEM.
void multiply(const float* a, const float* b, float* c, std::size_t rows, std::size_t inner,
              std::size_t columns);

} // namespace overtake::cpu
