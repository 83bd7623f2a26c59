// SPDX-License-Identifier: MIT
//
// GroupJob: where the time of a job with parts on several cores went.
//
// Parts go through stages together, and a stage ends with its last FC. So the time of a stage is
// that of its critical part, the one whose FC ended last: what that part waited for, and what it
// ran. What other parts waited for in the meantime made nothing later. An FC that starts shows its
// stage: the stage before has ended with the last FC that ended until then.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "observe/blame/cores.hpp"
#include "observe/blame/meter.hpp"
#include "observe/blame/parts.hpp"

namespace overtake::blame {

class GroupJob {
public:
    /// `owner`: of the job, by number.
    explicit GroupJob(std::uint32_t owner) : owner_(owner) {}

    /// Part `part` is on `place`, in HIGH or NORMAL, from now on.
    void submit(Cores& cores, std::uint32_t part, Cores::Place place, bool high,
                std::uint32_t fc_count, std::uint64_t time);
    /// An FC of `stage` begins; `parts` of the job get the stages that are over. Parts that were
    /// not submitted are ignored: their events are missing.
    void start(Cores& cores, std::uint32_t part, std::uint32_t stage, std::uint64_t time,
               Parts& parts);
    void end_fc(Cores& cores, std::uint32_t part, std::uint32_t fc_index, std::uint64_t time);
    /// The job is over, and `parts` has all its time since it was submitted.
    void end(Cores& cores, std::uint64_t time, Parts& parts);
    /// Its events will not come any more.
    void leave(Cores& cores, std::uint64_t time);

    bool has(std::uint32_t part) const {
        return part < parts_.size() && parts_[part].fc_count != 0;
    }

private:
    struct Part {
        Cores::Place place{};
        std::uint32_t fc_count = 0;          ///< 0: not submitted
        std::optional<std::uint64_t> ticket; ///< in its core's HIGH, until its last FC has ended
        bool over = false;                   ///< its last FC has ended
        bool runs = false;
        bool began = false;      ///< ran an FC in this stage
        std::uint64_t since = 0; ///< until then `time` has everything of this stage
        Meter::Snapshot snapshot;
        Meter::Snapshot stage_end; ///< of its core, when an FC ended and no other one ran
        Parts time;                ///< of this stage
    };

    void wait_until(Cores& cores, Part& part, std::uint64_t time);
    void open_stage(Cores& cores, std::uint32_t stage, Parts& parts);
    void commit(Parts& parts);

    std::uint32_t owner_;
    std::vector<Part> parts_;
    std::uint32_t stage_ = 0;
    std::uint64_t last_end_ = 0;            ///< of its FCs; of none, when it was submitted
    std::optional<std::uint32_t> critical_; ///< part with that FC, if it is of this stage
    std::uint32_t running_ = 0;
};

} // namespace overtake::blame
