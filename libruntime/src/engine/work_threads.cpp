// SPDX-License-Identifier: MIT
#include "engine/work_threads.hpp"

#include <cerrno>
#include <exception>
#include <pthread.h>
#include <string>
#include <system_error>

#include "engine/cpu_set.hpp"
#include "overtake/error.hpp"

namespace overtake::engine {

WorkThreads::WorkThreads(std::size_t count, const std::vector<unsigned>& cpus)
    : most_(count), pinned_(!cpus.empty()), cpus_(cpu_set_of(cpus)) {
    // Makes the first thread now, to find impossible options, and the others when there is work for
    // them.
    int refused;
    try {
        threads_.reserve(most_);
        refused = add_thread();
    } catch (const std::system_error& error) {
        throw Error(EAGAIN, std::string("engine: no thread can be had: ") + error.what());
    }
    if (refused == 0)
        return;
    stop();
    throw Error(refused, "engine: no worker may run on the CPUs of worker_cpus");
}

WorkThreads::~WorkThreads() {
    stop();
}

int WorkThreads::add_thread() {
    threads_.emplace_back([this] { work(); });
    return pinned_ ? pthread_setaffinity_np(threads_.back().native_handle(), sizeof(cpus_), &cpus_)
                   : 0;
}

void WorkThreads::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_)
        thread.join();
}

void WorkThreads::add(ThreadWork& work, bool is_urgent) noexcept {
    {
        const std::lock_guard lock(mutex_);
        Queue& queue = is_urgent ? urgent_ : other_;
        work.behind_ = nullptr;
        (queue.last ? queue.last->behind_ : queue.first) = &work;
        queue.last = &work;
        waiting_++;
        if (waiting_ > idle_ && threads_.size() < most_) {
            try {
                add_thread();
            } catch (const std::exception&) { // no new thread: the present threads do the work
            }
        }
    }
    changed_.notify_one();
}

ThreadWork* WorkThreads::take() {
    Queue& queue = urgent_.first ? urgent_ : other_;
    ThreadWork* const work = queue.first;
    queue.first = work->behind_;
    if (!queue.first)
        queue.last = nullptr;
    waiting_--;
    return work;
}

void WorkThreads::work() {
    ThreadMemory memory;
    std::unique_lock lock(mutex_);
    for (;;) {
        idle_++;
        changed_.wait(lock, [&] { return stopping_ || waiting_ != 0; });
        idle_--;
        if (waiting_ == 0)
            return;
        ThreadWork* const next = take();
        lock.unlock();
        next->run(memory);
        lock.lock();
    }
}

} // namespace overtake::engine
