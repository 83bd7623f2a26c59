// SPDX-License-Identifier: MIT
//
// How long FCs take a host that computes them: a device ends an FC that takes longer than its clock
// (fc_clock_ms), whatever the FC costs by the profile.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/ir/program.hpp"

namespace overtake::compiler {

enum class HostPath { scalar, avx2 };

/// That of the devices of this machine.
HostPath host_path();

/// Estimated CPU time of the FC that takes longest, in mode functional; good to a factor of two on
/// a server's CPU.  0 of a program without FCs.
std::uint64_t longest_host_ns(const Program& program, HostPath path);

/// What is to be said of a split program whose longest FC may come near the clock that drivers and
/// servers have by default: the estimate, and the max_time_per_fc to use.  Empty: it does not.
std::string long_fc_warning(const Graph& graph, const Program& program, const ovt_profile& profile,
                            HostPath path);

/// The same of a program whose inference may come near the time that a job may be in flight.
std::string long_job_warning(const Program& program, HostPath path);

} // namespace overtake::compiler
