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

/// Searches until the cosine of each output, over all of `samples`, is at least options.accuracy:
/// each calibration method for all values; for each value the method that costs the outputs least;
/// then nodes on the CPU in float, those first that bring most for their work, and no more than it
/// takes.  `network` is as equalise() leaves it.  Calls options.report, if there is one, with what
/// was tried, found or not.  Throws CompileError if nothing reaches the accuracy.
AccurateNetwork search_accuracy(PreparedNetwork network, const Samples& samples,
                                const CompileOptions& options, const DeviceProfile& device,
                                const Progress& progress);

} // namespace overtake::compiler
