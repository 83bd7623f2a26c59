// SPDX-License-Identifier: MIT
//
// Segments of tasks that a test makes by itself, without a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "engine/run.hpp"

namespace overtake::test {

/// A job of the test's FCs in the test's memory.
class MadeJob final : public SegmentWork {
public:
    MadeJob(std::vector<overtake_fc> fcs_, std::vector<overtake_binding> bindings_,
            std::uint64_t expected_ns)
        : fcs(std::move(fcs_)), bindings(std::move(bindings_)), estimate(expected_ns) {}

    void describe(std::size_t /*segment*/, Job& job) const override {
        job.fcs = fcs;
        job.bindings = bindings;
    }
    std::int32_t compute(std::size_t /*segment*/) override { return 0; }

    const std::vector<overtake_fc> fcs;
    const std::vector<overtake_binding> bindings;
    engine::Estimate estimate;
};

/// One segment of a task, and the memory that it works on.
struct MadeSegment {
    engine::TaskSegment segment;
    std::shared_ptr<SegmentWork> work;

    const engine::Estimate& estimate() const { return *segment.estimate; }
};

inline MadeSegment made_job(std::vector<overtake_fc> fcs, std::vector<overtake_binding> bindings,
                            std::uint64_t expected_ns = 1000) {
    auto job = std::make_shared<MadeJob>(std::move(fcs), std::move(bindings), expected_ns);
    const auto fc_count = static_cast<std::uint32_t>(job->fcs.size());
    return {{job.get(), 0, fc_count, &job->estimate}, job};
}

inline MadeSegment made_computation(
    std::function<std::int32_t()> compute = [] { return 0; }, std::uint64_t expected_ns = 1000) {
    auto computation = std::make_shared<engine::Computation>(std::move(compute), expected_ns);
    return {computation->segment(), computation};
}

/// The run keeps `memory` and the segments until it has ended.
inline std::shared_ptr<engine::Run> made_run(const std::vector<MadeSegment>& made,
                                             const engine::RunOptions& options = {},
                                             std::shared_ptr<void> memory = nullptr) {
    std::vector<engine::TaskSegment> segments;
    for (const MadeSegment& each : made)
        segments.push_back(each.segment);
    auto kept = std::make_shared<std::pair<std::vector<MadeSegment>, std::shared_ptr<void>>>(
        made, std::move(memory));
    return std::make_shared<engine::Run>(segments, options, std::move(kept));
}

} // namespace overtake::test
