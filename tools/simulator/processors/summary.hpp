// SPDX-License-Identifier: MIT
//
// The results of a run of a scenario with processors: latencies by class of tasks, and the work of
// each processor.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "simulator/accounts.hpp"
#include "simulator/processors/simulator.hpp"
#include "simulator/summary.hpp"

namespace overtake::simulator::processors {

class Tally : public Observer {
public:
    /// Counts tasks that arrive in `window`, runs that start in it, and the work of processors in
    /// it.
    /// `scenario` outlives it.
    explicit Tally(const ProcessorScenario& scenario, const Window& window = {});

    void arrived(LiveTask& task, std::uint64_t time) override;
    void refused(const Generated& load, std::uint64_t time) override;
    void fc_started(LiveTask& task, LiveTask::Run& run, bool high, std::uint32_t index,
                    std::uint64_t time) override;
    void fc_ended(LiveTask& task, LiveTask::Run& run, std::uint64_t time) override;
    void run_started(LiveTask& task, LiveTask::Run& run, std::uint64_t time) override;
    void run_ended(LiveTask& task, LiveTask::Run& run, ovt_coord_status status,
                   std::uint64_t time) override;
    void ended(LiveTask& task, std::uint64_t time) override;

    /// Returns the results as JSON, with times in us.
    nlohmann::ordered_json json() const;
    /// Returns the results as two tables.
    std::string text() const;
    /// Returns a summary like those of other scenarios, for tables of many runs; "alone" is with
    /// this scenario's policy.
    Summary summary() const;
    /// Return the counted part's bounds: the first arrival and the last end, within the window.
    std::uint64_t from() const;
    std::uint64_t to() const;

private:
    struct OfClass {
        std::uint64_t tasks = 0;
        std::uint64_t refused = 0; ///< arrivals that found too many tasks unfinished
        std::uint64_t done = 0, failed = 0, cancelled = 0, dropped = 0;
        std::uint64_t retries = 0;
        std::uint64_t with_slo = 0;
        std::uint64_t within_slo = 0;
        std::uint64_t preemptions = 0;
        std::optional<std::uint64_t> slo;     ///< of the class's first task that has one
        std::vector<std::uint64_t> latencies; ///< of the tasks that are done
        std::uint64_t alone = 0;              ///< the sum of the latencies of these tasks alone
    };
    struct OfProcessor {
        std::uint64_t runs = 0;
        std::uint64_t failed = 0;
        std::uint64_t executed = 0;
        std::uint64_t fcs_high = 0, fcs_normal = 0;
    };

    bool is_counted(const LiveTask& task) const;
    std::uint64_t alone(const TaskKind& kind);
    double us(std::uint64_t time) const;

    const ProcessorScenario& scenario_;
    Window window_;
    std::map<std::tuple<std::uint32_t, std::uint64_t, bool>, std::uint64_t> alone_;
    std::vector<OfClass> classes_;
    std::vector<OfProcessor> processors_;
    std::uint64_t first_ = ~std::uint64_t{0};
    std::uint64_t last_ = 0;
};

} // namespace overtake::simulator::processors
