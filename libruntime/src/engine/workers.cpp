// SPDX-License-Identifier: MIT
#include "engine/workers.hpp"

#include <cerrno>
#include <new>
#include <utility>

#include "monotonic_clock.hpp"

namespace overtake::engine {

namespace {

std::int32_t status_of(const Step& step) {
    try {
        return step.compute();
    } catch (const Error& error) {
        return -error.code();
    } catch (const std::bad_alloc&) {
        return -ENOMEM;
    }
}

} // namespace

Workers::Workers(std::uint32_t count, Done done) : done_(std::move(done)) {
    for (std::uint32_t i = 0; i < count; i++)
        threads_.emplace_back([this] { work(); });
}

Workers::~Workers() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_)
        thread.join();
}

void Workers::compute(std::shared_ptr<Run> run, std::size_t step) {
    {
        const std::lock_guard lock(mutex_);
        waiting_.push_back({std::move(run), step});
    }
    changed_.notify_one();
}

void Workers::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
        if (waiting_.empty())
            return;
        Segment segment = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        const std::uint64_t begin_ns = monotonic_ns();
        const std::int32_t status = status_of(segment.run->steps()[segment.step]);
        done_(std::move(segment.run), status, monotonic_ns() - begin_ns);
        lock.lock();
    }
}

} // namespace overtake::engine
