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

/// What is chained to a job; of a batch each has its own until the driver has taken it.
struct JobExtensions {
    overtake_extension_placement placement;
    overtake_extension_model model;
    overtake_extension_parts parts;
    overtake_extension_replay_parts replay_parts;
};

/// Destroying it ends its jobs.
class KernelContext {
public:
    /// workers: 0 for a queue of jobs, otherwise those of one of tasks.
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

    /// False if no such job is in flight.
    bool cancel(std::uint64_t tag);
    /// Ends its jobs now.
    void destroy() noexcept;

    /// A job as the driver takes it.  Points into the job, and to `extensions` if it leaves a
    /// choice of cores, which the driver answers there, has a model or is a group; `result` is a
    /// device address or 0.  Throws Error ENOTSUP for a group that the driver is too old for,
    /// EINVAL for what is only of groups in a job without parts.
    drm_overtake_submit payload(const Job& job, std::uint64_t result,
                                JobExtensions& extensions) const;
    /// A chain that tells the driver of a model, in front of what is chained already.  What is
    /// chained already if there is no model, or the driver is older than that.
    std::uint64_t chain_model(overtake_extension_model& extension, std::uint64_t model,
                              std::uint64_t next) const;
    /// The job was taken: its submitter learns which core the driver chose.
    static void tell_core(const Job& job, const JobExtensions& extensions);

    /// See Queue::record() and Queue::forget().
    std::uint32_t record(const Job& job, unsigned instances);
    void forget(std::uint32_t recording);
    /// As payload() of a job.  Throws Error ENOENT for a recording that is none.
    drm_overtake_replay payload(const Replay& replay, std::uint64_t result,
                                JobExtensions& extensions) const;
    static void tell_core(const Replay& replay, const JobExtensions& extensions);

    /// What the rules say of a job; the driver has asked them, or will.
    ovt_verdict check(const Job& job) const;
    /// The driver refused a job: the field that is wrong if the rules know it, else what the errno
    /// says.
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
    std::map<std::uint32_t, RecordedJob> recordings_; ///< by what the driver calls them
    std::atomic<std::uint32_t> id_ = 0;               ///< a thread may wait while another destroys
};

std::unique_ptr<Queue> create_ioctl_queue(std::shared_ptr<KernelFile> file,
                                          const QueueOptions& options);
std::unique_ptr<Queue> create_uring_queue(std::shared_ptr<KernelFile> file,
                                          const QueueOptions& options);
std::unique_ptr<ServiceQueue> create_kernel_tasks(std::shared_ptr<KernelFile> file,
                                                  const ServiceQueueOptions& options);
/// 0 if the process may use io_uring for device commands; otherwise the errno that says why not.
int uring_refusal(const KernelFile& file);

} // namespace overtake
