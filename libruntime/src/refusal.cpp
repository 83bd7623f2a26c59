// SPDX-License-Identifier: MIT
#include "refusal.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include <fmt/format.h>

#include "cut.hpp"
#include "user_pointer.hpp"

namespace overtake {

namespace {

struct LimitText {
    const char* name;
    const char* remedy;
};

/// The texts by OVERTAKE_LIMIT_*.
constexpr std::array<LimitText, OVERTAKE_LIMIT_COUNT> limit_texts{{
    {"queues", "close one, or open the device again"},
    {"jobs of a queue", "reap before submitting more"},
    {"jobs of a client", "reap before submitting more"},
    {"buffers", "free some, or make fewer and larger ones"},
    {"bytes of a client", "free buffers, or have fewer jobs in flight"},
    {"commands of the device", "wait: all clients together have too many jobs in flight"},
    {"bytes of a buffer", "use several buffers"},
    {"FCs of a job", "compile with longer FCs, or split the job"},
    {"bindings of a job", "put tensors into fewer regions"},
    {"scratch bytes of a job", "split the job"},
    {"syncs of a job", "merge fences into one"},
    {"commands of a user", "wait: all clients of this user together have too many jobs in flight"},
    {"tasks of a queue", "reap their ends before submitting more"},
    {"segments of a task", "make several tasks of it"},
    {"tasks of a user", "reap their ends: all clients of this user together have too many tasks"},
    {"waiting threads of a queue", "wait in fewer threads, or use several queues"},
    {"stages of a group", "merge stages, or split the job"},
    {"recordings of a queue", "forget some, or use several queues"},
    {"instances of a recording", "record the job twice"},
}};

/// Returns the binding for the record of a group.
overtake_binding record_of(const Job& job) {
    overtake_binding record{};
    record.address = job.group_record;
    record.length = ovt_group_record_bytes(static_cast<u32>(job.parts.size()));
    record.flags = OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE;
    return record;
}

ovt_verdict check_group(const Job& job, const drm_overtake_submit& submit, unsigned cores) {
    const overtake_extension_parts group = group_of(job);
    ovt_verdict verdict = ovt_check_group(&submit, &group, job.cores, cores);
    if (verdict.reason == OVT_ACCEPTED)
        verdict = ovt_check_parts(job.parts.data(), group.part_count, submit.fc_count, cores);
    if (verdict.reason != OVT_ACCEPTED)
        return verdict;
    std::vector<u32> stage_fcs(group.stage_count);
    return ovt_check_stages(job.parts.data(), group.part_count, job.stages.data(), stage_fcs.data(),
                            group.stage_count);
}

std::string binding_text(const ovt_verdict& verdict, const Job& job) {
    const overtake_binding& binding = job.bindings[verdict.index];
    const std::string place = fmt::format("bindings[{}]", verdict.index);
    switch (verdict.reason) {
    case OVT_REFUSED_REGION:
        return fmt::format("{}.region is {}, the last one is {}", place, binding.region,
                           OVERTAKE_MAX_REGIONS - 1);
    case OVT_REFUSED_BOUND_SCRATCH:
        return fmt::format("{}.region is {}, scratch, which the device provides", place,
                           binding.region);
    case OVT_REFUSED_BOUND_TWICE:
        return fmt::format("{}.region is {}, which a binding before it has", place, binding.region);
    case OVT_REFUSED_LENGTH:
        return fmt::format("{}.length is 0", place);
    case OVT_REFUSED_ACCESS:
        return fmt::format("{}.flags are {:#x}, neither READ nor READ and WRITE", place,
                           binding.flags);
    case OVT_REFUSED_MEMORY:
        return fmt::format("{}: no buffer holds {} bytes at device address {:#x}", place,
                           binding.length, binding.address);
    default:
        return fmt::format("{}.flags ask to write a buffer that is mapped for reading", place);
    }
}

std::string group_text(const ovt_verdict& verdict, const Job& job, const JobBounds& bounds) {
    const std::string part = fmt::format("parts[{}]", verdict.index);
    switch (verdict.reason) {
    case OVT_REFUSED_GROUP_CORE:
        return "a job with parts names no core: leave core and cores 0, and set those of the parts";
    case OVT_REFUSED_PARTS:
        if (job.parts.empty())
            return "stages or group_record, but no parts: a job without parts has neither";
        return fmt::format("{} parts, but the device has {} cores", job.parts.size(), bounds.cores);
    case OVT_REFUSED_NO_STAGE:
        return fmt::format("{} stages for {} FCs: each FC has one", job.stages.size(),
                           job.fcs.size());
    case OVT_REFUSED_STAGES:
        return fmt::format("{} stages", group_of(job).stage_count);
    case OVT_REFUSED_RECORD_ALIGNMENT:
        return fmt::format("group_record {:#x} is no multiple of 8", job.group_record);
    case OVT_REFUSED_PART_FCS:
        return part + ".fc_count is 0";
    case OVT_REFUSED_PART_SUM:
        return fmt::format("its parts do not have {} FCs together, as the job has", job.fcs.size());
    case OVT_REFUSED_PART_CORE:
        return fmt::format("{}.core is {}, but the device has {}", part,
                           job.parts[verdict.index].core, bounds.cores);
    case OVT_REFUSED_PART_CORES:
        return fmt::format("{}.core is {}: either all parts name a core, or none", part,
                           job.parts[verdict.index].core);
    case OVT_REFUSED_PART_TWICE:
        return fmt::format("{}.core is {}, which a part before it has", part,
                           job.parts[verdict.index].core);
    case OVT_REFUSED_PART_OF_TASK:
        return part + " names a core, but is a task's";
    case OVT_REFUSED_FC_STAGE:
        return fmt::format("stages[{}] is {}, less than that of the FC before it in its part",
                           verdict.index, job.stages[verdict.index]);
    default:
        return fmt::format("no FC is in stage {}", verdict.index);
    }
}

bool is_of_group(enum ovt_refusal reason) {
    return reason >= OVT_REFUSED_GROUP_CORE && reason <= OVT_REFUSED_EMPTY_STAGE;
}

std::string job_text(const ovt_verdict& verdict, const Job& job, const JobBounds& bounds) {
    if (is_of_group(verdict.reason))
        return group_text(verdict, job, bounds);
    switch (verdict.reason) {
    case OVT_REFUSED_DEADLINE:
        return "deadline_ns is negative";
    case OVT_REFUSED_NO_FC:
        return "no FC";
    case OVT_REFUSED_NO_BINDING:
        return "no binding";
    case OVT_REFUSED_CORE:
        return fmt::format("core {}, but the device has {}", job.core, bounds.cores);
    case OVT_REFUSED_PRIORITY:
        return fmt::format("priority {}, at most {}", job.priority, OVERTAKE_PRIORITY_HIGH);
    case OVT_REFUSED_FCS:
        return fmt::format("{} FCs", job.fcs.size());
    case OVT_REFUSED_BINDINGS:
        return fmt::format("{} bindings", job.bindings.size());
    case OVT_REFUSED_SCRATCH:
        return fmt::format("{} bytes of scratch", job.scratch_bytes);
    case OVT_REFUSED_RIGHT:
        return fmt::format("priority {}, but its queue was created for at most {}", job.priority,
                           bounds.max_priority);
    case OVT_REFUSED_EMPTY_FC:
        return fmt::format("fcs[{}].insn_count is 0", verdict.index);
    case OVT_REFUSED_RESULT_MEMORY:
        return fmt::format("group_record: no buffer holds {} bytes at device address {:#x}",
                           record_of(job).length, job.group_record);
    case OVT_REFUSED_RESULT_READ_ONLY:
        return "group_record is in a buffer that is mapped for reading";
    case OVT_REFUSED_PLACEMENT:
        return fmt::format("core {} and a choice of cores: leave core 0", job.core);
    case OVT_REFUSED_OPEN_CORES:
        return fmt::format("cores {:#x}, but the device has {}", job.cores, bounds.cores);
    default:
        return binding_text(verdict, job);
    }
}

std::string with_limit(const ovt_verdict& verdict, std::string text, std::uint64_t used) {
    const std::uint32_t limit = ovt_refusal_limit(verdict.reason);
    if (limit != OVERTAKE_LIMIT_COUNT)
        text += "; " + limit_text(limit, ovt_limit_value(limit), used);
    return text;
}

std::optional<Error> refusal(const ovt_verdict& verdict, const std::string& text) {
    if (verdict.reason == OVT_ACCEPTED)
        return std::nullopt;
    return Error(refusal_code(verdict), with_limit(verdict, text, 0));
}

} // namespace

drm_overtake_submit submission(const Job& job) {
    drm_overtake_submit submit{};
    submit.fcs = user_pointer(job.fcs.data());
    submit.bindings = user_pointer(job.bindings.data());
    submit.tag = job.tag;
    submit.custom_id = job.custom_id;
    submit.deadline_ns = job.deadline_ns;
    submit.fc_count = cut<std::uint32_t>(job.fcs.size());
    submit.binding_count = cut<std::uint32_t>(job.bindings.size());
    submit.core = job.core;
    submit.scratch_bytes = job.scratch_bytes;
    submit.priority = cut<std::uint16_t>(job.priority);
    return submit;
}

overtake_extension_parts group_of(const Job& job) {
    overtake_extension_parts group{};
    group.base.type = OVERTAKE_EXTENSION_PARTS;
    group.parts = user_pointer(job.parts.data());
    group.stages = user_pointer(job.stages.data());
    group.record = job.group_record;
    group.part_count = cut<std::uint32_t>(job.parts.size());
    // One stage for each FC; there are as many stages as the greatest number plus 1.
    if (!job.stages.empty() && job.stages.size() == job.fcs.size())
        group.stage_count =
            cut<std::uint32_t>(std::uint64_t{*std::ranges::max_element(job.stages)} + 1);
    return group;
}

ovt_verdict check_bindings(std::span<const overtake_binding> bindings, std::uint32_t bound,
                           const FindMemory& find_memory) {
    for (std::size_t i = 0; i < bindings.size(); i++) {
        const overtake_binding& binding = bindings[i];
        const auto index = static_cast<u32>(i);
        ovt_verdict verdict = ovt_check_binding(&binding, index, &bound);
        if (verdict.reason == OVT_ACCEPTED)
            verdict = ovt_check_memory(&binding, index, find_memory(i, binding));
        if (verdict.reason != OVT_ACCEPTED)
            return verdict;
    }
    return {OVT_ACCEPTED, 0};
}

bool is_group_without_parts(const Job& job) {
    return job.parts.empty() && (!job.stages.empty() || job.group_record != 0);
}

ovt_verdict check_job(const Job& job, const JobBounds& bounds, const FindMemory& find_memory) {
    const drm_overtake_submit submit = submission(job);
    ovt_verdict verdict = ovt_check_submit(&submit, bounds.cores);
    if (verdict.reason == OVT_ACCEPTED)
        verdict = ovt_check_right(&submit, bounds.max_priority);
    if (verdict.reason == OVT_ACCEPTED)
        verdict = ovt_check_fcs(job.fcs.data(), submit.fc_count);
    if (verdict.reason == OVT_ACCEPTED)
        verdict = check_bindings(job.bindings, 0, find_memory);
    if (verdict.reason == OVT_ACCEPTED && job.cores != 0)
        verdict = ovt_check_placement(&submit, job.cores, bounds.cores);
    if (verdict.reason == OVT_ACCEPTED && !job.parts.empty())
        verdict = check_group(job, submit, bounds.cores);
    if (verdict.reason == OVT_ACCEPTED && is_group_without_parts(job))
        verdict = {OVT_REFUSED_PARTS, 0};
    if (verdict.reason == OVT_ACCEPTED && !job.parts.empty() && job.group_record != 0)
        verdict = ovt_check_result(find_memory(job.bindings.size(), record_of(job)));
    return verdict;
}

std::string refusal_text(const ovt_verdict& verdict, const Job& job, const JobBounds& bounds) {
    return with_limit(verdict, fmt::format("job {}: {}", job.tag, job_text(verdict, job, bounds)),
                      0);
}

std::string admission_text(const ovt_verdict& verdict, std::uint64_t tag, std::uint64_t used) {
    switch (verdict.reason) {
    case OVT_REFUSED_TAG:
        return fmt::format("job {}: its queue has a job of that tag", tag);
    case OVT_REFUSED_DEVICE_FULL:
        return fmt::format("job {}: no room in the device's command queue: reap first", tag);
    default:
        return with_limit(verdict, fmt::format("job {}: no room", tag), used);
    }
}

std::string limit_text(std::uint32_t limit, std::uint64_t value, std::uint64_t used) {
    const LimitText& text = limit_texts[limit];
    const std::string in_use = used == 0 ? "" : fmt::format(" ({} in use)", used);
    return fmt::format("the limit is {} {}{}: {}", value, text.name, in_use, text.remedy);
}

void require_interruptible(const QueueOptions& options) {
    if (!options.interruptible)
        throw Error(EINVAL, "interrupt: the queue was not created to be interrupted; set "
                            "QueueOptions::interruptible");
}

std::optional<Error> buffer_refusal(std::size_t bytes) {
    const ovt_verdict verdict = ovt_check_buffer(bytes);
    return refusal(verdict, fmt::format("buffer: {} bytes", bytes));
}

std::optional<Error> queue_refusal(const QueueOptions& options) {
    const ovt_verdict verdict = ovt_check_queue(options.max_priority, options.core_limit);
    if (verdict.reason == OVT_REFUSED_QUEUE_LIMIT)
        return refusal(verdict, "queue: only one with max_priority 255 may ask for a core limit");
    return refusal(verdict, fmt::format("queue: max_priority {}, at most {}", options.max_priority,
                                        OVERTAKE_PRIORITY_HIGH));
}

std::size_t width_of(const ServiceTask& task) {
    std::size_t width = 0;
    for (const ServiceSegment& segment : task.segments)
        width = std::max(width, segment.parts.size());
    return width;
}

Job job_of(const ServiceTask& task, const ServiceSegment& segment) {
    Job job;
    job.tag = task.tag;
    job.fcs = segment.fcs;
    job.bindings = segment.bindings;
    job.scratch_bytes = segment.scratch_bytes;
    job.priority = task.priority;
    job.custom_id = task.custom_id;
    job.core = task.core;
    job.parts = segment.parts;
    job.stages = segment.stages;
    return job;
}

void check_service_task(std::uint64_t tag, std::size_t segments, unsigned priority, unsigned core,
                        const JobBounds& bounds) {
    const auto count = static_cast<u32>(std::min<std::size_t>(segments, UINT32_MAX));
    const s32 error =
        ovt_service_check_task(count, priority, core, bounds.cores, bounds.max_priority);
    if (error == 0)
        return;
    const auto refuse = [&](const std::string& what) {
        throw Error(-error, fmt::format("task {}: {}", tag, what));
    };
    if (error == -E2BIG)
        refuse(fmt::format("{} segments, at most {}", segments, OVT_SERVICE_MAX_SEGMENTS));
    if (error == -EPERM)
        refuse(fmt::format("priority {}, but its queue was made for at most {}", priority,
                           bounds.max_priority));
    if (segments == 0)
        refuse("no segment");
    if (priority > priority_high)
        refuse(fmt::format("priority {}, at most {}", priority, priority_high));
    refuse(fmt::format("there is no core {}, the device has {}", core, bounds.cores));
}

void check_cpu_segment(std::uint64_t tag, std::size_t index, std::size_t bindings,
                       std::uint32_t scratch_bytes) {
    if (bindings != 0 || scratch_bytes != 0)
        throw Error(EINVAL, fmt::format("task {}: segment {} has no FC, so it is on the CPU and "
                                        "has neither bindings nor scratch memory",
                                        tag, index));
}

void check_segment_parts(std::uint64_t tag, std::size_t index, bool on_bpu,
                         std::span<const overtake_part> parts,
                         std::span<const std::uint32_t> stages) {
    if (!on_bpu && (!parts.empty() || !stages.empty()))
        throw Error(EINVAL, fmt::format("task {}: segment {} has no FC, so it is on the CPU and "
                                        "has neither parts nor stages",
                                        tag, index));
    if (parts.size() > OVERTAKE_MAX_CORES)
        return; // the check of the job refuses it
    const ovt_verdict verdict =
        ovt_check_parts_of_task(parts.data(), static_cast<u32>(parts.size()));
    if (verdict.reason != OVT_ACCEPTED)
        throw Error(refusal_code(verdict),
                    fmt::format("task {}: segment {}: parts[{}].core is {}, but parts of a task "
                                "name no core: the device gives the task as many as it needs",
                                tag, index, verdict.index, parts[verdict.index].core));
}

void check_task_width(std::uint64_t tag, std::size_t width, unsigned core, unsigned cores) {
    const auto wanted = static_cast<u32>(std::min<std::size_t>(width, UINT32_MAX));
    if (ovt_service_check_width(wanted, wanted, core, cores) == 0)
        return;
    if (core != core_any)
        throw Error(EINVAL, fmt::format("task {}: it has segments with parts, so it names no core: "
                                        "leave core 0",
                                        tag));
    throw Error(EINVAL, fmt::format("task {}: a segment has {} parts, but the device has {} cores",
                                    tag, width, cores));
}

Error segment_refusal(std::uint64_t tag, std::size_t index, const Error& of_job) {
    std::string_view what = of_job.what();
    const std::string job = fmt::format("job {}: ", tag);
    if (what.starts_with(job))
        what.remove_prefix(job.size());
    return {of_job.code(), fmt::format("task {}: segment {}: {}", tag, index, what)};
}

Error cpu_done_refusal(int code, std::uint64_t tag, std::uint32_t segment, std::int32_t status) {
    if (status > 0 || status < -OVT_SERVICE_MAX_ERRNO)
        return {EINVAL, fmt::format("task {}: {} is no status of a segment: 0, or a negative errno",
                                    tag, status)};
    if (code == ENOENT)
        return {ENOENT, fmt::format("there is no task {}", tag)};
    return {code, fmt::format("task {}: segment {} is not to be run, or has been reported already",
                              tag, segment)};
}

std::optional<Error> workers_refusal(std::uint32_t workers) {
    if (workers >= 1 && workers <= OVT_SERVICE_MAX_WORKERS)
        return std::nullopt;
    return Error(EINVAL, fmt::format("create queue: {} CPU workers, but 1..{} are possible",
                                     workers, OVT_SERVICE_MAX_WORKERS));
}

Error unlike_cores_refusal() {
    return Error(ENOTSUP, "service mode: the cores of this device have unlike profiles: schedule "
                          "without service mode, or use a device of like cores (one --profile of "
                          "overtake serve, one profile of the kernel module)");
}

} // namespace overtake
