// SPDX-License-Identifier: MIT
#include "engine/submitted_task.hpp"

#include <cerrno>
#include <new>
#include <utility>

#include "monotonic_clock.hpp"

namespace overtake::engine {

void SubmittedTask::finish(std::int32_t status, std::uint64_t now_ns) {
    {
        std::shared_ptr<void> memory; // freed without the lock, and before a caller sees the end
        const std::lock_guard lock(mutex_);
        memory = std::exchange(memory_, nullptr);
    }
    const std::lock_guard lock(mutex_);
    status_ = status;
    ended_ns_ = now_ns;
    ended_.notify_all();
}

bool SubmittedTask::wait(std::int64_t deadline_ns) {
    std::unique_lock lock(mutex_);
    while (status_ == -EINPROGRESS && static_cast<std::int64_t>(monotonic_ns()) < deadline_ns)
        wait_until(ended_, lock, static_cast<std::uint64_t>(deadline_ns));
    return status_ != -EINPROGRESS;
}

std::int32_t SubmittedTask::status() const {
    const std::lock_guard lock(mutex_);
    return status_;
}

std::string SubmittedTask::error() const {
    const std::lock_guard lock(mutex_);
    return error_;
}

void SubmittedTask::set_error(const char* text) noexcept {
    const std::lock_guard lock(mutex_);
    try {
        error_ = text;
    } catch (const std::bad_alloc&) {
        error_.clear();
    }
}

std::shared_ptr<void> SubmittedTask::memory() const {
    const std::lock_guard lock(mutex_);
    return memory_;
}

bool SubmittedTask::set_callback(std::function<void()> callback) {
    const std::lock_guard lock(mutex_);
    std::swap(callback_, callback);
    return status_ != -EINPROGRESS;
}

bool SubmittedTask::has_callback() const {
    const std::lock_guard lock(mutex_);
    return callback_ != nullptr;
}

std::function<void()> SubmittedTask::take_callback() {
    const std::lock_guard lock(mutex_);
    return std::exchange(callback_, nullptr);
}

} // namespace overtake::engine
