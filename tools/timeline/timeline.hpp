// SPDX-License-Identifier: MIT
//
// A timeline: which FC ran on which core when, and its picture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace overtake::timeline {

/// One executed FC. Times in nanoseconds of device time.
struct Fc {
    std::string task;  ///< what its label says, e.g. the client's name
    std::uint64_t tag; ///< the job; FCs of one job are told apart by index
    std::uint32_t index;
    unsigned core; ///< from 1
    bool high;     ///< ring
    std::uint64_t start_ns;
    std::uint64_t end_ns;
};

/// A HIGH FC went ahead of a NORMAL job that had begun.
struct Preemption {
    unsigned core;
    std::uint64_t time_ns;
};

struct Timeline {
    std::string title;
    std::vector<Fc> fcs;
    std::vector<Preemption> preemptions;
};

/// What lies in [from_ns, to_ns), as a stand-alone SVG document: a row for each core, HIGH above
/// and hatched, NORMAL below and plain, a colour for each task, preemptions as marked lines, a time
/// axis in a fitting unit that starts at 0, and a legend. Pure.
std::string to_svg(const Timeline& timeline, std::uint64_t from_ns, std::uint64_t to_ns);

} // namespace overtake::timeline
