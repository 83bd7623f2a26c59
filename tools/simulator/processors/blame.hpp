// SPDX-License-Identifier: MIT
//
// The causes of long requests on several processors: the processor for which each request waited,
// the work of that processor meanwhile, and the idle processor that could have run the request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "observe/blame/processor_waits.hpp"
#include "simulator/accounts.hpp"
#include "simulator/processors/simulator.hpp"

namespace overtake::simulator::processors {

/// Memory holds live tasks times processors times classes, and the slowest of each class.
class ProcessorBlame : public Observer {
public:
    /// Keeps the `most` slowest tasks of each class, of those that arrive in `window`. `scenario`
    /// outlives it.
    ProcessorBlame(const ProcessorScenario& scenario, std::size_t most, const Window& window = {});

    /// Returns a sentence for each kept task, by class, the slowest first.
    std::string text() const;
    /// Adds "blame" to a summary.
    void add_to(nlohmann::ordered_json& summary) const;

    void arrived(LiveTask& task, std::uint64_t time) override;
    void fc_started(LiveTask& task, LiveTask::Run& run, bool high, std::uint32_t index,
                    std::uint64_t time) override;
    void fc_ended(LiveTask& task, LiveTask::Run& run, std::uint64_t time) override;
    void run_started(LiveTask& task, LiveTask::Run& run, std::uint64_t time) override;
    void run_ended(LiveTask& task, LiveTask::Run& run, ovt_coord_status status,
                   std::uint64_t time) override;
    void out_of_use(std::uint32_t processor, std::uint64_t time) override;
    void in_use_again(std::uint32_t processor, std::uint64_t time) override;
    void ended(LiveTask& task, std::uint64_t time) override;

private:
    struct Report {
        std::string id;
        std::uint32_t task_class;
        std::uint64_t arrival;
        std::uint64_t latency;
        std::optional<std::uint64_t> slo;
        ovt_coord_status status;
        std::uint32_t retries;
        blame::ProcessorWaits::Account account;
    };

    void begin(LiveTask& task, const LiveTask::Run& run, std::uint64_t time);
    void end(LiveTask& task, const LiveTask::Run& run, std::uint64_t time);
    std::optional<std::uint64_t> takes(const LiveTask& task, const LiveTask::Run& run,
                                       std::uint32_t processor) const;
    void keep(Report report);
    std::vector<const Report*> worst() const;
    std::string sentence_of(const Report& report) const;
    double ms(std::uint64_t time) const;

    const ProcessorScenario& scenario_;
    std::size_t most_;
    Window window_;
    blame::ProcessorWaits waits_;
    std::unordered_map<const LiveTask*, blame::ProcessorWaits::Account> live_;
    std::vector<std::vector<Report>> kept_; ///< by class
};

} // namespace overtake::simulator::processors
