// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace overtake::compiler {

/// A block of memory that is in use from step `first` to step `last`, both included.
struct Lifetime {
    std::uint64_t bytes;
    std::size_t first;
    std::size_t last;
};

struct MemoryPlan {
    std::vector<std::uint64_t> offsets; // one per lifetime, multiples of the alignment
    std::uint64_t bytes = 0;            // the bytes that all of them need
};

/// Places blocks so that no two overlap in both time and memory.  The largest block comes first,
/// each at the lowest free offset.
MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes, std::uint64_t alignment);

} // namespace overtake::compiler
