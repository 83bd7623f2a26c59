// SPDX-License-Identifier: MIT
#include "drive_tasks.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <tuple>

#include "engine/process_task_scheduler.hpp"
#include "made_segments.hpp"
#include "programs.hpp"
#include "scenario_device.hpp"

namespace overtake::test {

namespace {

constexpr std::uint64_t ns_per_us = 1000;
constexpr std::uint64_t ns_per_ms = 1'000'000;
constexpr std::uint64_t tags_of_a_process = std::uint64_t{1} << 32;

std::uint32_t at_most_32_bits(std::size_t count) {
    return static_cast<std::uint32_t>(std::min<std::size_t>(count, UINT32_MAX));
}

/// A process: a library queue, and CPU workers whose work takes modelled time.
class Process final : public engine::SchedulerHost {
public:
    struct Submitted {
        const engine::Run* run;
        std::size_t segment;
        std::uint64_t tag;
    };
    struct CpuRun {
        engine::Run* run;
        std::size_t segment;
    };

    Process(const std::shared_ptr<Device>& device, const engine::SchedulerOptions& options,
            std::vector<Submitted>& log)
        : scheduler(device, options, *this), log_(log) {}

    void run_cpu(engine::Run& run, std::size_t segment) override {
        begun.push_back({&run, segment});
    }
    void submitted(engine::Run& run, std::size_t segment, std::uint64_t tag) override {
        log_.push_back({&run, segment, tag});
    }

    engine::ProcessTaskScheduler scheduler;
    std::vector<CpuRun> begun; ///< since the caller cleared it

private:
    std::vector<Submitted>& log_;
};

class Driver {
public:
    Driver(Device& device, const TaskScenario& scenario, const TaskTimeline& expected)
        : device_(device), scenario_(scenario), clock_(*device.manual_clock()),
          origin_ns_(clock_.now_ns() + ns_per_us), runs_(scenario.tasks.size()) {
        if (scenario.service_mode)
            throw std::invalid_argument("service mode: no queue of all processes");
        make_processes();
        make_programs();
        for (const ScenarioTask& task : scenario.tasks)
            instants_.insert(task.at);
        for (const TaskCancel& cancel : scenario.cancels)
            instants_.insert(cancel.at);
        for (const TimelineFc& fc : expected.device.fcs)
            instants_.insert(fc.end);
    }

    void run() {
        while (!instants_.empty()) {
            now_ = *instants_.begin();
            instants_.erase(instants_.begin());
            clock_.advance_to(time_ns(now_));
            end_segments();
            arrive();
            cancel();
            for (const auto& process : processes_) {
                process->scheduler.dispatch();
                note_cpu_runs(*process);
            }
        }
    }

    TaskTimeline timeline(const std::vector<FcRecord>& records) {
        TaskTimeline timeline;
        for (const FcRecord& record : records) {
            const Process::Submitted& job = submitted(record.tag);
            timeline.device.fcs.push_back({job_name(job), record.index, record.core, record.high,
                                           microseconds(record.start_ns),
                                           microseconds(record.end_ns)});
        }
        timeline.device.sort_fcs();
        for (const Process::Submitted& job : log_)
            timeline.device.jobs.push_back(job_from(job));
        for (std::size_t i = 0; i < runs_.size(); i++)
            add_cpu_runs(timeline, i);
        std::ranges::stable_sort(timeline.cpu, {}, &TimelineCpu::start);
        for (std::size_t i = 0; i < runs_.size(); i++)
            timeline.tasks.push_back(task_from(i));
        return timeline;
    }

private:
    void make_processes() {
        // The pointer owns nothing: the driver's caller keeps the device.
        const std::shared_ptr<Device> device(std::shared_ptr<void>(), &device_);
        for (const ScenarioTask& task : scenario_.tasks) {
            if (number_of_process_.contains(task.process))
                continue;
            number_of_process_[task.process] = processes_.size();
            engine::SchedulerOptions options;
            options.policy = scenario_.policy;
            options.settings.slots = at_most_32_bits(scenario_.slots);
            options.settings.task_limit = at_most_32_bits(scenario_.max_tasks);
            options.settings.workers = at_most_32_bits(scenario_.max_threads);
            options.settings.threshold_percent = scenario_.threshold_percent;
            options.settings.insert_max_time = scenario_.insert_max_time_ms * ns_per_ms;
            options.settings.wait_dispatch_time = scenario_.wait_dispatch_time_ms * ns_per_ms;
            options.max_priority = priority_high;
            options.first_tag = processes_.size() * tags_of_a_process;
            processes_.push_back(std::make_unique<Process>(device, options, log_));
        }
    }

    void make_programs() {
        for (const ScenarioTask& task : scenario_.tasks)
            for (const TaskSegment& segment : task.segments)
                if (segment.is_bpu() && !programs_.contains(segment.bpu))
                    programs_.emplace(segment.bpu, delays(device_, segment.bpu));
    }

    // The steps of one instant, in the contract's order.

    void end_segments() {
        for (auto run = cpu_runs_.begin(); run != cpu_runs_.end() && run->first == now_;) {
            const auto& [process, cpu] = run->second;
            process->scheduler.cpu_ended(*cpu.run, 0,
                                         cpu.run->segments()[cpu.segment].estimate->ns());
            run = cpu_runs_.erase(run);
        }
        handle_ends();
    }

    /// Handles the ends of all processes, in the order in which the tasks were dispatched.
    void handle_ends() {
        for (const auto& process : processes_)
            process->scheduler.gather(0);
        for (;;) {
            const auto first = std::ranges::min_element(processes_, {}, [](const auto& process) {
                const engine::Run* run = process->scheduler.first_end();
                return run ? run->dispatched_ns() : UINT64_MAX;
            });
            if (!(*first)->scheduler.first_end())
                return;
            (*first)->scheduler.handle_first_end();
        }
    }

    void arrive() {
        for (std::size_t i = 0; i < runs_.size(); i++) {
            if (scenario_.tasks[i].at != now_)
                continue;
            runs_[i] = run_of(scenario_.tasks[i]);
            process_of(i).scheduler.arrive(runs_[i]);
        }
    }

    void cancel() {
        for (const TaskCancel& cancel : scenario_.cancels) {
            if (cancel.at != now_)
                continue;
            process_of(cancel.task).scheduler.cancel(*runs_[cancel.task]);
            clock_.advance_to(time_ns(now_)); // ends the cancelled FCs
            handle_ends();
        }
    }

    void note_cpu_runs(Process& process) {
        for (const Process::CpuRun& begun : process.begun) {
            const std::uint64_t end =
                now_ + begun.run->segments()[begun.segment].estimate->ns() / ns_per_us;
            cpu_runs_.emplace(end, std::pair(&process, begun));
            instants_.insert(end);
        }
        process.begun.clear();
    }

    std::shared_ptr<engine::Run> run_of(const ScenarioTask& task) const {
        std::vector<MadeSegment> segments;
        for (const TaskSegment& segment : task.segments) {
            if (!segment.is_bpu()) {
                segments.push_back(made_computation({}, segment.cpu * ns_per_us));
                continue;
            }
            const Program& program = programs_.at(segment.bpu);
            segments.push_back(
                made_job(program.fcs, program.bindings, segment.bpu_time() * ns_per_us));
        }
        engine::RunOptions options;
        options.priority = task.priority;
        options.custom_id = task.custom_id;
        options.core = task.core;
        const std::uint64_t most = (UINT64_MAX - origin_ns_) / ns_per_us;
        options.deadline_ns = task.deadline() < most ? time_ns(task.deadline()) : UINT64_MAX;
        return made_run(segments, options);
    }

    Process& process_of(std::size_t task) {
        return *processes_[number_of_process_.at(scenario_.tasks[task].process)];
    }

    // The timeline.

    const Process::Submitted& submitted(std::uint64_t tag) const {
        const auto job = std::ranges::find(log_, tag, &Process::Submitted::tag);
        if (job == log_.end())
            throw Error(ENOENT, "an FC of a job that was not submitted");
        return *job;
    }

    std::size_t number_of(const engine::Run* run) const {
        const auto found =
            std::ranges::find(runs_, run, [](const auto& candidate) { return candidate.get(); });
        return static_cast<std::size_t>(found - runs_.begin());
    }

    std::string job_name(const Process::Submitted& job) const {
        return scenario_.tasks[number_of(job.run)].id + "." + std::to_string(job.segment);
    }

    TimelineJob job_from(const Process::Submitted& submitted) const {
        const Completion& job = submitted.run->records()[submitted.segment].job;
        if (job.core == 0)
            throw Error(ETIMEDOUT, "job " + job_name(submitted) + " has not ended");
        if (job.status != 0 && job.status != -ECANCELED)
            throw Error(-job.status, "job " + job_name(submitted) + " failed");
        std::optional<std::uint64_t> start;
        if (job.start_ns != 0)
            start = microseconds(job.start_ns);
        return {job_name(submitted),      job.core,        microseconds(job.queued_ns), start,
                microseconds(job.end_ns), job.preemptions, job.status == -ECANCELED};
    }

    void add_cpu_runs(TaskTimeline& timeline, std::size_t number) const {
        const engine::Run& run = *runs_[number];
        for (std::size_t segment = 0; segment < run.segments().size(); segment++) {
            const engine::TaskSegmentRecord& record = run.records()[segment];
            if (!run.segments()[segment].on_bpu() && record.start_ns != 0)
                timeline.cpu.push_back({scenario_.tasks[number].id, segment,
                                        microseconds(record.start_ns),
                                        microseconds(record.end_ns)});
        }
    }

    TimelineTask task_from(std::size_t number) const {
        const ScenarioTask& task = scenario_.tasks[number];
        const engine::Run& run = *runs_[number];
        if (run.status() == -EINPROGRESS)
            throw Error(ETIMEDOUT, "task " + task.id + " has not ended");
        std::optional<std::uint64_t> dispatched;
        if (run.dispatched_ns() != 0)
            dispatched = microseconds(run.dispatched_ns());
        return {task.id,
                run.core() != 0 ? run.core() : task.core,
                task.at,
                dispatched,
                microseconds(run.ended_ns()),
                run.status() == -ECANCELED};
    }

    std::uint64_t time_ns(std::uint64_t time) const { return origin_ns_ + time * ns_per_us; }

    /// Returns a time of the device in microseconds. Throws Error for no whole number: then the
    /// timeline is wrong.
    std::uint64_t microseconds(std::uint64_t time_ns) const {
        if ((time_ns - origin_ns_) % ns_per_us != 0)
            throw Error(ERANGE, "a time that is no whole microsecond");
        return (time_ns - origin_ns_) / ns_per_us;
    }

    Device& device_;
    const TaskScenario& scenario_;
    ManualClock& clock_;
    const std::uint64_t origin_ns_;
    std::uint64_t now_ = 0;
    std::set<std::uint64_t> instants_; ///< instants after `now_`
    std::map<std::vector<std::uint64_t>, Program> programs_;
    std::map<std::string, std::size_t> number_of_process_;
    std::vector<Process::Submitted> log_;
    std::multimap<std::uint64_t, std::pair<Process*, Process::CpuRun>> cpu_runs_; ///< by their end
    std::vector<std::shared_ptr<engine::Run>> runs_;
    std::vector<std::unique_ptr<Process>> processes_;
};

} // namespace

TaskTimeline drive_tasks(Device& device, const TaskScenario& scenario, const TaskTimeline& expected,
                         const std::function<std::vector<FcRecord>()>& take_fcs) {
    Driver driver(device, scenario, expected);
    driver.run();
    return driver.timeline(take_fcs());
}

TaskTimeline drive_tasks_made_here(const TaskScenario& scenario, const TaskTimeline& expected,
                                   const Backend& backend) {
    std::vector<FcRecord> records;
    const MadeDevice made(backend, device_of(scenario, records));
    const auto& device = made();
    return drive_tasks(*device, scenario, expected, [&] { return records; });
}

} // namespace overtake::test
