// SPDX-License-Identifier: MIT
//
// A timeline: which FC ran on which core when, and its picture.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace overtake::timeline {

/// One executed FC. Times in nanoseconds of device time.
struct Fc {
    std::string task;  ///< label of its task or class, e.g. the client's name
    std::uint64_t tag; ///< the job; index distinguishes the FCs of one job
    std::uint32_t index;
    unsigned core; ///< from 1
    bool high;     ///< ring
    std::uint64_t start_ns;
    std::uint64_t end_ns;
    std::uint64_t request = 0; ///< which one of its client's, to distinguish them; 0: not known
    std::string what{};        ///< in place of "FC INDEX", of what is no FC; may be empty
    std::uint32_t part = 0;    ///< of a group, from 0; index counts in it
    std::optional<std::uint32_t> stage{}; ///< of a group, from 0, if it is known
};

/// "FC 3", or "part 1 FC 3 of stage 2", or what it is.
std::string fc_text(const Fc& fc);

/// One CPU segment of a task. Times in nanoseconds of device time.
struct CpuSegment {
    std::string task;  ///< as Fc::task
    std::uint64_t tag; ///< the task's; segment distinguishes CPU segments of one task
    std::uint32_t segment;
    std::uint64_t start_ns;
    std::uint64_t end_ns;
    std::uint64_t request = 0; ///< as Fc::request
};

/// A HIGH FC went ahead of a NORMAL job that had begun.
struct Preemption {
    unsigned core;
    std::uint64_t time_ns;
    std::uint64_t tag = 0; ///< the NORMAL job that was overtaken; 0: not known
};

/// A request of a client: its wait and its execution. Times in nanoseconds of device time.
struct Request {
    std::string task; ///< as Fc::task
    std::uint64_t arrival_ns;
    std::uint64_t end_ns;
};

/// A part of device time of which nothing is known.
struct Unrecorded {
    std::uint64_t from_ns;
    std::uint64_t to_ns;
    std::string reason{}; ///< may be empty
};

/// What has a row where not only cores of one device do: a core of any, or a worker of a pool.
struct Lane {
    std::string name;
    bool rings = true; ///< HIGH and NORMAL
};

/// A part of device time in which a lane did not work, or worked at another speed.
struct Condition {
    unsigned core; ///< as Fc::core
    std::uint64_t from_ns;
    std::uint64_t to_ns;
    std::string what;
    bool works;
};

struct Timeline {
    std::string title{};
    std::vector<Fc> fcs{};
    std::vector<Preemption> preemptions{};
    std::vector<CpuSegment> cpu{};
    std::vector<Request> requests{};
    std::vector<Unrecorded> unrecorded{};
    /// Core 1 is the first of these, and each has its row; empty: the cores of one device.
    std::vector<Lane> lanes{};
    std::vector<Condition> conditions{}; ///< of lanes
    /// Tasks that have a colour although they may not be seen here: pictures that name the same
    /// tasks, here or in what they show, give each the same colour.
    std::vector<std::string> tasks{};
    /// The time that the picture calls 0; at most its left edge.
    std::uint64_t origin_ns = 0;
};

/// What lies in [from_ns, to_ns), as a stand-alone SVG document: a row for each core, HIGH above
/// and hatched, NORMAL below and plain, CPU segments and then requests in rows below the cores, a
/// colour for each task (and a number too where there are more tasks than colours), preemptions as
/// marked lines, an axis of device time in a fitting unit, and a legend. What was not recorded is
/// hatched in grey over all cores, and so is, over its row, a lane that does not work. Takes any
/// number of FCs; what is too narrow to be seen is joined. Pure.
std::string to_svg(const Timeline& timeline, std::uint64_t from_ns, std::uint64_t to_ns);

} // namespace overtake::timeline
