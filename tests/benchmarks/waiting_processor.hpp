// SPDX-License-Identifier: MIT
//
// A processor of the program's own that computes nothing and takes its time: the pools of scenarios
// under the real clock.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "overtake/processor.hpp"

namespace overtake::benchmarks {

class WaitingProcessor final : public OwnProcessor {
public:
    /// Call it before the engine loads the model. `times` has the nanoseconds of each unit; 0: the
    /// processor does not support it.
    void add(const Model& model, std::vector<std::uint64_t> times) {
        times_[&model] = std::move(times);
    }
    /// The running unit ends now, and fails, as do all units until recover().
    void fail();
    void recover() { works_ = true; }
    /// Units that begin later take `percent` of their times.
    void throttle(std::uint64_t percent) { percent_ = percent; }

    std::int32_t prepare(const UnitDescription& unit, std::uint64_t& expected_ns) override;
    void start(std::shared_ptr<UnitCall> call) override;
    bool probe() override { return works_; }

private:
    std::map<const Model*, std::vector<std::uint64_t>> times_;
    std::atomic<bool> works_ = true;
    std::atomic<std::uint64_t> percent_ = 100;
    std::mutex mutex_;
    std::condition_variable failed_;
};

} // namespace overtake::benchmarks
