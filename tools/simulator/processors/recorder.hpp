// SPDX-License-Identifier: MIT
//
// The timeline of a scenario with processors, as JSON.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "simulator/processors/simulator.hpp"

namespace overtake::simulator::processors {

class ProcessorRecorder : public Observer {
public:
    /// `scenario` outlives it.
    explicit ProcessorRecorder(const ProcessorScenario& scenario);

    void arrived(LiveTask& task, std::uint64_t time) override;
    void dispatched(LiveTask& task, LiveTask::Run& run, std::uint64_t time) override;
    void fc_started(LiveTask& task, LiveTask::Run& run, bool high, std::uint32_t index,
                    std::uint64_t time) override;
    void fc_ended(LiveTask& task, LiveTask::Run& run, std::uint64_t time) override;
    void run_started(LiveTask& task, LiveTask::Run& run, std::uint64_t time) override;
    void run_ended(LiveTask& task, LiveTask::Run& run, ovt_coord_status status,
                   std::uint64_t time) override;
    void ended(LiveTask& task, std::uint64_t time) override;

    /// Writes the timeline. Call it after the run.
    void write(std::ostream& out);

private:
    struct Fc {
        std::size_t run;
        std::uint32_t index, core;
        bool high;
        std::uint64_t start, end;
    };
    struct Run {
        std::size_t task;
        std::uint32_t number;
        std::uint64_t units;
        std::uint32_t processor;
        std::uint64_t dispatched;
        std::optional<std::uint64_t> start;
        std::uint64_t end = 0;
        std::uint64_t preemptions = 0;
        ovt_coord_status status = OVT_COORD_UNFINISHED;
    };
    struct Task {
        std::string id;
        std::uint64_t arrival;
        std::optional<std::uint64_t> dispatched{};
        std::optional<std::uint64_t> end{};
        ovt_coord_status status = OVT_COORD_UNFINISHED;
        std::uint32_t retries = 0;
    };

    const ProcessorScenario& scenario_;
    std::vector<Task> tasks_;
    std::vector<Run> runs_;
    std::vector<Fc> fcs_;
};

} // namespace overtake::simulator::processors
