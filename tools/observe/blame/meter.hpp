// SPDX-License-Identifier: MIT
//
// Meter: time added up by keys, with snapshots that cost nothing.
//
// What happened between two moments is the difference of two snapshots. The sums are in a tree in
// which versions share what they have in common: adding copies one path at most, and a difference
// looks only at what changed. So neither depends on how much happened, nor on how many keys there
// are but for the logarithm.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace overtake::blame {

class Meter {
    static constexpr unsigned bits = 3;
    static constexpr std::uint32_t width = 1u << bits;

    struct Node {
        std::array<std::uint64_t, width> sums{};
        std::vector<std::shared_ptr<Node>> below; ///< empty in the lowest level
    };

public:
    /// The sums of a moment. Memory: what has changed since.
    class Snapshot {
        friend class Meter;
        std::shared_ptr<Node> root_;
        unsigned height_ = 1;
    };

    void add(std::uint32_t key, std::uint64_t ns);
    const Snapshot& now() const { return now_; }
    /// Calls `each` with every key whose sum grew from `before` on, ascending, and by how much.
    void since(const Snapshot& before,
               const std::function<void(std::uint32_t key, std::uint64_t ns)>& each) const;
    /// Nodes looked at so far.
    std::uint64_t steps() const { return steps_; }

private:
    void add(std::shared_ptr<Node>& node, unsigned height, std::uint32_t key, std::uint64_t ns);
    void difference(const Node* before, const Node* after, unsigned height, std::uint32_t key,
                    const std::function<void(std::uint32_t, std::uint64_t)>& each) const;

    Snapshot now_;
    mutable std::uint64_t steps_ = 0;
};

} // namespace overtake::blame
