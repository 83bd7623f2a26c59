// SPDX-License-Identifier: MIT
//
// Recording: a device's events (overtake/event.hpp) as a scenario that `overtake sim` replays.
//
// A recording has each job at the time at which it reached its core, the durations of its FCs, the
// end of each job that was cut short, and the changes of core limits. Times are nanoseconds since
// the first event. So if a device kept to its clock, every FC begins and ends in a replay at the
// same nanosecond.
//
// For a group, which has parts on several cores, the events have the core and the stage of each FC.
// The device's sync is the time from the end of a stage to the next stage on other cores. The
// recording has the shortest such time that was seen.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "overtake/event.hpp"

namespace overtake::record {

struct Options {
    std::uint32_t device = 0; ///< events of other devices are skipped
    std::uint32_t cores = 1;
    std::vector<std::uint32_t> core_limits{};   ///< of each core, at the first event; empty: all 0
    std::vector<std::uint32_t> normal_floors{}; ///< of each core, at the first event; empty: all 0
    bool fair = false;
    std::string description{}; ///< description of the scenario; may be empty
    /// Returns the class of a job: the name of its model or client. Jobs of a class are counted
    /// together.
    std::function<std::string(std::uint64_t client, std::uint32_t pid, std::uint64_t model)> name{};
};

/// Memory grows with the recording: about 200 bytes for a job, 24 for an FC.
class Recording {
public:
    explicit Recording(Options options);

    /// Adds an event; events come in order of time. Throws Error (EINVAL), which names the job, for
    /// events that no device reports.
    void add(const Event& event);
    /// Counts lost events: after any, document() throws.
    void lost(std::uint64_t count) { lost_ += count; }

    /// Returns the scenario. Throws Error (EINVAL) if events were lost or nothing was recorded.
    nlohmann::ordered_json document() const;
    /// Writes the scenario as text, with a job on each line.
    void write(std::ostream& out) const;
    /// Returns a line for each fact about the beginning and the end that the scenario cannot have.
    std::vector<std::string> notes() const;
    std::size_t jobs() const { return jobs_.size(); }

private:
    using Identity = std::tuple<std::uint64_t, std::uint32_t, std::uint64_t>;

    struct Fc {
        std::uint64_t start;
        std::uint64_t end;
        std::uint32_t stage;
    };
    /// The part of a job on one core: all of the job, or one part of a group.
    struct Part {
        std::uint32_t core = 0;
        std::uint32_t fc_count = 0;
        std::vector<Fc> fcs; ///< the FCs that have run
        std::optional<std::uint64_t> running_since;
        std::uint32_t stage = 0; ///< stage of the FC that runs

        void end(std::uint64_t time);
    };
    struct Job {
        Event submit;
        std::uint64_t arrival = 0;
        std::uint64_t model = 0;
        std::vector<Part> parts;
        std::optional<std::uint64_t> cut; ///< when the job ended without having run all its FCs
        bool over = false;

        std::size_t ran() const;
        std::size_t planned() const;
        std::uint32_t last_stage() const; ///< the last stage in which an FC has run
    };

    static Identity identity_of(const Event& event);
    Job* find(const Event& event);
    void submit(const Event& event);
    void submit_part(const Event& event);
    bool has_chosen(const Event& event) const;
    void start_fc(Job& job, const Event& event);
    Part& part_of(Job& job, const Event& event);
    void end_fc(Job& job, const Event& event);
    void end_job(Job& job, const Event& event);
    [[noreturn]] static void fail(const Event& event, const std::string& what);
    std::vector<Job> finished() const;
    nlohmann::ordered_json head() const;
    nlohmann::ordered_json job_json(const Job& job, std::size_t number) const;
    static nlohmann::ordered_json parts_json(const Job& job);
    static void see_sync(const Job& job, std::optional<std::uint64_t>& sync);

    Options options_;
    std::optional<std::uint64_t> origin_;
    std::uint64_t last_ = 0;
    std::uint64_t lost_ = 0;
    std::vector<Job> jobs_; ///< in the order in which they reached their cores
    std::map<Identity, std::size_t> live_;
    std::map<Identity, std::uint64_t> models_; ///< models of jobs that wait for their core
    std::set<Identity> unknown_;               ///< jobs that had begun before the recording
    std::uint64_t unknown_jobs_ = 0;           ///< how many of `unknown_` have ended
    std::vector<Event> limits_;
    std::map<std::uint32_t, std::uint64_t> started_; ///< when an FC started last, by core
};

} // namespace overtake::record
