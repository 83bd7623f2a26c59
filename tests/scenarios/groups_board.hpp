// SPDX-License-Identifier: MIT
//
// Cores, rings, batches and stages as the contract of groups describes them
// (docs/reference/scenarios.md, "Groups"), as plainly as possible, for the oracle of groups.
// GroupsBoard shares no code with the device, nor with the oracle of scenarios without groups.
// Within one instant the
// caller calls these functions in the order that the contract prescribes for its level.
// All times are microseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace overtake::test {

/// The FCs of a part of a group, by stage. A plain job is one part with one stage.
using Stages = std::vector<std::vector<std::uint64_t>>;

class GroupsBoard {
public:
    struct Settings {
        std::vector<std::uint64_t> limits; ///< one for each core
        std::vector<std::uint64_t> floors; ///< one for each core
        std::uint64_t sync = 0;
    };
    /// Cores are numbered from 0 here.
    struct Part {
        Stages stages;
        std::optional<std::size_t> core; ///< named by all parts or by none
    };

    explicit GroupsBoard(Settings settings);

    /// Jobs are numbered from 0 in the order of their arrivals.
    std::size_t submit(std::uint64_t now, const std::string& id, bool high, bool is_group,
                       std::vector<Part> parts);
    void cancel(std::uint64_t now, std::size_t job);
    /// Ends the FCs that are due, and sets the times at which the next stages open. Returns the
    /// jobs of the FCs.
    std::vector<std::size_t> end_fcs(std::uint64_t now);
    /// Idle cores choose, lowest core first.
    void choose(std::uint64_t now);
    /// Returns the first instant after `now` at which an FC ends or a stage opens.
    std::optional<std::uint64_t> next_instant(std::uint64_t now) const;

    bool is_over(std::size_t job) const { return jobs_[job].is_over; }
    std::size_t core_of(std::size_t job) const { return jobs_[job].parts.front().core; }
    /// Returns the first `count` of the allowed cores in order of (unfinished FCs, number); fewer
    /// if fewer are allowed.
    std::vector<std::size_t> emptiest(std::size_t count,
                                      const std::vector<std::size_t>& allowed) const;
    std::vector<std::size_t> all_cores() const;
    /// Returns "fcs" and "jobs".
    nlohmann::json timeline() const;

private:
    struct Fc {
        std::size_t job, part, index, stage;
        std::uint64_t duration;
        bool operator==(const Fc&) const = default;
    };
    struct Core {
        std::deque<Fc> high, normal, committed;
        std::optional<Fc> running;
        std::uint64_t until = 0;
        std::uint64_t count = 0; ///< HIGH starts in a row while NORMAL was ready
    };
    struct PlacedPart {
        std::size_t core;
        std::vector<std::optional<std::uint64_t>> opens; ///< when each stage opens
        std::vector<std::size_t> fcs_in;                 ///< FCs in each stage
    };
    struct Job {
        std::string id;
        bool high, is_group;
        std::uint64_t arrival;
        std::vector<PlacedPart> parts;
        std::vector<std::size_t> left; ///< unfinished FCs of each stage
        std::uint64_t end = 0;
        bool is_over = false, is_cancelled = false;
    };
    struct Started {
        Fc fc;
        std::size_t core;
        std::uint64_t start, end;
    };

    bool is_ready(const Fc& fc, std::uint64_t now) const;
    const Fc* next_of_normal(const Core& core, std::uint64_t now) const;
    std::optional<Fc> take(Core& core, std::size_t number, std::uint64_t now);
    std::optional<Fc> take_without_limit(Core& core, std::uint64_t now);
    std::optional<Fc> take_with_limit(Core& core, std::size_t number, std::uint64_t now);
    void end_fc(std::uint64_t now, const Fc& fc);
    bool runs(std::size_t job) const;
    std::size_t unfinished(std::size_t core) const;
    std::vector<Started> of_part(std::size_t job, std::size_t part) const;
    std::size_t preemptions(const std::vector<Started>& fcs, bool high) const;
    nlohmann::json entry_of(std::size_t job) const;

    Settings settings_;
    std::vector<Core> cores_;
    std::vector<Job> jobs_;
    std::vector<Started> started_;
};

} // namespace overtake::test
