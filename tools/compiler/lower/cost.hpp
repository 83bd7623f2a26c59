// SPDX-License-Identifier: MIT
//
// The cost of an instruction.  All functions that cut instructions or compare cuts use this price.
#pragma once

#include <cstdint>

#include "compiler/ir/firmware.hpp"

namespace overtake::compiler {

/// Returns the cycles for which the instruction occupies a core with `profile`.  The number depends
/// only on the fields of `insn` and on `profile`, not on data.
inline std::uint64_t cost(const overtake_insn& insn, const ovt_profile& profile) {
    return ovt_insn_cycles(&profile, &insn);
}

} // namespace overtake::compiler
