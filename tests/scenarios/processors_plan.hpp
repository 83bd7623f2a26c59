// SPDX-License-Identifier: MIT
//
// P7 of several processors: the plan of one task.
#pragma once

#include <functional>

#include "processors_format.hpp"

namespace overtake::test::processors {

/// What a plan is made from.
struct Situation {
    const Model& model;
    /// By unit: left, finished, or neither, which is in an unfinished run.
    std::vector<bool> left;
    std::vector<bool> finished;
    /// By unit: the processor of the run with it, unless it is left.
    std::vector<std::optional<std::size_t>> where;
    /// By unit: when it can be used. 0 for a finished one, max(0, due - now) for one in a run.
    std::vector<Time> available;
    /// By unit and processor: can run, and is in use.
    std::function<bool(std::size_t, std::size_t)> can_run;
    std::function<Time(const std::vector<std::size_t>&, std::size_t)> expected;
    /// Of the unit's output, from one processor to another.
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
    bool ready = false; ///< its first unit left is
};

struct Plan {
    std::vector<PlannedChain> chains;
    Time latency = 0;
};

/// Each unit that is left can run on a processor.
bool has_plan(const Situation& situation);
Plan make_plan(Situation situation);

} // namespace overtake::test::processors
