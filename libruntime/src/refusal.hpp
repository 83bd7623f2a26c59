// SPDX-License-Identifier: MIT
//
// Why a device refuses a job: the rules are those of firmware-sim/host, the words are here.
//
// An embedded device asks the rules before it takes a job.  A driver has asked them itself and says
// only an errno: then they are asked again, of what was submitted, to name the field that is wrong.
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

/// A job as the device's interface has it.  Points into the job; a number that does not fit is cut
/// to one that is refused as well.
drm_overtake_submit submission(const Job& job);

/// What makes a job a group, as the device's interface has it: of a job that has parts.
overtake_extension_parts group_of(const Job& job);

/// It says what is only of groups, and has no parts: EINVAL on every device.
bool is_group_without_parts(const Job& job);

/// What a job is held against.
struct JobBounds {
    unsigned cores;        ///< of the device
    unsigned max_priority; ///< of the queue
};

/// OVERTAKE_MAP_* of the buffer that holds all of bindings[index], 0 if there is none.  With the
/// index behind the last: of a group's record.
using FindMemory = std::function<std::uint32_t(std::size_t index, const overtake_binding& binding)>;

/// bound: regions that are bound already, one bit each.
ovt_verdict check_bindings(std::span<const overtake_binding> bindings, std::uint32_t bound,
                           const FindMemory& find_memory);

/// Everything that does not depend on what else is in flight.
ovt_verdict check_job(const Job& job, const JobBounds& bounds, const FindMemory& find_memory);

/// "job 3: fcs[7].insn_count is 0", for a verdict of check_job().
std::string refusal_text(const ovt_verdict& verdict, const Job& job, const JobBounds& bounds);

/// The same for a job that is right by itself, of ovt_check_room().
/// used: where a limit refused, how much of it is in use.
std::string admission_text(const ovt_verdict& verdict, std::uint64_t tag, std::uint64_t used);

/// "the limit is 1024 jobs of a queue (1024 in use): reap before submitting more"
/// limit: OVERTAKE_LIMIT_*; used: 0 where that is not the question.
std::string limit_text(std::uint32_t limit, std::uint64_t value, std::uint64_t used);

/// The most parts that one of its segments has.
std::size_t width_of(const ServiceTask& task);
/// A segment on the device as a job, for check_job().
Job job_of(const ServiceTask& task, const ServiceSegment& segment);
/// A task of service mode by itself, its BPU segments apart.  Throws Error.
void check_service_task(std::uint64_t tag, std::size_t segments, unsigned priority, unsigned core,
                        const JobBounds& bounds);
/// One segment of it on the CPU, which has nothing that belongs to the device.  Throws Error.
void check_cpu_segment(std::uint64_t tag, std::size_t index, std::size_t bindings,
                       std::uint32_t scratch_bytes);
/// What is only of groups in one of its segments, which has FCs if `on_bpu`.  Throws Error.
void check_segment_parts(std::uint64_t tag, std::size_t index, bool on_bpu,
                         std::span<const overtake_part> parts,
                         std::span<const std::uint32_t> stages);
/// That it takes so many cores at once for its groups, and names none.  Throws Error.
void check_task_width(std::uint64_t tag, std::size_t width, unsigned core, unsigned cores);
/// What is refused about a BPU segment, as the task's.
Error segment_refusal(std::uint64_t tag, std::size_t index, const Error& of_job);

/// What ServiceQueue::cpu_done() is refused for.  code: positive; ENOENT, or EINVAL.
Error cpu_done_refusal(int code, std::uint64_t tag, std::uint32_t segment, std::int32_t status);

/// The positive errno of a refusal, for Error.
inline int refusal_code(const ovt_verdict& verdict) {
    return -ovt_refusal_error(verdict.reason);
}

/// Of Queue::interrupt().  Throws Error EINVAL.
void require_interruptible(const QueueOptions& options);

/// Of a buffer or a queue that is to be created.
std::optional<Error> buffer_refusal(std::size_t bytes);
std::optional<Error> queue_refusal(const QueueOptions& options);
/// Of a queue of service mode, besides.
std::optional<Error> workers_refusal(std::uint32_t workers);
/// Of a queue of service mode on a device whose cores are unlike.
Error unlike_cores_refusal();

} // namespace overtake
