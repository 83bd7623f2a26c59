// SPDX-License-Identifier: MIT
//
// JobQueue: makes the jobs of tasks from segments, submits them to a device, and finds the task of
// a job that has ended.
//
// The table of jobs allocates only where a JobEntry is made, so that a task that has begun comes to
// its end.
//
// Thread safety: one thread at a time, as a Queue.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <utility>

#include "network/recorder.hpp"
#include "network/segment_work.hpp"
#include "overtake/device.hpp"

namespace overtake {

template <class Owner>
class JobTable;
template <class Owner>
class JobQueue;

/// A task's place in a JobTable, for one job at a time.
template <class Owner>
class JobEntry {
public:
    explicit JobEntry(Owner& owner) : owner_(&owner) {
        std::map<std::uint64_t, JobEntry*> one{{0, this}};
        node_ = one.extract(one.begin());
    }
    JobEntry(const JobEntry&) = delete;
    JobEntry& operator=(const JobEntry&) = delete;

private:
    friend class JobTable<Owner>;
    template <class>
    friend class JobQueue;
    Owner* owner_;
    RecordedSegment* recorded_ = nullptr;                         ///< recording of its job, or null
    typename std::map<std::uint64_t, JobEntry*>::node_type node_; ///< while it has no job
};

/// Finds the task of a job by the job's tag.
template <class Owner>
class JobTable {
public:
    /// Adds an entry that is in no table.
    void add(JobEntry<Owner>& entry, std::uint64_t tag) noexcept {
        entry.node_.key() = tag;
        jobs_.insert(std::move(entry.node_));
    }
    /// Returns the task; null if there is no such job.
    Owner* find(std::uint64_t tag) const noexcept {
        const auto job = jobs_.find(tag);
        return job == jobs_.end() ? nullptr : job->second->owner_;
    }
    /// Returns the task and removes the job; null if there is no such job.
    Owner* take(std::uint64_t tag) noexcept {
        JobEntry<Owner>* const entry = take_entry(tag);
        return entry ? entry->owner_ : nullptr;
    }
    JobEntry<Owner>* take_entry(std::uint64_t tag) noexcept {
        const auto job = jobs_.find(tag);
        if (job == jobs_.end())
            return nullptr;
        JobEntry<Owner>& entry = *job->second;
        entry.node_ = jobs_.extract(job);
        return &entry;
    }
    /// Removes every job.  The entries, which live, may have other jobs.
    void clear() noexcept {
        while (!jobs_.empty()) {
            const auto job = jobs_.begin();
            JobEntry<Owner>& entry = *job->second;
            entry.node_ = jobs_.extract(job);
        }
    }
    /// Calls visit(tag, owner) for each job.
    template <class Visit>
    void for_each(Visit visit) const {
        for (const auto& [tag, entry] : jobs_)
            visit(tag, *entry->owner_);
    }

private:
    std::map<std::uint64_t, JobEntry<Owner>*> jobs_;
};

/// A queue of a device, and the tasks whose jobs it has.
template <class Owner>
class JobQueue {
public:
    /// record: the level of SessionOptions::record.
    JobQueue(const Device& device, std::unique_ptr<Queue> queue, unsigned record = 0)
        : recorder_(*queue, device, record), queue_(std::move(queue)) {}

    /// Submits a segment's job; `job` has its tag, priority and other values by which it competes.
    /// Throws Error as Queue::submit(); nothing is in flight then.
    void submit(JobEntry<Owner>& entry, const SegmentWork& work, std::size_t segment, Job job) {
        work.describe(segment, job);
        submit_or_replay(entry, work, segment, job);
    }
    /// Submits the job of a segment in parts for several cores (SegmentWork::describe_group()).
    void submit(JobEntry<Owner>& entry, SegmentWork& work, std::size_t segment,
                std::span<const unsigned> cores, Job job) {
        work.describe_group(segment, cores, job);
        submit_or_replay(entry, work, segment, job);
    }
    /// Submits a job that is no segment's.
    void submit(JobEntry<Owner>& entry, const Job& job) {
        queue_->submit({&job, 1});
        entry.recorded_ = nullptr;
        jobs_.add(entry, job.tag);
    }
    /// Calls ended(owner, completion) for each job that has ended, waiting for the first until
    /// deadline_ns.  Returns the number of completions.
    template <class Ended>
    std::size_t reap(std::int64_t deadline_ns, Ended ended) {
        std::array<Completion, 64> completions;
        const std::size_t count = queue_->reap(completions, deadline_ns);
        for (std::size_t i = 0; i < count; i++) {
            if (JobEntry<Owner>* const entry = jobs_.take_entry(completions[i].tag)) {
                Recorder::give_back(std::exchange(entry->recorded_, nullptr));
                ended(*entry->owner_, completions[i]);
            } else if (const auto left = forgotten_.find(completions[i].tag);
                       left != forgotten_.end()) {
                Recorder::give_back(left->second);
                forgotten_.erase(left);
            }
        }
        return count;
    }
    /// Forgets the task of a job: ended() is not called for it.
    void forget(std::uint64_t tag) noexcept {
        JobEntry<Owner>* const entry = jobs_.take_entry(tag);
        RecordedSegment* const recorded =
            entry ? std::exchange(entry->recorded_, nullptr) : nullptr;
        try {
            if (recorded)
                forgotten_.emplace(tag, recorded);
        } catch (const std::bad_alloc&) { // then its recording is not used again
        }
    }
    void forget_all() noexcept { jobs_.clear(); }
    void cancel(std::uint64_t tag) { queue_->cancel(tag); }
    void cancel_all() {
        jobs_.for_each([this](std::uint64_t tag, const Owner&) { queue_->cancel(tag); });
    }
    std::size_t in_flight() const noexcept { return queue_->in_flight(); }
    void interrupt() { queue_->interrupt(); }

private:
    void submit_or_replay(JobEntry<Owner>& entry, const SegmentWork& work, std::size_t segment,
                          const Job& job) {
        try {
            entry.recorded_ = recorder_.submit(job, work.fixed_bindings(segment), work.owner());
        } catch (const NotRecorded& refused) {
            throw Error(refused.code(),
                        refusal_of_level_2(work.name_of(segment) + ": " + refused.what()));
        }
        jobs_.add(entry, job.tag);
    }

    JobTable<Owner> jobs_;
    std::map<std::uint64_t, RecordedSegment*> forgotten_; ///< of forgotten jobs in flight, by tag
    Recorder recorder_;
    std::unique_ptr<Queue> queue_; ///< last, so that it is destroyed first
};

} // namespace overtake
