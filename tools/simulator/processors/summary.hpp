// SPDX-License-Identifier: MIT
//
// What a run of a scenario with processors comes to: latencies by class of tasks, and what each
// processor did.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "simulator/processors/simulator.hpp"

namespace overtake::simulator::processors {

class Tally : public Observer {
public:
    /// `scenario` outlives it.
    explicit Tally(const ProcessorScenario& scenario);

    void arrived(LiveTask& task, std::uint64_t time) override;
    void refused(const Generated& load, std::uint64_t time) override;
    void run_started(LiveTask& task, LiveTask::Run& run, std::uint64_t time) override;
    void run_ended(LiveTask& task, LiveTask::Run& run, ovt_coord_status status,
                   std::uint64_t time) override;
    void ended(LiveTask& task, std::uint64_t time) override;

    /// Times are in us.
    nlohmann::ordered_json json() const;
    /// Two tables.
    std::string text() const;

private:
    struct OfClass {
        std::uint64_t tasks = 0;
        std::uint64_t refused = 0; ///< found too many unfinished
        std::uint64_t done = 0, failed = 0, cancelled = 0, dropped = 0;
        std::uint64_t retries = 0;
        std::uint64_t with_slo = 0;
        std::uint64_t within_slo = 0;
        std::vector<std::uint64_t> latencies; ///< of those that are done
    };
    struct OfProcessor {
        std::uint64_t runs = 0;
        std::uint64_t failed = 0;
        std::uint64_t executed = 0;
    };

    double us(std::uint64_t time) const;

    const ProcessorScenario& scenario_;
    std::vector<OfClass> classes_;
    std::vector<OfProcessor> processors_;
    std::uint64_t first_ = ~std::uint64_t{0};
    std::uint64_t last_ = 0;
};

} // namespace overtake::simulator::processors
