// SPDX-License-Identifier: MIT
//
// A queue whose jobs are submitted and collected by ioctl: works wherever the node can be opened.
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "kernel/kernel_context.hpp"
#include "reserved.hpp"

namespace overtake {

namespace {

class IoctlQueue final : public Queue {
public:
    IoctlQueue(std::shared_ptr<KernelFile> file, const QueueOptions& options)
        : context_(std::move(file), options) {}

    void submit(std::span<const Job> jobs) override {
        for (const Job& job : jobs) {
            require_zero_in_job(job.reserved, job.tag);
            drm_overtake_submit submit = context_.payload(job, 0);
            if (const int code = context_.file().try_call(DRM_IOCTL_OVERTAKE_SUBMIT, &submit))
                throw context_.refused(job, code);
            in_flight_++;
        }
    }

    std::size_t reap(std::span<Completion> out, std::int64_t deadline_ns) override {
        if (deadline_ns < 0)
            throw Error(EINVAL, "reap: negative deadline");
        std::size_t count = 0;
        while (count < out.size() && in_flight_ != 0) {
            // Only the first is worth waiting for.
            drm_overtake_wait wait{.tag = 0,
                                   .deadline_ns = count == 0 ? deadline_ns : 0,
                                   .context_id = context_.id(),
                                   .flags = OVERTAKE_WAIT_ANY,
                                   .result = {}};
            const int code = context_.file().try_call(DRM_IOCTL_OVERTAKE_WAIT, &wait);
            if (code == ETIMEDOUT)
                break;
            if (code != 0)
                throw Error(
                    code, fmt::format("{}: wait: {}", context_.file().path(), std::strerror(code)));
            out[count++] = wait.result;
            in_flight_--;
        }
        return count;
    }

    bool cancel(std::uint64_t tag) override { return context_.cancel(tag); }
    std::size_t in_flight() const noexcept override { return in_flight_; }

private:
    KernelContext context_;
    std::size_t in_flight_ = 0;
};

} // namespace

std::unique_ptr<Queue> create_ioctl_queue(std::shared_ptr<KernelFile> file,
                                          const QueueOptions& options) {
    return std::make_unique<IoctlQueue>(std::move(file), options);
}

} // namespace overtake
