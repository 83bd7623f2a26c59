// SPDX-License-Identifier: MIT
//
// A queue whose jobs are io_uring commands: any number of them in one system call, and none to
// collect what has already ended.
//
// Every job in flight owns a slot of a small buffer that the device fills with its result record
// before the completion shows up; the completion's user_data is the slot.  A job that
// the driver refuses completes at once and leaves its record untouched, which is how the two kinds
// of bad news are told apart.
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kernel/kernel_context.hpp"
#include "kernel/uring.hpp"

namespace overtake {

namespace {

constexpr unsigned ring_entries = 128;
constexpr std::int32_t untouched = INT_MIN; ///< no status is this

class UringQueue final : public Queue {
public:
    UringQueue(const std::shared_ptr<KernelFile>& file, const QueueOptions& options)
        : records_(create_kernel_buffer(file, OVERTAKE_MAX_JOBS * sizeof(overtake_result))),
          slots_(OVERTAKE_MAX_JOBS), context_(file, options) {
        for (std::uint32_t slot = OVERTAKE_MAX_JOBS; slot-- != 0;)
            free_slots_.push_back(slot);
    }

    void submit(std::span<const Job> jobs) override;
    std::size_t reap(std::span<Completion> out, std::int64_t deadline_ns) override;
    bool cancel(std::uint64_t tag) override { return context_.cancel(tag); }
    std::size_t in_flight() const noexcept override { return in_flight_; }

private:
    /// What became of the job of an entry.
    struct Ending {
        Completion completion;
        bool refused;   ///< the driver never took it
        bool withdrawn; ///< nobody wants to know
    };
    struct Slot {
        std::uint64_t tag;
        bool withdrawn;
    };

    Uring& ring();
    void add(const Job& job);
    std::size_t submit_batch(std::span<const Job> jobs);
    std::optional<std::pair<std::uint64_t, int>> find_refusal();
    void withdraw(std::span<const Job> jobs);
    Ending end(const Uring::Entry& entry);
    overtake_result& record(std::uint64_t slot) {
        return reinterpret_cast<overtake_result*>(records_->data())[slot];
    }

    // In the order of this list reversed, the jobs end, then the ring goes, then the records.
    std::unique_ptr<Buffer> records_;
    std::optional<Uring> ring_;
    std::thread::id ring_owner_;
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_slots_;
    std::deque<Completion> ended_; ///< seen, not reaped
    std::size_t in_flight_ = 0;    ///< not reaped, not withdrawn
    KernelContext context_;
};

/// The ring belongs to the thread that made it, so a queue that moved gets a new one.
Uring& UringQueue::ring() {
    if (ring_ && ring_owner_ == std::this_thread::get_id())
        return *ring_;
    if (free_slots_.size() != OVERTAKE_MAX_JOBS)
        throw Error(EBUSY, "queue: used by another thread while its jobs are in flight; reap them "
                           "where they were submitted");
    int refusal = 0;
    ring_ = Uring::open(context_.file().fd(), ring_entries, refusal);
    if (!ring_)
        throw Error(refusal, fmt::format("io_uring: set-up: {}", std::strerror(refusal)));
    ring_owner_ = std::this_thread::get_id();
    return *ring_;
}

void UringQueue::submit(std::span<const Job> jobs) {
    while (!jobs.empty())
        jobs = jobs.subspan(submit_batch(jobs));
}

/// Submits what fits into the ring; returns how many that were.
std::size_t UringQueue::submit_batch(std::span<const Job> jobs) {
    const std::size_t count =
        std::min({jobs.size(), std::size_t{ring_entries}, free_slots_.size()});
    if (count == 0)
        throw Error(ENOSPC, fmt::format("job {}: its queue holds {} jobs already; reap first",
                                        jobs.front().tag, OVERTAKE_MAX_JOBS));
    for (const Job& job : jobs.first(count))
        add(job);
    if (const int code = ring().flush())
        throw Error(code, fmt::format("io_uring: submit: {}", std::strerror(code)));
    const auto refusal = find_refusal();
    if (!refusal)
        return count;
    const auto& [tag, code] = *refusal;
    const auto refused = std::ranges::find(jobs, tag, &Job::tag);
    withdraw(jobs.first(count).subspan(static_cast<std::size_t>(refused - jobs.begin()) + 1));
    throw Error(code, fmt::format("{}: job {} refused: {}", context_.file().path(), tag,
                                  std::strerror(code)));
}

void UringQueue::add(const Job& job) {
    Uring& uring = ring();
    const std::uint32_t slot = free_slots_.back();
    const std::uint64_t address = records_->address() + slot * sizeof(overtake_result);
    const drm_overtake_submit payload = context_.payload(job, address);
    record(slot).status = untouched;
    if (!uring.add_submit(payload, slot))
        throw Error(EBUSY, "io_uring: the submission queue is full");
    free_slots_.pop_back();
    slots_[slot] = {job.tag, false};
    in_flight_++;
}

/// The first job that the driver did not take, as tag and errno.  It refuses at once, so its entry
/// is there already; what has ended meanwhile is kept for reap().
std::optional<std::pair<std::uint64_t, int>> UringQueue::find_refusal() {
    std::optional<std::pair<std::uint64_t, int>> first;
    while (const auto entry = ring().peek()) {
        const Ending ending = end(*entry);
        if (ending.withdrawn)
            continue;
        if (!ending.refused) {
            ended_.push_back(ending.completion);
            continue;
        }
        in_flight_--;
        if (!first)
            first.emplace(ending.completion.tag, -ending.completion.status);
    }
    return first;
}

/// Takes back jobs behind a refused one: they were handed over in the same system call.
void UringQueue::withdraw(std::span<const Job> jobs) {
    for (const Job& job : jobs) {
        const auto seen = std::ranges::find(ended_, job.tag, &Completion::tag);
        if (seen != ended_.end()) {
            ended_.erase(seen);
            in_flight_--;
            continue;
        }
        for (std::uint32_t slot = 0; slot < OVERTAKE_MAX_JOBS; slot++) {
            if (slots_[slot].tag != job.tag || record(slot).status != untouched)
                continue;
            if (std::ranges::find(free_slots_, slot) != free_slots_.end())
                continue;
            slots_[slot].withdrawn = true;
            in_flight_--;
            context_.cancel(job.tag);
        }
    }
}

UringQueue::Ending UringQueue::end(const Uring::Entry& entry) {
    const auto slot = static_cast<std::uint32_t>(entry.user_data);
    Ending ending{record(slot), false, slots_[slot].withdrawn};
    if (ending.completion.status == untouched) {
        ending.refused = true;
        ending.completion = {};
        ending.completion.tag = slots_[slot].tag;
        ending.completion.status = entry.result;
    }
    free_slots_.push_back(slot);
    return ending;
}

std::size_t UringQueue::reap(std::span<Completion> out, std::int64_t deadline_ns) {
    if (deadline_ns < 0)
        throw Error(EINVAL, "reap: negative deadline");
    std::size_t count = 0;
    for (; count < out.size() && !ended_.empty(); count++) {
        out[count] = ended_.front();
        ended_.pop_front();
    }
    while (count < out.size() && in_flight_ != count) {
        const auto entry = count == 0 ? ring().next(deadline_ns) : ring().peek();
        if (!entry)
            break;
        const Ending ending = end(*entry);
        if (!ending.withdrawn)
            out[count++] = ending.completion;
    }
    in_flight_ -= count;
    return count;
}

} // namespace

std::unique_ptr<Queue> create_uring_queue(std::shared_ptr<KernelFile> file,
                                          const QueueOptions& options) {
    return std::make_unique<UringQueue>(file, options);
}

int uring_refusal(const KernelFile& file) {
    int refusal = 0;
    Uring::open(file.fd(), 1, refusal);
    return refusal;
}

} // namespace overtake
