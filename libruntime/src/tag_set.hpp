// SPDX-License-Identifier: MIT
//
// TagSet: the tags of a queue's jobs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

namespace overtake {

/// Allocates only where it has more tags than ever before.  One thread at a time.
class TagSet {
public:
    bool contains(std::uint64_t tag) const { return tags_.contains(tag); }
    std::size_t size() const noexcept { return tags_.size(); }
    bool empty() const noexcept { return tags_.empty(); }

    /// Adds a tag that is not in the set.  If this throws std::bad_alloc, nothing has changed.
    void insert(std::uint64_t tag) {
        if (spare_.empty()) {
            if (spare_.capacity() <= tags_.size()) // erase() must not fail
                spare_.reserve(2 * tags_.size() + 16);
            tags_.insert(tag);
            return;
        }
        spare_.back().value() = tag;
        tags_.insert(std::move(spare_.back()));
        spare_.pop_back();
    }
    void erase(std::uint64_t tag) noexcept {
        if (auto node = tags_.extract(tag))
            spare_.push_back(std::move(node));
    }

private:
    std::unordered_set<std::uint64_t> tags_;
    std::vector<std::unordered_set<std::uint64_t>::node_type> spare_;
};

} // namespace overtake
