// SPDX-License-Identifier: MIT
#include "drive_board_clock.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <thread>

#include "board_task.hpp"
#include "dnn/process.hpp"
#include "dnn/task.hpp"
#include "overtake/error.hpp"
#include "scenario_device.hpp"
#include "task_oracle.hpp"

namespace overtake::test {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

constexpr int trials = 256;
constexpr std::uint64_t longest_factor = 4096;

std::uint64_t end_of(const TaskTimeline& timeline) {
    std::uint64_t end = 0;
    for (const TimelineTask& task : timeline.tasks)
        end = std::max(end, task.end.value_or(UINT64_MAX));
    return end;
}

/// Makes arrivals, cancels and ends of CPU segments late at random.
TaskScenario late(TaskScenario scenario, std::mt19937_64& random) {
    std::uniform_int_distribution<std::uint64_t> lateness(0, lateness_us);
    for (ScenarioTask& task : scenario.tasks) {
        task.at += lateness(random);
        for (TaskSegment& segment : task.segments)
            if (!segment.is_bpu())
                segment.cpu += lateness(random);
    }
    for (TaskCancel& cancel : scenario.cancels)
        cancel.at += lateness(random);
    return scenario;
}

/// Makes all times except estimates and deadlines `factor` times as long.
TaskScenario stretched(const TaskScenario& scenario, std::uint64_t factor) {
    TaskScenario longer = scenario;
    longer.insert_max_time_ms *= factor;
    longer.wait_dispatch_time_ms *= factor;
    for (ScenarioTask& task : longer.tasks) {
        task.at *= factor;
        for (TaskSegment& segment : task.segments) {
            segment.cpu *= factor;
            for (std::uint64_t& fc : segment.bpu)
                fc *= factor;
        }
    }
    for (TaskCancel& cancel : longer.cancels)
        cancel.at *= factor;
    return longer;
}

/// Moves arrivals apart, so that tasks of one instant arrive in file order.
TaskScenario with_arrivals_apart(TaskScenario scenario) {
    for (std::size_t i = 0; i < scenario.tasks.size(); i++)
        scenario.tasks[i].at += i * 3 * lateness_us / 2;
    return scenario;
}

bool keeps_its_order(const TaskScenario& scenario) {
    const ScenarioOrder order = order_of(task_oracle_timeline(scenario));
    std::mt19937_64 random(scenario.tasks.size());
    for (int trial = 0; trial < trials; trial++)
        if (order_of(task_oracle_timeline(late(scenario, random))) != order)
            return false;
    return true;
}

/// Watches whether a thread had to wait for a CPU of this host for long.
class HostWatch {
public:
    HostWatch() : thread_([this] { watch(); }) {}
    ~HostWatch() {
        stop_ = true;
        thread_.join();
    }
    HostWatch(const HostWatch&) = delete;
    HostWatch& operator=(const HostWatch&) = delete;

    void note(Clock::time_point due) {
        if (Clock::now() - due > microseconds(lateness_us) / 2)
            was_late_ = true;
    }
    bool was_late() const { return was_late_; }

private:
    void watch() {
        while (!stop_) {
            const Clock::time_point due = Clock::now() + std::chrono::milliseconds(1);
            std::this_thread::sleep_until(due);
            note(due);
        }
    }

    std::atomic<bool> stop_{false}, was_late_{false};
    std::thread thread_;
};

/// A process of the scenario, which submits and releases at its times.
class ClockProcess {
public:
    ClockProcess(const std::shared_ptr<Device>& device, const TaskScenario& scenario,
                 std::uint64_t number)
        : scenario_(scenario),
          process_(device, scenario_engine(device, scenario, number, CpuTime::real)) {}

    /// Submits the task, or releases it, at `us` from the start.
    void add_task(std::uint64_t us, std::size_t task) { events_.insert({us, {task, false}}); }
    void add_cancel(std::uint64_t us, std::size_t task) { events_.insert({us, {task, true}}); }

    void run(Clock::time_point start, HostWatch& watch) {
        dnn::Process::use_in_this_thread(&process_);
        for (const auto& [us, event] : events_) {
            const Clock::time_point due = start + microseconds(us);
            std::this_thread::sleep_until(due);
            Submitted& task = tasks_[event.task];
            if (event.is_cancel) {
                require_ok(hbDNNReleaseTask(task.handle), "hbDNNReleaseTask");
            } else {
                task.handle = submit_task(scenario_, event.task, CpuTime::real);
                task.request = process_.tasks.find(task.handle)->request();
            }
            watch.note(due);
        }
        for (const auto& [number, task] : tasks_)
            task.request->wait(deadline_never);
        dnn::Process::use_in_this_thread(nullptr);
    }

    /// Returns the task as a row of a timeline; adds the names of its jobs.
    TimelineTask row(std::size_t number, std::map<std::uint64_t, std::string>& names) const {
        const Request& request = *tasks_.at(number).request;
        const std::string& id = scenario_.tasks[number].id;
        if (request.status() != 0 && request.status() != -ECANCELED)
            throw Error(-request.status(), "task " + id + " failed");
        const std::vector<SegmentRecord> segments = request.segments();
        for (std::size_t i = 0; i < segments.size(); i++)
            if (segments[i].on_bpu && segments[i].start_ns != 0)
                names[segments[i].job.tag] = id + "." + std::to_string(i);
        const std::uint64_t dispatched = request.dispatched_ns();
        return {id,
                request.core(),
                scenario_.tasks[number].at,
                dispatched == 0 ? std::nullopt : std::optional(dispatched),
                request.ended_ns(),
                request.status() == -ECANCELED};
    }

private:
    struct Event {
        std::size_t task;
        bool is_cancel;
    };
    struct Submitted {
        hbDNNTaskHandle_t handle = nullptr;
        std::shared_ptr<Request> request;
    };

    const TaskScenario& scenario_;
    dnn::Process process_;
    std::multimap<std::uint64_t, Event> events_;
    std::map<std::size_t, Submitted> tasks_;
};

class ClockProcesses {
public:
    ClockProcesses(const std::shared_ptr<Device>& device, const TaskScenario& scenario)
        : scenario_(scenario) {
        for (std::size_t i = 0; i < scenario.tasks.size(); i++) {
            auto& process = of_name_[scenario.tasks[i].process];
            if (!process)
                process = std::make_unique<ClockProcess>(device, scenario, of_name_.size() - 1);
            process->add_task(scenario.tasks[i].at, i);
        }
        for (const TaskCancel& cancel : scenario.cancels)
            of_task(cancel.task).add_cancel(cancel.at, cancel.task);
    }

    void run(HostWatch& watch) {
        const Clock::time_point start = Clock::now() + std::chrono::milliseconds(50);
        std::vector<std::thread> threads;
        for (const auto& [name, process] : of_name_)
            threads.emplace_back(
                [runs = process.get(), start, &watch] { runs->run(start, watch); });
        for (std::thread& thread : threads)
            thread.join();
    }

    TaskTimeline timeline(const std::vector<FcRecord>& records) {
        TaskTimeline timeline;
        std::map<std::uint64_t, std::string> names;
        for (std::size_t i = 0; i < scenario_.tasks.size(); i++)
            timeline.tasks.push_back(of_task(i).row(i, names));
        for (const FcRecord& record : records)
            timeline.device.fcs.push_back({names.at(record.tag), record.index, record.core,
                                           record.high, record.start_ns, record.end_ns});
        return timeline;
    }

private:
    ClockProcess& of_task(std::size_t task) { return *of_name_.at(scenario_.tasks[task].process); }

    const TaskScenario& scenario_;
    std::map<std::string, std::unique_ptr<ClockProcess>> of_name_;
};

} // namespace

ScenarioOrder order_of(const TaskTimeline& timeline) {
    ScenarioOrder order;
    std::vector<TimelineFc> fcs = timeline.device.fcs;
    std::ranges::stable_sort(fcs, {}, &TimelineFc::start);
    for (const TimelineFc& fc : fcs) {
        order.fcs.resize(std::max<std::size_t>(order.fcs.size(), fc.core));
        order.fcs[fc.core - 1].push_back(fc.job + "#" + std::to_string(fc.index) +
                                         (fc.high ? " high" : ""));
    }
    std::vector<TimelineTask> tasks = timeline.tasks;
    std::ranges::stable_sort(tasks, {},
                             [](const TimelineTask& task) { return task.dispatched.value_or(0); });
    for (const TimelineTask& task : tasks)
        if (task.dispatched)
            order.dispatched.push_back(task.id);
    for (const TimelineTask& task : timeline.tasks)
        if (task.cancelled)
            order.cancelled.push_back(task.id);
    return order;
}

std::optional<ClockScenario> for_clock(const TaskScenario& scenario, std::uint64_t longest_us) {
    const std::uint64_t end = end_of(task_oracle_timeline(scenario));
    for (const bool apart : {false, true})
        for (std::uint64_t factor = 1; factor <= longest_factor && end <= longest_us / factor;
             factor *= 2) {
            TaskScenario longer = stretched(scenario, factor);
            if (apart)
                longer = with_arrivals_apart(longer);
            if (keeps_its_order(longer))
                return ClockScenario{longer, factor, apart};
        }
    return std::nullopt;
}

std::optional<ScenarioOrder> drive_board_clock(const TaskScenario& scenario) {
    std::vector<FcRecord> records;
    EmbeddedOptions options = device_of(scenario, records);
    options.manual_clock = false;
    auto device = open_embedded(options);
    ClockProcesses processes(device, scenario);
    HostWatch watch;
    processes.run(watch);
    if (watch.was_late())
        return std::nullopt;
    device.reset();
    return order_of(processes.timeline(records));
}

} // namespace overtake::test
