// SPDX-License-Identifier: MIT
//
// A timeline: the core and the times of each FC, and a picture of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace overtake::timeline {

/// One executed FC. Times are nanoseconds of device time.
struct Fc {
    std::string task;  ///< the label of its task or class, e.g. the client's name
    std::uint64_t tag; ///< tag of the job; index distinguishes the FCs of one job
    std::uint32_t index;
    unsigned core; ///< from 1
    bool high;     ///< ring
    std::uint64_t start_ns;
    std::uint64_t end_ns;
    /// The number of the client's request, which distinguishes requests; 0: not known.
    std::uint64_t request = 0;
    std::string what{};     ///< text in place of "FC INDEX" for an item that is no FC; may be empty
    std::uint32_t part = 0; ///< part of a group, from 0; index counts in the part
    std::optional<std::uint32_t> stage{}; ///< stage of a group, from 0; none: not known
};

/// Returns "FC 3", or "part 1 FC 3 of stage 2", or `what`.
std::string fc_text(const Fc& fc);

/// One CPU segment of a task. Times are nanoseconds of device time.
struct CpuSegment {
    std::string task;  ///< as Fc::task
    std::uint64_t tag; ///< tag of the task; segment distinguishes the CPU segments of one task
    std::uint32_t segment;
    std::uint64_t start_ns;
    std::uint64_t end_ns;
    std::uint64_t request = 0; ///< as Fc::request
};

/// A HIGH FC went ahead of a NORMAL job that had begun.
struct Preemption {
    unsigned core;
    std::uint64_t time_ns;
    std::uint64_t tag = 0; ///< tag of the NORMAL job that was overtaken; 0: not known
};

/// A request of a client: its wait and its execution. Times are nanoseconds of device time.
struct Request {
    std::string task; ///< as Fc::task
    std::uint64_t arrival_ns;
    std::uint64_t end_ns;
};

/// A part of device time that was not recorded.
struct Unrecorded {
    std::uint64_t from_ns;
    std::uint64_t to_ns;
    std::string reason{}; ///< may be empty
};

/// A row of a picture that shows more than the cores of one device: any core, or a worker of a
/// pool.
struct Lane {
    std::string name;
    bool rings = true; ///< has HIGH and NORMAL
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
    /// Core 1 is the first lane, and each lane has a row; empty: the rows are the cores of one
    /// device.
    std::vector<Lane> lanes{};
    std::vector<Condition> conditions{}; ///< conditions of lanes
    /// Tasks that have a colour although they may not occur here. Pictures with the same set of
    /// tasks, in this list and in their items together, give each task the same colour.
    std::vector<std::string> tasks{};
    /// The time that the picture's labels call 0; it is at most the time of the picture's left
    /// edge.
    std::uint64_t origin_ns = 0;
};

/// Draws [from_ns, to_ns) as a stand-alone SVG document. Each core has a row, with HIGH above and
/// hatched, and NORMAL below and plain. Rows of CPU segments and then of requests are below the
/// cores. Each task has a colour, and a number, too, if there are more tasks than colours.
/// Preemptions are marked lines. An axis of device time in a fitting unit and a legend complete the
/// picture. Time that was not recorded is hatched in grey over all cores; a lane that does not work
/// is hatched over its row. There may be any number of FCs: those that are too narrow to be seen
/// are joined. Pure.
std::string to_svg(const Timeline& timeline, std::uint64_t from_ns, std::uint64_t to_ns);

} // namespace overtake::timeline
