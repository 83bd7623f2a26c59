// SPDX-License-Identifier: MIT
#include "engine/run.hpp"

#include <cerrno>
#include <new>
#include <utility>

#include "monotonic_clock.hpp"

namespace overtake::engine {

Run::Run(std::span<const TaskSegment> segments, const RunOptions& options,
         std::shared_ptr<void> memory)
    : segments_(segments.begin(), segments.end()), options_(options), scheduled_(segments.size()),
      records_(segments.size()), memory_(std::move(memory)) {
    if (segments_.empty())
        throw Error(EINVAL, "task: no segment");
    if (options_.priority > priority_high)
        throw Error(EINVAL, "task: priority " + std::to_string(options_.priority) + ", at most " +
                                std::to_string(priority_high));
}

void Run::prepare(ovt_sched_process& process) {
    for (std::size_t i = 0; i < segments_.size(); i++)
        scheduled_[i] = {segments_[i].estimate->ns(), segments_[i].fc_count};
    task_.run = this;
    task_.process = &process;
    task_.segments = scheduled_.data();
    task_.segment_count = static_cast<u32>(scheduled_.size());
    task_.priority = options_.priority;
    task_.core = options_.core;
    task_.custom_id = options_.custom_id;
    task_.deadline = options_.deadline_ns;
}

void Run::finish(std::int32_t status, std::uint64_t now_ns) {
    {
        std::shared_ptr<void> memory; // goes without the lock, and before anybody sees the end
        const std::lock_guard lock(mutex_);
        memory = std::exchange(memory_, nullptr);
    }
    const std::lock_guard lock(mutex_);
    status_ = status;
    ended_ns_ = now_ns;
    ended_.notify_all();
}

bool Run::wait(std::int64_t deadline_ns) {
    std::unique_lock lock(mutex_);
    while (status_ == -EINPROGRESS && static_cast<std::int64_t>(monotonic_ns()) < deadline_ns)
        wait_until(ended_, lock, static_cast<std::uint64_t>(deadline_ns));
    return status_ != -EINPROGRESS;
}

std::int32_t Run::status() const {
    const std::lock_guard lock(mutex_);
    return status_;
}

std::string Run::error() const {
    const std::lock_guard lock(mutex_);
    return error_;
}

void Run::set_error(const char* text) noexcept {
    const std::lock_guard lock(mutex_);
    try {
        error_ = text;
    } catch (const std::bad_alloc&) {
        error_.clear();
    }
}

std::shared_ptr<void> Run::memory() const {
    const std::lock_guard lock(mutex_);
    return memory_;
}

bool Run::set_callback(std::function<void()> callback) {
    const std::lock_guard lock(mutex_);
    std::swap(callback_, callback);
    return status_ != -EINPROGRESS;
}

bool Run::has_callback() const {
    const std::lock_guard lock(mutex_);
    return callback_ != nullptr;
}

std::function<void()> Run::take_callback() {
    const std::lock_guard lock(mutex_);
    return std::exchange(callback_, nullptr);
}

} // namespace overtake::engine
