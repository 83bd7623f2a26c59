// SPDX-License-Identifier: MIT
//
// Meter: sums of time by key, with snapshots that are cheap to take.
//
// The difference of two snapshots is what was added between them. The sums are in a tree whose
// versions share the nodes that they have in common: adding copies at most one path, and a
// difference looks only at nodes that changed. So the costs do not depend on the time that was
// added, and grow with the logarithm of the greatest key.
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
    /// The sums at one moment. A snapshot alone keeps only the nodes that have changed since.
    class Snapshot {
        friend class Meter;
        std::shared_ptr<Node> root_;
        unsigned height_ = 1;
    };

    void add(std::uint32_t key, std::uint64_t ns);
    const Snapshot& now() const { return now_; }
    /// Calls `each` with every key whose sum grew since `before`, in ascending order, and with the
    /// growth.
    void since(const Snapshot& before,
               const std::function<void(std::uint32_t key, std::uint64_t ns)>& each) const;
    /// Returns the number of nodes looked at so far.
    std::uint64_t steps() const { return steps_; }

private:
    void add(std::shared_ptr<Node>& node, unsigned height, std::uint32_t key, std::uint64_t ns);
    void difference(const Node* before, const Node* after, unsigned height, std::uint32_t key,
                    const std::function<void(std::uint32_t, std::uint64_t)>& each) const;

    Snapshot now_;
    mutable std::uint64_t steps_ = 0;
};

} // namespace overtake::blame
