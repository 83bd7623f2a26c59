// SPDX-License-Identifier: MIT
//
// OwningList: a queue of shared objects that allocates nothing, so that a task which has been taken
// can always go on to its end.
#pragma once

#include <memory>
#include <utility>

namespace overtake::engine {

/// The link of a node in one list at a time.
template <class Node>
struct ListLink {
    std::shared_ptr<Node> next;
    bool is_linked = false;
};

/// First in, first out, by one of the links of a node.  The owner of the list owns that link of its
/// nodes.
template <class Node, ListLink<Node> Node::*link>
class OwningList {
public:
    OwningList() = default;
    OwningList(OwningList&& other) noexcept
        : first_(std::move(other.first_)), last_(std::exchange(other.last_, nullptr)) {}
    OwningList& operator=(OwningList&& other) noexcept {
        clear();
        first_ = std::move(other.first_);
        last_ = std::exchange(other.last_, nullptr);
        return *this;
    }
    ~OwningList() { clear(); }

    bool empty() const noexcept { return !first_; }

    /// Does nothing if the node is in a list of this link already.
    void push(std::shared_ptr<Node> node) noexcept {
        Node* const added = node.get();
        if ((added->*link).is_linked)
            return;
        (added->*link).is_linked = true;
        if (last_)
            (last_->*link).next = std::move(node);
        else
            first_ = std::move(node);
        last_ = added;
    }

    /// Takes the first node of a list that is not empty.
    std::shared_ptr<Node> pop() noexcept {
        std::shared_ptr<Node> node = std::move(first_);
        first_ = std::move(((*node).*link).next);
        ((*node).*link).is_linked = false;
        if (!first_)
            last_ = nullptr;
        return node;
    }

private:
    void clear() noexcept {
        while (!empty())
            pop();
    }

    std::shared_ptr<Node> first_;
    Node* last_ = nullptr;
};

} // namespace overtake::engine
