// SPDX-License-Identifier: MIT
//
// PoolRunner: CPU workers as a processor.  A worker computes the units of a run one after the
// other: FCs with the device's operators, CPU operators in the same way as the workers of an
// engine.
#pragma once

#include <cstdint>
#include <vector>

#include "coordination/runner.hpp"
#include "engine/work_threads.hpp"

namespace overtake::coordination {

class PoolRunner final : public Runner {
public:
    /// Throws Error as WorkThreads().
    PoolRunner(std::uint32_t workers, const std::vector<unsigned>& cpus, RunnerHost& host);

    void start(UnitRun& run) noexcept override;
    /// A worker finishes the run that it has begun.
    void note_cancel() noexcept override {}
    void stop(std::uint32_t /*processor*/) noexcept override {} // workers end every run anyway
    void begin_trial(std::uint32_t processor) noexcept override;

private:
    friend struct UnitRun;
    void compute(UnitRun& run, ThreadMemory& memory) noexcept;

    RunnerHost& host_;
    WorkThreads threads_;
};

} // namespace overtake::coordination
