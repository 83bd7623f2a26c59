// SPDX-License-Identifier: MIT
//
// Tasks: the life of each task as its events report it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "observe/blame/blame.hpp"

namespace overtake::blame {

/// Distinguishes a live job or task from all others.
struct Identity {
    std::uint32_t device;
    std::uint32_t context;
    std::uint64_t client;
    std::uint64_t tag;
    bool operator==(const Identity&) const = default;
};

struct IdentityHash {
    std::size_t operator()(const Identity& of) const {
        std::uint64_t hash = of.tag;
        for (const std::uint64_t part :
             {of.client, std::uint64_t{of.context} << 32 | std::uint64_t{of.device}})
            hash = (hash ^ part) * 0x9e3779b97f4a7c15 + (hash >> 29);
        return static_cast<std::size_t>(hash);
    }
};

class Tasks {
public:
    Tasks(const Blame::Options& options, Owners& owners,
          std::function<void(const Report&, const Parts&)> report)
        : options_(options), owners_(owners), report_(std::move(report)) {}

    void add(const Event& event);
    /// A job of a task is queued, is on its core, or is over. job_queued() returns false if the
    /// task is not known.
    bool job_queued(const Event& event);
    void job_on_core(const Identity& task, std::uint16_t core, std::uint64_t time);
    void job_done(const Identity& task, std::uint32_t segment, std::uint32_t preemptions,
                  const Parts& parts, std::uint64_t time);
    void lost(bool of_engines_alone);
    void add_processes(std::set<std::uint32_t>& pids) const;
    void forget(const std::set<std::uint32_t>& pids, std::uint64_t time);
    std::uint64_t dropped() const { return dropped_; }
    /// The device has this core.
    void see_core(std::uint32_t device, std::uint16_t core);
    /// Returns the task of a job: an engine's task, or a task of service mode, which has the job's
    /// client and context.
    Identity task_of(const Event& job) const;
    std::uint32_t owner_of(const Identity& task) const;
    bool recorded() const { return recorded_; }
    std::size_t live() const { return tasks_.size(); }
    std::uint64_t steps() const;

private:
    /// The event after `between` gives the cause of that time.
    enum class State : std::uint8_t { waits, between, cpu, device };

    struct Task {
        QueuedTask queued;
        Report report;
        FollowedQueue* queue = nullptr;
        std::uint64_t arrival = 0; ///< the task's number among all arrivals
        State state = State::waits;
        std::uint64_t since = 0; ///< the task's parts have its time up to this moment
        bool had_bpu = false;
        std::optional<std::uint32_t> last_bpu_segment;
        std::uint32_t bpu_seen = 0; ///< the last BPU segment that was queued
        std::uint64_t cores = 0;    ///< the cores that the task takes, from that segment's job
    };

    /// A queue of one engine or client, or of service mode.
    struct Queue {
        Queue(const Rules& rules, std::uint32_t cores) : tasks(rules, cores) {}

        FollowedQueue tasks;
        std::size_t live = 0; ///< live tasks of the queue, waiting or not
    };
    /// Device and client, or the device and 0 if all clients share one queue.
    using QueueKey = std::pair<std::uint32_t, std::uint64_t>;

    QueueKey key_of(std::uint32_t device, std::uint64_t client) const;
    Queue& queue_of(const QueueKey& key);
    using Live = std::unordered_map<Identity, Task, IdentityHash>;

    void arrive(const Event& event);
    void erase(Live::iterator task);
    /// Erases a task whose end was lost.
    Live::iterator drop(Live::iterator task, std::uint64_t time);
    void dispatch(Task& task, std::uint64_t time);
    void ready(Task& task, const Event& event);
    void cpu_start(Task& task, const Event& event);
    void cpu_done(Task& task, const Event& event);
    void end(Task& task, const Event& event);
    static void be_in_segment(Task& task, std::uint32_t segment, bool runs, std::uint64_t time);
    void close(Task& task, Cause between, std::uint64_t time);

    const Blame::Options& options_;
    Owners& owners_;
    std::function<void(const Report&, const Parts&)> report_;
    bool recorded_ = false;
    std::uint64_t next_arrival_ = 1;
    Live tasks_;
    std::uint64_t dropped_ = 0;
    std::map<QueueKey, Queue> queues_;
    std::size_t engines_ = 0; ///< the number of `queues_` that belong to engines
    std::map<std::uint32_t, std::uint16_t> cores_; ///< the highest core seen, by device
    std::uint64_t steps_ = 0;                      ///< the steps of queues that were erased
    /// The last BPU segment of each owner's tasks, learned from tasks that have ended.
    std::unordered_map<std::uint32_t, std::uint32_t> last_bpu_of_;
};

} // namespace overtake::blame
