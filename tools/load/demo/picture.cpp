// SPDX-License-Identifier: MIT
#include "load/demo/picture.hpp"

#include <algorithm>

namespace overtake::demo {
namespace {

constexpr std::uint64_t periods_shown = 6;

std::uint64_t distance(std::uint64_t a, std::uint64_t b) {
    return std::max(a, b) - std::min(a, b);
}

} // namespace

Window picture_window(std::uint64_t arrival_ns, unsigned period_us) {
    const std::uint64_t period_ns = period_us * ns_per_us;
    const std::uint64_t from_ns = arrival_ns - std::min(arrival_ns, period_ns / 2);
    return {from_ns, from_ns + periods_shown * period_ns};
}

std::optional<Window> recorded(const timeline::Timeline& timeline) {
    if (timeline.fcs.empty())
        return {};
    return Window{std::ranges::min(timeline.fcs, {}, &timeline::Fc::start_ns).start_ns,
                  std::ranges::max(timeline.fcs, {}, &timeline::Fc::end_ns).end_ns};
}

Window middle(const timeline::Timeline& timeline, const std::vector<load::Request>& detector,
              unsigned period_us) {
    const auto known = recorded(timeline);
    if (!known)
        return picture_window(detector.at(detector.size() / 2).queued_ns, period_us);
    // The window lies in the middle of the recording, so its first request arrives before the
    // middle.
    const std::uint64_t half_ns = periods_shown * period_us * ns_per_us / 2;
    const std::uint64_t centre_ns = known->from_ns + (known->to_ns - known->from_ns) / 2;
    const std::uint64_t wanted_ns = centre_ns - std::min(centre_ns, half_ns);
    const auto nearest = std::ranges::min_element(detector, {}, [&](const load::Request& request) {
        return distance(request.queued_ns, wanted_ns);
    });
    return picture_window(nearest->queued_ns, period_us);
}

std::string draw(timeline::Timeline timeline, const std::vector<load::Request>& detector,
                 const Window& window, const std::optional<Window>& known,
                 const std::string& reason) {
    timeline.tasks = {detector_name, large_name};
    timeline.origin_ns = window.from_ns;
    for (const load::Request& request : detector)
        timeline.requests.push_back({detector_name, request.queued_ns, request.end_ns});
    const Window there = known.value_or(Window{window.to_ns, window.to_ns});
    if (there.from_ns > window.from_ns)
        timeline.unrecorded.push_back(
            {window.from_ns, std::min(there.from_ns, window.to_ns), reason});
    if (there.to_ns < window.to_ns)
        timeline.unrecorded.push_back(
            {std::max(there.to_ns, window.from_ns), window.to_ns, reason});
    return timeline::to_svg(timeline, window.from_ns, window.to_ns);
}

} // namespace overtake::demo
