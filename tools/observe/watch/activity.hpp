// SPDX-License-Identifier: MIT
//
// Activity: from events, which process holds each core, which processes wait, and behind whom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "observe/watch/spread.hpp"
#include "overtake/event.hpp"

namespace overtake::watch {

/// The owner of an FC that runs.
struct Holder {
    std::uint32_t pid = 0;
    std::uint64_t model = 0;
    bool high = false;
    std::uint64_t start_ns = 0;
};

struct CoreActivity {
    unsigned core = 0;
    double high = 0;                 ///< share of the interval in which the core ran HIGH FCs, 0..1
    double normal = 0;               ///< share of the interval in which the core ran NORMAL FCs
    std::uint64_t preemptions = 0;   ///< in the interval
    std::optional<unsigned> limit{}; ///< the core limit, if it changed while the device was watched
    std::optional<Holder> holder{};
};

struct ProcessActivity {
    std::uint32_t pid = 0;
    std::uint64_t model = 0; ///< of the last job that the process queued
    double high = 0;         ///< as in CoreActivity, in cores: two busy cores are 2
    double normal = 0;
    std::size_t waiting = 0; ///< jobs queued, none of whose FCs has started
    std::size_t begun = 0;   ///< jobs that have begun and not ended
    std::uint64_t ended = 0; ///< jobs that ended in the interval
    /// From queue to end, of jobs that succeeded in the last seconds; 0: none.
    std::uint64_t p50_ns = 0;
    std::uint64_t p99_ns = 0;
    /// How often a job of the process was overtaken, in the interval.
    std::uint64_t overtaken = 0;
    /// How often a HIGH FC of the process went ahead of a NORMAL job, in the interval.
    std::uint64_t overtakes = 0;
    /// The time that the process's longest waiting job has waited so far; 0: none waits.
    std::uint64_t waits_ns = 0;
    std::optional<Holder> behind{}; ///< the holder of the core for which that job waits
};

struct Snapshot {
    std::uint64_t interval_ns = 0;
    /// False: the source does not report jobs, so waiting jobs, latencies and holders are not
    /// known.
    bool has_jobs = true;
    std::vector<CoreActivity> cores; ///< by number
    /// By pid; without those that have been silent and have no jobs.
    std::vector<ProcessActivity> processes;
};

class Activity {
public:
    /// The time for which latencies are kept for the percentiles.
    static constexpr std::uint64_t memory_ns = 5'000'000'000;
    /// Jobs whose end was not seen yet; the oldest are forgotten.
    static constexpr std::size_t most_jobs = 1u << 18;

    /// `start_ns`: the device time at which watching began. Idle cores are shown if they are among
    /// the first `cores`.
    explicit Activity(std::uint64_t start_ns, unsigned cores = 0);
    void add(const Event& event);
    /// Returns the pids of all processes that were seen and are not forgotten.
    std::vector<std::uint32_t> pids() const;
    /// Forgets the processes, which have ended, and their jobs, whose ends were lost.
    void forget(const std::set<std::uint32_t>& pids);
    /// Returns how many jobs were forgotten to make room for others.
    std::uint64_t dropped() const noexcept { return dropped_; }
    /// Returns the activity since the last call. `now_ns` is device time and does not run
    /// backwards.
    Snapshot take(std::uint64_t now_ns);

private:
    using Key = std::tuple<std::uint64_t, std::uint32_t, std::uint64_t>; ///< client, context, tag
    struct Job {
        std::uint32_t pid;
        std::uint64_t model;
        std::uint64_t queued_ns;
        unsigned core;
        bool has_begun = false;
    };
    struct Busy {
        std::uint64_t high_ns = 0;
        std::uint64_t normal_ns = 0;
        void add(bool high, std::uint64_t ns) { (high ? high_ns : normal_ns) += ns; }
    };
    struct Core {
        Busy busy;
        std::uint64_t preemptions = 0;
        std::optional<unsigned> limit;
        std::optional<Holder> holder;
    };
    struct Process {
        Busy busy;
        std::uint64_t model = 0;
        std::uint64_t ended = 0;
        std::uint64_t overtaken = 0;
        std::uint64_t overtakes = 0;
        std::uint64_t last_ns = 0;                                     ///< time of its last event
        std::deque<std::pair<std::uint64_t, std::uint64_t>> latencies; ///< end, latency
    };

    /// Charges the running FC's time in the interval, up to `end_ns`, to the core and the process.
    void charge(Core& core, std::uint64_t end_ns);
    void end_job(const Event& event);
    void describe_waiting(std::map<std::uint32_t, ProcessActivity>& processes,
                          std::uint64_t now_ns) const;

    std::uint64_t from_ns_;
    std::map<unsigned, Core> cores_;
    std::map<std::uint32_t, Process> processes_;
    std::map<Key, Job> jobs_;
    std::uint64_t dropped_ = 0;
};

} // namespace overtake::watch
