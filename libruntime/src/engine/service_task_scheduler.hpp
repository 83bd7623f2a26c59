// SPDX-License-Identifier: MIT
//
// ServiceTaskScheduler: an engine's tasks in service mode.  The device holds the tasks and decides
// for all of its processes which one goes on; only the workers are here.
//
// Thread safety: one thread at a time uses it, except for interrupt().
#pragma once

#include <memory>

#include "engine/task_scheduler_interface.hpp"
#include "overtake/service.hpp"

namespace overtake::engine {

class ServiceTaskScheduler final : public TaskSchedulerInterface {
public:
    /// Throws Error, as Device::create_service_queue() does.
    ServiceTaskScheduler(std::shared_ptr<Device> device, const SchedulerOptions& options,
                         SchedulerHost& host);

    /// The settings of the device, not of the engine.
    const ServiceSettings& settings() const noexcept { return queue_->settings(); }

    void gather(std::int64_t deadline_ns) override;
    void cpu_ended(Run& run, std::int32_t status, std::uint64_t executed_ns) override;
    void cancel(Run& run) override;
    void dispatch() override;
    void fail(int code) override;
    bool has_jobs() const noexcept override { return live() != 0; }
    void interrupt() override { queue_->interrupt(); }

private:
    void admit(Run& run) override;
    void stop_tasks() noexcept;
    void end(Run& run, const ServiceEvent& event);

    JobTable<Run> tasks_; ///< by tag
    std::uint64_t next_tag_;
    std::unique_ptr<ServiceQueue> queue_; ///< last, so that it is destroyed first
};

} // namespace overtake::engine
