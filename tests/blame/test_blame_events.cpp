// SPDX-License-Identifier: MIT
//
// Tests tools/observe/blame on events written by hand, in the form in which live tools get them.
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "observe/blame/sentence.hpp"
#include "observe/blame/worst.hpp"
#include "overtake/device.hpp"
#include "told.hpp"

namespace overtake::blame {
namespace {

TEST(Blame, AJobWaitsBehindTheFcsThatItsCoreRuns) {
    Told told;
    told.queue(0, 1, 7, 1, 5);
    told.add(EventType::fc_start, 0, 1, 7);
    told.queue(10 * ms, 2, 7, 1, 6);
    told.add(EventType::fc_done, 40 * ms, 1, 7);
    told.done(40 * ms, 1, 7);
    told.run(40 * ms, 42 * ms, 2, 7);
    told.done(42 * ms, 2, 7);
    ASSERT_EQ(told.reports.size(), 2u);
    const std::vector<Part> expected = {
        {Cause::behind_normal, {.client = 1, .model = 5, .pid = 101}, 30 * ms},
        {Cause::running, {}, 2 * ms}};
    EXPECT_EQ(told.reports[1].parts, expected);
    EXPECT_EQ(sentence("detector", told.reports[1], default_name),
              "detector 32.0 ms: 30.0 behind model 5 (pid 101), 2.0 own");
    EXPECT_EQ(sentence("detector", told.reports[1], default_name, 4 * ms),
              "detector 32.0 ms, 28.0 late: 30.0 behind model 5 (pid 101), 2.0 own");
}

TEST(Blame, HighOvertakesBetweenTwoFcs) {
    Told told;
    told.queue(0, 1, 1, 2);
    told.run(0, 10, 1, 1, 0);
    told.queue(10, 2, 1, 1);
    told.run(10, 15, 2, 1, 0, true);
    told.done(15, 2, 1);
    told.run(15, 25, 1, 1, 1);
    told.done(25, 1, 1);
    EXPECT_EQ(told.causes(1), (Causes{{Cause::behind_high, 5}, {Cause::running, 20}}));
    EXPECT_EQ(told.reports[1].parts[0].by.client, 2u);
    told.reports[1].end_ns *= 1000; // long enough to be printed
    for (Part& part : told.reports[1].parts)
        part.ns *= 1000;
    EXPECT_EQ(sentence("large", told.reports[1], default_name),
              "large 25.0 us: 5.0 overtaken by pid 102, 20.0 own");
    told.reports[1].priority = 255; // a HIGH job overtakes no HIGH job
    EXPECT_EQ(sentence("large", told.reports[1], default_name),
              "large 25.0 us: 5.0 behind pid 102, 20.0 own");
}

TEST(Blame, TimeWithoutAnotherCauseIsBlamedOnTheHost) {
    Told told;
    const auto one = [](Event& event) { event.fc_count = 1; };
    told.add(EventType::job_queue, 100, 1, 1, one);
    told.add(EventType::fc_submit, 130, 1, 1, one); // the job waited for a fence
    told.run(150, 250, 1, 1);                       // the core is idle until 150
    told.done(260, 1, 1);                           // the end is reported late
    EXPECT_EQ(told.causes(0), (Causes{{Cause::host, 60}, {Cause::running, 100}}));
}

TEST(Blame, AfterItsLastFcNoOtherJobIsToBlame) {
    Told told;
    told.queue(0, 1, 1, 1);
    told.run(0, 10, 1, 1);
    told.queue(10, 2, 2, 1);
    told.run(10, 30, 2, 2);
    told.done(30, 1, 1);
    EXPECT_EQ(told.causes(0), (Causes{{Cause::host, 20}, {Cause::running, 10}}));
}

TEST(Blame, AJobThatIsStoppedFreesItsCore) {
    Told told;
    told.queue(0, 1, 1, 1);
    told.add(EventType::fc_start, 0, 1, 1);
    told.queue(5, 2, 2, 1);
    told.done(10, 1, 1);
    told.run(30, 40, 2, 2);
    told.done(40, 2, 2);
    EXPECT_EQ(told.causes(1),
              (Causes{{Cause::behind_normal, 5}, {Cause::host, 20}, {Cause::running, 10}}));
}

TEST(Blame, WithoutTaskEventsReportsAreOfJobs) {
    Told told;
    told.queue(0, 1, 1, 1, 0, 99);
    told.run(0, 10, 1, 1);
    told.done(10, 1, 1);
    EXPECT_FALSE(told.blame.tasks_recorded());
    ASSERT_EQ(told.reports.size(), 1u);
    EXPECT_FALSE(told.reports[0].is_task);
    EXPECT_EQ(told.reports[0].task, 99u);
}

TEST(Blame, ATaskIsItsQueueItsCpuSegmentsAndItsJobs) {
    Told told;
    const auto task = [](std::uint32_t segment) {
        return [segment](Event& event) { event.segment = segment; };
    };
    told.add(EventType::task_arrive, 0, 1, 1);
    told.add(EventType::task_dispatch, 0, 1, 1);
    told.add(EventType::task_cpu_start, 10, 1, 1, task(0));
    told.add(EventType::task_cpu_done, 30, 1, 1, task(0));
    told.queue(33, 1, 50, 1, 0, 1, 1);
    told.run(33, 43, 1, 50);
    told.done(43, 1, 50);
    told.add(EventType::task_cpu_start, 44, 1, 1, task(2));
    told.add(EventType::task_cpu_done, 64, 1, 1, task(2));
    told.queue(64, 1, 51, 1, 0, 1, 3);
    told.run(64, 70, 1, 51);
    told.done(70, 1, 51);
    told.add(EventType::task_end, 72, 1, 1);
    ASSERT_EQ(told.reports.size(), 1u);
    EXPECT_TRUE(told.reports[0].is_task);
    EXPECT_EQ(told.causes(0), (Causes{{Cause::worker, 11},
                                      {Cause::cpu, 20},
                                      {Cause::host, 5},
                                      {Cause::gap, 20},
                                      {Cause::running, 16}}));
    EXPECT_EQ(told.blame.live(), 0u);
}

TEST(Blame, WithoutAPlanTheSlotIsGivenUpWhereEarlierTasksOfTheModelGaveIt) {
    Told told;
    const auto run_task = [&](std::uint64_t tag, std::uint64_t at) {
        told.add(EventType::task_arrive, at, 1, tag, [](Event& event) { event.model = 3; });
        told.add(EventType::task_dispatch, at, 1, tag);
        told.queue(at, 1, tag, 1, 0, tag);
        told.run(at, at + 10, 1, tag);
        told.done(at + 10, 1, tag);
    };
    run_task(1, 0);
    told.add(EventType::task_arrive, 5 + 5, 1, 2, [](Event& event) { event.model = 3; });
    told.add(EventType::task_cpu_start, 10, 1, 1);
    told.add(EventType::task_cpu_done, 30, 1, 1);
    told.add(EventType::task_end, 30, 1, 1);
    told.add(EventType::task_dispatch, 30, 1, 2);
    told.queue(30, 1, 2, 1, 0, 2);
    told.run(30, 40, 1, 2);
    told.done(40, 1, 2);
    told.add(EventType::task_arrive, 40, 1, 3, [](Event& event) { event.model = 3; });
    told.add(EventType::task_dispatch, 45, 1, 3);
    told.queue(45, 1, 3, 1, 0, 3);
    told.run(45, 55, 1, 3);
    told.done(55, 1, 3);
    told.add(EventType::task_end, 55, 1, 3);
    ASSERT_EQ(told.reports.size(), 2u);
    EXPECT_EQ(told.causes(1), (Causes{{Cause::host, 5}, {Cause::running, 10}}));
}

TEST(Blame, ReportsNameLostEvents) {
    Told told;
    told.queue(0, 1, 1, 1);
    told.blame.lost();
    told.run(0, 10, 1, 1);
    told.done(10, 1, 1);
    told.queue(10, 1, 2, 1);
    told.run(10, 20, 1, 2);
    told.done(20, 1, 2);
    EXPECT_TRUE(told.reports[0].incomplete);
    EXPECT_FALSE(told.reports[1].incomplete);
    EXPECT_NE(sentence("a", told.reports[0], default_name).find("; events are missing"),
              std::string::npos);
}

TEST(Blame, ATaskWhoseJobLostItsEndIsNotReported) {
    Told told;
    told.add(EventType::task_arrive, 0, 1, 1);
    told.add(EventType::task_dispatch, 0, 1, 1);
    told.queue(0, 1, 7, 1, 0, 1);
    told.run(0, 10, 1, 7);
    told.blame.lost(); // job_done is among them
    told.add(EventType::task_end, 30, 1, 1);
    EXPECT_EQ(told.reports.size(), 0u);
    told.queue(40, 1, 8, 1);
    told.run(40, 50, 1, 8);
    told.done(50, 1, 8);
    EXPECT_EQ(told.reports.size(), 1u);
}

TEST(Blame, LostEventsOfEnginesAreReportedOnlyForTheirTasks) {
    Told told;
    told.add(EventType::task_arrive, 0, engine_client, 1);
    told.add(EventType::task_arrive, 0, 1, 2); // in service mode
    told.queue(0, 1, 1, 1);
    told.blame.lost(true);
    told.run(0, 10, 1, 1);
    told.done(10, 1, 1);
    told.add(EventType::task_end, 10, engine_client, 1);
    told.add(EventType::task_end, 10, 1, 2);
    ASSERT_EQ(told.reports.size(), 3u);
    EXPECT_FALSE(told.reports[0].incomplete);
    EXPECT_TRUE(told.reports[1].incomplete);
    EXPECT_FALSE(told.reports[2].incomplete);
}

TEST(Blame, AnFcThatBeganBeforeTheFirstEventStillBlocks) {
    Told told;
    told.add(EventType::fc_start, 0, 9, 9);
    told.queue(5, 1, 1, 1);
    told.add(EventType::fc_done, 20, 9, 9);
    told.done(20, 9, 9);
    told.run(20, 30, 1, 1);
    told.done(30, 1, 1);
    ASSERT_EQ(told.reports.size(), 1u);
    EXPECT_EQ(told.reports[0].parts[0].by.client, 9u);
    EXPECT_EQ(told.causes(0), (Causes{{Cause::behind_normal, 15}, {Cause::running, 10}}));
}

TEST(Blame, TimeDoesNotRunBackwards) {
    Told told;
    told.queue(10, 1, 1, 1);
    EXPECT_THROW(told.queue(9, 1, 2, 1), Error);
}

TEST(Blame, PrintedTimesAddUp) {
    Told told;
    told.queue(0, 1, 1, 1);
    told.add(EventType::fc_start, 0, 1, 1);
    told.queue(0, 2, 2, 1);
    told.queue(0, 3, 3, 1);
    told.add(EventType::fc_done, 1'040'000, 1, 1);
    told.done(1'040'000, 1, 1);
    told.run(1'040'000, 2'080'000, 2, 2);
    told.done(2'080'000, 2, 2);
    told.run(2'080'000, 3'120'000, 3, 3);
    told.done(3'120'000, 3, 3);
    EXPECT_EQ(sentence("c", told.reports[2], default_name),
              "c 3.1 ms: 1.1 behind pid 101, 1.0 behind pid 102, 1.0 own");
}

TEST(Worst, KeepsTheSlowestOfEachGroup) {
    Worst worst(2);
    Worst late(2, true);
    for (std::uint64_t i = 1; i <= 50; i++) {
        Report report;
        report.tag = i;
        report.end_ns = i * 7919 % 101;
        worst.add(i % 2, {report, {}, ""});
        late.add(0, {report, 99, ""});
    }
    std::vector<std::uint64_t> latencies;
    for (const Worst::Item& item : worst.list())
        latencies.push_back(item.report.latency_ns());
    EXPECT_EQ(latencies.size(), 4u);
    EXPECT_GE(latencies[0], latencies[1]);
    EXPECT_GE(latencies[2], latencies[3]);
    for (const Worst::Item& item : late.list())
        EXPECT_GT(item.report.latency_ns(), 99u);
}

/// Returns the steps of blame for a core that serves `owners` clients with a backlog of `depth`
/// jobs.
std::uint64_t steps_of(std::uint64_t jobs, std::uint64_t depth, std::uint64_t owners) {
    Told told;
    for (std::uint64_t i = 0; i < jobs + depth; i++) {
        const std::uint64_t now = i * 10;
        if (i >= depth) {
            const std::uint64_t old = i - depth;
            told.run(now, now + 10, 1 + old % owners, old);
            told.done(now + 10, 1 + old % owners, old);
        }
        if (i < jobs)
            told.queue(now + 10, 1 + i % owners, i, 1);
    }
    EXPECT_EQ(told.reports.size(), jobs);
    EXPECT_EQ(told.blame.live(), 0u);
    return told.blame.steps();
}

TEST(Blame, StepsGrowWithTheLoadAndNotWithItsSquare) {
    const std::uint64_t base = steps_of(1000, 10, 4);
    EXPECT_LE(steps_of(10'000, 10, 4), 10 * base + base / 2);
    EXPECT_LE(steps_of(1'000'000, 10, 4), 1000 * base + 50 * base);
    // A backlog that is a hundred times as deep takes no more steps for each job.
    const std::uint64_t shallow = steps_of(100'000, 10, 4);
    EXPECT_LE(steps_of(100'000, 1000, 4), shallow + shallow / 10);
}

/// Returns the steps of blame for tasks of one queue, of which `depth` wait at any time.
std::uint64_t task_steps(std::uint64_t tasks, std::uint64_t depth) {
    Told told;
    std::uint64_t queue_total = 0;
    for (std::uint64_t i = 0; i < tasks + depth; i++) {
        const std::uint64_t now = i * 10;
        if (i < tasks)
            told.add(EventType::task_arrive, now, 1, i + 1);
        if (i < depth)
            continue;
        const std::uint64_t old = i - depth + 1;
        told.add(EventType::task_dispatch, now, 1, old);
        told.queue(now, 1, old, 1, 0, old);
        told.run(now, now + 10, 1, old);
        told.done(now + 10, 1, old);
        told.add(EventType::task_end, now + 10, 1, old);
    }
    for (const Report& report : told.reports)
        queue_total += report.latency_ns();
    EXPECT_EQ(queue_total, tasks * (depth * 10 + 10));
    return told.blame.steps();
}

TEST(Blame, TheQueueOfTasksMayBeLong) {
    const std::uint64_t base = task_steps(1000, 10);
    EXPECT_LE(task_steps(100'000, 10), 100 * base + base);
    EXPECT_LE(task_steps(100'000, 5000), 100 * base + 100 * base / 5);
}

TEST(Meter, DifferencesAreWhatWasAddedSince) {
    std::mt19937 random(1);
    Meter meter;
    std::map<std::uint32_t, std::uint64_t> sums;
    std::vector<std::pair<Meter::Snapshot, std::map<std::uint32_t, std::uint64_t>>> snapshots;
    for (int i = 0; i < 3000; i++) {
        const std::uint32_t key = random() % 3 == 0 ? random() % 5 : random() >> random() % 32;
        meter.add(key, i + 1);
        sums[key] += i + 1;
        if (i % 100 == 0)
            snapshots.emplace_back(meter.now(), sums);
    }
    for (const auto& [snapshot, before] : snapshots) {
        std::map<std::uint32_t, std::uint64_t> grown;
        meter.since(snapshot, [&](std::uint32_t key, std::uint64_t ns) { grown[key] = ns; });
        std::map<std::uint32_t, std::uint64_t> expected = sums;
        for (const auto& [key, sum] : before)
            expected[key] -= sum;
        std::erase_if(expected, [](const auto& of) { return of.second == 0; });
        EXPECT_EQ(grown, expected);
    }
}

TEST(Blame, ATaskOfAnEngineHasJobsOfAnotherClient) {
    Told told;
    const auto of_engine = [](Event& event) {
        event.pid = 101;
        event.context = 0;
    };
    for (const std::uint64_t task : {1, 2})
        told.add(EventType::task_arrive, 0, engine_client, task, of_engine);
    told.add(EventType::task_dispatch, 0, engine_client, 1, of_engine);
    told.queue(0, 1, 8, 1, 0, 1);
    // A job of another process that names the task does not count as its job.
    told.queue(0, 2, 8, 1, 0, 2);
    told.run(0, 10, 1, 8);
    told.done(10, 1, 8);
    told.add(EventType::task_end, 10, engine_client, 1, of_engine);
    told.add(EventType::task_dispatch, 10, engine_client, 2, of_engine);
    told.queue(10, 1, 9, 1, 0, 2);
    told.run(10, 15, 1, 9);
    told.done(15, 1, 9);
    told.add(EventType::task_end, 15, engine_client, 2, of_engine);
    ASSERT_EQ(told.reports.size(), 2u);
    EXPECT_EQ(told.causes(0), (Causes{{Cause::running, 10}}));
    EXPECT_EQ(told.causes(1), (Causes{{Cause::slot, 10}, {Cause::running, 5}}));
    EXPECT_TRUE(told.reports[1].is_task);
}

TEST(Blame, AJobBelongsToATaskOfItsOwnClientFirst) {
    Told told;
    told.add(EventType::task_arrive, 0, engine_client, 1, [](Event& event) { event.pid = 101; });
    told.add(EventType::task_arrive, 0, 1, 1); // in service mode, with the same tag
    told.add(EventType::task_dispatch, 0, 1, 1);
    told.queue(0, 1, 8, 1, 0, 1);
    told.run(0, 10, 1, 8);
    told.done(10, 1, 8);
    told.add(EventType::task_end, 10, 1, 1);
    EXPECT_EQ(told.causes(0), (Causes{{Cause::running, 10}}));
}

TEST(Blame, EachEngineHasItsOwnQueueOfTasks) {
    for (const bool one_queue : {false, true}) { // true: service mode
        ovt_sched_settings settings = settings_without_plans();
        settings.task_limit = 1;
        Told told({.rules = {.one_queue = one_queue, .settings = settings}});
        for (const std::uint64_t engine : {0, 1})
            told.add(EventType::task_arrive, 0, engine_client + engine, engine + 1);
        told.add(EventType::task_dispatch, 0, engine_client, 1);
        told.add(EventType::task_dispatch, 5, engine_client + 1, 2);
        told.add(EventType::task_end, 10, engine_client + 1, 2);
        EXPECT_EQ(told.causes(0), (Causes{{Cause::host, 10}}));
    }
}

/// In an engine on cores of different kinds, a task waits only for cores that its model fits.
TEST(Blame, ATaskWaitsForTheCoresOfItsProfile) {
    for (const std::uint64_t cores : {0u, 1u, 2u, 3u}) {
        Told told({.rules = {.cores = 2}});
        told.add(EventType::task_arrive, 0, engine_client, 1, [](Event& event) {
            event.core = 0;
            event.pid = 101; // the process of its jobs
        });
        told.add(EventType::task_dispatch, 0, engine_client, 1);
        told.queue(0, 1, 11, 1, 0, 1); // on core 1
        told.add(EventType::task_arrive, 0, engine_client, 2, [&](Event& event) {
            event.core = 0;
            event.by_tag = cores;
        });
        told.add(EventType::task_dispatch, 30, engine_client, 2);
        told.add(EventType::task_end, 30, engine_client, 2);
        EXPECT_EQ(told.causes(0), (Causes{{cores == 1 ? Cause::slot : Cause::host, 30}})) << cores;
    }
}

/// The watcher begins in the middle and loses events, and clients write arbitrary events.
TEST(Blame, EventsMayBeMissingOrWild) {
    for (unsigned seed = 1; seed <= 20; seed++) {
        std::mt19937 random(seed);
        const auto below = [&](std::uint32_t count) { return random() % count; };
        Told told({.rules = {.one_queue = seed % 2 != 0}, .most_live = 30});
        std::uint64_t time = 0;
        for (int i = 0; i < 20'000; i++) {
            const auto type = static_cast<EventType>(below(event_type_count));
            const std::uint64_t client =
                type < EventType::task_arrive ? below(2) : engine_client + below(2);
            time += below(100);
            told.add(type, time, client, 1 + below(40), [&](Event& event) {
                event.pid = 1;
                event.core = static_cast<std::uint16_t>(below(8) == 0 ? random() : below(4));
                event.priority = below(10) == 0 ? 255 + below(2) : below(3);
                event.custom_id = below(2);
                event.segment = below(8) == 0 ? random() : below(4);
                event.segment_count = random();
                event.model = below(3);
                event.task = 1 + below(40);
                event.by_tag = below(8) == 0 ? random() : below(5);
                event.slots = static_cast<std::uint16_t>(below(3));
                event.limit = below(5);
                event.share = below(2) != 0;
                event.fc_count = 1 + below(3);
                event.fc_index = below(3);
                event.status = below(4) == 0 ? -1 : 0;
            });
            ASSERT_LE(told.blame.live(), 60u);
        }
        EXPECT_GT(told.reports.size(), 100u);
        EXPECT_GT(told.blame.dropped(), 0u);
        told.blame.forget({1});
        EXPECT_EQ(told.blame.live(), 0u);
    }
}

TEST(Blame, TheNumberOfEnginesIsLimited) {
    Told told({.most_live = 1u << 15});
    for (std::uint64_t engine = 0; engine < 30'000; engine++)
        told.add(EventType::task_arrive, engine, engine_client + engine, engine + 1);
    EXPECT_LE(told.blame.live(), (1u << 15) / 16);
    EXPECT_EQ(told.blame.live() + told.blame.dropped(), 30'000u);
}

} // namespace
} // namespace overtake::blame
