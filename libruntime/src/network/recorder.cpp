// SPDX-License-Identifier: MIT
#include "network/recorder.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>
#include <string>

#include <fmt/format.h>

#include "user_pointer.hpp"

namespace overtake {

namespace {

/// Tasks that run one segment at a time, of those that are recorded.
constexpr std::size_t recordings_of_a_segment = 4;
/// Of all segments: a queue has room for more.
constexpr std::size_t most_recordings = OVERTAKE_MAX_RECORDINGS / 2;
/// Program and weights.
constexpr std::size_t most_fixed = 3;

} // namespace

struct RecordedSegment {
    std::uint32_t recording;
    RecordedSegment** idle;          ///< where it is put when it is given back
    RecordedSegment* next = nullptr; ///< there
};

struct Recorder::Entry {
    std::weak_ptr<const void> owner;
    std::vector<std::unique_ptr<RecordedSegment>> all;
    RecordedSegment* idle = nullptr;
    bool is_refused = false; ///< it was tried
};

unsigned checked_record_level(unsigned level) {
    if (level > 1)
        throw Error(EINVAL, fmt::format("record level {}: 0 and 1 are possible", level));
    return level;
}

void say_not_recorded(const char* why) {
    std::fprintf(stderr, "overtake: tasks run without being recorded: %s\n", why);
}

Recorder::Recorder(Queue& queue, const Device& device, unsigned level)
    : queue_(queue), level_(checked_record_level(level)) {
    if (level_ == 0 || device.records())
        return;
    say_once("the driver is older than recordings (version 1.3)");
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
    RecordedSegment* recorded = nullptr;
    if (level_ != 0 && fixed != 0 && fixed <= most_fixed) {
        const auto found = entries_.find(key_of(job, fixed));
        if (found != entries_.end()) {
            recorded = idle_or_new(*found->second, job, fixed);
        } else {
            forget_the_gone();
            auto entry = std::make_unique<Entry>();
            entry->owner = owner;
            entries_.emplace(key_of(job, fixed), std::move(entry));
        }
    }
    if (!recorded) {
        queue_.submit({&job, 1});
        return nullptr;
    }
    try {
        replay(*recorded, job, fixed);
    } catch (...) {
        give_back(recorded);
        throw;
    }
    return recorded;
}

/// Null: it has to be submitted.
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
        return nullptr;
    }
}

void Recorder::replay(const RecordedSegment& recorded, const Job& job, std::size_t fixed) {
    Replay replay;
    replay.recording = recorded.recording;
    replay.tag = job.tag;
    replay.bindings = job.bindings.subspan(fixed);
    replay.priority = job.priority;
    replay.custom_id = job.custom_id;
    replay.core = job.core;
    replay.deadline_ns = job.deadline_ns;
    replay.cores = job.cores;
    replay.chosen_core = job.chosen_core;
    replay.model = job.model;
    replay.group_record = job.group_record;
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

/// Those of models that were unloaded, all of whose recordings are idle.
void Recorder::forget_the_gone() {
    std::erase_if(entries_, [&](const auto& item) {
        const Entry& entry = *item.second;
        std::size_t idle = 0;
        for (const RecordedSegment* each = entry.idle; each; each = each->next)
            idle++;
        if (!entry.owner.expired() || idle != entry.all.size())
            return false;
        for (const auto& recorded : entry.all)
            queue_.forget(recorded->recording);
        recordings_ -= entry.all.size();
        return true;
    });
}

} // namespace overtake
