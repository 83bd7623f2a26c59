// SPDX-License-Identifier: MIT
//
// The refusals of jobs by devices: the rules are in firmware-sim/host, the texts are here.
//
// An embedded device applies the rules before it takes a job.  A driver has applied them itself and
// returns only an errno: then the submitted job is checked again, to name the field that is wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "overtake/device.hpp"
#include "overtake/service.hpp"

#include <ovt_port.h>

extern "C" {
#include "host/group_rules.h"
#include "host/job_rules.h"
#include "host/limits.h"
#include "service/service.h"
}

namespace overtake {

/// Returns a job in the form of the device's interface.  It points into the job; a number that does
/// not fit is cut to one that is refused as well.
drm_overtake_submit submission(const Job& job);

/// Returns the extension that makes a job with parts a group, in the form of the device's
/// interface.
overtake_extension_parts group_of(const Job& job);

/// Whether a job without parts has fields that only groups may have: EINVAL on every device.
bool is_group_without_parts(const Job& job);

/// The bounds that a job is checked against.
struct JobBounds {
    unsigned cores;        ///< of the device
    unsigned max_priority; ///< of the queue
};

/// Returns OVERTAKE_MAP_* of the buffer that holds all of bindings[index], or 0 if there is none.
/// The index after the last binding means a group's record.
using FindMemory = std::function<std::uint32_t(std::size_t index, const overtake_binding& binding)>;

/// `bound`: regions that are bound already, one bit each.
ovt_verdict check_bindings(std::span<const overtake_binding> bindings, std::uint32_t bound,
                           const FindMemory& find_memory);

/// Checks a job by all rules that do not depend on other jobs in flight.
ovt_verdict check_job(const Job& job, const JobBounds& bounds, const FindMemory& find_memory);

/// "job 3: fcs[7].insn_count is 0", for a verdict of check_job().
std::string refusal_text(const ovt_verdict& verdict, const Job& job, const JobBounds& bounds);

/// Returns the text for a job that is right by itself, for a verdict of ovt_check_room().  `used`:
/// how much of the limit that refused is in use.
std::string admission_text(const ovt_verdict& verdict, std::uint64_t tag, std::uint64_t used);

/// "the limit is 1024 jobs of a queue (1024 in use): reap before submitting more"
/// `limit`: OVERTAKE_LIMIT_*; `used`: 0 where that does not apply.
std::string limit_text(std::uint32_t limit, std::uint64_t value, std::uint64_t used);

/// Returns the number of parts of the segment that has most.
std::size_t width_of(const ServiceTask& task);
/// Returns a segment on the device as a job, for check_job().
Job job_of(const ServiceTask& task, const ServiceSegment& segment);
/// Checks a task of service mode by itself, without its BPU segments.  Throws Error.
void check_service_task(std::uint64_t tag, std::size_t segments, unsigned priority, unsigned core,
                        const JobBounds& bounds);
/// Checks a segment on the CPU: it has nothing that belongs to the device.  Throws Error.
void check_cpu_segment(std::uint64_t tag, std::size_t index, std::size_t bindings,
                       std::uint32_t scratch_bytes);
/// Checks the fields of groups in a segment, which has FCs if `on_bpu`.  Throws Error.
void check_segment_parts(std::uint64_t tag, std::size_t index, bool on_bpu,
                         std::span<const overtake_part> parts,
                         std::span<const std::uint32_t> stages);
/// Checks a task that takes several cores for its groups: it names no core, and the device has as
/// many.  Throws Error.
void check_task_width(std::uint64_t tag, std::size_t width, unsigned core, unsigned cores);
/// Returns the error of a job that is a BPU segment as the error of its task.
Error segment_refusal(std::uint64_t tag, std::size_t index, const Error& of_job);

/// Returns the error of ServiceQueue::cpu_done().  `code`: positive; ENOENT, or EINVAL.
Error cpu_done_refusal(int code, std::uint64_t tag, std::uint32_t segment, std::int32_t status);

/// The positive errno of a refusal, for Error.
inline int refusal_code(const ovt_verdict& verdict) {
    return -ovt_refusal_error(verdict.reason);
}

/// Checks a call of Queue::interrupt().  Throws Error EINVAL.
void require_interruptible(const QueueOptions& options);

/// Return the error for a buffer or a queue that must not be created.
std::optional<Error> buffer_refusal(std::size_t bytes);
std::optional<Error> queue_refusal(const QueueOptions& options);
/// Returns the further error of a queue of service mode.
std::optional<Error> workers_refusal(std::uint32_t workers);
/// Returns the error of service mode on a device whose cores have different profiles.
Error unlike_cores_refusal();

} // namespace overtake
