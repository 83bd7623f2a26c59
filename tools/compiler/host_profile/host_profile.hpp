// SPDX-License-Identifier: MIT
//
// A profile of this machine: the time that an embedded device in functional mode takes here for
// each kind of instruction.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "compiler/profile.hpp"

namespace overtake::host_profile {

/// The errors of modelled times, as parts of the measured times.
struct Errors {
    double median = 0;
    double p95 = 0;
    std::size_t count = 0;
};

struct HostProfile {
    std::shared_ptr<const compiler::DeviceProfile> profile;
    Errors errors; ///< over the measured instructions
};

/// Measures with the fastest of `runs` runs; a cycle of the profile is a nanosecond.  Takes seconds
/// of one CPU, which should have little else to do.  Throws Error.
HostProfile measure_host(const std::string& name, unsigned runs,
                         const std::function<void(double)>& progress = {});

/// The cost of an FC beside its instructions: inside the FC's own time, and with the time between
/// two FCs.
struct FcBoundary {
    double inside_ns = 0, total_ns = 0;
};

FcBoundary measure_boundary(unsigned runs);

/// Compares the modelled with the measured time of each FC.
Errors compare(const std::vector<double>& modelled_ns, const std::vector<double>& measured_ns);

} // namespace overtake::host_profile
