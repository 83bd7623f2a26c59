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

/// Returns the costs of --costs, null without.  Throws CompileError naming the option and the
/// remedy.
std::shared_ptr<const LearnedCosts> check_core_options(const CompileOptions& options);

/// Returns the plan of a program that has been split.  The program's constants grow, and
/// `instructions`, in which FCs of the plan then have their first_step.  Returns no plan if the
/// options ask for none, or, with a warning, if it is not 2 % faster than one core; then both are
/// unchanged.  Calls `progress` with the part of the search that is done.  Throws CompileError.
std::optional<CorePlan> asked_plan(const Graph& graph, const QuantisedGraph& quantised,
                                   Program& program, const CompileOptions& options,
                                   const LearnedCosts* costs,
                                   std::vector<overtake_insn>& instructions,
                                   const std::function<void(double)>& progress);

} // namespace overtake::compiler
