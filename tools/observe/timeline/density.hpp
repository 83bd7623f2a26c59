// SPDX-License-Identifier: MIT
//
// Density: how busy each core was over a run of any length, and a picture of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "observe/timeline/timeline.hpp"

namespace overtake::timeline {

/// Busy time of each core, task and ring, and preemptions of each core, over bins of time. The bins
/// double in width as the run grows, so memory depends on cores and tasks alone: at most 8 KiB for
/// each core, task and ring that occur, and 8 KiB for each core's preemptions. Times are
/// nanoseconds of device time, in any order. The first `max_tasks` names are kept apart; the others
/// are counted as one. One thread at a time.
class Density {
public:
    static constexpr std::size_t max_bins = 1024;
    static constexpr std::size_t max_tasks = 30;

    /// Adds an FC of `task` that ran on `core` (from 1) in [start_ns, end_ns).
    void add(unsigned core, bool high, std::string_view task, std::uint64_t start_ns,
             std::uint64_t end_ns);
    /// Counts a HIGH FC that went ahead of a NORMAL job that had begun.
    void preempted(unsigned core, std::uint64_t time_ns);

    bool empty() const { return last_ns_ <= first_ns_; }
    std::uint64_t first_ns() const { return first_ns_; } ///< earliest start
    std::uint64_t last_ns() const { return last_ns_; }   ///< latest end
    /// Returns the width of a bin; bins begin at multiples of it.
    std::uint64_t bin_ns() const { return std::uint64_t{1} << shift_; }
    std::vector<unsigned> cores() const; ///< ascending
    /// Returns the tasks in the order in which they appeared; the last is "other tasks" if there
    /// were too many.
    const std::vector<std::string>& tasks() const { return tasks_; }
    /// Returns the busy time in the bin that holds `time_ns`; `task` is an index into tasks().
    std::uint64_t busy_ns(unsigned core, bool high, std::size_t task, std::uint64_t time_ns) const;
    std::uint64_t preemptions(unsigned core, std::uint64_t time_ns) const;

private:
    /// Bin b is at index b modulo max_bins.
    using Bins = std::vector<std::uint64_t>;
    struct Core {
        std::vector<Bins> busy; ///< by 2 * task + high; empty where the core ran no FC
        Bins preemptions;
    };

    std::size_t task_index(std::string_view name);
    void cover(std::uint64_t from_ns, std::uint64_t to_ns);
    bool covers(std::uint64_t time_ns) const;
    void double_bins();
    static void join_pairs(Bins& bins, std::uint64_t first, std::uint64_t last);

    std::vector<std::string> tasks_;
    std::map<std::string, std::size_t, std::less<>> index_;
    std::map<unsigned, Core> cores_;
    unsigned shift_ = 10;
    std::uint64_t first_ns_ = ~std::uint64_t{0};
    std::uint64_t last_ns_ = 0;
};

/// Draws the utilisation of each core over the whole run as a stand-alone SVG document: stacked by
/// task, with the HIGH part hatched, above a strip of the core's preemptions. Pure.
std::string to_svg(const Density& density, std::string_view title);
/// Draws the same with the title, lanes and conditions of a timeline. The timeline's other contents
/// are ignored.
std::string to_svg(const Density& density, const Timeline& described);

} // namespace overtake::timeline
