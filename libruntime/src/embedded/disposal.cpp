// SPDX-License-Identifier: MIT
#include "embedded/disposal.hpp"

#include <algorithm>
#include <utility>

#include "embedded/job.hpp"

namespace overtake {

namespace {

/// The allocator may have mapped larger arrays.
constexpr std::size_t small_fcs = 4096;

/// A job is large if it alone has a large scratch or a buffer that was destroyed meanwhile. Another
/// job may release a buffer later, so that this one is the last to have it: then its client's own
/// completions wait once.
bool is_large(const EmbeddedJob& job) {
    return (job.fc_count > small_fcs && !job.is_recorded) ||
           std::ranges::any_of(job.memory, [](const auto& of) {
               return of.use_count() == 1 && !of->is_quick_to_free();
           });
}

} // namespace

Disposal::Disposal(std::function<void()> has_small)
    : has_small_(std::move(has_small)), thread_([this] { run(); }) {}

void Disposal::stop() noexcept {
    if (!thread_.joinable())
        return;
    stopping_.store(true);
    wake_.raise();
    thread_.join();
    small_.free_all();
}

void Disposal::push(std::shared_ptr<EmbeddedJob> job) noexcept {
    if (is_large(*job)) {
        large_.push(std::move(job));
        wake_.raise();
    } else {
        small_.push(std::move(job));
        has_small_();
    }
}

void Disposal::drain() noexcept {
    const std::uint32_t small = small_.pushed();
    const std::uint32_t large = large_.pushed();
    // This thread frees each counted small job, or a thread does that is freeing already: the
    // caller may be the thread that the next has_small() would wake.
    small_.free_all();
    small_.wait_until_freed(small);
    large_.wait_until_freed(large);
}

void Disposal::run() noexcept {
    for (bool stops = false; !stops;) {
        wake_.wait();
        stops = stopping_.load(); // read before the last look: nothing is pushed after it
        large_.free_all();
    }
}

void Disposal::Jobs::push(std::shared_ptr<EmbeddedJob> job) noexcept {
    EmbeddedJob& pushed = *job;
    pushed.held_until_freed = std::move(job);
    pushed.next_to_free = first_.load();
    while (!first_.compare_exchange_weak(pushed.next_to_free, &pushed)) {
    }
    pushed_.fetch_add(1); // after the link: a thread that waits for the job finds it
}

void Disposal::Jobs::free_all() noexcept {
    EmbeddedJob* job = first_.exchange(nullptr);
    while (job) {
        EmbeddedJob* const next = job->next_to_free;
        std::exchange(job->held_until_freed, nullptr).reset();
        job = next;
        freed_.fetch_add(1);
        freed_.notify_all();
    }
}

void Disposal::Jobs::wait_until_freed(std::uint32_t target) const noexcept {
    for (std::uint32_t freed = freed_.load(); static_cast<std::int32_t>(target - freed) > 0;
         freed = freed_.load())
        freed_.wait(freed);
}

} // namespace overtake
