// SPDX-License-Identifier: MIT
//
// Prices of shares by what their pieces take on this host.
#pragma once

#include <cstddef>
#include <memory>

#include "compiler/cores/balance.hpp"

namespace overtake::host_profile {

/// Of layers of a network: what each piece takes on one embedded core in functional mode, an FC's
/// overhead aside, the fastest of so many runs.  Pieces of one shape are measured once; `pieces`
/// counts them.  The prices throw CompileError where the network cannot be run here.
compiler::SharePriceMaker measured_shares(unsigned runs,
                                          const std::shared_ptr<std::size_t>& pieces);

} // namespace overtake::host_profile
