// SPDX-License-Identifier: MIT
//
// Recorder: records the segments that the tasks of one queue run again and again.
//
// A segment that comes for the second time is recorded, and replayed from then on.  Several tasks
// may run one segment at a time: each has a recording of its own, up to a few.  A segment that
// cannot be recorded is submitted as without a recorder.  At level 2 all segments are recorded in
// their first run, and a segment that cannot be recorded is refused.
//
// Thread safety: one thread at a time, as a Queue.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "overtake/device.hpp"
#include "overtake/error.hpp"

namespace overtake {

/// Reports on stderr that tasks are not recorded.  They go on as without a recorder, so that is no
/// error.
void say_not_recorded(const char* why);

/// Returns a level of SessionOptions::record.  Throws Error EINVAL for an unknown level.
unsigned checked_record_level(unsigned level);
/// The level that refuses segments that cannot be recorded, and keeps no more of a model than
/// running needs.
constexpr unsigned strict_record_level = 2;
/// The message of a refusal at that level, with its remedy.
std::string refusal_of_level_2(const std::string& why);

/// The error of a job that is refused at that level.
class NotRecorded : public Error {
public:
    using Error::Error;
};

/// Counts the models that this process has unloaded.  A recorder forgets them at its next job.
/// Thread safe.
void note_model_gone() noexcept;
std::uint64_t models_gone() noexcept;

/// A recording with one instance, for one job at a time.
struct RecordedSegment;

class Recorder {
public:
    /// `level` 0 submits everything.  Throws Error ENOTSUP for level 2 on a device that does not
    /// record.
    Recorder(Queue& queue, const Device& device, unsigned level);
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;
    ~Recorder();

    /// Submits or replays the job, of a segment whose first `fixed` bindings are the same each time
    /// as long as `owner` lives; 0: it cannot be recorded.  Returns the recording that was
    /// replayed, for give_back() when the job has ended; null if it was submitted.  Throws Error as
    /// Queue::submit(), and at level 2 NotRecorded; nothing is in flight then.
    RecordedSegment* submit(const Job& job, std::size_t fixed,
                            const std::shared_ptr<const void>& owner);
    /// Returns a recording that submit() gave.  Null does nothing.
    static void give_back(RecordedSegment* recorded) noexcept;

private:
    /// Identifies a segment.  Device addresses are never used again.
    using Key = std::array<std::uint64_t, 8>;
    struct Entry;

    static Key key_of(const Job& job, std::size_t fixed);
    static bool is_idle(const Entry& entry) noexcept;
    void submit(const Job& job);
    RecordedSegment* replay_or_refuse(const Job& job, std::size_t fixed,
                                      const std::shared_ptr<const void>& owner);
    Entry& entry_of(const Job& job, std::size_t fixed, const std::shared_ptr<const void>& owner);
    RecordedSegment* record(Entry& entry, const Job& job, std::size_t fixed);
    std::uint32_t record_with_room(const Job& job);
    RecordedSegment* recorded_of(const Job& job, std::size_t fixed,
                                 const std::shared_ptr<const void>& owner);
    RecordedSegment* idle_or_new(Entry& entry, const Job& job, std::size_t fixed);
    void replay(const RecordedSegment& recorded, const Job& job, std::size_t fixed);
    void forget(Entry& entry) noexcept;
    void forget_the_gone();
    bool forget_idle();
    void say_once(const char* why);

    Queue& queue_;
    unsigned level_;
    std::map<Key, std::unique_ptr<Entry>> entries_;
    std::size_t recordings_ = 0;
    std::vector<unsigned> part_cores_; ///< cores of a replay
    bool has_said_ = false;
    std::uint64_t seen_gone_ = models_gone();
};

} // namespace overtake
