// SPDX-License-Identifier: MIT
//
// Jobs of one empty FC, which benchmarks of submission send to a device.
#pragma once

#include <algorithm>
#include <cerrno>
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

/// The sizes of jobs, and the way in which they come to the device.
struct JobShape {
    std::uint32_t fcs = 1;
    std::uint32_t scratch_bytes = 0;
    bool recorded = false; ///< and replayed
    unsigned core = core_any;
};

/// A queue of a device.  One thread at a time.
class EmptyJobs {
public:
    explicit EmptyJobs(std::shared_ptr<Device> device, const JobShape& shape = {})
        : device_(std::move(device)), queue_(device_->create_queue()), shape_(shape),
          program_(*device_, {delay_insn(1)}) {
        program_.fcs.assign(shape.fcs, {0, 1});
    }

    /// Submits `depth` jobs at once and waits for all of them, again and again until `count` jobs
    /// have ended. Returns microseconds for each job. Throws if one fails.
    double run(std::size_t depth, std::uint64_t count) {
        prepare(depth);
        const double begin = now_us();
        for (std::uint64_t done = 0; done < count; done += depth) {
            submit(depth);
            reap(depth);
        }
        return (now_us() - begin) / static_cast<double>(count);
    }
    /// Returns the median time, in microseconds, of `count` calls that submit one job each. The
    /// device has a manual clock, which stands still: no FC runs, and each job is cancelled.
    double call(std::size_t count) {
        prepare(1);
        std::vector<double> took;
        Program others(*device_, {delay_insn(1)}); // the core's ring is full of these
        others.fcs.assign(2 * device_->info().ring_entries, {0, 1});
        const Job ahead = others.job(++tag_, 0, 1);
        queue_->submit({&ahead, 1});
        for (std::size_t i = 0; i < count; i++) {
            const double begin = now_us();
            submit(1);
            took.push_back(now_us() - begin);
            queue_->cancel(tag_);
            reap(1, -ECANCELED);
        }
        queue_->cancel(ahead.tag);
        reap(1, -ECANCELED);
        return median(took);
    }

private:
    void prepare(std::size_t depth) {
        completions_.resize(depth);
        const unsigned instances = depth == 1 ? 1 : OVERTAKE_MAX_INSTANCES;
        if (!shape_.recorded || instances_ == instances)
            return;
        for (const std::uint32_t recording : recordings_)
            queue_->forget(recording);
        recordings_.clear();
        instances_ = instances;
        Job job = program_.job(0);
        job.scratch_bytes = shape_.scratch_bytes;
        while (recordings_.size() * instances < depth)
            recordings_.push_back(queue_->record(job, instances));
    }
    void submit(std::size_t depth) {
        jobs_.clear();
        replays_.clear();
        for (std::size_t i = 0; i < depth; i++) {
            if (shape_.recorded) {
                Replay& replay = replays_.emplace_back();
                replay.recording = recordings_[i / instances_];
                replay.tag = ++tag_;
                replay.core = shape_.core;
                continue;
            }
            jobs_.push_back(program_.job(++tag_, 0, shape_.core));
            jobs_.back().scratch_bytes = shape_.scratch_bytes;
        }
        if (shape_.recorded)
            queue_->replay(replays_);
        else
            queue_->submit(jobs_);
    }
    void reap(std::size_t count, std::int32_t status = 0) {
        while (count != 0) {
            const std::size_t reaped = queue_->reap(completions_, deadline_never);
            for (const Completion& completion : std::span(completions_).first(reaped))
                if (completion.status != status)
                    throw std::runtime_error("an empty FC has failed");
            if (reaped == 0)
                throw std::runtime_error("reap() has returned no job");
            count -= reaped;
        }
    }

    std::shared_ptr<Device> device_;
    std::unique_ptr<Queue> queue_;
    const JobShape shape_;
    Program program_;
    std::vector<std::uint32_t> recordings_;
    unsigned instances_ = 0; ///< of each
    std::vector<Completion> completions_;
    std::vector<Job> jobs_;
    std::vector<Replay> replays_;
    std::uint64_t tag_ = 0;
};

} // namespace overtake::test
