// SPDX-License-Identifier: MIT
//
// Jobs of one empty FC, which benchmarks of submission send to a device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "overtake/device.hpp"
#include "programs.hpp"

namespace overtake::test {

inline double now_us() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

inline double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

/// A queue of a device.  One thread at a time.
class EmptyJobs {
public:
    explicit EmptyJobs(std::shared_ptr<Device> device)
        : device_(std::move(device)), queue_(device_->create_queue()),
          program_(*device_, {delay_insn(1)}) {}

    /// Submits `depth` jobs at once and waits for all of them, again and again until `count` jobs
    /// have ended. Returns microseconds for each job. Throws if one fails.
    double run(std::size_t depth, std::uint64_t count) {
        std::vector<Completion> completions(depth);
        std::vector<Job> jobs;
        const double begin = now_us();
        for (std::uint64_t done = 0; done < count; done += depth) {
            jobs.clear();
            for (std::size_t i = 0; i < depth; i++)
                jobs.push_back(program_.job(++tag_));
            queue_->submit(jobs);
            for (std::size_t reaped = 0; reaped < depth;)
                reaped += reap(completions);
        }
        return (now_us() - begin) / static_cast<double>(count);
    }

private:
    std::size_t reap(std::span<Completion> completions) {
        const std::size_t count = queue_->reap(completions, deadline_never);
        for (const Completion& completion : completions.first(count))
            if (completion.status != 0)
                throw std::runtime_error("an empty FC has failed");
        if (count == 0)
            throw std::runtime_error("reap() has returned no job");
        return count;
    }

    std::shared_ptr<Device> device_;
    std::unique_ptr<Queue> queue_;
    Program program_;
    std::uint64_t tag_ = 0;
};

} // namespace overtake::test
