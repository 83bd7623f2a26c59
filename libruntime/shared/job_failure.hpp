// SPDX-License-Identifier: MIT
//
// Why a job failed, and what to do about it: the same words from every interface.
#pragma once

#include <cstdint>
#include <string>

#include "overtake/device.hpp"

namespace overtake {

/// Of a job that the device ended because an FC went beyond a limit of the device: which one, and
/// the remedy.  Empty for any other `fault`.  To be read behind "the task failed: ".
inline std::string limit_remedy(std::uint32_t fault) {
    if (fault == OVERTAKE_FAULT_CLOCK)
        return "one of its FCs took the host longer than the device allows: compile the model with "
               "a smaller --max-time-per-fc, or raise the limit (fc_clock_ms of the kernel module, "
               "overtake serve --fc-clock-ms)";
    if (fault == OVERTAKE_FAULT_WATCHDOG)
        return "one of its FCs executed for longer than the device's watchdog allows: compile the "
               "model with a smaller --max-time-per-fc, or raise it (watchdog_ms of the kernel "
               "module)";
    return "";
}

/// The same of any job that failed.
inline std::string why_job_failed(const Completion& job) {
    if (std::string remedy = limit_remedy(job.fault); !remedy.empty())
        return remedy;
    return "its job failed with errno " + std::to_string(-job.status) + ", fault " +
           std::to_string(job.fault) + " at instruction " + std::to_string(job.fault_insn);
}

} // namespace overtake
