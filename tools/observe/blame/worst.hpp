// SPDX-License-Identifier: MIT
//
// Worst: the reports that are worth printing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "observe/blame/blame.hpp"

namespace overtake::blame {

/// Keeps the slowest reports of each group; with `only_late`, only reports above their limit.
class Worst {
public:
    struct Item {
        Report report;
        /// The limit of the report's latency; none: no limit.
        std::optional<std::uint64_t> limit_ns;
        std::string name; ///< a name for the caller
    };

    explicit Worst(std::size_t most, bool only_late = false) : most_(most), only_late_(only_late) {}

    /// Adds a report. Among reports that are as slow, those that arrived first are kept.
    void add(std::uint64_t group, Item item);
    /// Returns the reports by group in ascending order: in each, the slowest first, then the
    /// earliest.
    std::vector<Item> list() const;
    /// Returns the number of reports kept in all groups.
    std::size_t size() const { return size_; }
    /// Forgets all reports of the group.
    void forget(std::uint64_t group);

private:
    std::size_t most_;
    bool only_late_;
    std::size_t size_ = 0;
    std::map<std::uint64_t, std::vector<Item>> groups_; ///< heaps with the least slow report on top
};

} // namespace overtake::blame
