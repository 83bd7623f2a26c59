// SPDX-License-Identifier: MIT
//
// What an instruction costs: the one price of whatever cuts instructions or weighs cuts.
#pragma once

#include <cstdint>

#include "compiler/ir/firmware.hpp"

namespace overtake::compiler {

/// Cycles that the instruction occupies a core of that profile.  Follows from its arguments alone.
inline std::uint64_t cost(const overtake_insn& insn, const ovt_profile& profile) {
    return ovt_insn_cycles(&profile, &insn);
}

} // namespace overtake::compiler
