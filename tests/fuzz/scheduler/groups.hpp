// SPDX-License-Identifier: MIT
//
// Random runs of a device with groups, beside plain jobs, changed limits and floors, cancels, dead
// clients, faults, resets and holds, with contexts that take turns or not, and quotas.
//
// Without turns the order of FCs is exact, by the contract. In every run an FC starts only when its
// stage is open, a core is idle only if nothing may start, each job ends once, with the last of its
// FCs that run, and in the end the firmware has no job left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace overtake::fuzz {

struct GroupTotals {
    std::uint64_t groups = 0;
    std::uint64_t fcs = 0;
    std::uint64_t held_starts = 0; ///< FCs of stages after the first
    std::uint64_t faults = 0;
    std::uint64_t cancelled = 0; ///< groups
};

/// Makes the run of a seed, the same on every machine; adds to `totals`. Returns any violation.
std::optional<std::string> group_violation(std::uint64_t seed, GroupTotals& totals);

} // namespace overtake::fuzz
