// SPDX-License-Identifier: MIT
//
// What a timeline of several processors has, with numbers in place of names.
#pragma once

#include <algorithm>

#include "processors_format.hpp"

namespace overtake::test::processors {

struct SeenFc {
    std::size_t index;
    std::size_t processor;
    bool high;
    Time start;
    Time end;
};

struct SeenRun {
    std::string name; ///< TASK.K
    std::size_t task;
    std::vector<std::size_t> units;
    std::size_t processor;
    Time dispatched;
    std::optional<Time> start;
    Time end;
    std::string status;
    std::vector<SeenFc> fcs{};

    bool has(std::size_t unit) const { return std::ranges::find(units, unit) != units.end(); }
};

struct SeenTask {
    std::optional<Time> dispatched;
    std::optional<Time> end;
    std::string status; ///< "" for null
    std::size_t retries;
};

} // namespace overtake::test::processors
