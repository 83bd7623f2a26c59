// SPDX-License-Identifier: MIT
//
// Why requests on several processors took so long: for which processor each waited, what that did
// meanwhile, and which other one was idle and could have run it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "simulator/accounts.hpp"
#include "simulator/processors/simulator.hpp"

namespace overtake::simulator::processors {

/// Memory: live tasks times processors times classes, and the worst of each class.
class ProcessorBlame : public Observer {
public:
    /// Keeps the `most` slowest of each class, of those that arrive in `window`. `scenario`
    /// outlives it.
    ProcessorBlame(const ProcessorScenario& scenario, std::size_t most, const Window& window = {});

    /// A sentence for each, by class, the slowest first.
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
    static constexpr std::uint32_t nowhere = ~0u;

    /// Times so far, of a processor.
    struct Clock {
        std::vector<std::uint64_t> busy; ///< by class; of a pool all workers together
        std::uint64_t idle = 0;          ///< in use, and could have begun something
    };
    struct Processor {
        Clock clock;
        std::vector<std::uint32_t> executing; ///< by class
        std::uint32_t executing_all = 0;
        bool in_use = true;
        std::uint64_t updated = 0;
    };
    /// Another processor that could have run what waited.
    struct Other {
        std::uint32_t processor = nowhere;
        std::uint64_t idle = 0;
        std::uint64_t takes = 0;
    };
    /// Waits for one processor; nowhere: what never got one.
    struct Part {
        std::uint64_t time = 0;
        std::vector<std::uint64_t> busy; ///< by class, meanwhile
        Other other;
    };
    struct Report {
        std::string id;
        std::uint32_t task_class;
        std::uint64_t arrival;
        std::uint64_t latency;
        std::optional<std::uint64_t> slo;
        ovt_coord_status status;
        std::uint32_t retries;
        std::uint64_t own;
        std::map<std::uint32_t, Part> parts; ///< by processor
    };
    struct Live {
        std::uint32_t executing = 0;
        std::uint64_t since = 0;   ///< of this, or of its wait
        std::vector<Clock> clocks; ///< as the wait began
        std::uint64_t own = 0;
        std::map<std::uint32_t, Part> parts;
    };

    void update(std::uint32_t processor, std::uint64_t time);
    bool is_idle(std::uint32_t processor) const;
    void begin_wait(Live& live, std::uint64_t time);
    void end_wait(Live& live, const LiveTask& task, const LiveTask::Run* run, std::uint64_t time);
    void begin_executing(LiveTask& task, const LiveTask::Run& run, std::uint64_t time);
    void end_executing(LiveTask& task, const LiveTask::Run& run, std::uint64_t time);
    Other other_for(const Live& live, const LiveTask& task, const LiveTask::Run& run) const;
    void keep(Report report);
    std::vector<const Report*> worst() const;
    std::string sentence_of(const Report& report) const;
    double ms(std::uint64_t time) const;

    const ProcessorScenario& scenario_;
    std::size_t most_;
    Window window_;
    std::vector<Processor> processors_;
    std::unordered_map<const LiveTask*, Live> live_;
    std::vector<std::vector<Report>> kept_; ///< by class
};

} // namespace overtake::simulator::processors
