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
    if (job.cores != 0) {
        extensions.placement = {};
        extensions.placement.base.type = OVERTAKE_EXTENSION_PLACEMENT;
        extensions.placement.cores = job.cores;
        submit.extensions = reinterpret_cast<std::uintptr_t>(&extensions.placement);
    }
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

ovt_verdict KernelContext::check(const Job& job) const {
    return check_job(job, bounds_, [this](std::size_t, const overtake_binding& binding) {
        return file_->holds(binding.address, binding.length)
                   ? OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE
                   : 0;
    });
}

Error KernelContext::refused(const Job& job, int code) const {
    const ovt_verdict verdict = check(job);
    const std::string& path = file_->path();
    if (refusal_code(verdict) == code)
        return {code, fmt::format("{}: {}", path, refusal_text(verdict, job, bounds_))};
    if (code == EEXIST)
        return {code,
                fmt::format("{}: {}", path, admission_text({OVT_REFUSED_TAG, 0}, job.tag, 0))};
    // How much room there is only the driver knows.
    return {code, fmt::format("{}: job {}: {}{}", path, job.tag, code == ENOSPC ? "no room; " : "",
                              file_->reason(code))};
}

} // namespace overtake
