// SPDX-License-Identifier: MIT
#include "engine/estimate.hpp"

#include <atomic>
#include <cmath>

namespace overtake::engine {

namespace {

constexpr double weight = 0.1;
constexpr double most = 0x1p63;

} // namespace

std::uint64_t Estimate::next_id() noexcept {
    static std::atomic<std::uint64_t> last = 0;
    return ++last;
}

std::uint64_t Estimate::ns() const {
    const std::lock_guard lock(mutex_);
    // Files and callers may give any number; the rounding takes signed numbers only.
    return ns_ < most ? static_cast<std::uint64_t>(std::llround(ns_)) : INT64_MAX;
}

void Estimate::record(std::uint64_t executed_ns) {
    const std::lock_guard lock(mutex_);
    const auto executed = static_cast<double>(executed_ns);
    ns_ = recorded_ ? ns_ + weight * (executed - ns_) : executed;
    recorded_ = true;
}

} // namespace overtake::engine
