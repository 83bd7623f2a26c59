// SPDX-License-Identifier: MIT
#include "observe/blame/worst.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace overtake::blame {
namespace {

bool is_worse(const Worst::Item& a, const Worst::Item& b) {
    const auto key = [](const Report& of) {
        return std::tuple(~of.latency_ns(), of.arrival_ns, of.who, of.tag);
    };
    return key(a.report) < key(b.report);
}

} // namespace

void Worst::add(std::uint64_t group, Item item) {
    const bool late = item.limit_ns && item.report.latency_ns() > *item.limit_ns;
    if (most_ == 0 || (only_late_ && !late))
        return;
    std::vector<Item>& heap = groups_[group];
    if (heap.size() == most_) {
        if (!is_worse(item, heap.front()))
            return;
        std::ranges::pop_heap(heap, is_worse);
        heap.pop_back();
        size_--;
    }
    size_++;
    heap.push_back(std::move(item));
    std::ranges::push_heap(heap, is_worse);
}

void Worst::forget(std::uint64_t group) {
    if (const auto found = groups_.find(group); found != groups_.end()) {
        size_ -= found->second.size();
        groups_.erase(found);
    }
}

std::vector<Worst::Item> Worst::list() const {
    std::vector<Item> list;
    for (const auto& [group, heap] : groups_) {
        std::vector<Item> sorted = heap;
        std::ranges::sort(sorted, is_worse);
        std::ranges::move(sorted, std::back_inserter(list));
    }
    return list;
}

} // namespace overtake::blame
