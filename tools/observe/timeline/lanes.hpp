// SPDX-License-Identifier: MIT
//
// Lanes: items that overlap in time, each in the first row that is free.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace overtake::timeline {

template <typename Item>
class Lanes {
public:
    explicit Lanes(std::size_t most) : most_(most) {}

    /// Adds `item`, which takes [start_ns, end_ns) and outlives the Lanes. Starts come in ascending
    /// order. Returns false if no row is free: the item is only counted.
    bool add(const Item& item, std::uint64_t start_ns, std::uint64_t end_ns) {
        auto lane = std::ranges::find_if(
            lanes_, [&](const Lane& taken) { return taken.free_from_ns <= start_ns; });
        if (lane == lanes_.end()) {
            if (lanes_.size() == most_) {
                left_out_++;
                return false;
            }
            lane = lanes_.insert(lanes_.end(), Lane{});
        }
        lane->items.push_back(&item);
        lane->free_from_ns = end_ns;
        return true;
    }

    std::size_t count() const { return lanes_.size(); }
    const std::vector<const Item*>& items(std::size_t lane) const { return lanes_[lane].items; }
    /// Returns the number of items for which no row was free.
    std::size_t left_out() const { return left_out_; }
    std::size_t most() const { return most_; }

private:
    struct Lane {
        std::vector<const Item*> items{};
        std::uint64_t free_from_ns = 0;
    };

    std::size_t most_;
    std::vector<Lane> lanes_;
    std::size_t left_out_ = 0;
};

} // namespace overtake::timeline
