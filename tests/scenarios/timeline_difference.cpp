// SPDX-License-Identifier: MIT
#include "timeline_difference.hpp"

#include <algorithm>
#include <sstream>

namespace overtake::test {

namespace {

template <typename Entry>
std::string entry_text(const std::vector<Entry>& entries, std::size_t index) {
    if (index >= entries.size())
        return "nothing";
    std::ostringstream text;
    text << entries[index];
    return text.str();
}

template <typename Entry>
std::optional<std::string> difference(const char* list, const std::vector<Entry>& actual,
                                      const std::vector<Entry>& expected) {
    const auto [ours, theirs] = std::ranges::mismatch(actual, expected);
    if (ours == actual.end() && theirs == expected.end())
        return std::nullopt;
    const auto index = static_cast<std::size_t>(ours - actual.begin());
    return std::string(list) + "[" + std::to_string(index) + "]: " + entry_text(actual, index) +
           ", but the contract says " + entry_text(expected, index);
}

} // namespace

std::optional<std::string> first_difference(const TaskTimeline& actual,
                                            const TaskTimeline& expected) {
    // Wherever FCs and CPU segments differ, tasks and jobs differ, too, but later: so the earlier
    // difference, which shows the cause, is looked for first.
    if (auto found = difference("fcs", actual.device.fcs, expected.device.fcs))
        return found;
    if (auto found = difference("cpu", actual.cpu, expected.cpu))
        return found;
    if (auto found = difference("jobs", actual.device.jobs, expected.device.jobs))
        return found;
    return difference("tasks", actual.tasks, expected.tasks);
}

} // namespace overtake::test
