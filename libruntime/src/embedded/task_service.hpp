// SPDX-License-Identifier: MIT
//
// TaskService: service mode (firmware-sim/service) on a FirmwareHost, for the clients of a server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "embedded/job.hpp"
#include "overtake/service.hpp"

extern "C" {
#include "service/service.h"
}

namespace overtake {

class FirmwareHost;

/// The options that a server gives its device for the tasks of all clients.
struct ServiceOptions {
    std::string policy;
    ServiceSettings settings;
};

/// A task, with all memory that bringing it to its end takes.
struct HostedTask : ovt_service_task {
    /// `width`: the cores that it takes at once for its groups; 0: it has no groups.
    HostedTask(std::size_t segments, std::size_t width)
        : ovt_service_task{}, segment_storage(segments), key_storage(segments),
          result_storage(segments), jobs(segments), gap_storage(width), core_storage(width) {}

    std::vector<ovt_sched_segment> segment_storage;
    std::vector<u64> key_storage;
    std::vector<overtake_result> result_storage;
    std::vector<std::shared_ptr<EmbeddedJob>> jobs; ///< by segment; null: on the CPU, or over
    ovt_sched_span span{};
    std::vector<ovt_sched_gap> gap_storage;
    std::vector<u32> core_storage;
    std::uint64_t model = 0;
    unsigned jobs_left = 0;             ///< not yet submitted
    unsigned slots = 0;                 ///< of commands, for the next job or to cancel this one
    std::optional<MemoryCharge> charge; ///< charged to the client
    HostedTask* next_released = nullptr;
};

/// A process of the service: a client, or one of its queues of tasks.  Protected by the host's
/// lock.
struct HostedProcess : ovt_service_process {
    EmbeddedContext* context = nullptr;
    std::function<void()> wake; ///< called with the host's lock held: it must be quick
    std::vector<ovt_sched_line> lines;
    HostedTask* released = nullptr; ///< to be freed
};

/// Every function is called with the host's lock held.
class TaskService {
public:
    /// Throws Error EINVAL for options that are impossible.
    TaskService(FirmwareHost& host, const ServiceOptions& options, unsigned cores);
    TaskService(const TaskService&) = delete;
    TaskService& operator=(const TaskService&) = delete;

    const ServiceSettings& settings() const noexcept { return settings_; }
    /// The context of the jobs of all processes.  Where contexts take turns, all processes are one
    /// context.
    EmbeddedContext& context() noexcept { return context_; }

    void open(HostedProcess& process, std::uint32_t workers, bool keeps_place);
    void submit(HostedProcess& process, HostedTask& task, std::uint64_t now_ns);
    void job_ended(EmbeddedJob& job, Completion completion);
    /// Returns true if there was something to do.
    bool settle(std::uint64_t now_ns) { return ovt_service_settle(&service_, now_ns); }
    /// Handles the ends of tasks, and nothing else.
    void handle_ends(std::uint64_t now_ns) { ovt_service_handle_ends(&service_, now_ns); }
    std::uint64_t next_time() const { return ovt_service_next_time(&service_); }
    /// Whether processes have tasks whose ends are not collected.
    bool has_tasks() const noexcept { return tasks_ != 0; }
    /// Releases a task that neither the process nor the service uses any more.
    void forget(HostedTask& task);

private:
    static u32 submit_job(ovt_service_task* task, u32 segment, u32 core, u64 cores);
    static u32 place(ovt_service_task* task, u64 cores);
    static void cancel_job(ovt_service_task* task);
    static void wake(ovt_service_process* process);
    static void release(ovt_service_task* task);
    static void note(const ovt_service_task* task, ovt_service_step step);
    static TaskService& of(const ovt_service_process* process);

    struct Service : ovt_service {
        TaskService* own;
    };

    FirmwareHost& host_;
    const ServiceSettings settings_;
    std::vector<ovt_sched_queue_core> cores_;
    ovt_service_host calls_{};
    Service service_{};
    EmbeddedContext context_;
    std::size_t tasks_ = 0;
    std::uint64_t next_job_tag_ = 1;
};

} // namespace overtake
