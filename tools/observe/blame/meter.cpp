// SPDX-License-Identifier: MIT
#include "observe/blame/meter.hpp"

namespace overtake::blame {

void Meter::add(std::uint32_t key, std::uint64_t ns) {
    while (now_.height_ * bits < 32 && key >> (now_.height_ * bits) != 0) {
        if (now_.root_) {
            auto root = std::make_shared<Node>();
            root->below.resize(width);
            for (const std::uint64_t sum : now_.root_->sums)
                root->sums[0] += sum;
            root->below[0] = std::move(now_.root_);
            now_.root_ = std::move(root);
        }
        now_.height_++;
    }
    add(now_.root_, now_.height_, key, ns);
}

/// Adds to a key below `node`. A node that a snapshot shares is copied first.
void Meter::add(std::shared_ptr<Node>& node, unsigned height, std::uint32_t key, std::uint64_t ns) {
    steps_++;
    if (!node)
        node = std::make_shared<Node>();
    else if (node.use_count() > 1)
        node = std::make_shared<Node>(*node);
    const std::uint32_t at = key >> ((height - 1) * bits) & (width - 1);
    node->sums[at] += ns;
    if (height == 1)
        return;
    node->below.resize(width);
    add(node->below[at], height - 1, key, ns);
}

void Meter::since(const Snapshot& before,
                  const std::function<void(std::uint32_t, std::uint64_t)>& each) const {
    const Node* after = now_.root_.get();
    std::uint32_t key = 0;
    unsigned height = now_.height_;
    // In levels that the tree got since then, all nodes are new except each first child.
    std::vector<std::pair<const Node*, unsigned>> grown;
    for (; after != nullptr && height > before.height_; height--) {
        grown.emplace_back(after, height);
        after = after->below[0].get();
    }
    difference(before.root_.get(), after, height, key, each);
    for (; !grown.empty(); grown.pop_back()) {
        const auto [node, level] = grown.back();
        for (std::uint32_t i = 1; i < width; i++)
            difference(nullptr, node->below[i].get(), level - 1, i << ((level - 1) * bits), each);
    }
}

void Meter::difference(const Node* before, const Node* after, unsigned height, std::uint32_t key,
                       const std::function<void(std::uint32_t, std::uint64_t)>& each) const {
    if (after == before || after == nullptr)
        return;
    steps_++;
    for (std::uint32_t i = 0; i < width; i++) {
        const std::uint64_t ns = after->sums[i] - (before != nullptr ? before->sums[i] : 0);
        const std::uint32_t below = key | i << ((height - 1) * bits);
        if (ns == 0)
            continue;
        if (height == 1)
            each(below, ns);
        else
            difference(before != nullptr && !before->below.empty() ? before->below[i].get()
                                                                   : nullptr,
                       after->below[i].get(), height - 1, below, each);
    }
}

} // namespace overtake::blame
