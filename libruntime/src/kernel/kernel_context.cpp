// SPDX-License-Identifier: MIT
#include "kernel/kernel_context.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace overtake {

KernelContext::KernelContext(std::shared_ptr<KernelFile> file, const QueueOptions& options,
                             std::uint32_t workers)
    : file_(std::move(file)), options_(options), bounds_{.cores = file_->info().core_count,
                                                         .max_priority = options.max_priority} {
    drm_overtake_context_create create{.max_priority = options.max_priority,
                                       .core_limit = options.core_limit,
                                       .flags = workers,
                                       .context_id = 0};
    const int code = file_->try_call(DRM_IOCTL_OVERTAKE_CONTEXT_CREATE, &create);
    if (code == 0) {
        id_ = create.context_id;
        return;
    }
    if (const auto refusal = queue_refusal(options); refusal && refusal->code() == code)
        throw *refusal;
    if (code == EOPNOTSUPP && workers != 0)
        throw unlike_cores_refusal();
    if (code == EINVAL && workers != 0)
        throw Error(ENOTSUP, fmt::format("{}: create queue: the driver is older than service mode",
                                         file_->path()));
    if (code == EPERM)
        throw Error(
            code,
            fmt::format("{}: priority 255 needs CAP_SYS_NICE; put 'sudo setpriv --reuid "
                        "$(id -u) --regid $(id -g) --init-groups --inh-caps +sys_nice "
                        "--ambient-caps +sys_nice' before the command, or ask for at most 254",
                        file_->path()));
    throw Error(code, fmt::format("{}: create queue: {}", file_->path(), file_->reason(code)));
}

bool KernelContext::cancel(std::uint64_t tag) {
    drm_overtake_cancel cancel{.tag = tag, .context_id = id_, .pad = 0};
    const int code = file_->try_call(DRM_IOCTL_OVERTAKE_CANCEL, &cancel);
    if (code != 0 && code != ENOENT)
        throw Error(code,
                    fmt::format("{}: cancel job {}: {}", file_->path(), tag, std::strerror(code)));
    return code == 0;
}

void KernelContext::destroy() noexcept {
    const std::uint32_t id = id_.exchange(0);
    if (id == 0)
        return;
    drm_overtake_context_destroy destroy{.context_id = id, .pad = 0};
    file_->try_call(DRM_IOCTL_OVERTAKE_CONTEXT_DESTROY, &destroy);
}

drm_overtake_submit KernelContext::payload(const Job& job, std::uint64_t result,
                                           JobExtensions& extensions) const {
    drm_overtake_submit submit = submission(job);
    submit.result = result;
    submit.context_id = id_;
    submit.extensions = chain_placement(extensions.placement, job.cores);
    if (!job.parts.empty()) {
        if (!file_->takes_groups())
            throw Error(ENOTSUP,
                        fmt::format("{}: job {}: the driver is older than jobs with parts: "
                                    "use one of version 1.2 or newer",
                                    file_->path(), job.tag));
        extensions.parts = group_of(job);
        extensions.parts.base.next = submit.extensions;
        submit.extensions = reinterpret_cast<std::uintptr_t>(&extensions.parts);
    }
    if (is_group_without_parts(job))
        throw refused(job, EINVAL);
    submit.extensions = chain_model(extensions.model, job.model, submit.extensions);
    return submit;
}

std::uint64_t KernelContext::chain_placement(overtake_extension_placement& extension,
                                             std::uint64_t cores) const {
    if (cores == 0)
        return 0;
    extension = {};
    extension.base.type = OVERTAKE_EXTENSION_PLACEMENT;
    extension.cores = cores;
    return reinterpret_cast<std::uintptr_t>(&extension);
}

std::uint64_t KernelContext::chain_model(overtake_extension_model& extension, std::uint64_t model,
                                         std::uint64_t next) const {
    if (model == 0 || !file_->takes_models())
        return next;
    extension = {.base = {.next = next, .type = OVERTAKE_EXTENSION_MODEL, .pad = 0},
                 .model = model};
    return reinterpret_cast<std::uintptr_t>(&extension);
}

void KernelContext::tell_core(const Job& job, const JobExtensions& extensions) {
    if (job.cores != 0 && job.chosen_core)
        *job.chosen_core = extensions.placement.core;
}

std::uint32_t KernelContext::holds(const overtake_binding& binding) const {
    return file_->holds(binding.address, binding.length) ? OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE
                                                         : 0;
}

ovt_verdict KernelContext::check(const Job& job) const {
    return check_job(job, bounds_, [this](std::size_t, const overtake_binding& binding) {
        return holds(binding);
    });
}

Error KernelContext::refused(const Job& job, int code) const {
    const ovt_verdict verdict = check(job);
    const std::string& path = file_->path();
    if (refusal_code(verdict) == code)
        return {code, fmt::format("{}: {}", path, refusal_text(verdict, job, bounds_))};
    return refusal_by_room(job.tag, code);
}

/// Makes the error of a job that finds no room: only the driver knows how much there is.
Error KernelContext::refusal_by_room(std::uint64_t tag, int code) const {
    const std::string& path = file_->path();
    if (code == EEXIST)
        return {code, fmt::format("{}: {}", path, admission_text({OVT_REFUSED_TAG, 0}, tag, 0))};
    return {code, fmt::format("{}: job {}: {}{}", path, tag, code == ENOSPC ? "no room; " : "",
                              file_->reason(code))};
}

// Recordings

const RecordedJob* KernelContext::find(std::uint32_t recording) const {
    const auto found = recordings_.find(recording);
    return found == recordings_.end() ? nullptr : &found->second;
}

std::uint32_t KernelContext::record(const Job& job, unsigned instances) {
    if (!file_->records())
        throw Error(ENOTSUP, fmt::format("{}: recording: the driver is older than recordings: use "
                                         "one of version 1.3 or newer",
                                         file_->path()));
    const Job part = recorded_part(job);
    JobExtensions extensions;
    const drm_overtake_submit submit = payload(part, 0, extensions);
    drm_overtake_record args = record_of(part, instances);
    args.extensions = submit.extensions;
    args.context_id = id_;
    if (const int code = file_->try_call(DRM_IOCTL_OVERTAKE_RECORD, &args)) {
        const ovt_verdict verdict = check_recording(
            job, instances, bounds_,
            [this](std::size_t, const overtake_binding& binding) { return holds(binding); });
        const std::string text =
            refusal_code(verdict) == code
                ? recording_refusal_text(verdict, job, instances, bounds_, 0)
                : fmt::format("recording: {}{}", code == ENOSPC ? "no room; " : "",
                              file_->reason(code));
        throw Error(code, fmt::format("{}: {}", file_->path(), text));
    }
    recordings_.emplace(args.record_id, part);
    return args.record_id;
}

void KernelContext::forget(std::uint32_t recording) {
    recordings_.erase(recording);
    drm_overtake_forget args{.context_id = id_, .record_id = recording};
    if (const int code = file_->try_call(DRM_IOCTL_OVERTAKE_FORGET, &args))
        throw Error(code, fmt::format("{}: forget recording {}: {}", file_->path(), recording,
                                      std::strerror(code)));
}

drm_overtake_replay KernelContext::payload(const Replay& replay, std::uint64_t result,
                                           JobExtensions& extensions) const {
    drm_overtake_replay args = replay_of(replay);
    args.result = result;
    args.context_id = id_;
    args.extensions = chain_placement(extensions.placement, replay.cores);
    if (const RecordedJob* const recorded = find(replay.recording);
        recorded && says_parts(replay)) {
        extensions.replay_parts = parts_of(replay, *recorded);
        extensions.replay_parts.base.next = args.extensions;
        args.extensions = reinterpret_cast<std::uintptr_t>(&extensions.replay_parts);
    }
    args.extensions = chain_model(extensions.model, replay.model, args.extensions);
    return args;
}

void KernelContext::tell_core(const Replay& replay, const JobExtensions& extensions) {
    if (replay.cores != 0 && replay.chosen_core)
        *replay.chosen_core = extensions.placement.core;
}

ovt_verdict KernelContext::check(const Replay& replay) const {
    const ovt_verdict verdict = check_replay(replay, bounds_);
    if (verdict.reason != OVT_ACCEPTED)
        return verdict;
    const RecordedJob* const recorded = find(replay.recording);
    if (!recorded)
        return {OVT_REFUSED_NO_RECORDING, 0};
    return check_replay_of(
        *recorded, replay, bounds_,
        [this](std::size_t, const overtake_binding& binding) { return holds(binding); });
}

Error KernelContext::refused(const Replay& replay, int code) const {
    ovt_verdict verdict = check(replay);
    if (code == EBUSY)
        verdict = {OVT_REFUSED_BUSY, 0};
    if (refusal_code(verdict) != code)
        return refusal_by_room(replay.tag, code);
    return {code,
            fmt::format("{}: {}", file_->path(),
                        replay_refusal_text(verdict, replay, find(replay.recording), bounds_))};
}

} // namespace overtake
