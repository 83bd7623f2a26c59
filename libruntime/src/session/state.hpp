// SPDX-License-Identifier: MIT
//
// The state of a Session and of its Tasks.  One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fork_origin.hpp"
#include "network/cpu_segments.hpp"
#include "network/execution.hpp"
#include "network/job_queue.hpp"
#include "network/plan.hpp"
#include "network/workspace.hpp"
#include "overtake/model_contents.hpp"
#include "overtake/session.hpp"

namespace overtake {

struct Session::State {
    State(std::shared_ptr<Device> device, std::shared_ptr<const Model> model,
          const SessionOptions& options);

    /// Reaps jobs that have ended, waiting for the first until deadline_ns, and moves their tasks
    /// on.  Returns false if no job ended by then.
    bool progress(std::int64_t deadline_ns);

    const ForkOrigin origin;
    const std::shared_ptr<const Plan> plan;
    std::uint64_t ended = 0;     ///< tasks that have ended so far
    CpuSegments cpu;             ///< of one task at a time
    JobQueue<Task::State> queue; ///< last, so that it is the first to go
};

struct Task::State {
    explicit State(std::shared_ptr<Session::State> session);
    ~State();
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    bool is_running() const noexcept { return status == -EINPROGRESS; }
    void start(const TaskOptions& options);
    void cancel();
    /// The task's job in flight has ended: the task goes on, or ends.
    void job_ended(const Completion& completion);
    void say(const char* text) noexcept; ///< sets `error`

    const Plan& plan() const noexcept { return *session->plan; }
    const Model& model() const noexcept { return plan().model(); }
    /// Returns the number of an output's tensor.  Throws Error unless the task has ended well.
    std::uint32_t output_number(std::size_t index) const;
    const TensorPlace& place(std::uint32_t tensor) const { return workspace.places()[tensor]; }

    std::shared_ptr<Session::State> session;
    Workspace workspace;
    Execution execution;
    JobEntry<State> in_flight;
    TaskOptions options;
    std::size_t segment = 0;  ///< running or next to run
    bool uses_groups = false; ///< its jobs are groups, each on several cores
    std::uint64_t tag = 0;    ///< of the job in flight
    bool cancelled = false;
    std::int32_t status = -EINVAL;
    std::int64_t ended_ns = 0;           ///< 0 while it runs
    std::string error;                   ///< beside a status that no completion explains
    std::vector<Completion> completions; ///< with room for all, so that they stay where they are

private:
    void run_on();
    void submit_segment();
    void end(std::int32_t status);
};

} // namespace overtake
