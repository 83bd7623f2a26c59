// SPDX-License-Identifier: MIT
#include "compiler/lower/lifetimes.hpp"

#include <algorithm>
#include <numeric>

namespace overtake::compiler {

MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes, std::uint64_t alignment) {
    MemoryPlan plan;
    plan.offsets.resize(lifetimes.size());
    std::vector<std::size_t> order(lifetimes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        return lifetimes[a].bytes > lifetimes[b].bytes;
    });

    std::vector<std::size_t> placed; // by offset
    for (std::size_t block : order) {
        const Lifetime& life = lifetimes[block];
        std::uint64_t offset = 0;
        for (std::size_t other : placed) {
            const Lifetime& there = lifetimes[other];
            const bool meet = life.first <= there.last && there.first <= life.last;
            if (!meet || plan.offsets[other] + there.bytes <= offset)
                continue;
            if (offset + life.bytes <= plan.offsets[other])
                break;
            offset = (plan.offsets[other] + there.bytes + alignment - 1) / alignment * alignment;
        }
        plan.offsets[block] = offset;
        plan.bytes = std::max(plan.bytes, offset + life.bytes);
        const auto place = std::ranges::upper_bound(
            placed, offset, {}, [&](std::size_t other) { return plan.offsets[other]; });
        placed.insert(place, block);
    }
    return plan;
}

} // namespace overtake::compiler
