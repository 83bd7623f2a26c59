// SPDX-License-Identifier: MIT
//
// Cores: for whom each core of each device was busy, and what a job on it waited for.
#pragma once

#include <cstdint>
#include <map>

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
    std::uint64_t steps() const;

private:
    struct Core {
        Meter busy; ///< by part_key() of who waits for it
        bool runs = false;
        std::uint32_t key = 0;
        std::uint64_t counted = 0; ///< until when `busy` has what runs

        void count(std::uint64_t time);
    };

    std::map<Place, Core> cores_;
};

} // namespace overtake::blame
