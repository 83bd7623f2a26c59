// SPDX-License-Identifier: MIT
//
// Finds the cheapest way to compute a network so that its outputs are as near to float as the user
// requires.
#pragma once

#include <functional>
#include <string>

#include "compiler/candidate.hpp"
#include "compiler/prepare.hpp"
#include "compiler/profile.hpp"

namespace overtake::compiler {

struct AccurateNetwork {
    PreparedNetwork network;
    Candidate candidate;
};

/// Searches until OutputNearness::least() of each output, over all of `samples`, is at least
/// options.accuracy.  Tries each calibration method for all values, then for each value the method
/// that costs the outputs least.  Then tries nodes in 16 bits, and nodes on the CPU in float: first
/// those with most effect for their work, and few of them.  `network` is as equalise() leaves it.
/// Calls options.report, if there is one, with all attempts, even if none reaches the accuracy.
/// Throws CompileError if none does.
AccurateNetwork search_accuracy(PreparedNetwork network, const Samples& samples,
                                const CompileOptions& options, const DeviceProfile& device,
                                const Progress& progress);

} // namespace overtake::compiler
