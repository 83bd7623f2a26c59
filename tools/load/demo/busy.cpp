// SPDX-License-Identifier: MIT
#include "load/demo/busy.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace overtake::demo {

MachineLoad machine_load() {
    MachineLoad load{0, 1};
    if (getloadavg(&load.load_average, 1) != 1)
        load.load_average = 0;
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
        load.cpus = static_cast<unsigned>(CPU_COUNT(&cpus));
    return load;
}

std::vector<std::string> busy_signs(const MachineLoad& load,
                                    const std::vector<std::pair<std::string, Figures>>& rows,
                                    unsigned period_us) {
    std::vector<std::string> signs;
    if (load.load_average > load.cpus)
        signs.push_back(fmt::format("its load average was {:.1f} on {} CPU{} before anything ran",
                                    load.load_average, load.cpus, load.cpus == 1 ? "" : "s"));
    const std::uint64_t half_period_ns = period_us * ns_per_us / 2;
    std::vector<std::string> late, dry;
    std::uint64_t latest_ns = 0;
    for (const auto& [name, figures] : rows) {
        if (figures.late_ns > half_period_ns) {
            late.push_back(name);
            latest_ns = std::max(latest_ns, figures.late_ns);
        }
        if (figures.large_ran_dry != 0)
            dry.push_back(fmt::format("{} time{} in \"{}\"", figures.large_ran_dry,
                                      figures.large_ran_dry == 1 ? "" : "s", name));
    }
    if (!late.empty())
        signs.push_back(fmt::format("one detector request in 100 came more than {:.1f} ms late "
                                    "(\"{}\")",
                                    static_cast<double>(latest_ns) / 1e6,
                                    fmt::join(late, "\", \"")));
    if (!dry.empty())
        signs.push_back(
            fmt::format("the large network's queue ran empty {}", fmt::join(dry, ", ")));
    return signs;
}

} // namespace overtake::demo
