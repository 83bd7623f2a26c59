// SPDX-License-Identifier: MIT
//
// The segments that make up a task of the engine.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "engine/estimate.hpp"
#include "network/segment_work.hpp"

namespace overtake::coordination {
class UnitInference;
}

namespace overtake::engine {

/// One segment of a task: a part of a work.  The work is in the task's memory (Run) or lives
/// longer.
struct TaskSegment {
    bool on_bpu() const noexcept { return fc_count != 0; }

    SegmentWork* work;
    std::uint32_t number;   ///< the segment's number in the work
    std::uint32_t fc_count; ///< FCs of a BPU segment; 0: CPU
    Estimate* estimate;     ///< never null; lives as long as the work does
    /// In an engine with several processors: a whole inference, in the task's memory; then there is
    /// no work.
    coordination::UnitInference* whole = nullptr;
    /// The same BPU segment in parts for several cores, if there is one, for tasks that take
    /// several: the number of parts and FCs, and the estimate for them.
    struct Group {
        std::uint32_t parts = 0; ///< 0: there is no group
        std::uint32_t fc_count = 0;
        Estimate* estimate = nullptr;
    } group{};
};

/// A program's own computation: one CPU segment.
class Computation final : public SegmentWork {
public:
    Computation(std::function<std::int32_t()> compute, std::uint64_t expected_ns)
        : estimate(expected_ns), compute_(std::move(compute)) {}

    void describe(std::size_t /*segment*/, Job& /*job*/) const override {} // it has no job
    std::int32_t compute(std::size_t /*segment*/) override { return compute_(); }
    TaskSegment segment() { return {this, 0, 0, &estimate}; }

    Estimate estimate;

private:
    const std::function<std::int32_t()> compute_;
};

} // namespace overtake::engine
