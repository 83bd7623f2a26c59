// SPDX-License-Identifier: MIT
#include "overtaking.hpp"

#include <cstddef>
#include <cstdio>
#include <vector>

#include <CLI/CLI.hpp>

namespace overtake::command {

void check_core_limit(unsigned asked_core_limit, unsigned priority) {
    if (asked_core_limit != 0 && priority != priority_high)
        throw CLI::ValidationError("--core-limit", "needs --priority 255: it bounds how long that "
                                                   "waits");
}

void warn_unless_overtaking(const Device& device, const TaskOptions& task,
                            unsigned asked_core_limit) {
    if (task.priority != priority_high || asked_core_limit != 0)
        return;
    const std::vector<drm_overtake_core_info> cores = device.cores();
    for (std::size_t index = 0; index < cores.size(); ++index)
        if (cores[index].core_limit != 0 && (task.core == core_any || task.core == index + 1))
            return;
    std::fputs("overtake: priority 255 goes first among those that wait, but preempts nothing while "
               "the core limit (BPLAT_CORELIMIT) is 0; --core-limit 1 asks for one\n",
               stderr);
}

} // namespace overtake::command
