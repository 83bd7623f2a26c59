// SPDX-License-Identifier: MIT
//
// The time that FCs take a host that computes them: a device ends an FC that takes longer than its
// clock (fc_clock_ms), whatever the FC costs by the profile.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/ir/program.hpp"

namespace overtake::compiler {

enum class HostPath { scalar, avx2 };

/// Returns the path of this machine's devices.
HostPath host_path();

/// Returns the estimated CPU time of the FC that takes longest, in mode functional; it is good to a
/// factor of two on a server's CPU.  0 for a program without FCs.
std::uint64_t longest_host_ns(const Program& program, HostPath path);

/// Returns a warning for a split program whose longest FC may come near the default clock of
/// drivers and servers: the estimate, and the max_time_per_fc to use.  Empty if it does not.
std::string long_fc_warning(const Graph& graph, const Program& program, const ovt_profile& profile,
                            HostPath path);

/// Does the same for a program whose inference may come near the time that a job may be in flight.
std::string long_job_warning(const Program& program, HostPath path);

} // namespace overtake::compiler
