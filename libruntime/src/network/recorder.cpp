// SPDX-License-Identifier: MIT
#include "network/recorder.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <new>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "recorded_job.hpp"
#include "user_pointer.hpp"

namespace overtake {

namespace {

/// The most recordings of one segment at level 1, each for one task at a time.
constexpr std::size_t recordings_of_a_segment = 4;
/// The most recordings of all segments together; a queue has room for more.
constexpr std::size_t most_recordings = OVERTAKE_MAX_RECORDINGS / 2;
/// The most segments that are known, recorded or not.
constexpr std::size_t most_segments = 4096;
/// The most bindings that are the same in each run, such as program and weights.
constexpr std::size_t most_fixed = 3;

} // namespace

namespace {

std::atomic<std::uint64_t> gone = 0;

} // namespace

void note_model_gone() noexcept {
    gone.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t models_gone() noexcept {
    return gone.load(std::memory_order_relaxed);
}

struct RecordedSegment {
    std::uint32_t recording;
    RecordedSegment** idle;          ///< the list that it is put into when it is given back
    RecordedSegment* next = nullptr; ///< in that list
};

struct Recorder::Entry {
    std::weak_ptr<const void> owner;
    std::vector<std::unique_ptr<RecordedSegment>> all;
    RecordedSegment* idle = nullptr;
    bool is_refused = false; ///< recording was tried and failed
};

unsigned checked_record_level(unsigned level) {
    if (level > strict_record_level)
        throw Error(EINVAL, fmt::format("record level {}: 0, 1 and 2 are possible", level));
    return level;
}

std::string refusal_of_level_2(const std::string& why) {
    return fmt::format("record level 2: {}; use record level 1", why);
}

void say_not_recorded(const char* why) {
    std::fprintf(stderr, "overtake: tasks run without being recorded: %s\n", why);
}

Recorder::Recorder(Queue& queue, const Device& device, unsigned level)
    : queue_(queue), level_(checked_record_level(level)) {
    if (level_ == 0 || device.records())
        return;
    constexpr auto why = "the driver is older than recordings (version 1.3)";
    if (level_ == strict_record_level)
        throw Error(ENOTSUP, refusal_of_level_2(why));
    say_once(why);
    level_ = 0;
}

Recorder::~Recorder() = default;

void Recorder::say_once(const char* why) {
    if (!has_said_)
        say_not_recorded(why);
    has_said_ = true;
}

Recorder::Key Recorder::key_of(const Job& job, std::size_t fixed) {
    Key key{user_pointer(job.fcs.data()), job.fcs.size(), job.scratch_bytes,
            user_pointer(job.stages.data()), job.bindings.size()};
    for (std::size_t i = 0; i < fixed; i++)
        key[5 + i] = job.bindings[i].address;
    return key;
}

RecordedSegment* Recorder::submit(const Job& job, std::size_t fixed,
                                  const std::shared_ptr<const void>& owner) {
    if (seen_gone_ != models_gone())
        forget_the_gone();
    if (level_ == strict_record_level)
        return replay_or_refuse(job, fixed, owner);
    RecordedSegment* recorded = nullptr;
    if (level_ != 0 && fixed != 0 && fixed <= most_fixed)
        recorded = recorded_of(job, fixed, owner);
    if (recorded) {
        try {
            replay(*recorded, job, fixed);
            return recorded;
        } catch (const Error& refused) {
            give_back(recorded);
            if (refused.code() != EBUSY) // ended, but the device still has it
                throw;
        } catch (...) {
            give_back(recorded);
            throw;
        }
    }
    submit(job);
    return nullptr;
}

/// Replays an idle recording, or records one.  If the device still has an idle recording, another
/// idle one or a new one is replayed instead.
RecordedSegment* Recorder::replay_or_refuse(const Job& job, std::size_t fixed,
                                            const std::shared_ptr<const void>& owner) {
    if (fixed == 0 || fixed > most_fixed)
        throw NotRecorded(EINVAL, "it has a program of its own in each run");
    Entry& entry = entry_of(job, fixed, owner);
    RecordedSegment* busy = nullptr;
    const auto give_back_busy = [&busy] {
        while (RecordedSegment* const each = busy) {
            busy = each->next;
            give_back(each);
        }
    };
    for (;;) {
        RecordedSegment* recorded = entry.idle;
        const bool is_new = !recorded;
        try {
            if (is_new)
                recorded = record(entry, job, fixed);
            else
                entry.idle = recorded->next;
            replay(*recorded, job, fixed);
            give_back_busy();
            return recorded;
        } catch (const Error& refused) {
            if (refused.code() != EBUSY || is_new) {
                give_back(recorded);
                give_back_busy();
                throw;
            }
            recorded->next = busy;
            busy = recorded;
        } catch (...) {
            give_back(recorded);
            give_back_busy();
            throw;
        }
    }
}

/// Returns the entry of a segment, also of a new one.
Recorder::Entry& Recorder::entry_of(const Job& job, std::size_t fixed,
                                    const std::shared_ptr<const void>& owner) {
    try {
        std::unique_ptr<Entry>& entry = entries_[key_of(job, fixed)];
        if (!entry) {
            entry = std::make_unique<Entry>();
            entry->owner = owner;
        }
        return *entry;
    } catch (const std::bad_alloc&) {
        throw NotRecorded(ENOMEM, "no memory");
    }
}

/// Makes one more recording, at level 2.  Idle recordings of other segments make room.
RecordedSegment* Recorder::record(Entry& entry, const Job& job, std::size_t fixed) {
    if (recordings_ == most_recordings && !forget_idle())
        throw NotRecorded(ENOSPC, fmt::format("{} segments run at a time, each of which has a "
                                              "recording of its own",
                                              most_recordings));
    Job same = job;
    same.bindings = job.bindings.first(fixed);
    try {
        entry.all.reserve(entry.all.size() + 1);
        auto made = std::make_unique<RecordedSegment>();
        made->idle = &entry.idle;
        made->recording = record_with_room(same);
        recordings_++;
        return entry.all.emplace_back(std::move(made)).get();
    } catch (const Error& refused) {
        if (refused.code() == ENODEV)
            throw;
        throw NotRecorded(refused.code(), refused.what());
    } catch (const std::bad_alloc&) {
        throw NotRecorded(ENOMEM, "no memory");
    }
}

std::uint32_t Recorder::record_with_room(const Job& job) {
    try {
        return queue_.record(job, 1);
    } catch (const Error& refused) {
        if (refused.code() != ENOSPC || !forget_idle())
            throw;
    }
    return queue_.record(job, 1);
}

/// Submits the job.  If there is no room, idle recordings make some.
void Recorder::submit(const Job& job) {
    try {
        return queue_.submit({&job, 1});
    } catch (const Error& refused) {
        if (refused.code() != ENOSPC || !forget_idle())
            throw;
    }
    queue_.submit({&job, 1});
}

/// Returns a recording to replay; null: the job has to be submitted.
RecordedSegment* Recorder::recorded_of(const Job& job, std::size_t fixed,
                                       const std::shared_ptr<const void>& owner) {
    const auto found = entries_.find(key_of(job, fixed));
    if (found != entries_.end())
        return idle_or_new(*found->second, job, fixed);
    if (entries_.size() == most_segments)
        return nullptr;
    try {
        auto entry = std::make_unique<Entry>();
        entry->owner = owner;
        entries_.emplace(key_of(job, fixed), std::move(entry));
    } catch (const std::bad_alloc&) { // the segment is noted the next time
    }
    return nullptr;
}

/// Returns a recording to replay; null: the job has to be submitted.
RecordedSegment* Recorder::idle_or_new(Entry& entry, const Job& job, std::size_t fixed) {
    if (RecordedSegment* const idle = entry.idle) {
        entry.idle = idle->next;
        return idle;
    }
    if (entry.is_refused || entry.all.size() == recordings_of_a_segment ||
        recordings_ == most_recordings)
        return nullptr;
    Job same = job;
    same.bindings = job.bindings.first(fixed);
    try {
        entry.all.reserve(recordings_of_a_segment);
        auto made = std::make_unique<RecordedSegment>();
        made->recording = queue_.record(same, 1);
        made->idle = &entry.idle;
        recordings_++;
        return entry.all.emplace_back(std::move(made)).get();
    } catch (const Error& refused) {
        if (refused.code() == ENODEV)
            throw;
        entry.is_refused = true;
        say_once(refused.what());
    } catch (const std::bad_alloc&) {
        entry.is_refused = true;
        say_once("no memory");
    }
    return nullptr;
}

void Recorder::replay(const RecordedSegment& recorded, const Job& job, std::size_t fixed) {
    Replay replay = replay_from(job, recorded.recording);
    replay.bindings = job.bindings.subspan(fixed);
    part_cores_.clear();
    for (const overtake_part& part : job.parts)
        part_cores_.push_back(part.core);
    replay.part_cores = part_cores_;
    queue_.replay({&replay, 1});
}

void Recorder::give_back(RecordedSegment* recorded) noexcept {
    if (!recorded)
        return;
    recorded->next = *recorded->idle;
    *recorded->idle = recorded;
}

void Recorder::forget(Entry& entry) noexcept {
    for (const auto& recorded : entry.all)
        try {
            queue_.forget(recorded->recording);
        } catch (const std::exception&) { // the recording is destroyed with the queue
        }
    recordings_ -= entry.all.size();
    entry.all.clear();
    entry.idle = nullptr;
}

bool Recorder::is_idle(const Entry& entry) noexcept {
    std::size_t idle = 0;
    for (const RecordedSegment* each = entry.idle; each; each = each->next)
        idle++;
    return idle == entry.all.size();
}

/// Forgets the recordings of models that were unloaded, if all of a segment are idle.
void Recorder::forget_the_gone() {
    const std::uint64_t gone_by_now = models_gone();
    bool some_run = false;
    std::erase_if(entries_, [&](const auto& item) {
        Entry& entry = *item.second;
        const bool is_gone = entry.owner.expired();
        if (!is_gone || !is_idle(entry)) {
            some_run = some_run || is_gone;
            return false;
        }
        forget(entry);
        return true;
    });
    if (!some_run)
        seen_gone_ = gone_by_now;
}

/// Forgets the recordings of segments none of whose recordings is in flight.  They are recorded
/// again when they run again.  Returns false if there were none.
bool Recorder::forget_idle() {
    const std::size_t before = recordings_;
    for (const auto& item : entries_)
        if (is_idle(*item.second))
            forget(*item.second);
    return recordings_ != before;
}

} // namespace overtake
