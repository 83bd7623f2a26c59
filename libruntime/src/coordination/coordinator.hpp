// SPDX-License-Identifier: MIT
//
// Coordinator: the second host of firmware-sim/sched/coord; the first is the simulator.  It passes
// events to the scheduler, carries out the scheduler's actions by runners, and knows which task is
// at which stage.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordination/coordinated_task.hpp"
#include "coordination/probes.hpp"
#include "coordination/runner.hpp"
#include "coordination/times_file.hpp"
#include "overtake/engine.hpp"
#include "overtake/graph.hpp"

namespace overtake::coordination {

/// A core, a pool of CPU workers, or a processor of the program's own.
struct CoordinatedProcessor {
    std::string name;
    std::string entry_name;
    unsigned core = 0;             ///< on its device, from 1; 0: no core
    unsigned domain = home_domain; ///< the domain of its device
    Runner* runner = nullptr;      ///< belongs to the engine
    bool has_timeout = false;      ///< its device may stop without a report
};

struct CoordinatorSetup {
    std::vector<CoordinatedProcessor> processors;
    std::vector<ovt_coord_processor> described; ///< one for each of `processors`
    std::vector<ProcessorClass> classes;
    std::uint32_t entries = 0;
    std::vector<std::uint64_t> rates; ///< bytes per nanosecond, as of ovt_coord
    ovt_coord_settings settings{};
    std::uint64_t run_timeout_ns = 0; ///< for processors with has_timeout; 0: none
};

/// Returns a class as a file of expected times has it, without times.
TimesFile::Class described_class(const ProcessorClass& of);

class Coordinator {
public:
    /// Takes over `setup`.
    explicit Coordinator(CoordinatorSetup setup);
    ~Coordinator();
    Coordinator(const Coordinator&) = delete;
    Coordinator& operator=(const Coordinator&) = delete;

    const CoordinatorSetup& setup() const noexcept { return setup_; }
    const ovt_coord& state() const noexcept { return coord_; }
    /// Adds a model before its first task arrives.  Thread safe.
    void add_model(CoordinatedModel& model) { ovt_coord_add_model(&coord_, &model.described()); }
    /// Adds a model with the times that its runs took before.  Throws Error EINVAL, naming the
    /// place in the file.
    void add_model(CoordinatedModel& model, const TimesFile& times);
    /// Throws Error EINVAL, naming the place in the file, if the file is of another model, of
    /// another machine or of other processors than these.  Thread safe.
    void check(const Model& model, const TimesFile& times) const;
    /// Throws Error EINVAL, naming a unit, for a stage that no processor, or no set of processors,
    /// can bring to its end.  Thread safe.
    void check(const UnitInference& inference, const engine::RunOptions& options, std::uint64_t on,
               std::uint32_t on_class) const;
    /// Returns the first unit that no processor may run, if there is one.  Thread safe.
    std::optional<std::size_t> unit_without_processor(const UnitInference& inference,
                                                      std::uint64_t on,
                                                      std::uint32_t on_class) const;
    /// Returns, for each unit, the processors that do not take it, and why.  Thread safe.
    std::vector<UnitRefusal> refusals(const UnitInference& inference) const;

    // The caller calls these in one instant, in this order.

    void run_ended(UnitRun& run, std::uint64_t now);
    void processor_failed(std::uint32_t processor, std::uint64_t now);
    void trial_ended(std::uint32_t processor, bool works, std::uint64_t now);
    /// The processor will not come back.
    void processor_gone(std::uint32_t processor) { gone_ |= std::uint64_t{1} << processor; }
    /// Returns the first unit that the task's stage still needs and all of whose processors are
    /// gone.
    std::optional<std::size_t> lost_unit(const CoordinatedTask& task) const;
    void begin_trials(std::uint64_t now);
    /// Counts processors with a timeout as failed if they have ended no run for that long.
    void fail_overdue(std::uint64_t now);
    /// The task's stage begins.
    void arrive(CoordinatedTask& task, std::uint64_t now);
    void cancel(CoordinatedTask& task);
    /// Cancels the task, and its runs in this instant rather than in act().
    void cancel_now(CoordinatedTask& task, std::uint64_t now);
    void act(std::uint64_t now);
    /// Reports each processor to tracers, also processors that had nothing to do.  Most calls do
    /// nothing: it reports at most every 200 ms.
    void tell_all(std::uint64_t now);

    std::vector<ProcessorState> states(std::uint64_t now) const;
    /// Returns the time at which the caller calls act() even if nothing happens; OVT_COORD_NEVER:
    /// never.
    std::uint64_t next_time() const;
    /// Returns the tasks whose stage has ended since the last call; task.failure_ has its status.
    engine::OwningList<CoordinatedTask, &CoordinatedTask::stage_link_> take_ended();

private:
    bool takes(std::uint32_t q, u32 unit, const UnitInference& inference) const;
    std::uint64_t able(u32 unit, const UnitInference& inference, std::uint64_t on,
                       std::uint32_t on_class) const;
    void carry_out(const ovt_coord_action& action, std::uint64_t now);
    void leave_nothing_to_do(std::uint64_t now);
    void dispatch(const ovt_coord_action& action, std::uint64_t now);
    void start(UnitRun& run);
    void cancel_run(UnitRun& run, std::uint64_t now);
    UnitRun* first_waiting(const ovt_coord_processor& pool) const;
    void end_unstarted(UnitRun& run, RunOutcome outcome, std::uint64_t now);
    void end(CoordinatedTask& task);
    std::uint64_t deadline_of(const CoordinatedTask& task) const;
    Runner& runner_of(const UnitRun& run) const;
    std::uint64_t overdue_time(std::uint32_t processor) const;
    std::uint64_t able(const CoordinatedTask& task, const ovt_coord_run& run) const;
    probe::State state_of(std::uint32_t processor) const;
    void tell(std::uint32_t processor, std::uint64_t now) const;
    void tell_end(const UnitRun& run, std::uint64_t now) const;

    CoordinatorSetup setup_;
    ovt_coord coord_{};
    std::uint64_t on_trial_ = 0;          ///< processors whose trial is under way
    std::uint64_t gone_ = 0;              ///< processors that do not come back
    std::vector<std::uint64_t> ended_ns_; ///< by processor: last end of a run, or first dispatch
    std::vector<probe::Counts> counts_;   ///< by processor
    std::vector<probe::Name> names_;      ///< by processor
    std::uint64_t next_tell_ns_ = 0;      ///< when tell_all() reports again
    engine::OwningList<CoordinatedTask, &CoordinatedTask::stage_link_> ended_;
};

} // namespace overtake::coordination
