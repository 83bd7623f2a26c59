// SPDX-License-Identifier: MIT
#include "coordination/pool_runner.hpp"

#include <bit>
#include <cerrno>

#include <fmt/format.h>

#include "coordination/coordinated_task.hpp"
#include "engine/guarded_compute.hpp"
#include "monotonic_clock.hpp"

namespace overtake::coordination {

PoolRunner::PoolRunner(std::uint32_t workers, const std::vector<unsigned>& cpus, RunnerHost& host)
    : host_(host), threads_(workers, cpus) {}

void PoolRunner::start(UnitRun& run) noexcept {
    run.pool = this;
    threads_.add(run, run.task->options().priority == priority_high);
}

void PoolRunner::begin_trial(std::uint32_t processor) noexcept {
    host_.trial_ended(processor, true);
}

void UnitRun::run(ThreadMemory& memory) noexcept {
    pool->compute(*this, memory);
}

void PoolRunner::compute(UnitRun& run, ThreadMemory& memory) noexcept {
    CoordinatedTask& task = *run.task;
    UnitInference& inference = *task.inference();
    CoordinatedModel& model = inference.model();
    run.has_started = true;
    run.start_ns = monotonic_ns();
    for (std::uint64_t rest = run.described->units; rest != 0; rest &= rest - 1) {
        const auto unit = static_cast<std::size_t>(std::countr_zero(rest));
        run.status = engine::compute_guarded(task, [&] {
            inference.bring(unit, home_domain);
            const std::uint64_t begin = monotonic_ns();
            HostCore& core = memory.core();
            const std::int32_t status = inference.compute(model.work(unit, run.engine_class), core);
            run.executed_ns += monotonic_ns() - begin;
            if (status == -ENOEXEC || status == -ETIMEDOUT)
                task.set_error(fmt::format("unit {} on a CPU worker: fault {} at instruction {}",
                                           unit, core.fault(), core.fault_insn())
                                   .c_str());
            return status;
        });
        if (run.status != 0)
            break;
        inference.note_written(unit, home_domain);
    }
    run.end_ns = monotonic_ns();
    run.outcome = run.status == 0 ? RunOutcome::done : RunOutcome::fault;
    host_.run_ended(run);
}

} // namespace overtake::coordination
