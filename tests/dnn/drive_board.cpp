// SPDX-License-Identifier: MIT
#include "drive_board.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <new>
#include <set>
#include <string>
#include <sys/mman.h>
#include <type_traits>

#include "board_task.hpp"
#include "dnn/task.hpp"
#include "overtake/error.hpp"
#include "scenario_device.hpp"

namespace overtake::test {

namespace {

class Driver {
public:
    Driver(ManualClock& clock, const TaskScenario& scenario, const TaskTimeline& expected,
           const MakeProcess& make_process)
        : clock_(clock), scenario_(scenario), origin_ns_(clock.now_ns() + ns_per_us) {
        for (const ScenarioTask& task : scenario.tasks) {
            instants_.insert(task.at);
            if (number_of_process_.emplace(task.process, processes_.size()).second)
                processes_.push_back(make_process(processes_.size()));
        }
        for (const TaskCancel& cancel : scenario.cancels)
            instants_.insert(cancel.at);
        for (const TimelineFc& fc : expected.device.fcs)
            instants_.insert(fc.end);
        if (!scenario.service_mode)
            return;
        // A segment that becomes overdue lets others start when nothing else happens, so each
        // expected start of a CPU segment is an instant.
        for (const TimelineCpu& cpu : expected.cpu)
            instants_.insert(cpu.start);
    }

    /// Ends everything that still runs, so that the processes can be destroyed.
    ~Driver() {
        try {
            clock_.advance_to(clock_.now_ns() + 1'000'000'000'000);
        } catch (const Error&) {
            return;
        }
    }
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    void run() {
        while (!instants_.empty()) {
            now_ = *instants_.begin();
            instants_.erase(instants_.begin());
            clock_.advance_to(time_ns(now_));
            end_cpu_segments();
            handle_ends();
            for (std::size_t i = 0; i < scenario_.tasks.size(); i++)
                if (scenario_.tasks[i].at == now_)
                    process_of(i).arrive(i);
            cancel();
            if (scenario_.service_mode)
                clock_.advance_to(time_ns(now_)); // the device dispatches by itself
            for (const auto& process : processes_)
                for (const CpuKey key : process->dispatch())
                    note_cpu_segment(key);
        }
    }

    TaskTimeline timeline(const std::vector<FcRecord>& records) {
        TaskTimeline timeline;
        for (std::size_t i = 0; i < scenario_.tasks.size(); i++)
            add_task(timeline, i);
        for (const FcRecord& record : records)
            timeline.device.fcs.push_back({job_name(record.tag), record.index, record.core,
                                           record.high, microseconds(record.start_ns),
                                           microseconds(record.end_ns)});
        timeline.device.sort_fcs();
        // Jobs are in the order in which they were submitted.
        std::ranges::stable_sort(submitted_, {}, &Submitted::order);
        for (const Submitted& job : submitted_)
            timeline.device.jobs.push_back(job.job);
        std::ranges::stable_sort(timeline.cpu, {}, &TimelineCpu::start);
        return timeline;
    }

private:
    struct Submitted {
        std::pair<std::uint64_t, std::uint64_t> order; ///< device time, tag
        TimelineJob job;
    };

    void end_cpu_segments() {
        std::map<std::size_t, std::vector<CpuKey>> ended; // by process
        for (auto at = cpu_ends_.begin(); at != cpu_ends_.end() && at->first == now_;) {
            ended[process_number(at->second.task)].push_back(at->second);
            at = cpu_ends_.erase(at);
        }
        for (const auto& [process, keys] : ended)
            processes_[process]->end_cpu(keys);
    }

    /// Handles the ends of all processes, in the order in which the tasks were dispatched.
    void handle_ends() {
        for (const auto& process : processes_)
            process->gather();
        for (;;) {
            BoardProcess* first = nullptr;
            std::uint64_t dispatched = UINT64_MAX;
            for (const auto& process : processes_)
                if (const auto end = process->first_end(); end && *end < dispatched) {
                    dispatched = *end;
                    first = process.get();
                }
            if (!first)
                return;
            first->handle_first_end();
        }
    }

    void cancel() {
        for (const TaskCancel& cancel : scenario_.cancels) {
            if (cancel.at != now_)
                continue;
            process_of(cancel.task).cancel(cancel.task);
            if (scenario_.service_mode)
                continue;
            clock_.advance_to(time_ns(now_)); // ends what was cancelled
            handle_ends();
        }
    }

    void note_cpu_segment(CpuKey key) {
        const std::uint64_t end = now_ + scenario_.tasks[key.task].segments[key.segment].cpu;
        cpu_ends_.emplace(end, key);
        instants_.insert(end);
    }

    void add_task(TaskTimeline& timeline, std::size_t number) {
        const ScenarioTask& task = scenario_.tasks[number];
        const TaskOutcome outcome = process_of(number).outcome(number);
        if (outcome.status == -EINPROGRESS)
            throw Error(ETIMEDOUT, "task " + task.id + " has not ended");
        for (std::size_t i = 0; i < outcome.segments.size(); i++) {
            const SegmentRecord& segment = outcome.segments[i];
            if (segment.start_ns == 0)
                continue;
            if (segment.on_bpu)
                add_job(task.id + "." + std::to_string(i), segment);
            else
                timeline.cpu.push_back(
                    {task.id, i, microseconds(segment.start_ns), microseconds(segment.end_ns)});
        }
        std::optional<std::uint64_t> dispatched;
        if (outcome.dispatched_ns != 0)
            dispatched = microseconds(outcome.dispatched_ns);
        timeline.tasks.push_back({task.id, outcome.core != 0 ? outcome.core : task.core, task.at,
                                  dispatched, microseconds(outcome.ended_ns),
                                  outcome.status == -ECANCELED});
    }

    void add_job(const std::string& name, const SegmentRecord& segment) {
        const Completion& job = segment.job;
        if (job.status != 0 && job.status != -ECANCELED)
            throw Error(-job.status, "job " + name + " failed");
        names_[job.tag] = name;
        std::optional<std::uint64_t> start;
        if (job.start_ns != 0)
            start = microseconds(job.start_ns);
        submitted_.push_back(
            {{segment.start_ns, job.tag},
             {name, job.core, microseconds(job.queued_ns), start, microseconds(job.end_ns),
              job.preemptions, job.status == -ECANCELED}});
    }

    std::string job_name(std::uint64_t tag) const {
        const auto found = names_.find(tag);
        if (found == names_.end())
            throw Error(ENOENT, "an FC of a job that was not submitted");
        return found->second;
    }

    std::size_t process_number(std::size_t task) const {
        return number_of_process_.at(scenario_.tasks[task].process);
    }
    BoardProcess& process_of(std::size_t task) { return *processes_[process_number(task)]; }

    std::uint64_t time_ns(std::uint64_t time) const { return origin_ns_ + time * ns_per_us; }

    /// Returns microseconds from the origin.  Throws Error unless their number is whole: otherwise
    /// the timeline is wrong.
    std::uint64_t microseconds(std::uint64_t time_ns) const {
        if ((time_ns - origin_ns_) % ns_per_us != 0)
            throw Error(ERANGE, "a time that is no whole microsecond");
        return (time_ns - origin_ns_) / ns_per_us;
    }

    ManualClock& clock_;
    const TaskScenario& scenario_;
    const std::uint64_t origin_ns_;
    std::uint64_t now_ = 0;
    std::set<std::uint64_t> instants_; ///< still to come
    std::map<std::string, std::size_t> number_of_process_;
    std::multimap<std::uint64_t, CpuKey> cpu_ends_;
    std::map<std::uint64_t, std::string> names_; ///< of jobs, by tag
    std::vector<Submitted> submitted_;
    std::vector<std::unique_ptr<BoardProcess>> processes_;
};

/// The records of FCs of a device in another process.
class SharedRecords {
public:
    SharedRecords() {
        void* memory =
            mmap(nullptr, sizeof *area_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            throw Error(errno, "no memory for the FCs of a device");
        area_ = new (memory) Area;
    }
    ~SharedRecords() { munmap(area_, sizeof *area_); }
    SharedRecords(const SharedRecords&) = delete;
    SharedRecords& operator=(const SharedRecords&) = delete;

    void add(const FcRecord& record) {
        const std::size_t at = area_->count.load();
        if (at < most)
            new (area_->places + at * sizeof(FcRecord)) FcRecord(record);
        area_->count = at + 1;
    }
    std::vector<FcRecord> all() const {
        const std::size_t count = area_->count.load();
        if (count > most)
            throw Error(ENOSPC, "more FCs than there are places for");
        const auto* first = std::launder(reinterpret_cast<const FcRecord*>(area_->places));
        return {first, first + count};
    }

private:
    static constexpr std::size_t most = 100'000;
    struct Area {
        std::atomic<std::size_t> count = 0;
        /// Bytes: to construct all records would take longer than most scenarios.
        alignas(FcRecord) std::byte places[most * sizeof(FcRecord)];
    };
    static_assert(std::is_trivially_copyable_v<FcRecord>, "another process reads them");
    Area* area_ = nullptr;
};

} // namespace

bool board_can_say(const TaskScenario& scenario) {
    std::map<std::string, std::size_t> tasks;
    for (const ScenarioTask& task : scenario.tasks)
        tasks[task.process]++;
    return std::ranges::all_of(scenario.tasks,
                               [&](const ScenarioTask& task) {
                                   return task.core <= 2 && !task.slo &&
                                          tasks[task.process] <= dnn::task_limit;
                               }) &&
           scenario.deaths.empty();
}

TaskTimeline drive_board(ManualClock& clock, const TaskScenario& scenario,
                         const TaskTimeline& expected, const MakeProcess& make_process,
                         const std::function<std::vector<FcRecord>()>& take_fcs) {
    Driver driver(clock, scenario, expected, make_process);
    driver.run();
    return driver.timeline(take_fcs());
}

TaskTimeline drive_board_made_here(const TaskScenario& scenario, const TaskTimeline& expected,
                                   const Backend& backend) {
    std::vector<FcRecord> records;
    const MadeDevice made(backend, device_of(scenario, records));
    const auto& device = made();
    return drive_board(
        *device->manual_clock(), scenario, expected,
        [&](std::uint64_t number) { return local_process(device, scenario, number); },
        [&] { return records; });
}

ServiceSettings service_settings_of(const TaskScenario& scenario) {
    const auto at_most_32_bits = [](std::uint64_t number) {
        return static_cast<std::uint32_t>(std::min<std::uint64_t>(number, UINT32_MAX));
    };
    const auto ns = [](std::uint64_t number, std::uint64_t unit) {
        return number < UINT64_MAX / unit ? number * unit : UINT64_MAX;
    };
    constexpr std::uint64_t ns_per_ms = 1'000'000;
    return {
        .slots = at_most_32_bits(scenario.slots),
        .task_limit = at_most_32_bits(scenario.max_tasks),
        .threshold_percent = at_most_32_bits(scenario.threshold_percent),
        .share = scenario.share,
        .insert_max_time_ns = ns(scenario.insert_max_time_ms, ns_per_ms),
        .wait_dispatch_time_ns = ns(scenario.wait_dispatch_time_ms, ns_per_ms),
        .overdue_min_time_ns = ns(scenario.overdue_min_time.value_or(0), ns_per_us),
        .overdue_factor = scenario.overdue_factor,
    };
}

TaskTimeline drive_board_served(const TaskScenario& scenario, const TaskTimeline& expected) {
    SharedRecords records;
    std::vector<FcRecord> not_used;
    ServerOptions options;
    options.device = device_of(scenario, not_used);
    options.device.on_fc = [](void* context, const FcRecord& record) {
        static_cast<SharedRecords*>(context)->add(record);
    };
    options.device.on_fc_context = &records;
    options.policy = scenario.policy;
    options.service = service_settings_of(scenario);
    const TestServer server(options, ServerIn::process);
    const auto open = [&] { return open_server(server.path()); };
    const std::shared_ptr<Device> device = open();
    return drive_board(
        *device->manual_clock(), scenario, expected,
        [&](std::uint64_t number) { return forked_process(open, scenario, number); },
        [&] { return records.all(); });
}

} // namespace overtake::test
