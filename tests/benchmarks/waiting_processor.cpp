// SPDX-License-Identifier: MIT
#include "waiting_processor.hpp"

#include <cerrno>
#include <chrono>

namespace overtake::benchmarks {

void WaitingProcessor::fail() {
    const std::lock_guard lock(mutex_);
    works_ = false;
    failed_.notify_all();
}

std::int32_t WaitingProcessor::prepare(const UnitDescription& unit, std::uint64_t& expected_ns) {
    expected_ns = times_.at(&unit.model)[unit.unit];
    return expected_ns != 0 ? 0 : -ENOTSUP;
}

void WaitingProcessor::start(std::shared_ptr<UnitCall> call) {
    const auto end =
        std::chrono::steady_clock::now() +
        std::chrono::nanoseconds(times_.at(&call->model())[call->unit()] * percent_ / 100);
    std::unique_lock lock(mutex_);
    failed_.wait_until(lock, end, [&] { return !works_; });
    lock.unlock();
    call->done(works_ ? 0 : -EIO);
}

} // namespace overtake::benchmarks
