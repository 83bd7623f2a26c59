// SPDX-License-Identifier: MIT
//
// The plan for several cores that CompileOptions ask for.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "compiler/compile.hpp"
#include "compiler/cores/core_plan.hpp"
#include "compiler/cores/learned_costs.hpp"
#include "compiler/ir/program.hpp"
#include "compiler/quantise/quantise.hpp"

namespace overtake::compiler {

/// Checks the options for several cores.  Returns the costs in the file of --costs, or null without
/// this option.  Throws CompileError with the option and the remedy.
std::shared_ptr<const LearnedCosts> check_core_options(const CompileOptions& options);

/// Returns the plan of a program that has been split.  Adds to the program's constants, and to
/// `instructions`: first_step of the plan's FCs is an index there.  Returns no plan, and leaves
/// both as they are, if the options ask for none.  Does so with a warning if the plan is not 2 %
/// faster than one core, or, with `costs`, if it does not use several cores.  Calls `progress` with
/// the part of the search that is done.  Throws CompileError.
std::optional<CorePlan> asked_plan(const Graph& graph, const QuantisedGraph& quantised,
                                   Program& program, const CompileOptions& options,
                                   const LearnedCosts* costs,
                                   std::vector<overtake_insn>& instructions,
                                   const std::function<void(double)>& progress);

} // namespace overtake::compiler
