// SPDX-License-Identifier: MIT
//
// The entries of watchers, whatever events watched processes cause: their number is bounded, and a
// process's entries go with the process.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "events.hpp"
#include "late_jobs.hpp"
#include "observe/watch/activity.hpp"
#include "observe/watch/ended_processes.hpp"
#include "observe/watch/engine_tasks.hpp"
#include "observe/watch/in_order.hpp"
#include "observe/watch/jobs.hpp"
#include "observe/watch/latency.hpp"
#include "observe/watch/watching.hpp"

namespace overtake::test {
namespace {

using watch::EngineTasks;

watch::ProbeHit hit(watch::Probe probe, std::uint32_t pid, std::uint64_t task,
                    std::initializer_list<std::uint64_t> rest = {}) {
    watch::ProbeHit made{probe, pid, {task, 1 * ms}};
    std::ranges::copy(rest, made.arguments.begin() + 2);
    return made;
}

watch::ProbeHit arrives(std::uint32_t pid, std::uint64_t task, std::uint64_t engine = 0x5000) {
    return hit(watch::Probe::task_arrive, pid, task, {7, 0, 0, 1, engine, model_id("large"), 1, 8});
}

/// Gives the process a job on this device.
void use_device(EngineTasks& tasks, std::uint32_t pid, std::uint64_t task) {
    tasks.events_of(hit(watch::Probe::task_job, pid, task, {0, task}));
    Event job = queued(2, pid, task, 7, "large");
    tasks.look_at(job);
    EXPECT_NE(job.task, 0u) << pid;
}

/// The bound is for all processes together, because any user can start any number of processes.
TEST(EngineTasks, ProcessesThatNeverOpenTheDeviceTakeNoMoreTogetherThanOne) {
    constexpr std::uint32_t honest = 11, first = 1000, processes = 40;
    EngineTasks tasks;
    tasks.events_of(arrives(honest, 1));
    use_device(tasks, honest, 1);
    tasks.events_of(arrives(honest, 2));
    for (std::uint64_t task = 0; task < 10'000; task++)
        for (std::uint32_t pid = first; pid < first + processes; pid++) {
            tasks.events_of(arrives(pid, task, task % 100));
            tasks.events_of(hit(watch::Probe::task_job, pid, task, {0, task}));
            ASSERT_LE(tasks.entries(), EngineTasks::most_entries);
        }
    EXPECT_LE(tasks.live(), EngineTasks::most_entries);
    EXPECT_GT(tasks.dropped(), 0u);
    const std::vector<Event> end = tasks.events_of(hit(watch::Probe::task_end, honest, 2));
    ASSERT_EQ(end.size(), 1u) << "the flood pushed out who uses the device";
    EXPECT_EQ(end[0].type, EventType::task_end);
}

TEST(EngineTasks, OfProcessesThatUseTheDeviceTheLargestLoseTheirOldestTasks) {
    constexpr std::uint32_t honest = 11, first = 1000, processes = 5;
    EngineTasks tasks;
    for (std::uint32_t pid = first; pid < first + processes; pid++) {
        tasks.events_of(arrives(pid, 1));
        use_device(tasks, pid, 1);
    }
    tasks.events_of(arrives(honest, 1));
    use_device(tasks, honest, 1);
    std::map<std::uint32_t, std::size_t> ends;
    for (std::uint64_t task = 2; task < 40'000; task++)
        for (std::uint32_t pid = first; pid < first + processes; pid++)
            for (const Event& event : tasks.events_of(arrives(pid, task)))
                ends[event.pid] += event.type == EventType::task_end;
    EXPECT_LE(tasks.entries(), EngineTasks::most_entries);
    EXPECT_FALSE(ends.contains(honest));
    EXPECT_EQ(ends.size(), processes);
    for (const auto& [pid, count] : ends) // the reader drops them once it has seen them
        EXPECT_GT(count, 1000u) << pid;
    // The newest tasks are still known.
    for (std::uint32_t pid = first; pid < first + processes; pid++) {
        EXPECT_FALSE(tasks.events_of(hit(watch::Probe::task_end, pid, 39'999)).empty()) << pid;
        EXPECT_TRUE(tasks.events_of(hit(watch::Probe::task_end, pid, 2)).empty()) << pid;
    }
}

TEST(EngineTasks, AProcessThatIsForgottenTakesNothing) {
    EngineTasks tasks;
    for (std::uint64_t task = 0; task < 5000; task++) {
        tasks.events_of(arrives(11, task, task % 7));
        tasks.events_of(hit(watch::Probe::task_job, 11, task, {0, task}));
    }
    use_device(tasks, 11, 1);
    Event gone = event(EventType::ctx_destroy, 3, 11, 0);
    tasks.look_at(gone);
    EXPECT_GT(tasks.entries(), 5000u);
    tasks.forget(11, 4 * ms);
    EXPECT_EQ(tasks.entries(), 0u);
    // A claimed job is not kept for its name.
    for (std::uint64_t task = 0; task < 5000; task++) {
        tasks.events_of(arrives(12, 1));
        tasks.events_of(hit(watch::Probe::task_job, 12, 1, {0, task}));
        Event job = queued(2, 12, task, 7, "large");
        tasks.look_at(job);
        tasks.events_of(hit(watch::Probe::task_end, 12, 1));
    }
    EXPECT_LT(tasks.entries(), 500u);
}

TEST(Jobs, WhoseEndsWereLostGoWithTheirContextTheirProcessOrTheLimit) {
    watch::Jobs jobs;
    for (std::uint64_t tag = 0; tag < 10; tag++)
        for (const std::uint32_t pid : {5u, 6u, 7u})
            jobs.follow(queued(tag, pid, tag, 7, "large"));
    EXPECT_EQ(jobs.processes(), (std::vector<std::uint32_t>{5, 6, 7}));
    Event other = event(EventType::ctx_destroy, 20, 6, 0);
    other.context = 2;
    jobs.follow(other);
    EXPECT_EQ(jobs.living(), 30u);
    jobs.follow(event(EventType::ctx_destroy, 20, 6, 0));
    EXPECT_EQ(jobs.processes(), (std::vector<std::uint32_t>{5, 7}));
    jobs.forget({5, 8});
    EXPECT_EQ(jobs.processes(), (std::vector<std::uint32_t>{7}));
    EXPECT_EQ(jobs.living(), 10u);
    EXPECT_EQ(jobs.dropped(), 0u);
    for (std::uint64_t tag = 0; tag < watch::Jobs::most_jobs + 1000; tag++)
        jobs.follow(queued(100 + tag, 9, tag, 7, "large"));
    EXPECT_LE(jobs.living(), watch::Jobs::most_jobs);
    EXPECT_EQ(jobs.living() + jobs.dropped(), watch::Jobs::most_jobs + 1000 + 10);
    EXPECT_NE(jobs.follow(event(EventType::fc_start, 1'000'000, 9, watch::Jobs::most_jobs)),
              nullptr);
    EXPECT_EQ(jobs.follow(event(EventType::fc_start, 1'000'000, 9, 0)), nullptr)
        << "not the oldest";
}

TEST(Activity, WhatADeadProcessLeftIsNotShownForEver) {
    watch::Activity activity(0, 1);
    activity.add(queued(1, 5, 1, 0, "large"));
    activity.add(event(EventType::fc_start, 1, 5, 1)); // the event of its end is lost
    activity.add(queued(2, 6, 1, 0, "detector"));
    EXPECT_EQ(activity.pids(), (std::vector<std::uint32_t>{5, 6}));
    watch::Snapshot snapshot = activity.take(20'000 * ms);
    ASSERT_EQ(snapshot.processes.size(), 2u);
    ASSERT_TRUE(snapshot.processes[1].behind);
    activity.forget({5});
    snapshot = activity.take(21'000 * ms);
    ASSERT_EQ(snapshot.processes.size(), 1u);
    EXPECT_EQ(snapshot.processes[0].pid, 6u);
    EXPECT_EQ(snapshot.processes[0].waiting, 1u);
    EXPECT_FALSE(snapshot.processes[0].behind);
    EXPECT_FALSE(snapshot.cores.at(0).holder);
    activity.add(event(EventType::ctx_destroy, 22'000, 6, 0));
    EXPECT_TRUE(activity.take(30'000 * ms).processes.empty());
}

TEST(Activity, KeepsSoManyJobsAndTheLatenciesOfTheLastSeconds) {
    watch::Activity activity(0, 1);
    for (std::uint64_t tag = 0; tag < watch::Activity::most_jobs + 1000; tag++)
        activity.add(queued(tag, 5, tag, 0, "large"));
    EXPECT_GE(activity.dropped(), 1000u);
    const watch::Snapshot snapshot = activity.take((watch::Activity::most_jobs + 2000) * ms);
    EXPECT_EQ(snapshot.processes.at(0).waiting + activity.dropped(),
              watch::Activity::most_jobs + 1000);
}

TEST(EndedProcesses, AreThoseGoneForTwoLooksAndThoseThatAreOthersByNow) {
    std::map<std::uint32_t, std::string> running{{1, "10"}, {2, "20"}, {3, "30"}};
    watch::EndedProcesses ended([&](std::uint32_t pid) {
        const auto found = running.find(pid);
        return found == running.end() ? std::nullopt : std::optional(found->second);
    });
    const std::vector<std::uint32_t> all{1, 2, 3};
    using Pids = std::vector<std::uint32_t>;
    EXPECT_EQ(ended.look(all), Pids{});
    running.erase(1);
    running[2] = "21"; // another process has this number now
    EXPECT_EQ(ended.look(all), Pids{2});
    EXPECT_EQ(ended.look({1, 3}), Pids{1});
    EXPECT_EQ(ended.look({3}), Pids{});
    running[1] = "11";
    EXPECT_EQ(ended.look({1, 3}), Pids{}) << "what it did is its own";
}

class Losing final : public EventSource {
public:
    explicit Losing(std::uint64_t lost) : lost_(lost) {}
    std::size_t read(std::span<Event>, std::int64_t) override { return 0; }
    std::uint64_t lost() const noexcept override { return lost_; }

private:
    std::uint64_t lost_;
};

/// Returns the processes that are forgotten if this process and one that has ended are watched.
std::set<std::uint32_t> forgotten(std::uint64_t lost, bool knows_processes) {
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, nullptr, 0);
    watch::Watched watched{nullptr, std::make_unique<Losing>(lost), knows_processes};
    std::set<std::uint32_t> gone;
    watch::Expiry expiry(
        watched,
        [&] {
            return std::vector{static_cast<std::uint32_t>(child),
                               static_cast<std::uint32_t>(getpid())};
        },
        [&](const std::set<std::uint32_t>& pids) { gone = pids; }, std::chrono::milliseconds(0));
    expiry.rest();
    EXPECT_TRUE(gone.empty()) << "its last events may not have been read";
    expiry.rest();
    EXPECT_FALSE(gone.contains(static_cast<std::uint32_t>(getpid())));
    return gone;
}

TEST(Expiry, ForgetsEndedProcessesOfWhichAnEndMayHaveBeenLost) {
    EXPECT_EQ(forgotten(1, true).size(), 1u);
    EXPECT_TRUE(forgotten(0, true).empty());
    EXPECT_TRUE(forgotten(1, false).empty()) << "events call processes otherwise";
}

TEST(InOrder, KeepsSoManyEventsThoughTimeStandsStill) {
    std::size_t seen = 0;
    watch::InOrder in_order([&](const Event&) { seen++; });
    for (std::size_t i = 0; i < watch::InOrder::most_events + 500; i++)
        in_order.add(event(EventType::fc_start, 1, 5, i));
    EXPECT_EQ(seen, 500u);
}

TEST(Latency, DropsTheGroupsThatHadNoJobForLongest) {
    watch::Latency latency(watch::Grouping::model);
    const auto add = [&](std::uint64_t model, std::uint64_t ns) {
        latency.add({.queued_ns = 0, .start_ns = 1, .end_ns = ns, .model = model});
    };
    add(model_id("honest"), 5);
    for (std::uint64_t i = 0; i < 200'000; i++) { // an attacker may invent any number of names
        add(model_id(std::to_string(i)), 1000 + i);
        if (i % 100 == 0)
            add(model_id("honest"), 5);
    }
    std::size_t entries = 0;
    for (const auto& [key, group] : latency.groups())
        entries += group.entries();
    EXPECT_LE(entries, watch::Latency::most_entries);
    EXPECT_EQ(latency.groups().size() + latency.dropped(), 200'001u);
    const auto honest = latency.groups().find({0, "honest"});
    ASSERT_NE(honest, latency.groups().end());
    EXPECT_EQ(honest->second.total.count(), 2001u);
}

void run_job(command::LateJobs& late, std::uint64_t time_ms, std::uint32_t pid, std::uint64_t tag,
             std::uint64_t model) {
    Event job = queued(time_ms, pid, tag, 0, "");
    job.model = model;
    for (const EventType type : {EventType::job_queue, EventType::fc_submit, EventType::fc_start,
                                 EventType::fc_done, EventType::job_done}) {
        job.type = type;
        job.fc_count = 1;
        job.time_ns += type == EventType::fc_done ? ms : 0;
        late.add(job);
    }
}

/// A client gives each of its jobs another model.
TEST(LateJobs, KeepsSoManyOwnersAndReports) {
    command::LateJobs late(3);
    const std::uint64_t jobs = command::LateJobs::most_owners + 20'000;
    for (std::uint64_t i = 1; i <= jobs; i++)
        run_job(late, 2 * i, 66, i, (i << 8) + 'a');
    run_job(late, 2 * jobs + 2, 11, 1, model_id("honest"));
    late.finish();
    const auto slowest = late.to_json();
    EXPECT_LE(slowest.size(), 3 * command::LateJobs::most_groups);
    EXPECT_GT(late.dropped(), 0u);
    const auto honest = std::ranges::find(slowest, "honest (pid 11)", [](const auto& of) {
        return of.at("name").template get<std::string>();
    });
    ASSERT_NE(honest, slowest.end());
    EXPECT_EQ(honest->at("latency_ns"), ms);
}

/// The job waits behind many jobs of another client.
TEST(LateJobs, AReportHasSoManyPartsAndTheyAddUp) {
    command::LateJobs late(1);
    constexpr std::uint64_t others = 300;
    Event job = queued(1, 11, 1, 0, "honest");
    job.fc_count = 1;
    for (const EventType type : {EventType::job_queue, EventType::fc_submit}) {
        job.type = type;
        late.add(job);
    }
    for (std::uint64_t i = 1; i <= others; i++)
        run_job(late, i, 66, i, i << 8 | 'a');
    for (const EventType type : {EventType::fc_start, EventType::fc_done, EventType::job_done}) {
        job.type = type;
        job.time_ns = (type == EventType::fc_start ? others + 1 : others + 2) * ms;
        late.add(job);
    }
    late.finish();
    for (const auto& of : late.to_json()) {
        if (of.at("name") != "honest (pid 11)")
            continue;
        const auto& parts = of.at("parts");
        EXPECT_LE(parts.size(), command::LateJobs::most_parts + 10);
        std::uint64_t sum = 0;
        for (const auto& part : parts)
            sum += part.at("ns").get<std::uint64_t>();
        EXPECT_EQ(sum, of.at("latency_ns").get<std::uint64_t>());
        EXPECT_TRUE(std::ranges::any_of(
            parts, [](const auto& part) { return part.value("by", "") == "others"; }));
        return;
    }
    FAIL() << "the job is not there";
}

TEST(LateJobs, WhatADeadProcessLeftIsForgotten) {
    command::LateJobs late(3);
    for (const std::uint32_t pid : {5u, 6u}) {
        Event job = queued(1, pid, 1, 0, "large");
        late.add(job);
        Event task = event(EventType::task_arrive, 1, pid, 9);
        late.add(task);
    }
    late.forget({5});
    EXPECT_EQ(late.processes(), (std::vector<std::uint32_t>{6}));
}

TEST(LateJobs, LiveJobsAndTasksAreBounded) {
    command::LateJobs late(3);
    for (std::uint64_t i = 1; i <= command::LateJobs::most_live + 1000; i++) {
        Event job = queued(i, 66, i, 0, "large");
        late.add(job);
        job.type = EventType::task_arrive;
        late.add(job);
    }
    late.finish();
    EXPECT_GE(late.dropped(), 2000u);
    EXPECT_LE(late.dropped(), 2 * (command::LateJobs::most_live / 16 + 1));
}

} // namespace
} // namespace overtake::test
