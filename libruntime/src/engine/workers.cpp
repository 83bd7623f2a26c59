// SPDX-License-Identifier: MIT
#include "engine/workers.hpp"

#include <cerrno>
#include <pthread.h>
#include <string>
#include <system_error>
#include <utility>

#include "engine/cpu_set.hpp"
#include "engine/guarded_compute.hpp"

namespace overtake::engine {

Workers::Workers(std::uint32_t count, const std::vector<unsigned>& cpus, Clock clock, Done done)
    : most_(count), clock_(std::move(clock)), done_(std::move(done)), pinned_(!cpus.empty()),
      cpus_(cpu_set_of(cpus)) {
    // The first one here, so that what is impossible is known; others when there is work for them.
    int refused;
    try {
        refused = add_worker();
    } catch (const std::system_error& error) {
        throw Error(EAGAIN, std::string("engine: no thread can be had: ") + error.what());
    }
    if (refused == 0)
        return;
    stop();
    throw Error(refused, "engine: no worker may run on the CPUs that it is told to use");
}

/// 0, or the errno of what its CPUs are.  Throws std::system_error if there is no room for a
/// thread.
int Workers::add_worker() {
    threads_.emplace_back([this] { work(); });
    return pinned_ ? pthread_setaffinity_np(threads_.back().native_handle(), sizeof(cpus_), &cpus_)
                   : 0;
}

Workers::~Workers() {
    stop();
}

void Workers::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_)
        thread.join();
}

void Workers::compute(std::shared_ptr<Run> run, std::size_t segment) noexcept {
    run->cpu_segment_ = {segment, run->memory(), 0, 0};
    {
        const std::lock_guard lock(mutex_);
        waiting_.push(std::move(run));
        waiting_count_++;
        if (waiting_count_ > idle_ && threads_.size() < most_) {
            try {
                add_worker();
            } catch (const std::exception&) { // no thread, or no memory for one
                // Those that there are do it, one after the other.
            }
        }
    }
    changed_.notify_one();
}

void Workers::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        idle_++;
        changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
        idle_--;
        if (waiting_.empty())
            return;
        std::shared_ptr<Run> run = waiting_.pop();
        waiting_count_--;
        lock.unlock();
        Run::CpuSegment& segment = run->cpu_segment_;
        const std::uint64_t begin_ns = clock_();
        segment.status = compute_guarded(*run, [&] {
            const TaskSegment& work = run->segments()[segment.number];
            return work.work->compute(work.number);
        });
        segment.executed_ns = clock_() - begin_ns;
        segment.memory.reset();
        done_(std::move(run));
        lock.lock();
    }
}

} // namespace overtake::engine
