// SPDX-License-Identifier: MIT
//
// Cores: for which owner each core of each device was busy, and the causes of a job's waits on a
// core.
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
    /// One core of a device.
    struct Place {
        std::uint32_t device;
        std::uint16_t core;
        auto operator<=>(const Place&) const = default;
    };

    void start(Place place, std::uint32_t owner, bool high, std::uint64_t time);
    void stop(Place place, std::uint64_t time);
    Meter::Snapshot snapshot(Place place, std::uint64_t time);
    /// Adds the wait from `begin` to `time` to `parts`: by cause and owner while the core ran an FC
    /// or was held, and as Cause::host for the rest. `before` is the core's snapshot at `begin`.
    void add_since(Place place, const Meter::Snapshot& before, std::uint64_t begin,
                   std::uint64_t time, Parts& parts);
    /// Adds the wait of a part of a group. `number` is the part's number in the core's HIGH, if the
    /// part is there. Time in which the core ran no FC and was not held for another group is added
    /// as `idle`.
    void add_of_group(Place place, const Meter::Snapshot& before, std::uint64_t begin,
                      std::uint64_t time, Parts& parts, Cause idle,
                      std::optional<std::uint64_t> number);

    /// Adds a part of a group of `owner` to the core's HIGH. The part holds the core while it is
    /// the first in HIGH and the core runs no FC. Returns the part's number in HIGH.
    std::uint64_t enter_high(Place place, std::uint32_t owner, std::uint64_t time);
    void leave_high(Place place, std::uint64_t number, std::uint64_t time);
    void count_steps(std::size_t more) { steps_ += more; }
    std::uint64_t steps() const;

private:
    struct High {
        std::uint32_t owner = 0;
        std::uint64_t since = 0;  ///< when the part became the first
        Meter::Snapshot before{}; ///< the meter at that moment
    };
    struct Core {
        Meter busy;                           ///< by the part_key() for a job that waits
        std::map<std::uint64_t, High> high{}; ///< parts of groups, in order
        bool runs = false;
        std::uint32_t key = 0;
        std::uint64_t counted = 0; ///< `busy` includes the core's time up to this moment

        void count(std::uint64_t time);
        void note_first();
    };

    std::map<Place, Core> cores_;
    std::uint64_t next_ = 0;
    std::uint64_t steps_ = 0;
};

} // namespace overtake::blame
