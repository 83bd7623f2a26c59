// SPDX-License-Identifier: MIT
//
// A host that runs the shipped firmware and task scheduler through a fuzz case, with the faults of
// the case, and checks their answers with the checkers.
#pragma once

#include <cstdint>

#include "scheduler/case.hpp"

namespace overtake::fuzz {

struct Totals {
    std::uint64_t commands = 0;
    std::uint64_t refused = 0; ///< by a full command queue
    std::uint64_t fcs = 0;
    std::uint64_t jobs = 0;
    std::uint64_t tasks = 0;

    Totals& operator+=(const Totals& other) {
        commands += other.commands;
        refused += other.refused;
        fcs += other.fcs;
        jobs += other.jobs;
        tasks += other.tasks;
        return *this;
    }
};

/// Throws Violation. The same case runs the same way every time. Several threads may call run().
Totals run(const Case& of);

} // namespace overtake::fuzz
