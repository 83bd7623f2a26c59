// SPDX-License-Identifier: MIT
//
// CoordinatedEngine: requests on several processors, with threads of its own.
//
// One thread owns the coordinator; each device has a thread that talks to it, each pool has its
// workers, each processor of the program has its threads, and a few threads copy tensors and run
// the computations of requests.  All of these threads send messages to the first.  One more thread
// ends tasks, and one calls callbacks.
//
// Thread safety: any thread, and any callback, may call every function except stop() and the
// destructor.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "coordination/coordinated_task.hpp"
#include "coordination/coordinator.hpp"
#include "coordination/runner.hpp"
#include "engine/callback_thread.hpp"
#include "engine/task_engine.hpp"
#include "overtake/engine.hpp"

namespace overtake::coordination {

class CoordinatedEngine final : public engine::TaskEngine,
                                private RunnerHost,
                                private CoordinatedTask::SideHost {
public:
    /// Throws Error EINVAL for options that are impossible, and the errors of its queues and
    /// threads.
    CoordinatedEngine(std::shared_ptr<Device> device, const EngineOptions& options);
    /// Calls stop().
    ~CoordinatedEngine() override;

    void stop() override;
    void check(const engine::RunOptions& options) const override;
    std::shared_ptr<engine::SubmittedTask> make_task(std::span<const engine::TaskSegment> segments,
                                                     const engine::RunOptions& options,
                                                     std::shared_ptr<void> memory) override;
    void submit_task(std::shared_ptr<engine::SubmittedTask> task) override;
    void cancel_task(std::shared_ptr<engine::SubmittedTask> task) override;
    void on_end(std::shared_ptr<engine::SubmittedTask> task,
                std::function<void()> callback) override {
        callbacks_.on_end(std::move(task), std::move(callback));
    }

    /// Returns the CoordinatedModel of this model, or a new one.  Throws Error as
    /// CoordinatedModel().  With `times` it is always a new one: throws Error EBUSY if there is one
    /// already, and EINVAL as Coordinator::check().
    std::shared_ptr<CoordinatedModel> load(const std::shared_ptr<const Model>& model,
                                           const TimesFile* times = nullptr);
    /// Replaces the recorded times of a model's runs by `times`, or forgets them if `times` is
    /// null.  No request may use the model meanwhile.  Throws Error as Coordinator::add_model().
    void begin_records(CoordinatedModel& model, const TimesFile* times);
    /// Throws Error EINVAL if these options name no processor, if no processor can run one of the
    /// units, or if the policy wants one processor for all of them and none can run them all.
    void check(const UnitInference& inference, const engine::RunOptions& options) const;
    /// Returns the first unit that no processor may run under these options, if there is one.
    std::optional<std::size_t> unit_without_processor(const UnitInference& inference,
                                                      const engine::RunOptions& options) const;
    /// Returns, for each unit, the processors that do not take it, and why.
    std::vector<UnitRefusal> refusals(const UnitInference& inference) const {
        return coordinator_->refusals(inference);
    }
    /// The processors by their number, which is also that of their bit in a mask.
    const std::vector<CoordinatedProcessor>& processors() const noexcept {
        return coordinator_->setup().processors;
    }
    const std::vector<ProcessorClass>& classes() const noexcept {
        return coordinator_->setup().classes;
    }
    std::size_t class_of(std::size_t processor) const noexcept {
        return coordinator_->setup().described[processor].class_index;
    }
    /// The present state of each processor.
    std::vector<ProcessorState> states() const;

private:
    template <auto link>
    using Tasks = engine::OwningList<CoordinatedTask, link>;
    struct Messages {
        UnitRun* first_ended = nullptr;
        UnitRun* last_ended = nullptr;
        std::uint64_t failed = 0;      ///< bits of processors
        std::uint64_t trials_good = 0; ///< bits of processors
        std::uint64_t trials_bad = 0;  ///< bits of processors
        std::uint64_t gone = 0;        ///< bits of processors
        Tasks<&CoordinatedTask::arrival_link_> arrivals;
        Tasks<&CoordinatedTask::cancel_link_> cancels;
        Tasks<&CoordinatedTask::side_link_> side_ends;

        bool is_empty() const noexcept {
            return !first_ended && failed == 0 && trials_good == 0 && trials_bad == 0 &&
                   gone == 0 && arrivals.empty() && cancels.empty() && side_ends.empty();
        }
    };

    void run_ended(UnitRun& run) noexcept override;
    void processor_failed(std::uint32_t processor) noexcept override;
    void trial_ended(std::uint32_t processor, bool works) noexcept override;
    void processor_gone(std::uint32_t processor) noexcept override;
    void side_work_ended(std::shared_ptr<CoordinatedTask> task) noexcept override;
    void task_ended(std::shared_ptr<CoordinatedTask> task) noexcept override;

    template <class Write>
    void post(Write write) noexcept;
    void run();
    Messages wait(bool& is_stopping);
    void run_instant(Messages& messages, std::uint64_t now);
    void handle_failures(const Messages& messages, std::uint64_t now);
    void handle_ends(UnitRun* first, std::uint64_t now);
    void arrive(std::shared_ptr<CoordinatedTask> task, std::uint64_t now);
    void cancel(CoordinatedTask& task, std::uint64_t now);
    void begin_stage(CoordinatedTask& task, std::uint64_t now);
    void begin_runs(CoordinatedTask& task, std::uint64_t now);
    void end_lost_tasks(std::uint64_t gone);
    void begin_side_work(CoordinatedTask& task, CoordinatedTask::Side side, std::uint64_t now);
    void side_work_ended_here(CoordinatedTask& task, std::uint64_t now);
    bool end_stages(std::uint64_t now);
    void next_stage(CoordinatedTask& task, std::uint64_t now);
    void end(CoordinatedTask& task, std::uint64_t now);
    void cancel_all(std::uint64_t now);
    void resolve(const engine::RunOptions& options, std::uint64_t& on,
                 std::uint32_t& on_class) const;

    const unsigned max_priority_;
    const CpuOptions cpu_;
    Domains domains_;
    std::shared_ptr<const std::vector<std::string>> names_; ///< names of the processors
    engine::CallbackThread callbacks_;
    std::vector<std::unique_ptr<Runner>> runners_;
    mutable std::mutex state_mutex_; ///< protects the coordinator
    std::unique_ptr<Coordinator> coordinator_;

    std::mutex models_mutex_;
    std::map<const Model*, std::weak_ptr<CoordinatedModel>> models_;

    std::mutex mutex_;
    std::condition_variable news_;
    Messages messages_;
    bool is_stopping_ = false;
    bool is_gone_ = false; ///< messages are read no more
    bool is_stopped_ = false;

    CoordinatedTask* first_live_ = nullptr; ///< belongs to the engine's thread
    std::size_t live_ = 0;
    bool refuses_arrivals_ = false; ///< the engine stops: arrivals end as cancelled

    std::unique_ptr<WorkThreads> side_threads_;
    /// Tasks end in this thread and release what they kept: the program's destructors may take
    /// long.
    std::unique_ptr<WorkThreads> end_thread_;
    std::thread thread_;
};

} // namespace overtake::coordination
