// SPDX-License-Identifier: MIT
//
// All metrics except those of processors. Names, units and labels are an interface:
// docs/reference/metrics.md.
#pragma once

#include <array>

#include "observe/metrics/exposition.hpp"

namespace overtake::metrics::families {

using enum Type;

inline constexpr Family build_info{"overtake_build_info", gauge,
                                   "Version of the overtake command; 1."};
inline constexpr Family device_info{
    "overtake_device_info", gauge,
    "A device: kernel or server, its mode and, where it tells, its profile; 1."};
inline constexpr Family up{"overtake_server_up", gauge,
                           "Whether the device server answered: 1 or 0."};
inline constexpr Family cores{"overtake_cores", gauge, "Cores of the device."};
inline constexpr Family clock{"overtake_clock_hertz", gauge, "Clock of the device's cores."};
inline constexpr Family busy{"overtake_busy_seconds_total", counter,
                             "Device time taken by FCs that have ended."};
inline constexpr Family fcs{"overtake_fcs_total", counter,
                            "FCs that have ended: of priority 255 (ring high) and of others."};
inline constexpr Family preemptions{"overtake_preemptions_total", counter,
                                    "Times a HIGH FC went ahead of a NORMAL job that had begun."};
inline constexpr Family faults{"overtake_faults_total", counter,
                               "Jobs that ended by a fault, hangs and resets included."};
inline constexpr Family hangs{"overtake_hangs_total", counter,
                              "FCs ended by the watchdog or by their clock."};
inline constexpr Family resets{"overtake_resets_total", counter, "Resets of the core."};
inline constexpr Family utilization{
    "overtake_utilization_ratio", gauge,
    "Share of the last whole second that the core was busy, 0 to 1."};
inline constexpr Family queue{"overtake_queue_fcs", gauge,
                              "FCs that run, are committed or wait; rounded up to a power of two."};
inline constexpr Family core_limit{
    "overtake_core_limit_fcs", gauge,
    "NORMAL FCs that a waiting HIGH FC waits for at most; 0: no preemption."};
inline constexpr Family bans{"overtake_bans_total", counter, "Contexts banned."};
inline constexpr Family lost_interrupts{
    "overtake_lost_interrupts_total", counter,
    "Lost wake-ups that the driver made up for; anything but 0 is a bug."};
inline constexpr Family spurious_interrupts{"overtake_spurious_interrupts_total", counter,
                                            "Wake-ups of a core that had nothing to execute."};
inline constexpr Family memory{"overtake_memory_bytes", gauge,
                               "Memory that clients of the device hold."};
inline constexpr Family clients{
    "overtake_clients", gauge,
    "Open files of a kernel device, connections of a server, that may be seen."};
inline constexpr Family jobs{"overtake_jobs_in_flight", gauge,
                             "Jobs of a server's clients that have not ended."};
inline constexpr Family tasks{
    "overtake_tasks", gauge,
    "Tasks of service mode, by state; overdue ones are counted once more as that."};
inline constexpr Family unreadable{
    "overtake_unreadable_processes", gauge,
    "Processes whose open files may not be seen: clients and tasks are without theirs."};

// Metrics with --processes only.
inline constexpr Family process_busy{
    "overtake_process_busy_seconds_total", counter,
    "Device time taken by FCs of the files and connections that the process has open."};
inline constexpr Family process_memory{"overtake_process_memory_bytes", gauge,
                                       "Memory that the process holds of the device."};

// Names from OpenTelemetry's semantic conventions for a GPU, and as proposed for an NPU.
inline constexpr Family hw_utilization{
    "hw_npu_utilization_ratio", gauge,
    "Share of the last whole second that the device's cores were busy, on average."};
inline constexpr Family hw_memory{"hw_npu_memory_usage_bytes", gauge, "NPU memory used."};
inline constexpr Family hw_errors{"hw_errors_total", counter,
                                  "Errors of the component: jobs that ended by a fault."};

inline constexpr std::array all{
    &build_info,   &device_info,    &up,
    &cores,        &clock,          &busy,
    &fcs,          &preemptions,    &faults,
    &hangs,        &resets,         &utilization,
    &queue,        &core_limit,     &bans,
    &memory,       &clients,        &jobs,
    &tasks,        &unreadable,     &lost_interrupts,
    &process_busy, &process_memory, &spurious_interrupts,
    &hw_memory,    &hw_errors,      &hw_utilization,
};

} // namespace overtake::metrics::families
