// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/ir/program.hpp"

namespace overtake::compiler {

/// Groups the program's steps into FCs of at most `max_cycles` each, overhead included, cutting
/// instructions where they do not fit; 0 makes one FC of all steps.  What the program
/// computes stays the same bit for bit.  Throws CompileError naming the smallest possible
/// max_time_per_fc if a smallest piece does not fit.
void split(const Graph& graph, Program& program, const ovt_profile& profile,
           std::uint64_t max_cycles);

/// Appends the pieces of `source` to `steps` and FCs of them to `fcs`; pieces' constants go into
/// `constants`.  False where a smallest piece does not fit.
bool split_steps(std::span<const Step> source, Constants& constants, const ovt_profile& profile,
                 std::uint64_t max_cycles, std::vector<Step>& steps,
                 std::vector<FunctionCall>& fcs);

/// The smallest max_cycles that split() takes.
std::uint64_t smallest_max_cycles(const Program& program, const ovt_profile& profile);
std::uint64_t smallest_max_cycles(std::span<const Step> steps, const ovt_profile& profile);

} // namespace overtake::compiler
