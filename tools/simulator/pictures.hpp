// SPDX-License-Identifier: MIT
//
// Pictures: a run as single FCs where these can be distinguished, and as density otherwise.
#pragma once

#include <cstdint>
#include <string>

#include "observe/timeline/density.hpp"
#include "observe/timeline/timeline.hpp"
#include "simulator/simulator.hpp"

namespace overtake::simulator {

/// Keeps the FCs, CPU segments and preemptions in a window of a run. Memory is bounded as long as
/// FCs start, unless every FC is wanted.
class Pictures : public Observer {
public:
    /// The most FCs and CPU segments that a picture shows one by one. Each start of an FC is
    /// compared with it.
    static constexpr std::size_t most_drawn = 2000;

    struct Options {
        std::uint64_t from = 0; ///< in the scenario's unit
        std::uint64_t to = ~std::uint64_t{0};
        bool every_fc = false; ///< for timeline(): memory then grows with the run
    };

    /// `scenario` outlives it; `title` is for the pictures.
    Pictures(const Scenario& scenario, std::string title, const Options& options);

    /// Call it after the run. Throws Error (ENODATA) if nothing ran in the window, or Error
    /// (ERANGE) if the run is too long for a picture.
    void demand_content() const;
    /// Returns, after the run, an SVG document of the FCs in the window, or of their density if
    /// they are too many.
    std::string svg() const;
    /// Returns, after a run with Options::every_fc, the whole timeline in the window.
    const timeline::Timeline& timeline() const { return timeline_; }

    void cpu_started(LiveTask& task, std::uint32_t segment, std::uint64_t time,
                     std::uint64_t end) override;
    void fc_started(LiveTask& task, unsigned core, bool high, std::uint32_t index,
                    std::uint64_t time, std::uint64_t end) override;
    void preempted(LiveTask& task, unsigned core, std::uint64_t time) override;

private:
    bool keeps_more() const;
    bool in_window(std::uint64_t start, std::uint64_t end) const;
    const std::string& name_of(const LiveTask& task) const;

    const Scenario& scenario_;
    Options options_;
    std::uint64_t tick_ns_;
    std::uint64_t picture_limit_; ///< the last time whose nanoseconds fit 64 bits
    timeline::Timeline timeline_;
    timeline::Density density_;
    bool overflowed_ = false;
    std::uint64_t last_end_ = 0;
};

} // namespace overtake::simulator
