// SPDX-License-Identifier: MIT
//
// Pictures of a run on several processors: a row for each core and each worker of a pool.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/pictures.hpp"
#include "simulator/processors/simulator.hpp"

namespace overtake::simulator::processors {

/// Keeps the FCs, runs and preemptions in a window of a run. Memory is bounded, unless every FC is
/// wanted.
class ProcessorPictures : public Observer {
public:
    using Options = Pictures::Options;

    /// `scenario` outlives it; `title` is for the pictures.
    ProcessorPictures(const ProcessorScenario& scenario, std::string title, const Options& options);

    /// Call it after the run. Throws Error (ENODATA) if nothing ran in the window, or Error
    /// (ERANGE) if the run is too long for a picture.
    void demand_content() const;
    /// Returns, after the run, an SVG document of the FCs and runs of workers in the window, or of
    /// their density if they are too many.
    std::string svg() const;
    /// Returns, after a run with Options::every_fc, the whole timeline in the window.
    timeline::Timeline timeline() const;

    void fc_started(LiveTask& task, LiveTask::Run& run, bool high, std::uint32_t index,
                    std::uint64_t time) override;
    void fc_ended(LiveTask& task, LiveTask::Run& run, std::uint64_t time) override;
    void preempted(LiveTask& task, LiveTask::Run& run, std::uint64_t time) override;
    void run_started(LiveTask& task, LiveTask::Run& run, std::uint64_t time) override;
    void run_ended(LiveTask& task, LiveTask::Run& run, ovt_coord_status status,
                   std::uint64_t time) override;
    void out_of_use(std::uint32_t processor, std::uint64_t time) override;
    void in_use_again(std::uint32_t processor, std::uint64_t time) override;

private:
    /// The work that a lane runs.
    struct Lane {
        bool busy = false;
        std::uint64_t run = 0; ///< the run's dispatch sequence
        bool high = false;
        std::uint32_t index = 0;
    };
    struct Outage {
        std::uint32_t processor;
        std::uint64_t from;
        std::uint64_t to;
    };

    bool in_window(std::uint64_t start, std::uint64_t end) const;
    std::size_t lane_of(const LiveTask::Run& run) const;
    void keep(const LiveTask& task, const LiveTask::Run& run, std::size_t lane, std::uint64_t start,
              std::uint64_t end);
    void add_conditions(timeline::Timeline& timeline) const;
    void add_condition(timeline::Timeline& timeline, std::uint32_t processor, std::uint64_t from,
                       std::uint64_t to, const std::string& what, bool works) const;

    const ProcessorScenario& scenario_;
    Options options_;
    std::uint64_t picture_limit_;         ///< the last time whose nanoseconds fit 64 bits
    std::vector<std::size_t> first_lane_; ///< by processor
    std::vector<Lane> lanes_;
    timeline::Timeline timeline_;
    timeline::Density density_;
    std::vector<Outage> outages_;
    bool overflowed_ = false;
    std::uint64_t last_end_ = 0;
};

} // namespace overtake::simulator::processors
