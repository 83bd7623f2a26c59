// SPDX-License-Identifier: MIT
//
// Prices of shares by measurements of their pieces on this host.
#pragma once

#include <cstddef>
#include <memory>

#include "compiler/cores/balance.hpp"

namespace overtake::host_profile {

/// Returns prices for layers of a network: the time of each piece on one embedded core in
/// functional mode, without an FC's overhead, the fastest of `runs` runs.  Pieces of one shape are
/// measured once; `pieces` counts them.  The prices throw CompileError where the network cannot be
/// run here.
compiler::SharePriceMaker measured_shares(unsigned runs,
                                          const std::shared_ptr<std::size_t>& pieces);

} // namespace overtake::host_profile
