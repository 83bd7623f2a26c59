// SPDX-License-Identifier: MIT
//
// Tasks of service mode on a kernel device, by ioctl.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "kernel/kernel_context.hpp"
#include "overtake/service.hpp"
#include "service_event.hpp"
#include "user_pointer.hpp"

namespace overtake {

namespace {

/// Events that one call may return.
constexpr std::size_t events_at_once = 64;

/// Cuts a number that does not fit to one that is refused as well.
std::uint32_t cut(std::size_t count) {
    return static_cast<std::uint32_t>(std::min<std::size_t>(count, UINT32_MAX));
}

class KernelTasks final : public ServiceQueue {
public:
    KernelTasks(std::shared_ptr<KernelFile> file, const ServiceQueueOptions& options)
        : context_(std::move(file), queue_options(options), options.workers),
          settings_(context_.file().service_settings()), events_(events_at_once),
          results_(std::max<std::size_t>(OVERTAKE_MAX_SEGMENTS, 4096)) {}

    const ServiceSettings& settings() const noexcept override { return settings_; }
    void submit(const ServiceTask& task) override;
    std::vector<ServiceEvent> reap(std::int64_t deadline_ns) override;
    void cpu_done(std::uint64_t tag, std::uint32_t segment, std::int32_t status) override;
    bool cancel(std::uint64_t tag) override;
    std::size_t live() const noexcept override { return live_; }
    void interrupt() override;

private:
    static QueueOptions queue_options(const ServiceQueueOptions& options) {
        if (const auto refusal = workers_refusal(options.workers))
            throw *refusal;
        QueueOptions plain;
        plain.max_priority = options.max_priority;
        plain.core_limit = options.core_limit;
        plain.interruptible = options.interruptible;
        return plain;
    }
    std::uint64_t chain_parts(const ServiceTask& task, overtake_extension_task_parts& extension);
    [[noreturn]] void refuse(const ServiceTask& task, int code) const;

    KernelContext context_;
    const ServiceSettings settings_;
    std::vector<overtake_task_segment> segments_; ///< of the task that is being submitted
    std::vector<overtake_segment_parts> parts_;   ///< of that task, if it has groups
    std::vector<overtake_task_event> events_;
    std::vector<Completion> results_;
    std::size_t live_ = 0;
    bool events_lost_ = false;
};

/// Chains the fields that only groups have; returns 0 if there are none.
std::uint64_t KernelTasks::chain_parts(const ServiceTask& task,
                                       overtake_extension_task_parts& extension) {
    const std::size_t width = width_of(task);
    parts_.clear();
    for (std::size_t i = 0; i < task.segments.size(); i++) {
        const ServiceSegment& segment = task.segments[i];
        check_segment_parts(task.tag, i, !segment.fcs.empty(), segment.parts, segment.stages);
        const Job job = job_of(task, segment);
        const overtake_extension_parts group = group_of(job);
        if (is_group_without_parts(job))
            refuse(task, EINVAL);
        parts_.push_back({.parts = segment.parts.empty() ? 0 : group.parts,
                          .stages = segment.parts.empty() ? 0 : group.stages,
                          .part_count = cut(segment.parts.size()),
                          .stage_count = group.stage_count});
    }
    if (width == 0)
        return 0;
    check_task_width(task.tag, width, task.core, context_.bounds().cores);
    if (!context_.file().takes_groups())
        throw Error(ENOTSUP, fmt::format("{}: task {}: the driver is older than tasks with parts: "
                                         "use one of version 1.2 or newer",
                                         context_.file().path(), task.tag));
    extension = {.base = {.next = 0, .type = OVERTAKE_EXTENSION_TASK_PARTS, .pad = 0},
                 .segments = user_pointer(parts_.data()),
                 .width = static_cast<std::uint32_t>(width),
                 .pad = 0};
    return reinterpret_cast<std::uintptr_t>(&extension);
}

void KernelTasks::submit(const ServiceTask& task) {
    check_service_task(task.tag, task.segments.size(), task.priority, task.core, context_.bounds());
    segments_.clear();
    for (std::size_t i = 0; i < task.segments.size(); i++) {
        const ServiceSegment& segment = task.segments[i];
        if (segment.fcs.empty())
            check_cpu_segment(task.tag, i, segment.bindings.size(), segment.scratch_bytes);
        segments_.push_back({
            .fcs = segment.fcs.empty() ? 0 : user_pointer(segment.fcs.data()),
            .bindings = segment.bindings.empty() ? 0 : user_pointer(segment.bindings.data()),
            .cpu_key = segment.cpu_key,
            .expected_ns = segment.expected_ns,
            .fc_count = cut(segment.fcs.size()),
            .binding_count = cut(segment.bindings.size()),
            .scratch_bytes = segment.scratch_bytes,
            .pad = 0,
        });
    }
    overtake_extension_model extension;
    overtake_extension_task_parts parts;
    drm_overtake_task_submit submit{
        .segments = user_pointer(segments_.data()),
        .tag = task.tag,
        .custom_id = task.custom_id,
        .deadline_ns = task.deadline_ns,
        .extensions = context_.chain_model(extension, task.model, chain_parts(task, parts)),
        .context_id = context_.id(),
        .segment_count = static_cast<std::uint32_t>(segments_.size()),
        .core = task.core,
        .priority = static_cast<std::uint16_t>(task.priority),
        .flags = 0,
        .reserved = {},
    };
    if (const int code = context_.file().try_call(DRM_IOCTL_OVERTAKE_TASK_SUBMIT, &submit))
        refuse(task, code);
    live_++;
}

/// Throws the error of a refused task.  The driver returns only an errno; the error names the wrong
/// segment if the rules find it.
void KernelTasks::refuse(const ServiceTask& task, int code) const {
    for (std::size_t i = 0; i < task.segments.size(); i++) {
        if (task.segments[i].fcs.empty())
            continue;
        const Job job = job_of(task, task.segments[i]);
        const ovt_verdict verdict = context_.check(job);
        if (refusal_code(verdict) == code)
            throw segment_refusal(task.tag, i,
                                  {code, refusal_text(verdict, job, context_.bounds())});
    }
    if (code == EEXIST)
        throw Error(EEXIST,
                    fmt::format("task: tag {} is in use; reap the task's end first", task.tag));
    throw Error(code, fmt::format("{}: task {}: {}", context_.file().path(), task.tag,
                                  context_.file().reason(code)));
}

std::vector<ServiceEvent> KernelTasks::reap(std::int64_t deadline_ns) {
    if (deadline_ns < 0)
        throw Error(EINVAL, "reap: negative deadline");
    std::vector<ServiceEvent> events;
    if (events_lost_)
        throw Error(ENOMEM, "events: some were lost for want of memory: make a new queue");
    if (live_ == 0)
        return events;
    drm_overtake_task_events wait{
        .events = user_pointer(events_.data()),
        .results = user_pointer(results_.data()),
        .deadline_ns = deadline_ns,
        .context_id = context_.id(),
        .event_count = static_cast<std::uint32_t>(events_.size()),
        .result_count = static_cast<std::uint32_t>(results_.size()),
        .flags = 0,
    };
    const int code = context_.file().try_call(DRM_IOCTL_OVERTAKE_TASK_EVENTS, &wait);
    if (code == ETIMEDOUT)
        return events;
    if (code != 0)
        throw Error(code,
                    fmt::format("{}: events: {}", context_.file().path(), std::strerror(code)));
    events_lost_ = true; // until the loop has passed them on
    std::size_t results = 0;
    for (std::uint32_t i = 0; i < wait.event_count; i++) {
        const std::size_t count = events_[i].result_count;
        events.push_back(
            make_service_event(events_[i], std::span(results_).subspan(results, count)));
        results += count;
        live_ -= events.back().type == ServiceEvent::Type::ended;
    }
    events_lost_ = false;
    return events;
}

void KernelTasks::cpu_done(std::uint64_t tag, std::uint32_t segment, std::int32_t status) {
    drm_overtake_task_cpu_done done{
        .tag = tag, .context_id = context_.id(), .segment = segment, .status = status, .pad = 0};
    const int code = context_.file().try_call(DRM_IOCTL_OVERTAKE_TASK_CPU_DONE, &done);
    if (code != 0)
        throw cpu_done_refusal(code, tag, segment, status);
}

bool KernelTasks::cancel(std::uint64_t tag) {
    drm_overtake_task_cancel cancel{.tag = tag, .context_id = context_.id(), .pad = 0};
    const int code = context_.file().try_call(DRM_IOCTL_OVERTAKE_TASK_CANCEL, &cancel);
    if (code != 0 && code != ENOENT)
        throw Error(code, fmt::format("{}: cancel task {}: {}", context_.file().path(), tag,
                                      std::strerror(code)));
    return code == 0;
}

void KernelTasks::interrupt() {
    require_interruptible(context_.options());
    drm_overtake_task_events wake{};
    wake.context_id = context_.id();
    wake.flags = OVERTAKE_TASK_EVENTS_WAKE;
    // If the device is gone, the thread that reaps gets the error.
    (void)context_.file().try_call(DRM_IOCTL_OVERTAKE_TASK_EVENTS, &wake);
}

} // namespace

std::unique_ptr<ServiceQueue> create_kernel_tasks(std::shared_ptr<KernelFile> file,
                                                  const ServiceQueueOptions& options) {
    return std::make_unique<KernelTasks>(std::move(file), options);
}

} // namespace overtake
