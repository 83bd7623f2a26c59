// SPDX-License-Identifier: MIT
//
// A context on an open device node: what the ioctl and io_uring queues have in common.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>

#include "kernel/kernel_file.hpp"
#include "overtake/device.hpp"
#include "overtake/service.hpp"
#include "recorded_job.hpp"
#include "refusal.hpp"

namespace overtake {

/// The extensions of a job; each job of a batch has its own until the driver has taken it.
struct JobExtensions {
    overtake_extension_placement placement;
    overtake_extension_model model;
    overtake_extension_parts parts;
    overtake_extension_replay_parts replay_parts;
};

/// A context; destroying it ends its jobs.
class KernelContext {
public:
    /// `workers`: 0 for a queue of jobs, else the CPU workers of a queue of tasks.
    KernelContext(std::shared_ptr<KernelFile> file, const QueueOptions& options,
                  std::uint32_t workers = 0);
    ~KernelContext() { destroy(); }
    KernelContext(const KernelContext&) = delete;
    KernelContext& operator=(const KernelContext&) = delete;

    KernelFile& file() const noexcept { return *file_; }
    const std::shared_ptr<KernelFile>& shared_file() const noexcept { return file_; }
    std::uint32_t id() const noexcept { return id_; }
    const QueueOptions& options() const noexcept { return options_; }
    const JobBounds& bounds() const noexcept { return bounds_; }

    /// Returns false if no such job is in flight.
    bool cancel(std::uint64_t tag);
    /// Ends the context and its jobs now.
    void destroy() noexcept;

    /// Returns a job as the driver takes it.  It points into the job, and to `extensions` if the
    /// job leaves a choice of cores (the driver writes its choice there), has a model or is a
    /// group.  `result` is a device address or 0.  Throws Error ENOTSUP for a group that the driver
    /// is too old for, and EINVAL for fields of groups in a job without parts.
    drm_overtake_submit payload(const Job& job, std::uint64_t result,
                                JobExtensions& extensions) const;
    /// Chains an extension that names the model in front of `next`.  Returns `next` if there is no
    /// model, or if the driver is too old for it.
    std::uint64_t chain_model(overtake_extension_model& extension, std::uint64_t model,
                              std::uint64_t next) const;
    /// Passes the core that the driver chose to the submitter of a job that was taken.
    static void tell_core(const Job& job, const JobExtensions& extensions);

    /// See Queue::record() and Queue::forget().
    std::uint32_t record(const Job& job, unsigned instances);
    void forget(std::uint32_t recording);
    /// Does the same as payload() of a job.  The driver refuses an unknown recording.
    drm_overtake_replay payload(const Replay& replay, std::uint64_t result,
                                JobExtensions& extensions) const;
    static void tell_core(const Replay& replay, const JobExtensions& extensions);

    /// Checks a job by the rules, which the driver has applied or will apply.
    ovt_verdict check(const Job& job) const;
    /// Makes the error of a refused job: it names the wrong field if the rules find it, else it has
    /// the errno's text.
    Error refused(const Job& job, int code) const;
    ovt_verdict check(const Replay& replay) const;
    Error refused(const Replay& replay, int code) const;

private:
    std::uint32_t holds(const overtake_binding& binding) const;
    const RecordedJob* find(std::uint32_t recording) const;
    std::uint64_t chain_placement(overtake_extension_placement& extension,
                                  std::uint64_t cores) const;
    Error refusal_by_room(std::uint64_t tag, int code) const;

    std::shared_ptr<KernelFile> file_;
    const QueueOptions options_;
    JobBounds bounds_;
    std::map<std::uint32_t, RecordedJob> recordings_; ///< by the driver's number for them
    std::atomic<std::uint32_t> id_ = 0;               ///< a thread may wait while another destroys
};

std::unique_ptr<Queue> create_ioctl_queue(std::shared_ptr<KernelFile> file,
                                          const QueueOptions& options);
std::unique_ptr<Queue> create_uring_queue(std::shared_ptr<KernelFile> file,
                                          const QueueOptions& options);
std::unique_ptr<ServiceQueue> create_kernel_tasks(std::shared_ptr<KernelFile> file,
                                                  const ServiceQueueOptions& options);
/// Returns 0 if the process may use io_uring for device commands, else the errno that forbids it.
int uring_refusal(const KernelFile& file);

} // namespace overtake
