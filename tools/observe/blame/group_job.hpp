// SPDX-License-Identifier: MIT
//
// GroupJob: the time of a job with parts on several cores, by cause.
//
// Parts go through stages together, and a stage ends with its last FC. So the time of a stage is
// the waits and runs of its critical part, whose FC ended last. The waits of the other parts did
// not delay the job. When an FC of a new stage starts, the stage before has ended with the last FC
// that had ended until then.
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
    /// `owner`: the number of the job's owner.
    explicit GroupJob(std::uint32_t owner) : owner_(owner) {}

    /// Part `part` is on `place`, in HIGH or NORMAL, from `time` on.
    void submit(Cores& cores, std::uint32_t part, Cores::Place place, bool high,
                std::uint32_t fc_count, std::uint64_t time);
    /// An FC of `stage` begins; `parts` of the job get the stages that are over. Events of parts
    /// that were not submitted are ignored: the events of their submission are missing.
    void start(Cores& cores, std::uint32_t part, std::uint32_t stage, std::uint64_t time,
               Parts& parts);
    void end_fc(Cores& cores, std::uint32_t part, std::uint32_t fc_index, std::uint64_t time);
    /// The job is over; `parts` gets the rest of its time.
    void end(Cores& cores, std::uint64_t time, Parts& parts);
    /// Takes the job's parts out of HIGH: no more of its events come.
    void leave(Cores& cores, std::uint64_t time);

    bool has(std::uint32_t part) const {
        return part < parts_.size() && parts_[part].fc_count != 0;
    }

private:
    struct Part {
        Cores::Place place{};
        std::uint32_t fc_count = 0; ///< 0: not submitted
        /// The part's number in its core's HIGH, until its last FC has ended.
        std::optional<std::uint64_t> ticket;
        bool over = false; ///< its last FC has ended
        bool runs = false;
        bool began = false;      ///< the part ran an FC in this stage
        std::uint64_t since = 0; ///< `time` has the part's time of this stage up to this moment
        Meter::Snapshot snapshot;
        Meter::Snapshot stage_end; ///< the core's meter, when an FC of the job ended and none ran
        Parts time;                ///< the part's time of this stage, by cause
    };

    void wait_until(Cores& cores, Part& part, std::uint64_t time);
    void open_stage(Cores& cores, std::uint32_t stage, Parts& parts);
    void commit(Parts& parts);

    std::uint32_t owner_;
    std::vector<Part> parts_;
    std::uint32_t stage_ = 0;
    /// The time of the job's latest end of an FC, or of a later submission of a part.
    std::uint64_t last_end_ = 0;
    std::optional<std::uint32_t> critical_; ///< the part whose FC ended last in this stage
    std::uint32_t running_ = 0;
};

} // namespace overtake::blame
