// SPDX-License-Identifier: MIT
//
// Texts about a job that failed: the reason and the remedy, in the same words in every interface.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>

#include "overtake/device.hpp"

namespace overtake {

/// Returns the limit by which the device ended a job, and the remedy.  Empty for any other failure.
/// The text is to follow "the task failed: ".
inline std::string limit_remedy(std::int32_t status, std::uint32_t fault) {
    if (fault == OVERTAKE_FAULT_CLOCK)
        return "one of its FCs took the host longer than the device allows: compile the model with "
               "--max-time-per-fc 2000, or with less if it has that already, or raise the limit "
               "(fc_clock_ms of the kernel module, overtake serve --fc-clock-ms, "
               "EmbeddedOptions::fc_clock_ns)";
    if (fault == OVERTAKE_FAULT_WATCHDOG)
        return "one of its FCs executed for longer than the device's watchdog allows: compile the "
               "model with a --max-time-per-fc of less than that, or raise the watchdog's limit "
               "(watchdog_ms of the kernel module, EmbeddedOptions::watchdog_cycles)";
    if (status == -ETIME)
        return "its deadline or the device's queue timeout passed: give it more time, or raise the "
               "queue timeout (queue_timeout_ms of the kernel module, overtake serve "
               "--queue-timeout-ms, EmbeddedOptions::queue_timeout_ns)";
    return "";
}

/// Returns limit_remedy(), or for a failure without a limit its errno, fault and instruction.
inline std::string why_job_failed(const Completion& job) {
    if (std::string remedy = limit_remedy(job.status, job.fault); !remedy.empty())
        return remedy;
    return "its job failed with errno " + std::to_string(-job.status) + ", fault " +
           std::to_string(job.fault) + " at instruction " + std::to_string(job.fault_insn);
}

} // namespace overtake
