// SPDX-License-Identifier: MIT
//
// A queue whose jobs are io_uring commands: one system call submits up to 128 of them, and none is
// needed to collect those that have ended.
//
// Every job in flight owns a slot of a small buffer that the device fills with its result record
// before the completion shows up; the completion's user_data is the slot.  A job that
// the driver refuses completes at once and leaves its record untouched, which distinguishes a
// refusal from a failure.
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "kernel/interrupt_event.hpp"
#include "kernel/kernel_context.hpp"
#include "kernel/uring.hpp"
#include "tag_set.hpp"

namespace overtake {

namespace {

/// Jobs that one system call submits.
constexpr unsigned most_at_once = 128;
/// Room for the read that an interrupt completes as well; a power of two.
constexpr unsigned ring_entries = 2 * most_at_once;
constexpr std::uint64_t interrupt_entry = UINT64_MAX; ///< no slot has this number
constexpr std::int32_t untouched = INT_MIN;           ///< no job has this status
constexpr std::uint32_t none = UINT32_MAX;            ///< no slot has this number

class UringQueue final : public Queue {
public:
    UringQueue(const std::shared_ptr<KernelFile>& file, const QueueOptions& options)
        : records_(create_kernel_buffer(file, OVERTAKE_MAX_JOBS * sizeof(overtake_result))),
          extensions_(most_at_once), slots_(OVERTAKE_MAX_JOBS), context_(file, options) {
        batch_.reserve(most_at_once);
        if (options.interruptible)
            interrupt_event_.emplace();
        for (std::uint32_t slot = OVERTAKE_MAX_JOBS; slot-- != 0;)
            free_slots_.push_back(slot);
    }

    void submit(std::span<const Job> jobs) override { submit_all(jobs); }
    void replay(std::span<const Replay> replays) override { submit_all(replays); }
    std::uint32_t record(const Job& job, unsigned instances) override {
        return context_.record(job, instances);
    }
    void forget(std::uint32_t recording) override { context_.forget(recording); }
    std::size_t reap(std::span<Completion> out, std::int64_t deadline_ns) override;
    bool cancel(std::uint64_t tag) override { return context_.cancel(tag); }
    std::size_t in_flight() const noexcept override { return in_flight_; }
    void interrupt() override {
        require_interruptible(context_.options());
        interrupt_event_->set();
    }

private:
    /// Used from the submission of a job until it has been reaped.
    struct Slot {
        enum State { idle, in_flight, ended, refused, withdrawn } state = idle;
        std::uint64_t tag = 0;
        std::int32_t result = 0;           ///< the result of its ring entry
        std::uint32_t ended_behind = none; ///< the slot that ended next
    };

    Uring& ring();
    // An Item is a Job or a Replay.
    template <class Item>
    void submit_all(std::span<const Item> items);
    template <class Item>
    std::size_t submit_batch(std::span<const Item> items);
    template <class Item>
    std::uint32_t add(const Item& item, JobExtensions& extensions);
    void take(const Uring::Entry& entry);
    void take_those_there();
    void listen_for_interrupt();
    template <class Item>
    [[noreturn]] void refuse_here(const Item& item) const;
    template <class Item>
    void settle(std::span<const Item> items);
    bool forget_ended(std::uint32_t slot);
    void withdraw(std::uint32_t slot);
    Completion collect(std::uint32_t slot);
    void release(std::uint32_t slot);
    overtake_result& record(std::uint32_t slot) {
        return reinterpret_cast<overtake_result*>(records_->data())[slot];
    }

    // Destroyed in reverse order: first the jobs end, then the ring is closed, then the records are
    // freed.
    std::unique_ptr<Buffer> records_;
    std::vector<std::uint32_t> batch_;              ///< slots of the jobs of one batch
    std::vector<JobExtensions> extensions_;         ///< of those jobs
    std::optional<InterruptEvent> interrupt_event_; ///< if the queue is interruptible
    std::uint64_t interrupts_ = 0;                  ///< the ring reads the event into it
    bool listening_ = false;                        ///< the ring waits for the event
    bool interrupted_ = false;                      ///< the event has come
    std::optional<Uring> ring_;
    std::thread::id ring_owner_;
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_slots_;
    TagSet tags_;                      ///< the tags of slots that are not idle
    std::uint32_t first_ended_ = none; ///< slots in the order in which their ends were seen
    std::uint32_t last_ended_ = none;
    std::size_t in_flight_ = 0; ///< slots in_flight or ended
    KernelContext context_;
};

/// Returns the ring, which belongs to the thread that made it: a queue that has moved gets a new
/// one.
Uring& UringQueue::ring() {
    if (ring_ && ring_owner_ == std::this_thread::get_id())
        return *ring_;
    if (free_slots_.size() != OVERTAKE_MAX_JOBS)
        throw Error(EBUSY, "queue: used by another thread while its jobs are in flight; reap them "
                           "where they were submitted");
    int refusal = 0;
    listening_ = false;
    ring_ = Uring::open(context_.file().fd(), ring_entries, refusal);
    if (!ring_)
        throw Error(refusal, fmt::format("io_uring: set-up: {}", std::strerror(refusal)));
    ring_owner_ = std::this_thread::get_id();
    return *ring_;
}

template <class Item>
void UringQueue::submit_all(std::span<const Item> items) {
    while (!items.empty())
        items = items.subspan(submit_batch(items));
}

/// Submits the items that fit into the ring; returns their number.
template <class Item>
std::size_t UringQueue::submit_batch(std::span<const Item> items) {
    const std::size_t count =
        std::min({items.size(), std::size_t{most_at_once}, free_slots_.size()});
    if (count == 0 || tags_.contains(items.front().tag))
        refuse_here(items.front());
    batch_.clear();
    for (const Item& item : items.first(count)) {
        if (tags_.contains(item.tag))
            break;
        try {
            batch_.push_back(add(item, extensions_[batch_.size()]));
        } catch (const std::exception&) {
            if (batch_.empty())
                throw;
            break; // the items before it are in the ring, and are submitted first
        }
    }
    if (const int code = ring().flush())
        throw Error(code, fmt::format("io_uring: submit: {}", std::strerror(code)));
    take_those_there();
    for (std::size_t i = 0; i < batch_.size(); i++)
        if (slots_[batch_[i]].state != Slot::refused)
            KernelContext::tell_core(items[i], extensions_[i]);
    settle(items);
    return batch_.size();
}

/// Refuses an item.  The driver knows a tag until its job has ended, a queue knows it until the job
/// has been reaped: so the queue refuses jobs that the driver would take.  The driver's own reasons
/// come first.
template <class Item>
void UringQueue::refuse_here(const Item& item) const {
    if (const ovt_verdict verdict = context_.check(item); verdict.reason != OVT_ACCEPTED)
        throw context_.refused(item, refusal_code(verdict));
    const auto held = static_cast<u32>(tags_.size());
    const ovt_verdict verdict = ovt_check_room(tags_.contains(item.tag), held, 0);
    throw Error(refusal_code(verdict), fmt::format("{}: {}", context_.file().path(),
                                                   admission_text(verdict, item.tag, held)));
}

template <class Item>
std::uint32_t UringQueue::add(const Item& item, JobExtensions& extensions) {
    Uring& uring = ring();
    const std::uint32_t slot = free_slots_.back();
    const std::uint64_t address = records_->address() + slot * sizeof(overtake_result);
    record(slot).status = untouched;
    const auto payload = context_.payload(item, address, extensions);
    tags_.insert(item.tag); // first, as this may find no memory
    if (!uring.add(payload, slot)) {
        tags_.erase(item.tag);
        throw Error(EBUSY, "io_uring: the submission queue is full");
    }
    free_slots_.pop_back();
    slots_[slot] = {Slot::in_flight, item.tag, 0, none};
    in_flight_++;
    return slot;
}

/// Takes an entry: the job of its slot has ended, or the driver refused it.
void UringQueue::take(const Uring::Entry& entry) {
    if (entry.user_data == interrupt_entry) {
        listening_ = false;
        interrupted_ = true;
        return;
    }
    const auto number = static_cast<std::uint32_t>(entry.user_data);
    Slot& slot = slots_[number];
    if (slot.state == Slot::withdrawn) {
        release(number);
        return;
    }
    slot.result = entry.result;
    slot.state =
        record(number).status == untouched && entry.result < 0 ? Slot::refused : Slot::ended;
    slot.ended_behind = none;
    (first_ended_ == none ? first_ended_ : slots_[last_ended_].ended_behind) = number;
    last_ended_ = number;
}

/// Removes the slot from those that have ended; returns false if it is not one of them.
bool UringQueue::forget_ended(std::uint32_t slot) {
    std::uint32_t before = none;
    for (std::uint32_t at = first_ended_; at != slot; at = slots_[at].ended_behind) {
        if (at == none)
            return false;
        before = at;
    }
    (before == none ? first_ended_ : slots_[before].ended_behind) = slots_[slot].ended_behind;
    if (last_ended_ == slot)
        last_ended_ = before;
    return true;
}

void UringQueue::take_those_there() {
    while (const auto entry = ring().peek())
        take(*entry);
}

void UringQueue::listen_for_interrupt() {
    if (!interrupt_event_ || listening_)
        return;
    if (!ring().add_read(interrupt_event_->fd(), interrupts_, interrupt_entry))
        throw Error(EBUSY, "io_uring: the submission queue is full");
    if (const int code = ring().flush())
        throw Error(code, fmt::format("io_uring: submit: {}", std::strerror(code)));
    listening_ = true;
}

/// Finds a refused job of the batch, which shows by now, as the driver refuses at once.  The jobs
/// after it were submitted in the same system call, and are withdrawn.
template <class Item>
void UringQueue::settle(std::span<const Item> items) {
    const auto is_refused = [&](std::uint32_t slot) { return slots_[slot].state == Slot::refused; };
    const auto refused = std::ranges::find_if(batch_, is_refused);
    if (refused == batch_.end())
        return;
    const int code = -slots_[*refused].result;
    for (auto behind = refused; behind != batch_.end(); ++behind)
        withdraw(*behind);
    throw context_.refused(items[static_cast<std::size_t>(refused - batch_.begin())], code);
}

void UringQueue::withdraw(std::uint32_t slot) {
    in_flight_--;
    if (forget_ended(slot)) {
        release(slot);
        return;
    }
    slots_[slot].state = Slot::withdrawn;
    context_.cancel(slots_[slot].tag);
}

std::size_t UringQueue::reap(std::span<Completion> out, std::int64_t deadline_ns) {
    if (deadline_ns < 0)
        throw Error(EINVAL, "reap: negative deadline");
    if (in_flight_ == 0 || out.empty())
        return 0;
    take_those_there();
    if (first_ended_ == none)
        listen_for_interrupt();
    while (first_ended_ == none && !interrupted_) {
        const auto entry = ring().next(deadline_ns);
        if (!entry)
            return 0;
        take(*entry);
    }
    interrupted_ = false;
    std::size_t count = 0;
    for (; count < out.size() && first_ended_ != none; count++) {
        const std::uint32_t slot = first_ended_;
        forget_ended(slot);
        out[count] = collect(slot);
    }
    return count;
}

Completion UringQueue::collect(std::uint32_t slot) {
    Completion completion = record(slot);
    if (slots_[slot].state == Slot::refused) {
        // The refusal came too late for submit() to see it: the device was removed.
        completion = {};
        completion.tag = slots_[slot].tag;
        completion.status = slots_[slot].result;
    }
    in_flight_--;
    release(slot);
    return completion;
}

void UringQueue::release(std::uint32_t slot) {
    slots_[slot].state = Slot::idle;
    tags_.erase(slots_[slot].tag);
    free_slots_.push_back(slot);
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
