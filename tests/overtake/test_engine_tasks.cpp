// SPDX-License-Identifier: MIT
//
// What is made of the probes of processes' engines.
#include <algorithm>
#include <array>
#include <cerrno>
#include <initializer_list>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "events.hpp"
#include "late_jobs.hpp"
#include "watch/engine_tasks.hpp"

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
               {7, static_cast<std::uint64_t>(-3), 2, 4, queue, model_id("large")});
}

TEST(EngineTasks, AProbeIsAnEventOfItsTask) {
    watch::EngineTasks tasks;
    const auto arrived = tasks.event_of(arrives(11, 0x1000));
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
        const auto event = tasks.event_of(hit(probe, 11, 0x1000, 2 * ms, {segment, 5}));
        ASSERT_TRUE(event);
        EXPECT_EQ(event->type, type);
        EXPECT_EQ(event->tag, arrived->tag);
        EXPECT_EQ(event->client, arrived->client);
        EXPECT_EQ(event->segment, segment);
        EXPECT_EQ(event->status, probe == task_cpu_done ? 5 : 0);
        EXPECT_EQ(event->model, model_id("large"));
    }
    const auto end =
        tasks.event_of(hit(task_end, 11, 0x1000, 3 * ms, {static_cast<std::uint64_t>(-125)}));
    ASSERT_TRUE(end);
    EXPECT_EQ(end->type, EventType::task_end);
    EXPECT_EQ(end->status, -125);
    EXPECT_EQ(tasks.live(), 0u);
    EXPECT_FALSE(tasks.event_of(hit(task_end, 11, 0x1000, 4 * ms)));
}

TEST(EngineTasks, EnginesAndTasksAreToldApart) {
    watch::EngineTasks tasks;
    const Event first = *tasks.event_of(arrives(11, 0x1000));
    const Event same_place = *tasks.event_of(arrives(12, 0x1000));
    const Event same_engine = *tasks.event_of(arrives(11, 0x2000));
    const Event other_engine = *tasks.event_of(arrives(11, 0x3000, 0x6000));
    EXPECT_NE(first.client, same_place.client);
    EXPECT_EQ(first.client, same_engine.client);
    EXPECT_NE(first.client, other_engine.client);
    EXPECT_EQ((std::set{first.tag, same_place.tag, same_engine.tag, other_engine.tag}).size(), 4u);
    EXPECT_EQ(tasks.live(), 4u);
    // Its end was lost.
    EXPECT_NE(tasks.event_of(arrives(11, 0x1000))->tag, first.tag);
    EXPECT_EQ(tasks.live(), 4u);
}

TEST(EngineTasks, AJobThatWasAnnouncedIsItsTasks) {
    watch::EngineTasks tasks;
    const Event task = *tasks.event_of(arrives(11, 0x1000));
    EXPECT_FALSE(tasks.event_of(hit(watch::Probe::task_job, 11, 0x1000, 2 * ms, {3, 9})));
    Event of_another = queued(2, 12, 9, 7, "large");
    EXPECT_TRUE(tasks.look_at(of_another).empty());
    EXPECT_EQ(of_another.task, 0u);
    Event job = queued(2, 11, 9, 7, "large");
    EXPECT_TRUE(tasks.look_at(job).empty());
    EXPECT_EQ(job.task, task.tag);
    EXPECT_EQ(job.segment, 3u);
    EXPECT_EQ(job.segment_count, 4u);
    Event later = queued(3, 11, 9, 7, "large"); // a queue below the engine's
    tasks.look_at(later);
    EXPECT_EQ(later.task, 0u);
    // What is announced and refused is no later job's.
    tasks.event_of(hit(watch::Probe::task_job, 11, 0x1000, 4 * ms, {3, 10}));
    tasks.event_of(hit(watch::Probe::task_end, 11, 0x1000, 4 * ms));
    Event refused = queued(5, 11, 10, 7, "large");
    tasks.look_at(refused);
    EXPECT_EQ(refused.task, 0u);
}

TEST(EngineTasks, TasksGoWithTheContextOfTheirEngine) {
    watch::EngineTasks tasks;
    const Event task = *tasks.event_of(arrives(11, 0x1000));
    tasks.event_of(arrives(11, 0x2000));
    tasks.event_of(hit(watch::Probe::task_job, 11, 0x1000, 2 * ms, {0, 9}));
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
    tasks.event_of(arrives(11, 0x1000));
    tasks.event_of(hit(watch::Probe::task_job, 11, 0x1000, 2 * ms, {0, 9}));
    tasks.event_of(arrives(12, 0x1000));
    EXPECT_EQ(tasks.processes(), (std::vector<std::uint32_t>{11, 12}));
    const auto ends = tasks.forget(11, 7 * ms);
    ASSERT_EQ(ends.size(), 1u);
    EXPECT_EQ(ends[0].type, EventType::task_end);
    EXPECT_EQ(ends[0].time_ns, 7 * ms);
    EXPECT_EQ(ends[0].status, -ECANCELED);
    EXPECT_EQ(tasks.processes(), (std::vector<std::uint32_t>{12}));
    EXPECT_TRUE(tasks.forget(11, 8 * ms).empty());
    Event job = queued(9, 11, 9, 7, "large"); // of the next process of this number
    EXPECT_TRUE(tasks.look_at(job).empty());
    EXPECT_EQ(job.task, 0u);
}

TEST(EngineTasks, AProcessHasSoManyTasksAndEnginesAndNoMore) {
    watch::EngineTasks tasks;
    for (std::uint64_t i = 0; i < watch::EngineTasks::most_engines; i++)
        ASSERT_TRUE(tasks.event_of(arrives(11, i, i)));
    EXPECT_FALSE(tasks.event_of(arrives(11, 1u << 20, 1u << 20)));
    for (std::uint64_t i = watch::EngineTasks::most_engines; i < watch::EngineTasks::most_tasks;
         i++)
        ASSERT_TRUE(tasks.event_of(arrives(11, i, 0)));
    EXPECT_FALSE(tasks.event_of(arrives(11, 1u << 20, 0)));
    EXPECT_EQ(tasks.live(), watch::EngineTasks::most_tasks);
    EXPECT_TRUE(tasks.event_of(arrives(12, 1, 1)));
    EXPECT_TRUE(tasks.event_of(hit(watch::Probe::task_end, 11, 5, ms)));
    EXPECT_TRUE(tasks.event_of(arrives(11, 1u << 20, 0)));
}

/// Whoever can map the library can jump to its probes, and root may be looking.
TEST(EngineTasks, ProbesThatLieSpoilTheirOwnTasksAlone) {
    for (unsigned seed = 1; seed <= 100; seed++) {
        std::mt19937_64 random(seed);
        const auto below = [&](std::uint64_t end) { return random() % end; };
        watch::EngineTasks tasks;
        command::LateJobs late(1000);
        std::uint64_t now = 1 * ms, honest = 0;
        const auto tell = [&](const watch::ProbeHit& passed) {
            if (const auto told = tasks.event_of(passed))
                late.add(*told);
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
            // Somebody who does as an engine does, on another core.
            honest++;
            tell(hit(watch::Probe::task_arrive, 11, 7, now, {0, 0, 0, 1, 0, 0}));
            tell(hit(watch::Probe::task_dispatch, 11, 7, now));
            tell(hit(watch::Probe::task_job, 11, 7, now, {0, honest}));
            for (const EventType type :
                 {EventType::job_queue, EventType::fc_submit, EventType::fc_start,
                  EventType::fc_done, EventType::job_done}) {
                Event own = event(type, 0, 11, honest);
                now += type == EventType::fc_done ? 500 : 0;
                own.time_ns = now;
                own.fc_count = 1;
                see(own);
            }
            tell(hit(watch::Probe::task_end, 11, 7, now));
        }
        late.finish();
        std::uint64_t told = 0;
        for (const auto& of : late.to_json())
            if (of.at("name") == "pid 11" && of.at("is_task")) {
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
