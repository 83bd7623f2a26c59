// SPDX-License-Identifier: MIT
//
// BlameReport: the causes of late tasks (or, at FC level, jobs) of a run, by tools/observe/blame.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "observe/blame/worst.hpp"
#include "simulator/accounts.hpp"
#include "simulator/event_source.hpp"

namespace overtake::simulator {

/// Memory holds live tasks, and the slowest of each class.
class BlameReport : public EventSource {
public:
    /// Keeps the `most` slowest tasks of each class, of those that arrive in `window`.
    BlameReport(const Scenario& scenario, std::size_t most, const Window& window = {});

    /// Returns a sentence for each kept task, by class, the slowest first.
    std::string text() const;
    /// Returns, for each class, the mean time of a task in the queue, by cause; "" if no task
    /// waited in a queue.
    std::string queued_text() const;
    /// Adds "blame" and, to each class, "queued_by" to the result of to_json(summary).
    void add_to(nlohmann::ordered_json& summary) const;

    void arrived(LiveTask& task, std::uint64_t time) override;

private:
    /// The reason why a task waits in a library queue, and the class that is the cause.
    using Reason = std::pair<blame::Cause, std::uint32_t>;
    struct ClassSums {
        std::uint64_t ended = 0;
        std::map<Reason, std::uint64_t> queued; ///< ns
    };

    blame::Blame::Options options();
    blame::Plan plan_of(const Event& arrive) const;
    void report(const blame::Report& report);
    std::string id_of(const LiveTask& task) const;
    std::pair<const char*, const std::vector<std::string>*> clients() const;
    std::string name_of(const blame::Who& who) const;
    std::string sentence_of(const blame::Worst::Item& item) const;

    const Scenario& scenario_;
    Window window_;
    std::unordered_map<std::uint64_t, const LiveTask*> live_; ///< by the tag of the task's events
    std::vector<ClassSums> classes_;
    blame::Worst worst_;
    blame::Blame blame_;
};

} // namespace overtake::simulator
