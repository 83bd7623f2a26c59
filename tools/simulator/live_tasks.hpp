// SPDX-License-Identifier: MIT
//
// The live tasks of the engine: their places in memory, and the task that times out next.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "simulator/arrivals.hpp"
#include "simulator/simulator.hpp"

namespace overtake::simulator {

/// Live tasks, each in a place of its own; places are used again.
class TaskPool {
public:
    LiveTask& take() {
        if (free_.empty()) {
            tasks_.emplace_back();
            tasks_.back().slot = static_cast<std::uint32_t>(tasks_.size() - 1);
            free_.push_back(&tasks_.back());
        }
        LiveTask& task = *free_.back();
        free_.pop_back();
        task.serial = next_serial_++;
        return task;
    }
    void give_back(LiveTask& task) {
        task.serial = 0;
        free_.push_back(&task);
    }

private:
    std::deque<LiveTask> tasks_;
    std::vector<LiveTask*> free_;
    std::uint64_t next_serial_ = 1;
};

/// The live tasks of a load that has a timeout, by arrival: the first is the next to be cancelled.
class TimeoutQueue {
public:
    explicit TimeoutQueue(std::optional<std::uint64_t> timeout) : timeout_(timeout) {}

    void arrived(LiveTask& task) {
        task.earlier = nullptr;
        task.later = nullptr;
        if (!timeout_)
            return;
        task.earlier = last_;
        (last_ != nullptr ? last_->later : first_) = &task;
        last_ = &task;
    }
    /// Removes a task that has ended or was cancelled. Call it once for each task.
    void forget(LiveTask& task) {
        (task.earlier != nullptr ? task.earlier->later : first_) = task.later;
        (task.later != nullptr ? task.later->earlier : last_) = task.earlier;
        task.earlier = nullptr;
        task.later = nullptr;
    }
    bool holds(const LiveTask& task) const { return task.earlier != nullptr || first_ == &task; }
    LiveTask* first() const { return first_; }
    std::uint64_t next() const {
        if (first_ == nullptr || *timeout_ > ArrivalSource::never - first_->arrival)
            return ArrivalSource::never;
        return first_->arrival + *timeout_;
    }

private:
    std::optional<std::uint64_t> timeout_;
    LiveTask* first_ = nullptr;
    LiveTask* last_ = nullptr;
};

} // namespace overtake::simulator
