// SPDX-License-Identifier: MIT
//
// WorkThreads: a few threads for work that takes long.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <sched.h>
#include <thread>
#include <vector>

#include "network/host_core.hpp"

namespace overtake::engine {

/// Memory that a thread keeps from one work to the next.
class ThreadMemory {
public:
    /// Made at its first use.  Throws std::bad_alloc.
    HostCore& core() {
        if (!core_)
            core_ = std::make_unique<HostCore>();
        return *core_;
    }

private:
    std::unique_ptr<HostCore> core_;
};

/// Work is in one WorkThreads at a time.  Its owner keeps it until run() has returned.
class ThreadWork {
public:
    virtual ~ThreadWork() = default;
    /// Called once for each add().  The work may add itself again, and may be destroyed when it
    /// returns.
    virtual void run(ThreadMemory& memory) noexcept = 0;

protected:
    ThreadWork() = default;
    ThreadWork(const ThreadWork&) = delete;
    ThreadWork& operator=(const ThreadWork&) = delete;

private:
    friend class WorkThreads;
    ThreadWork* behind_ = nullptr;
};

/// Thread safe.  Allocates nothing for a work.
class WorkThreads {
public:
    /// Makes at most `count` threads, as many as there is work for.  They run on `cpus`, unless
    /// that is empty.  Throws Error EAGAIN if no thread can be created, and EINVAL for a number
    /// that is too large for any CPU, or if no thread may run on any of them.
    WorkThreads(std::size_t count, const std::vector<unsigned>& cpus);
    /// Finishes the work that add() has taken.
    ~WorkThreads();
    WorkThreads(const WorkThreads&) = delete;
    WorkThreads& operator=(const WorkThreads&) = delete;

    /// Urgent work goes before other work; in each of the two the first is done first.
    void add(ThreadWork& work, bool is_urgent = false) noexcept;

private:
    struct Queue {
        ThreadWork* first = nullptr;
        ThreadWork* last = nullptr;
    };

    void work();
    void stop();
    int add_thread();
    ThreadWork* take();

    const std::size_t most_;
    const bool pinned_;
    const cpu_set_t cpus_;
    std::mutex mutex_;
    std::condition_variable changed_;
    Queue urgent_, other_;
    std::size_t waiting_ = 0;
    std::size_t idle_ = 0;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

} // namespace overtake::engine
