// SPDX-License-Identifier: MIT
//
// The events that follow from the probes of processes' engines.
#include <algorithm>
#include <array>
#include <cerrno>
#include <initializer_list>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "events.hpp"
#include "late_jobs.hpp"
#include "observe/watch/engine_tasks.hpp"

namespace overtake::test {
namespace {

watch::ProbeHit hit(watch::Probe probe, std::uint32_t pid, std::uint64_t task,
                    std::uint64_t time_ns, std::initializer_list<std::uint64_t> rest = {}) {
    watch::ProbeHit made{probe, pid, {task, time_ns}};
    std::ranges::copy(rest, made.arguments.begin() + 2);
    return made;
}

watch::ProbeHit arrives(std::uint32_t pid, std::uint64_t task, std::uint64_t queue = 0x5000) {
    return hit(watch::Probe::task_arrive, pid, task, 1 * ms,
               {7, static_cast<std::uint64_t>(-3), 2, 4, queue, model_id("large"), 3, 16, 6, 5});
}

/// The last event that the probe causes, if it causes any.
std::optional<Event> told(watch::EngineTasks& tasks, const watch::ProbeHit& passed) {
    const std::vector<Event> events = tasks.events_of(passed);
    return events.empty() ? std::nullopt : std::optional(events.back());
}

/// From this call on, the events of this engine are reported.
void engine_is_here(watch::EngineTasks& tasks, std::uint32_t pid, std::uint64_t queue = 0x5000) {
    constexpr std::uint64_t task = 0xfff000, tag = 0xfff000;
    tasks.events_of(arrives(pid, task, queue));
    tasks.events_of(hit(watch::Probe::task_job, pid, task, 1 * ms, {0, tag}));
    Event job = queued(1, pid, tag, 7, "first");
    tasks.look_at(job);
    EXPECT_NE(job.task, 0u);
    tasks.events_of(hit(watch::Probe::task_end, pid, task, 1 * ms));
}

TEST(EngineTasks, AProbeIsAnEventOfItsTask) {
    watch::EngineTasks tasks;
    engine_is_here(tasks, 11);
    const auto arrived = told(tasks, arrives(11, 0x1000));
    ASSERT_TRUE(arrived);
    EXPECT_EQ(arrived->type, EventType::task_arrive);
    EXPECT_EQ(arrived->time_ns, 1 * ms);
    EXPECT_EQ(arrived->pid, 11u);
    EXPECT_EQ(arrived->priority, 7u);
    EXPECT_EQ(arrived->custom_id, -3);
    EXPECT_EQ(arrived->core, 2u);
    EXPECT_EQ(arrived->segment_count, 4u);
    EXPECT_EQ(arrived->model, model_id("large"));
    EXPECT_GE(arrived->client, engine_client);
    EXPECT_EQ(arrived->slots, 3u);
    EXPECT_EQ(arrived->limit, 16u);
    EXPECT_EQ(arrived->by_tag, 6u) << "cores that may take it";
    EXPECT_EQ(arrived->width, 5u);
    EXPECT_FALSE(arrived->share);
    using enum watch::Probe;
    const std::array<std::pair<watch::Probe, EventType>, 4> others{
        {{task_dispatch, EventType::task_dispatch},
         {task_cpu_start, EventType::task_cpu_start},
         {task_cpu_done, EventType::task_cpu_done},
         {task_ready, EventType::task_ready}}};
    std::uint64_t segment = 0;
    for (const auto& [probe, type] : others) {
        const bool has_segment = probe != task_dispatch;
        segment += has_segment;
        const auto event = told(tasks, hit(probe, 11, 0x1000, 2 * ms, {segment, 5}));
        ASSERT_TRUE(event);
        EXPECT_EQ(event->type, type);
        EXPECT_EQ(event->tag, arrived->tag);
        EXPECT_EQ(event->client, arrived->client);
        EXPECT_EQ(event->segment, segment);
        EXPECT_EQ(event->by_tag, 0u);
        EXPECT_EQ(event->status, probe == task_cpu_done ? 5 : 0);
        EXPECT_EQ(event->model, model_id("large"));
    }
    const auto end =
        told(tasks, hit(task_end, 11, 0x1000, 3 * ms, {static_cast<std::uint64_t>(-125)}));
    ASSERT_TRUE(end);
    EXPECT_EQ(end->type, EventType::task_end);
    EXPECT_EQ(end->status, -125);
    EXPECT_EQ(tasks.live(), 0u);
    EXPECT_FALSE(told(tasks, hit(task_end, 11, 0x1000, 4 * ms)));
}

TEST(EngineTasks, EnginesAndTasksAreToldApart) {
    watch::EngineTasks tasks;
    for (const std::uint32_t pid : {11u, 12u})
        engine_is_here(tasks, pid);
    engine_is_here(tasks, 11, 0x6000);
    const Event first = *told(tasks, arrives(11, 0x1000));
    const Event same_place = *told(tasks, arrives(12, 0x1000));
    const Event same_engine = *told(tasks, arrives(11, 0x2000));
    const Event other_engine = *told(tasks, arrives(11, 0x3000, 0x6000));
    EXPECT_NE(first.client, same_place.client);
    EXPECT_EQ(first.client, same_engine.client);
    EXPECT_NE(first.client, other_engine.client);
    EXPECT_EQ((std::set{first.tag, same_place.tag, same_engine.tag, other_engine.tag}).size(), 4u);
    EXPECT_EQ(tasks.live(), 4u);
    // The next task at the same address shows that the end of the first was lost.
    const std::vector<Event> events = tasks.events_of(arrives(11, 0x1000));
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[0].type, EventType::task_end);
    EXPECT_EQ(events[0].tag, first.tag);
    EXPECT_EQ(events[0].status, -ECANCELED);
    EXPECT_EQ(events[1].type, EventType::task_arrive);
    EXPECT_NE(events[1].tag, first.tag);
    EXPECT_EQ(tasks.live(), 4u);
}

TEST(EngineTasks, AJobThatWasAnnouncedIsItsTasks) {
    watch::EngineTasks tasks;
    engine_is_here(tasks, 11);
    const Event task = *told(tasks, arrives(11, 0x1000));
    EXPECT_FALSE(told(tasks, hit(watch::Probe::task_job, 11, 0x1000, 2 * ms, {3, 9, 6})));
    Event of_another = queued(2, 12, 9, 7, "large");
    EXPECT_TRUE(tasks.look_at(of_another).empty());
    EXPECT_EQ(of_another.task, 0u);
    Event job = queued(2, 11, 9, 7, "large");
    EXPECT_TRUE(tasks.look_at(job).empty());
    EXPECT_EQ(job.task, task.tag);
    EXPECT_EQ(job.segment, 3u);
    EXPECT_EQ(job.segment_count, 4u);
    EXPECT_EQ(job.by_tag, 6u) << "cores that the task takes";
    Event later = queued(3, 11, 9, 7, "large"); // a job that no probe has announced
    tasks.look_at(later);
    EXPECT_EQ(later.task, 0u);
    Event in_service = queued(3, 11, 10, 7, "large");
    in_service.task = 77;
    tasks.events_of(hit(watch::Probe::task_job, 11, 0x1000, 4 * ms, {3, 10}));
    tasks.look_at(in_service);
    EXPECT_EQ(in_service.task, 77u);
}

/// A server's events come late: its clients have passed many probes meanwhile.
TEST(EngineTasks, ProbesMayBeFarAheadOfTheDevicesEvents) {
    watch::EngineTasks tasks;
    engine_is_here(tasks, 11);
    const Event first = *told(tasks, arrives(11, 0x1000));
    tasks.events_of(hit(watch::Probe::task_job, 11, 0x1000, 2 * ms, {0, 9}));
    tasks.events_of(hit(watch::Probe::task_job, 11, 0x1000, 3 * ms, {2, 10}));
    tasks.events_of(hit(watch::Probe::task_end, 11, 0x1000, 4 * ms));
    const Event second = *told(tasks, arrives(11, 0x1000));
    tasks.events_of(hit(watch::Probe::task_job, 11, 0x1000, 5 * ms, {1, 11}));
    const std::array<std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>, 3> jobs{
        {{9, first.tag, 0}, {10, first.tag, 2}, {11, second.tag, 1}}};
    for (const auto& [tag, task, segment] : jobs) {
        Event job = queued(5, 11, tag, 7, "large");
        tasks.look_at(job);
        EXPECT_EQ(job.task, task);
        EXPECT_EQ(job.segment, segment);
    }
    // When the process's context ends, only the task that has not ended yet is ended.
    Event gone = event(EventType::ctx_destroy, 6, 11, 0);
    const std::vector<Event> ends = tasks.look_at(gone);
    ASSERT_EQ(ends.size(), 1u);
    EXPECT_EQ(ends[0].tag, second.tag);
}

TEST(EngineTasks, SoManyJobsAreKeptThatWereAnnounced) {
    watch::EngineTasks tasks;
    engine_is_here(tasks, 11);
    tasks.events_of(arrives(11, 0x1000));
    for (std::uint64_t tag = 1; tag <= watch::EngineTasks::most_jobs + 1; tag++)
        tasks.events_of(hit(watch::Probe::task_job, 11, 0x1000, 2 * ms, {0, tag}));
    for (const auto& [tag, is_known] : {std::pair(1u, false), std::pair(3u, true)}) {
        Event job = queued(3, 11, tag, 7, "large");
        tasks.look_at(job);
        EXPECT_EQ(job.task != 0, is_known) << tag;
    }
}

TEST(EngineTasks, AnEngineIsToldOfFromItsFirstJobOnThisDevice) {
    watch::EngineTasks tasks;
    EXPECT_FALSE(told(tasks, arrives(11, 0x1000)));
    EXPECT_FALSE(told(tasks, arrives(11, 0x2000, 0x6000))); // of an engine on another device
    EXPECT_FALSE(told(tasks, hit(watch::Probe::task_dispatch, 11, 0x1000, 2 * ms)));
    EXPECT_FALSE(told(tasks, hit(watch::Probe::task_job, 11, 0x1000, 2 * ms, {0, 9})));
    EXPECT_FALSE(told(tasks, hit(watch::Probe::task_end, 11, 0x1000, 3 * ms)));
    Event job = queued(2, 11, 9, 7, "large");
    const std::vector<Event> before = tasks.look_at(job);
    ASSERT_EQ(before.size(), 3u);
    EXPECT_EQ(before[0].type, EventType::task_arrive);
    EXPECT_EQ(before[1].type, EventType::task_dispatch);
    EXPECT_EQ(before[2].type, EventType::task_end);
    for (const Event& of : before)
        EXPECT_EQ(of.tag, job.task);
    EXPECT_TRUE(told(tasks, arrives(11, 0x1000)));
    EXPECT_FALSE(told(tasks, hit(watch::Probe::task_end, 11, 0x2000, 4 * ms)));
    EXPECT_EQ(tasks.forget(11, 5 * ms).size(), 1u);
}

TEST(EngineTasks, OnlySoMuchIsHeldBack) {
    watch::EngineTasks tasks;
    for (std::uint64_t i = 0; i < 2 * watch::EngineTasks::most_held; i++)
        tasks.events_of(arrives(11, i));
    tasks.events_of(hit(watch::Probe::task_job, 11, 1, 2 * ms, {0, 9}));
    Event job = queued(2, 11, 9, 7, "large");
    const std::vector<Event> before = tasks.look_at(job);
    ASSERT_EQ(before.size(), watch::EngineTasks::most_held);
    EXPECT_EQ(before.front().tag, watch::EngineTasks::most_held + 1); // older ones were dropped
    EXPECT_TRUE(told(tasks, arrives(11, 1u << 20)));
}

TEST(EngineTasks, TimeOfATaskDoesNotRunBackwards) {
    watch::EngineTasks tasks;
    engine_is_here(tasks, 11);
    watch::ProbeHit late = arrives(11, 0x1000);
    late.arguments[1] = 5 * ms;
    tasks.events_of(late);
    EXPECT_EQ(told(tasks, hit(watch::Probe::task_dispatch, 11, 0x1000, 4 * ms))->time_ns, 5 * ms);
    EXPECT_EQ(told(tasks, hit(watch::Probe::task_ready, 11, 0x1000, 6 * ms))->time_ns, 6 * ms);
    const std::vector<Event> events = tasks.events_of(arrives(11, 0x1000));
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[0].time_ns, 6 * ms); // the end of the first task
    EXPECT_EQ(events[1].time_ns, 1 * ms); // the arrival of another task
}

TEST(EngineTasks, WhatMakesNoSenseIsRefused) {
    watch::EngineTasks tasks;
    engine_is_here(tasks, 11);
    watch::ProbeHit lie = arrives(11, 0x1000);
    lie.arguments[2] = 256; // priority
    EXPECT_FALSE(told(tasks, lie));
    lie = arrives(11, 0x1000);
    lie.arguments[4] = OVERTAKE_MAX_CORES + 1;
    EXPECT_FALSE(told(tasks, lie));
    EXPECT_EQ(tasks.refused(), 2u);
    lie.arguments[4]--;
    lie.arguments[2] = 255;
    lie.arguments[8] = 1u << 16;
    EXPECT_EQ(told(tasks, lie)->slots, 0xffffu);
    EXPECT_EQ(tasks.refused(), 2u);
}

TEST(EngineTasks, SoManyModelsHaveAName) {
    watch::EngineTasks tasks;
    engine_is_here(tasks, 11); // this engine has one model
    for (std::uint64_t i = 1; i <= watch::EngineTasks::most_models; i++) {
        watch::ProbeHit named = arrives(11, 0x1000);
        named.arguments[7] = i;
        EXPECT_EQ(told(tasks, named)->model, i < watch::EngineTasks::most_models ? i : 0);
    }
    watch::ProbeHit known = arrives(11, 0x1000);
    known.arguments[7] = 1;
    EXPECT_EQ(told(tasks, known)->model, 1u);
}

TEST(EngineTasks, TasksGoWithTheContextOfTheirEngine) {
    watch::EngineTasks tasks;
    engine_is_here(tasks, 11);
    const Event task = *told(tasks, arrives(11, 0x1000));
    tasks.events_of(arrives(11, 0x2000));
    tasks.events_of(hit(watch::Probe::task_job, 11, 0x1000, 2 * ms, {0, 9}));
    Event job = queued(2, 11, 9, 7, "large");
    tasks.look_at(job);
    Event other = event(EventType::ctx_destroy, 3, 11, 0);
    other.context = 2;
    EXPECT_TRUE(tasks.look_at(other).empty());
    Event gone = event(EventType::ctx_destroy, 4, 11, 0);
    const auto ends = tasks.look_at(gone);
    ASSERT_EQ(ends.size(), 1u);
    EXPECT_EQ(ends[0].type, EventType::task_end);
    EXPECT_EQ(ends[0].tag, task.tag);
    EXPECT_EQ(ends[0].client, task.client);
    EXPECT_EQ(ends[0].time_ns, 4 * ms);
    EXPECT_EQ(ends[0].status, -ECANCELED);
    EXPECT_EQ(tasks.live(), 1u);
}

TEST(EngineTasks, TasksGoWithTheirProcess) {
    watch::EngineTasks tasks;
    engine_is_here(tasks, 11);
    tasks.events_of(arrives(11, 0x1000));
    tasks.events_of(hit(watch::Probe::task_job, 11, 0x1000, 2 * ms, {0, 9}));
    tasks.events_of(arrives(12, 0x1000));
    EXPECT_EQ(tasks.processes(), (std::vector<std::uint32_t>{11, 12}));
    const auto ends = tasks.forget(11, 7 * ms);
    ASSERT_EQ(ends.size(), 1u);
    EXPECT_EQ(ends[0].type, EventType::task_end);
    EXPECT_EQ(ends[0].time_ns, 7 * ms);
    EXPECT_EQ(ends[0].status, -ECANCELED);
    EXPECT_EQ(tasks.processes(), (std::vector<std::uint32_t>{12}));
    EXPECT_TRUE(tasks.forget(11, 8 * ms).empty());
    Event job = queued(9, 11, 9, 7, "large"); // a job of the next process with this number
    EXPECT_TRUE(tasks.look_at(job).empty());
    EXPECT_EQ(job.task, 0u);
}

TEST(EngineTasks, AProcessHasSoManyTasksAndEnginesAndNoMore) {
    watch::EngineTasks tasks;
    for (std::uint64_t i = 0; i < watch::EngineTasks::most_engines; i++)
        tasks.events_of(arrives(11, i, i));
    EXPECT_EQ(tasks.refused(), 0u);
    tasks.events_of(arrives(11, 1u << 20, 1u << 20));
    EXPECT_EQ(tasks.refused(), 1u);
    for (std::uint64_t i = watch::EngineTasks::most_engines; i < watch::EngineTasks::most_tasks;
         i++)
        tasks.events_of(arrives(11, i, 0));
    EXPECT_EQ(tasks.refused(), 1u);
    tasks.events_of(arrives(11, 1u << 20, 0));
    EXPECT_EQ(tasks.refused(), 2u);
    EXPECT_EQ(tasks.live(), watch::EngineTasks::most_tasks);
    tasks.events_of(arrives(12, 1, 1));
    EXPECT_EQ(tasks.refused(), 2u);
    // An engine that has no tasks makes room for another.
    tasks.events_of(hit(watch::Probe::task_end, 11, 5, ms));
    tasks.events_of(arrives(11, 1u << 20, 1u << 20));
    EXPECT_EQ(tasks.refused(), 2u);
}

/// A task in service mode, whose client has the name of its process, and one job of the task.
struct ServiceTask {
    std::uint32_t pid;
    std::uint16_t asked_core = 0;
    std::uint16_t core = 1;
    std::uint16_t slots = 1;
    std::uint32_t limit = 8;

    Event at(EventType type, std::uint64_t time_ms) const {
        Event of = event(type, time_ms, pid, pid);
        of.slots = slots;
        of.limit = limit;
        of.share = true;
        of.core = type == EventType::task_arrive ? asked_core : core;
        of.segment_count = 1;
        of.fc_count = 1;
        of.task = type == EventType::job_queue ? pid : 0;
        return of;
    }
    void run(command::LateJobs& late, std::uint64_t from_ms, std::uint64_t until_ms) const {
        for (const EventType type : {EventType::task_dispatch, EventType::job_queue,
                                     EventType::fc_submit, EventType::fc_start})
            late.add(at(type, from_ms));
        for (const EventType type : {EventType::fc_done, EventType::job_done, EventType::task_end})
            late.add(at(type, until_ms));
    }
};

using Parts = std::vector<std::pair<std::string, std::string>>; ///< each cause, and who caused it

/// Returns the command's name for the n-th unused pid.
std::string name(std::uint32_t n) {
    return fmt::format("pid {}", unused_pid + n);
}

Parts parts_of(command::LateJobs& late, std::uint32_t n) {
    late.finish();
    Parts parts;
    for (const auto& of : late.to_json())
        if (of.at("name") == name(n))
            for (const auto& part : of.at("parts"))
                parts.emplace_back(part.at("cause"), part.value("by", ""));
    return parts;
}

/// Three clients have a task each.  The tasks run one after the other.  Returns the causes of the
/// third task's wait.
Parts why_the_third_waits(std::uint16_t slots, std::uint32_t limit) {
    command::LateJobs late(10);
    const std::array<ServiceTask, 3> tasks{{{unused_pid + 1, 0, 1, slots, limit},
                                            {unused_pid + 2, 0, 1, slots, limit},
                                            {unused_pid + 3, 0, 1, slots, limit}}};
    for (const ServiceTask& task : tasks)
        late.add(task.at(EventType::task_arrive, 0));
    for (std::size_t i = 0; i < tasks.size(); i++)
        tasks[i].run(late, 10 * i, 10 * i + 10);
    return parts_of(late, 3);
}

TEST(LateJobs, ProcessesInServiceModeWaitForEachOther) {
    const std::pair<std::string, std::string> barred{"barred", name(2)}, running{"running", ""};
    EXPECT_EQ(why_the_third_waits(1, 8), (Parts{barred, {"slot", name(2)}, running}));
    EXPECT_EQ(why_the_third_waits(4, 8), (Parts{barred, {"host", ""}, running}));
    EXPECT_EQ(why_the_third_waits(1, 1),
              (Parts{{"task_limit", name(1)}, {"task_limit", name(2)}, running}));
}

TEST(LateJobs, TheDeviceHasTheCoresThatWereSeen) {
    command::LateJobs late(10);
    const ServiceTask first{unused_pid + 1, 1, 1}, second{unused_pid + 2, 2, 2},
        barring{unused_pid + 3, 1, 1}, any{unused_pid + 4, 0, 2};
    for (const ServiceTask& task : {first, second, barring, any})
        late.add(task.at(EventType::task_arrive, 0));
    first.run(late, 0, 20);
    second.run(late, 0, 10);
    any.run(late, 10, 20); // on the second core, since another task waits for the first
    EXPECT_EQ(parts_of(late, 4), (Parts{{"slot", name(2)}, {"running", ""}}));
}

/// A process that maps the library can jump to its probes while root is watching.
TEST(EngineTasks, ProbesThatLieSpoilTheirOwnTasksAlone) {
    for (unsigned seed = 1; seed <= 100; seed++) {
        std::mt19937_64 random(seed);
        const auto below = [&](std::uint64_t end) { return random() % end; };
        watch::EngineTasks tasks;
        command::LateJobs late(1000);
        std::uint64_t now = 1 * ms, honest = 0;
        const auto tell = [&](const watch::ProbeHit& passed) {
            for (const Event& told : tasks.events_of(passed))
                late.add(told);
        };
        const auto see = [&](Event seen) {
            for (const Event& end : tasks.look_at(seen))
                late.add(end);
            late.add(seen);
        };
        for (int i = 0; i < 300; i++) {
            now += below(1000);
            watch::ProbeHit lie{static_cast<watch::Probe>(below(watch::probe_count)), 66, {}};
            for (std::uint64_t& argument : lie.arguments)
                argument = below(2) ? below(3) : random();
            lie.arguments[0] = below(3);
            lie.arguments[1] = below(4) ? now : below(now);
            tell(lie);
            Event job = event(static_cast<EventType>(below(event_type_count)), 0, 66, below(3));
            job.time_ns = now;
            job.fc_count = 1;
            job.core = 2;
            if (job.type < EventType::task_arrive)
                see(job);
            if (below(8) != 0)
                continue;
            // This process acts as an engine, on another core.
            honest++;
            tell(hit(watch::Probe::task_arrive, unused_pid, 7, now, {0, 0, 0, 1, 0, 0}));
            tell(hit(watch::Probe::task_dispatch, unused_pid, 7, now));
            tell(hit(watch::Probe::task_job, unused_pid, 7, now, {0, honest}));
            for (const EventType type :
                 {EventType::job_queue, EventType::fc_submit, EventType::fc_start,
                  EventType::fc_done, EventType::job_done}) {
                Event own = event(type, 0, unused_pid, honest);
                now += type == EventType::fc_done ? 500 : 0;
                own.time_ns = now;
                own.fc_count = 1;
                see(own);
            }
            tell(hit(watch::Probe::task_end, unused_pid, 7, now));
        }
        late.finish();
        std::uint64_t told = 0;
        for (const auto& of : late.to_json())
            if (of.at("name") == name(0) && of.at("is_task")) {
                told++;
                EXPECT_EQ(of.at("latency_ns"), 500) << of;
                EXPECT_EQ(of.at("parts").size(), 1u) << of;
                EXPECT_EQ(of.at("parts")[0].at("cause"), "running") << of;
            }
        EXPECT_EQ(told, honest) << "seed " << seed;
    }
}

} // namespace
} // namespace overtake::test
