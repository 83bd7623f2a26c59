// SPDX-License-Identifier: MIT
//
// The signs that other work on a machine disturbed a measurement.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "load/demo/demo.hpp"

namespace overtake::demo {

/// The other work of the machine before the measurement.
struct MachineLoad {
    double load_average; ///< the load average of the last minute; 0: not known
    unsigned cpus;       ///< CPUs that this process may use
};

MachineLoad machine_load();

/// Returns the signs of a busy machine, each a clause: a load average above the number of CPUs,
/// requests that the detector's client made late by more than half a period, a queue of the large
/// network that ran empty.  Empty if there are none.  `rows` are the set-ups by name.
std::vector<std::string> busy_signs(const MachineLoad& load,
                                    const std::vector<std::pair<std::string, Figures>>& rows,
                                    unsigned period_us);

} // namespace overtake::demo
