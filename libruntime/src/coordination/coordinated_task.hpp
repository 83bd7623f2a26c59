// SPDX-License-Identifier: MIT
//
// CoordinatedTask: a request on several processors.  Its stages follow each other: inferences, each
// of which the coordinator cuts into runs, and computations of the program's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "coordination/coordinated_model.hpp"
#include "coordination/runner.hpp"
#include "engine/run.hpp"
#include "engine/submitted_task.hpp"
#include "engine/task_segment.hpp"

namespace overtake::coordination {

/// The time that a piece took on a processor.
struct MeasuredRun {
    std::uint64_t units;
    std::uint32_t processor;
    std::uint64_t executed_ns;
};

/// Any thread may make a task; from its submission to its end it belongs to the coordinator.  The
/// task allocates all memory that it needs until its end when it is made.
class CoordinatedTask final : public engine::SubmittedTask {
public:
    /// The work for a task outside of its runs: copies, and the program's own computations.
    class SideWork final : public ThreadWork {
    public:
        explicit SideWork(CoordinatedTask& task) : task_(task) {}
        void run(ThreadMemory& memory) noexcept override;

    private:
        CoordinatedTask& task_;
    };
    /// The end of a task: its owner is notified, and the task releases what it kept.
    class EndWork final : public ThreadWork {
    public:
        explicit EndWork(CoordinatedTask& task) : task_(task) {}
        void run(ThreadMemory& memory) noexcept override;

    private:
        CoordinatedTask& task_;
    };
    /// Threads report to the host when side work is over, and when a task has ended.
    class SideHost {
    public:
        virtual ~SideHost() = default;
        virtual void side_work_ended(std::shared_ptr<CoordinatedTask> task) noexcept = 0;
        virtual void task_ended(std::shared_ptr<CoordinatedTask> task) noexcept = 0;
    };
    enum class Side : std::uint8_t { none, fill, compute, drain };

    /// Takes at least one segment; a segment with `whole` is an inference.
    CoordinatedTask(std::span<const engine::TaskSegment> segments,
                    const engine::RunOptions& options, std::shared_ptr<void> memory,
                    std::size_t processors, bool takes_whole_tasks);

    const engine::RunOptions& options() const noexcept { return options_; }
    const std::vector<engine::TaskSegment>& stages() const noexcept { return stages_; }
    /// The inference of the stage that is next or under way; null: a computation.
    UnitInference* inference() const noexcept { return stages_[stage_].whole; }

    std::uint64_t dispatched_ns() const noexcept override { return dispatched_ns_; }
    unsigned core() const noexcept override { return core_; }
    std::vector<SegmentRecord> segment_records() const override;
    /// Constant once the task has ended.
    std::vector<overtake::RunRecord> run_records() const override;
    /// The runs that are done.  Constant once the task has ended.
    std::vector<MeasuredRun> measured_runs() const;
    std::uint32_t retries() const noexcept {
        return retries_ + (is_in_coordinator_ ? coord_.retries : 0);
    }
    /// The status of its last stage: 0, or a negative errno.
    std::int32_t failure() const noexcept { return failure_; }
    /// Sets the processors that may run it, one bit each (0: all), and the class of these.
    void set_on(std::uint64_t processors, std::uint32_t class_index) {
        on_ = processors;
        on_class_ = class_index;
    }
    /// Sets the names of the processors, by number.
    void set_processor_names(std::shared_ptr<const std::vector<std::string>> names) {
        names_ = std::move(names);
    }

private:
    friend class Coordinator;
    friend class CoordinatedEngine;
    friend struct UnitRun;
    friend class DeviceRunner;
    friend class PoolRunner;

    /// The result of one run.
    struct Record {
        std::uint32_t number;
        std::uint64_t units;
        std::uint32_t processor;
        std::uint64_t dispatched_ns;
        std::uint64_t start_ns;
        std::uint64_t end_ns;
        std::uint64_t executed_ns;
        std::int32_t status;
        bool on_core;
        Completion job;
    };

    static CoordinatedTask& of(ovt_coord_task* task) { return *static_cast<Coord*>(task)->owner; }
    std::shared_ptr<CoordinatedTask> shared() {
        return std::static_pointer_cast<CoordinatedTask>(shared_from_this());
    }
    void add_record(const UnitRun& run);
    /// The task fails with ENODEV: all processors that could run the unit have ended.
    void lose_processors(std::size_t unit) noexcept;

    const std::vector<engine::TaskSegment> stages_;
    const engine::RunOptions options_;
    std::size_t stage_ = 0;

    /// The coordinator's task, with a pointer back to this one.
    struct Coord : ovt_coord_task {
        CoordinatedTask* owner;
    };
    Coord coord_{};
    std::vector<ovt_coord_run> runs_;
    std::vector<ovt_coord_link> links_;
    std::deque<UnitRun> unit_runs_; ///< one for each of `runs_`
    std::deque<UnitJob> unit_jobs_; ///< by unit
    std::uint64_t on_ = 0;          ///< processors that may run it; 0: each
    std::uint32_t on_class_ = 0;
    std::uint64_t arrival_ns_ = 0;
    bool is_in_coordinator_ = false;

    std::shared_ptr<const std::vector<std::string>> names_;
    std::vector<Record> records_; ///< has room for all records that it may get
    std::uint64_t dispatched_ns_ = 0;
    unsigned core_ = 0;
    std::uint32_t retries_ = 0;
    std::int32_t failure_ = 0; ///< 0, or the negative errno of the stage that failed
    bool is_cancelled_ = false;

    // Side work.
    SideHost* side_host_ = nullptr;
    SideWork side_work_{*this};
    EndWork end_work_{*this};
    std::shared_ptr<CoordinatedTask> ending_self_; ///< from its end until its owner knows of it
    std::uint64_t end_ns_ = 0;
    Side side_ = Side::none;
    std::int32_t side_status_ = 0;

    // Belongs to the engine.
    std::shared_ptr<CoordinatedTask> live_self_; ///< null if it is not live
    CoordinatedTask* live_before_ = nullptr;
    CoordinatedTask* live_behind_ = nullptr;
    engine::ListLink<CoordinatedTask> arrival_link_, cancel_link_, side_link_, stage_link_;
    bool is_cancel_posted_ = false;
};

} // namespace overtake::coordination
