// SPDX-License-Identifier: MIT
//
// Worst: which reports are worth telling.
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

/// Keeps the slowest of each group; if only the late ones are wanted, those over their limit.
class Worst {
public:
    struct Item {
        Report report;
        std::optional<std::uint64_t> limit_ns; ///< that it was to keep
        std::string name;                      ///< for the caller
    };

    explicit Worst(std::size_t most, bool only_late = false) : most_(most), only_late_(only_late) {}

    /// If several are as slow, the first are kept.
    void add(std::uint64_t group, Item item);
    /// Groups ascending, in each the slowest first, then the earlier.
    std::vector<Item> list() const;
    /// Of all groups.
    std::size_t size() const { return size_; }
    /// Nothing of the group is kept any more.
    void forget(std::uint64_t group);

private:
    std::size_t most_;
    bool only_late_;
    std::size_t size_ = 0;
    std::map<std::uint64_t, std::vector<Item>> groups_; ///< heaps: the least slow on top
};

} // namespace overtake::blame
