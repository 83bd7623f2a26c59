// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/ir/program.hpp"

namespace overtake::compiler {

/// Groups the program's steps into FCs of at most `max_cycles` each, overhead included, and cuts
/// instructions that do not fit; 0 makes one FC of all steps.  The program's results stay the same
/// bit for bit.  Throws CompileError naming the smallest possible max_time_per_fc if a smallest
/// piece does not fit.
void split(const Graph& graph, Program& program, const ovt_profile& profile,
           std::uint64_t max_cycles);

/// Appends the pieces of `source` to `steps`, FCs of them to `fcs`, and their constants to
/// `constants`.  Returns false if a smallest piece does not fit.
bool split_steps(std::span<const Step> source, Constants& constants, const ovt_profile& profile,
                 std::uint64_t max_cycles, std::vector<Step>& steps,
                 std::vector<FunctionCall>& fcs);

/// Returns the smallest max_cycles that split() takes.
std::uint64_t smallest_max_cycles(const Program& program, const ovt_profile& profile);
std::uint64_t smallest_max_cycles(std::span<const Step> steps, const ovt_profile& profile);

} // namespace overtake::compiler
