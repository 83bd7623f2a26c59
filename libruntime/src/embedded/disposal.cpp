// SPDX-License-Identifier: MIT
#include "embedded/disposal.hpp"

#include <utility>

#include "embedded/job.hpp"

namespace overtake {

Disposal::Disposal() : thread_([this] { run(); }) {}

void Disposal::stop() noexcept {
    if (!thread_.joinable())
        return;
    stopping_.store(true);
    wake_.raise();
    thread_.join();
}

void Disposal::push(std::shared_ptr<EmbeddedJob> job) noexcept {
    EmbeddedJob& pushed = *job;
    pushed.held_until_freed = std::move(job);
    pushed.next_to_free = first_.load();
    while (!first_.compare_exchange_weak(pushed.next_to_free, &pushed)) {
    }
    pushed_.fetch_add(1);
    wake_.raise();
}

void Disposal::drain() const noexcept {
    const std::uint32_t target = pushed_.load();
    for (std::uint32_t freed = freed_.load(); static_cast<std::int32_t>(target - freed) > 0;
         freed = freed_.load())
        freed_.wait(freed);
}

void Disposal::run() noexcept {
    for (bool stops = false; !stops;) {
        wake_.wait();
        stops = stopping_.load(); // before the last look: nothing is pushed after it
        EmbeddedJob* job = first_.exchange(nullptr);
        while (job) {
            EmbeddedJob* const next = job->next_to_free;
            std::exchange(job->held_until_freed, nullptr).reset();
            job = next;
            freed_.fetch_add(1);
            freed_.notify_all();
        }
    }
}

} // namespace overtake
