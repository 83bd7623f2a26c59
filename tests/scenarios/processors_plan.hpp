// SPDX-License-Identifier: MIT
//
// The plan of one task on several processors.
#pragma once

#include <functional>

#include "processors_format.hpp"

namespace overtake::test::processors {

/// The data for a plan.
struct Situation {
    const Model& model;
    /// For each unit: left, finished, or neither if it is in an unfinished run.
    std::vector<bool> left;
    std::vector<bool> finished;
    /// For each unit: the processor of its run, unless it is left.
    std::vector<std::optional<std::size_t>> where;
    /// For each unit: the time from now until its output can be used. 0 if finished, max(0, due -
    /// now) if in a run.
    std::vector<Time> available;
    /// Whether the processor is in use and can run the unit.
    std::function<bool(std::size_t, std::size_t)> can_run;
    std::function<Time(const std::vector<std::size_t>&, std::size_t)> expected;
    /// Returns the time to move the unit's output from one processor to another.
    std::function<Time(std::size_t, std::size_t, std::size_t)> move;
    std::vector<Time> overheads;               ///< by processor
    std::vector<std::vector<Time>> free_times; ///< by processor and worker
    Time latest_due;                           ///< of the unfinished runs, from now
};

struct Piece {
    std::vector<std::size_t> units;
    std::size_t processor;
    Time end;
};

struct PlannedChain {
    std::vector<Piece> pieces;
    bool ready = false; ///< its first unit that is left is ready
};

struct Plan {
    std::vector<PlannedChain> chains;
    Time latency = 0;
};

/// Whether each unit that is left can run on a processor.
bool has_plan(const Situation& situation);
Plan make_plan(Situation situation);

} // namespace overtake::test::processors
