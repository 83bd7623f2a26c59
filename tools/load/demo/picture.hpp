// SPDX-License-Identifier: MIT
//
// The pictures of the demonstration: a few periods of the detector in the middle of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "load/demo/demo.hpp"
#include "observe/timeline/timeline.hpp"

namespace overtake::demo {

/// The names of the two networks, to which the colours of the pictures belong.
inline constexpr char detector_name[] = "detector";
inline constexpr char large_name[] = "large network";

/// A part of device time.
struct Window {
    std::uint64_t from_ns;
    std::uint64_t to_ns;
};

/// Returns six periods of the detector, from half a period before `arrival_ns` on.
Window picture_window(std::uint64_t arrival_ns, unsigned period_us);

/// Returns the recorded part of a device's time: from the first FC to the last; nothing without
/// FCs.
std::optional<Window> recorded(const timeline::Timeline& timeline);

/// Returns the picture_window() of the detector's request that arrives nearest to half a window
/// before the middle of the recording; without a recording, that of the middle request. `detector`
/// is not empty.
Window middle(const timeline::Timeline& timeline, const std::vector<load::Request>& detector,
              unsigned period_us);

/// Draws `window` of the run as an SVG document. Time 0 is its left edge, the detector's requests
/// are below the FCs, and time outside of `known` is marked as not recorded, with the reason.
std::string draw(timeline::Timeline timeline, const std::vector<load::Request>& detector,
                 const Window& window, const std::optional<Window>& known,
                 const std::string& reason);

} // namespace overtake::demo
