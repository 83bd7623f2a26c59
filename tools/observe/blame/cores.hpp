// SPDX-License-Identifier: MIT
//
// Cores: for whom each core of each device was busy, and what a job on it waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "observe/blame/meter.hpp"
#include "observe/blame/parts.hpp"

namespace overtake::blame {

class Cores {
public:
    /// A device's core.
    struct Place {
        std::uint32_t device;
        std::uint16_t core;
        auto operator<=>(const Place&) const = default;
    };

    void start(Place place, std::uint32_t owner, bool high, std::uint64_t time);
    void stop(Place place, std::uint64_t time);
    Meter::Snapshot snapshot(Place place, std::uint64_t time);
    /// What the core ran since then; the rest until `time` it was idle.
    void add_since(Place place, const Meter::Snapshot& before, std::uint64_t begin,
                   std::uint64_t time, Parts& parts);
    /// The same for a part of a group, with its number in the core's HIGH, if it is there. `idle`
    /// is why it waited while the core ran nothing, and was not held for another group.
    void add_of_group(Place place, const Meter::Snapshot& before, std::uint64_t begin,
                      std::uint64_t time, Parts& parts, Cause idle,
                      std::optional<std::uint64_t> number);

    /// A part of a group of `owner` enters the core's HIGH, and holds the core while it is the
    /// first there and the core runs nothing. Returns its number there.
    std::uint64_t enter_high(Place place, std::uint32_t owner, std::uint64_t time);
    void leave_high(Place place, std::uint64_t number, std::uint64_t time);
    void count_steps(std::size_t more) { steps_ += more; }
    std::uint64_t steps() const;

private:
    struct High {
        std::uint32_t owner = 0;
        std::uint64_t since = 0;  ///< when it became the first
        Meter::Snapshot before{}; ///< of that moment
    };
    struct Core {
        Meter busy;                           ///< by part_key() of who waits for it
        std::map<std::uint64_t, High> high{}; ///< parts of groups, in order
        bool runs = false;
        std::uint32_t key = 0;
        std::uint64_t counted = 0; ///< until when `busy` has what runs

        void count(std::uint64_t time);
        void note_first();
    };

    std::map<Place, Core> cores_;
    std::uint64_t next_ = 0;
    std::uint64_t steps_ = 0;
};

} // namespace overtake::blame
