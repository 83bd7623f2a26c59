// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/cores/core_plan.hpp"
#include "compiler/quantise/quantise.hpp"

namespace overtake::compiler {

struct CoreOptions {
    std::vector<std::shared_ptr<const ovt_profile>> cores; ///< one for each; may be unlike
    std::vector<Scheme> schemes;                           ///< those to choose from; none: all
    bool overlap = true;                                   ///< blocks may be of more than one layer
    std::uint32_t max_time_per_fc_us = 0;
};

/// The program once more, for several cores.  Its constants grow by what pieces need.  Throws
/// CompileError where limits of a group are exceeded.
CorePlan plan_cores(const Graph& graph, const QuantisedGraph& quantised, Program& program,
                    const CoreOptions& options);

} // namespace overtake::compiler
