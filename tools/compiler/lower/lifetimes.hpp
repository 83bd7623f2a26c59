// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace overtake::compiler {

/// A block of memory in use from step `first` to step `last`, both included.
struct Lifetime {
    std::uint64_t bytes;
    std::size_t first;
    std::size_t last;
};

struct MemoryPlan {
    std::vector<std::uint64_t> offsets; // one per lifetime, multiples of the alignment
    std::uint64_t bytes = 0;            // that all of them need
};

/// Places blocks so that no two overlap in both time and memory: largest first, each at the
/// lowest offset that is free.
MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes, std::uint64_t alignment);

} // namespace overtake::compiler
