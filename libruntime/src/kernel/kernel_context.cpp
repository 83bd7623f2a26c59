// SPDX-License-Identifier: MIT
#include "kernel/kernel_context.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "reserved.hpp"

namespace overtake {

namespace {

std::uint64_t user_pointer(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

} // namespace

KernelContext::KernelContext(std::shared_ptr<KernelFile> file, const QueueOptions& options)
    : file_(std::move(file)) {
    require_zero(options.reserved, "queue options");
    drm_overtake_context_create create{.max_priority = options.max_priority,
                                       .core_limit = options.core_limit,
                                       .flags = 0,
                                       .context_id = 0};
    const int code = file_->try_call(DRM_IOCTL_OVERTAKE_CONTEXT_CREATE, &create);
    if (code == EPERM)
        throw Error(
            code,
            fmt::format("{}: priority 255 needs CAP_SYS_NICE; put 'sudo setpriv --reuid "
                        "$(id -u) --regid $(id -g) --init-groups --inh-caps +sys_nice "
                        "--ambient-caps +sys_nice' before the command, or ask for at most 254",
                        file_->path()));
    if (code != 0)
        throw Error(code, fmt::format("{}: create queue: {}{}", file_->path(), std::strerror(code),
                                      file_->limit_exceeded(code)));
    id_ = create.context_id;
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
    const std::uint32_t id = std::exchange(id_, 0);
    if (id == 0)
        return;
    drm_overtake_context_destroy destroy{.context_id = id, .pad = 0};
    file_->try_call(DRM_IOCTL_OVERTAKE_CONTEXT_DESTROY, &destroy);
}

drm_overtake_submit KernelContext::payload(const Job& job, std::uint64_t result) const {
    drm_overtake_submit submit{};
    submit.fcs = user_pointer(job.fcs.data());
    submit.bindings = user_pointer(job.bindings.data());
    submit.result = result;
    submit.tag = job.tag;
    submit.custom_id = job.custom_id;
    submit.deadline_ns = job.deadline_ns;
    submit.context_id = id_;
    submit.fc_count = static_cast<std::uint32_t>(std::min<std::size_t>(job.fcs.size(), UINT32_MAX));
    submit.binding_count =
        static_cast<std::uint32_t>(std::min<std::size_t>(job.bindings.size(), UINT32_MAX));
    submit.core = job.core;
    submit.scratch_bytes = job.scratch_bytes;
    // Numbers that do not fit are cut to ones that the driver refuses.
    submit.priority = static_cast<std::uint16_t>(std::min<unsigned>(job.priority, UINT16_MAX));
    return submit;
}

} // namespace overtake
