// SPDX-License-Identifier: MIT
#include "embedded/disposal.hpp"

#include <algorithm>
#include <utility>

#include "embedded/job.hpp"

namespace overtake {

namespace {

/// Above that the allocator may have mapped them.
constexpr std::size_t small_fcs = 4096;

/// No other has its scratch, nor a buffer that was destroyed meanwhile.  Whether it is the last to
/// have a buffer may change: then its client's own completions wait for that once.
bool is_large(const EmbeddedJob& job) {
    return (job.fc_count > small_fcs && !job.is_recorded) ||
           std::ranges::any_of(job.memory, [](const auto& of) { return of.use_count() == 1; });
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
    // Each small one that is counted is freed here, or by a thread that is freeing it already: the
    // caller may be the thread that the next has_small() would wake.
    small_.free_all();
    small_.wait_until_freed(small);
    large_.wait_until_freed(large);
}

void Disposal::run() noexcept {
    for (bool stops = false; !stops;) {
        wake_.wait();
        stops = stopping_.load(); // before the last look: nothing is pushed after it
        large_.free_all();
    }
}

void Disposal::Jobs::push(std::shared_ptr<EmbeddedJob> job) noexcept {
    EmbeddedJob& pushed = *job;
    pushed.held_until_freed = std::move(job);
    pushed.next_to_free = first_.load();
    while (!first_.compare_exchange_weak(pushed.next_to_free, &pushed)) {
    }
    pushed_.fetch_add(1); // behind the link: who waits for it finds it
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
