// SPDX-License-Identifier: MIT
//
// The events and reports that follow from the probes of engines with several processors.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <initializer_list>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "events.hpp"
#include "observe/blame/requests.hpp"
#include "observe/watch/filter.hpp"
#include "observe/watch/line.hpp"
#include "observe/watch/processor_lanes.hpp"
#include "observe/watch/processor_names.hpp"
#include "observe/watch/processor_probes.hpp"
#include "observe/watch/processor_table.hpp"
#include "top_view.hpp"

namespace overtake::test {
namespace {

using watch::Probe;
using watch::ProcessorEvent;
using watch::ProcessorEventType;
using watch::ProcessorState;

watch::ProbeHit passed(Probe probe, std::initializer_list<std::uint64_t> arguments) {
    watch::ProbeHit hit{probe, 11, {}};
    std::ranges::copy(arguments, hit.arguments.begin());
    return hit;
}

std::uint64_t bytes(std::string_view text) {
    return model_id(text);
}

TEST(ProcessorProbes, SayWhatTheTableOfTheDocumentSays) {
    const auto processor = watch::processor_event_of(
        passed(Probe::processor,
               {0x5000, 9, 2, bytes("a-longer"), bytes("-name.2"), 4, 1, 1300, 3, 17, 5000, 2}));
    ASSERT_TRUE(processor);
    EXPECT_EQ(processor->type, ProcessorEventType::processor);
    EXPECT_EQ(processor->pid, 11u);
    EXPECT_EQ(processor->engine, 0x5000u);
    EXPECT_EQ(processor->time_ns, 9u);
    EXPECT_EQ(processor->processor, 2u);
    EXPECT_EQ(processor->name, "a-longer-name.2");
    EXPECT_EQ(processor->workers, 4u);
    EXPECT_EQ(processor->state, ProcessorState::throttled);
    EXPECT_EQ(processor->ratio, 1300u);
    EXPECT_EQ(processor->unfinished, 3u);
    EXPECT_EQ(processor->runs, 17u);
    EXPECT_EQ(processor->busy_ns, 5000u);
    EXPECT_EQ(processor->retries, 2u);
    const auto arrived =
        watch::processor_event_of(passed(Probe::request_arrive, {0x100, 9, 0x5000, bytes("net"), 7,
                                                                 static_cast<std::uint64_t>(-3)}));
    ASSERT_TRUE(arrived);
    EXPECT_EQ(arrived->task, 0x100u);
    EXPECT_EQ(arrived->engine, 0x5000u);
    EXPECT_EQ(arrived->model, bytes("net"));
    EXPECT_EQ(arrived->priority, 7u);
    EXPECT_EQ(arrived->custom_id, -3);
    const auto dispatched = watch::processor_event_of(
        passed(Probe::run_dispatch, {0x100, 9, 0x5000, 4, 1, 0b110, 0b11, 77, 12}));
    ASSERT_TRUE(dispatched);
    EXPECT_EQ(dispatched->run, 4u);
    EXPECT_EQ(dispatched->processor, 1u);
    EXPECT_EQ(dispatched->units, 0b110u);
    EXPECT_EQ(dispatched->able, 0b11u);
    EXPECT_EQ(dispatched->expected_ns, 77u);
    EXPECT_EQ(dispatched->job, 12u);
    const auto ended =
        watch::processor_event_of(passed(Probe::run_end, {0x100, 9, 0x5000, 4, 1, 0b110, 5, 8, 2,
                                                          static_cast<std::uint32_t>(-EIO)}));
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->start_ns, 5u);
    EXPECT_EQ(ended->end_ns, 8u);
    EXPECT_EQ(ended->executed_ns, 2u);
    EXPECT_EQ(ended->status, -EIO);
    const auto over = watch::processor_event_of(
        passed(Probe::request_end, {0x100, 9, 0x5000, static_cast<std::uint32_t>(-ETIME), 3}));
    ASSERT_TRUE(over);
    EXPECT_EQ(over->status, -ETIME);
    EXPECT_EQ(over->retries, 3u);
    EXPECT_FALSE(watch::processor_event_of(passed(Probe::task_end, {1, 2, 3})));
}

TEST(ProcessorProbes, ArgumentsThatMakeNoSenseAreNotTold) {
    const auto told = [](Probe probe, std::initializer_list<std::uint64_t> arguments) {
        return watch::processor_event_of(passed(probe, arguments)).has_value();
    };
    EXPECT_FALSE(told(Probe::processor, {1, 2, 64, bytes("a"), 0, 1, 0}));
    EXPECT_FALSE(told(Probe::processor, {1, 2, 3, bytes("a"), 0, 65, 0}));
    EXPECT_FALSE(told(Probe::processor, {1, 2, 3, bytes("a"), 0, 1, 5}));
    EXPECT_FALSE(told(Probe::processor, {1, 2, 3, 0, 0, 1, 0})) << "without a name";
    EXPECT_FALSE(told(Probe::run_dispatch, {1, 2, 3, 4, 64, 1, 1, 1}));
    EXPECT_FALSE(told(Probe::run_dispatch, {1, 2, 3, 4, 5, 0, 1, 1})) << "without a unit";
    EXPECT_FALSE(told(Probe::request_arrive, {1, 2, 3, 4, 256, 0}));
    EXPECT_EQ(
        watch::processor_event_of(passed(Probe::processor, {1, 2, 3, bytes("a\x1b[2Jb"), 0, 1, 0}))
            ->name.find('\x1b'),
        std::string::npos)
        << "names of others do not control a terminal";
}

// The functions below make events of engine 1 of process 11, which has npu.1, npu.2 and a pool of
// two.

ProcessorEvent of(ProcessorEventType type, std::uint64_t time_ms) {
    ProcessorEvent event;
    event.type = type;
    event.pid = 11;
    event.engine = 1;
    event.time_ns = time_ms * ms;
    return event;
}

ProcessorEvent processor(std::uint64_t time_ms, std::uint32_t number, std::uint32_t unfinished = 1,
                         ProcessorState state = ProcessorState::ok) {
    ProcessorEvent event = of(ProcessorEventType::processor, time_ms);
    event.processor = number;
    event.name = number == 2 ? "cpu" : "npu." + std::to_string(number + 1);
    event.workers = number == 2 ? 2 : 0;
    event.unfinished = unfinished;
    event.ratio = 1000;
    event.state = state;
    return event;
}

ProcessorEvent arrive(std::uint64_t time_ms, std::uint64_t task, const char* model,
                      std::uint32_t priority = 0) {
    ProcessorEvent event = of(ProcessorEventType::request_arrive, time_ms);
    event.task = task;
    event.model = model_id(model);
    event.priority = priority;
    return event;
}

ProcessorEvent dispatch(std::uint64_t time_ms, std::uint64_t task, std::uint32_t run,
                        std::uint32_t on, std::uint64_t units, std::uint64_t able) {
    ProcessorEvent event = of(ProcessorEventType::run_dispatch, time_ms);
    event.task = task;
    event.run = run;
    event.processor = on;
    event.units = units;
    event.able = able;
    event.expected_ns = 4 * ms;
    return event;
}

ProcessorEvent end_run(std::uint64_t time_ms, std::uint64_t task, std::uint32_t run,
                       std::uint32_t on, std::uint64_t start_ms = 0, std::uint64_t units = 1) {
    ProcessorEvent event = of(ProcessorEventType::run_end, time_ms);
    event.task = task;
    event.run = run;
    event.processor = on;
    event.units = units;
    event.start_ns = start_ms * ms;
    event.end_ns = time_ms * ms;
    return event;
}

ProcessorEvent end(std::uint64_t time_ms, std::uint64_t task, std::int32_t status = 0,
                   std::uint32_t retries = 0) {
    ProcessorEvent event = of(ProcessorEventType::request_end, time_ms);
    event.task = task;
    event.status = status;
    event.retries = retries;
    return event;
}

std::string owner(std::uint64_t model, std::uint32_t pid) {
    return watch::model_name(model) + " of " + std::to_string(pid);
}

std::vector<std::string> blamed(std::initializer_list<ProcessorEvent> events,
                                std::size_t most = 5) {
    blame::Requests requests(most, owner);
    for (const ProcessorEvent& event : events)
        requests.add(event);
    std::size_t i = 0;
    for (const auto& json : requests.to_json()) {
        std::uint64_t sum = json.at("own_ns").get<std::uint64_t>();
        for (const auto& part : json.at("parts"))
            sum += part.at("ns").get<std::uint64_t>();
        EXPECT_EQ(sum, json.at("latency_ns"));
        EXPECT_EQ(json.at("sentence"), requests.lines()[i++]);
    }
    return requests.lines();
}

using Lines = std::vector<std::string>;

TEST(RequestBlame, SaysForWhichProcessorItWaitedAndWhichCouldHaveRunIt) {
    EXPECT_EQ(blamed({processor(0, 0), processor(0, 1, 0), processor(0, 2, 0),
                      arrive(0, 1, "large"), dispatch(0, 1, 0, 0, 1, 0b011), arrive(1, 2, "small"),
                      dispatch(1, 2, 0, 0, 1, 0b101), end_run(10, 1, 0, 0), end(10, 1),
                      end_run(12, 2, 0, 0), end(12, 2)}),
              (Lines{"large of 11 10.000 ms: 10.000 own",
                     "small of 11 11.000 ms: 9.000 for npu.1 (busy with large of 11), could have "
                     "run on cpu (idle for 9.000); 2.000 own"}))
        << "npu.2 is idle, too, and cannot run it";
}

TEST(RequestBlame, KnowsWhatItWouldHaveTakenWhereItWasSeenBefore) {
    const Lines lines =
        blamed({processor(0, 0, 0), processor(0, 2, 0), arrive(0, 1, "net"),
                dispatch(0, 1, 0, 2, 1, 0b101), end_run(4, 1, 0, 2), end(4, 1), processor(4, 2, 0),
                arrive(4, 2, "net"), dispatch(4, 2, 0, 0, 1, 0b101), arrive(4, 3, "net"),
                dispatch(4, 3, 0, 0, 1, 0b101), end_run(6, 2, 0, 0), end(6, 2), end_run(8, 3, 0, 0),
                end(8, 3)},
               1);
    ASSERT_EQ(lines.size(), 1u) << "the slowest one, the first of two";
    EXPECT_EQ(lines[0], "net of 11 4.000 ms: 4.000 own");
    EXPECT_EQ(
        blamed({processor(0, 0, 0), processor(0, 2, 0), arrive(0, 1, "net"),
                dispatch(0, 1, 0, 2, 1, 0b101), end_run(1, 1, 0, 2), end(1, 1), arrive(4, 2, "net"),
                dispatch(4, 2, 0, 0, 1, 0b101), arrive(4, 3, "net"), dispatch(4, 3, 0, 0, 1, 0b101),
                end_run(6, 2, 0, 0), end(6, 2), end_run(8, 3, 0, 0), end(8, 3)},
               1),
        (Lines{"net of 11 4.000 ms: 2.000 for npu.1 (busy with net of 11), could have run "
               "on cpu (idle for 2.000, takes 4.000); 2.000 own"}));
}

TEST(RequestBlame, APoolRunsOneOnEachWorkerAndHighGoesFirst) {
    EXPECT_EQ(
        blamed({processor(0, 2, 0), arrive(0, 1, "a"), dispatch(0, 1, 0, 2, 1, 0b100),
                arrive(0, 2, "b"), dispatch(0, 2, 0, 2, 1, 0b100), arrive(0, 3, "c"),
                dispatch(0, 3, 0, 2, 1, 0b100), arrive(1, 4, "d", 255),
                dispatch(1, 4, 0, 2, 1, 0b100), end_run(3, 1, 0, 2), end(3, 1), end_run(5, 2, 0, 2),
                end(5, 2), end_run(6, 4, 0, 2), end(6, 4), end_run(9, 3, 0, 2), end(9, 3)}),
        (Lines{"a of 11 3.000 ms: 3.000 own", "b of 11 5.000 ms: 5.000 own",
               "c of 11 9.000 ms: 5.000 for cpu (busy with a of 11, b of 11, d of 11); "
               "4.000 own",
               "d of 11 5.000 ms: 2.000 for cpu (busy with a of 11, b of 11); 3.000 own"}));
}

TEST(RequestBlame, WorkBesideTheProcessorsIsItsOwn) {
    ProcessorEvent begins = of(ProcessorEventType::request_work, 1);
    ProcessorEvent ends = of(ProcessorEventType::request_worked, 4);
    begins.task = ends.task = 1;
    EXPECT_EQ(blamed({processor(0, 0, 0), arrive(1, 1, "a"), begins, ends,
                      dispatch(6, 1, 0, 0, 1, 1), end_run(7, 1, 0, 0), end(9, 1, -ECANCELED)}),
              (Lines{"a of 11 8.000 ms, cancelled: 2.000 for npu.1; 2.000 without a processor; "
                     "4.000 own"}));
}

TEST(RequestBlame, RetriesAndAFailureAreSaid) {
    EXPECT_EQ(blamed({processor(0, 0, 0), processor(0, 1, 0), arrive(0, 1, "a"),
                      dispatch(0, 1, 0, 0, 1, 0b11), processor(2, 0, 1, ProcessorState::failed),
                      end_run(2, 1, 0, 0), dispatch(5, 1, 1, 1, 1, 0b11), end_run(6, 1, 1, 1),
                      end(6, 1, -EIO, 1)}),
              (Lines{"a of 11 6.000 ms, failed, 1 retry: 3.000 for npu.2; 3.000 own"}))
        << "a processor that has failed could not have run it";
}

TEST(RequestBlame, AnEndThatWasLostDelaysNoRequest) {
    EXPECT_EQ(blamed({processor(0, 0, 0), arrive(0, 1, "a"), dispatch(0, 1, 0, 0, 1, 1),
                      processor(5, 0, 0), arrive(6, 2, "b"), processor(6, 0),
                      dispatch(6, 2, 0, 0, 1, 1), end_run(8, 2, 0, 0), end(8, 2)}),
              (Lines{"b of 11 2.000 ms: 2.000 own"}));
}

TEST(RequestBlame, WhatLivesAsEventsAreLostIsNotReported) {
    blame::Requests requests(5, owner);
    for (const auto& event : {processor(0, 0, 0), arrive(0, 1, "a"), dispatch(0, 1, 0, 0, 1, 1)})
        requests.add(event);
    requests.lost();
    for (const auto& event : {end_run(2, 1, 0, 0), end(2, 1)})
        requests.add(event);
    EXPECT_EQ(requests.lines(), Lines{});
}

/// A process may pass its probes in any order and with any arguments.
TEST(RequestBlame, AnyEventsInAnyOrderDoNoHarm) {
    std::mt19937 random(7);
    const auto below = [&](std::uint32_t limit) {
        return std::uniform_int_distribution<std::uint32_t>(0, limit - 1)(random);
    };
    for (int round = 0; round < 200; round++) {
        blame::Requests requests(3, owner);
        watch::ProcessorLanes lanes;
        watch::ProcessorNames names;
        watch::ProcessorTable table;
        for (int i = 0; i < 300; i++) {
            ProcessorEvent event =
                of(static_cast<ProcessorEventType>(below(watch::processor_event_count)), below(50));
            event.pid = 11 + below(2);
            event.task = below(4);
            event.processor = below(watch::most_processors);
            event.run = below(3);
            event.units = 1 + below(7);
            event.able = below(16);
            event.start_ns = below(3);
            event.end_ns = below(9);
            event.name = "p";
            event.workers = below(3);
            event.unfinished = below(3);
            event.state = static_cast<ProcessorState>(below(watch::processor_state_count));
            requests.add(event);
            lanes.add(event);
            table.add(event);
            const auto about = names.follow(event);
            watch::to_line(event, about.model.value_or(0), about.processor, 0);
        }
        timeline::Timeline timeline;
        lanes.add_to(timeline, 1);
        table.take(100);
        requests.forget({11, 12});
        EXPECT_TRUE(requests.processes().empty());
    }
}

TEST(ProcessorTable, TheFirstIntervalBeginsWithWatching) {
    watch::ProcessorTable table(1000 * ms);
    ProcessorEvent core = processor(0, 0);
    table.add(core);
    core.busy_ns += 40 * ms;
    table.add(core);
    EXPECT_NEAR(table.take(1100 * ms).at(0).busy, 0.4, 1e-9);
}

TEST(ProcessorTable, SharesAreThoseOfTheInterval) {
    watch::ProcessorTable table;
    ProcessorEvent core = processor(0, 0), pool = processor(0, 2, 2, ProcessorState::failed);
    core.busy_ns = 500 * ms;
    core.runs = 100;
    core.retries = 3;
    table.add(core);
    table.add(pool);
    EXPECT_EQ(table.take(1000 * ms)[0].runs, 0u)
        << "what it did before it was seen is of no interval";
    core.busy_ns += 80 * ms;
    core.runs += 4;
    pool.busy_ns += 100 * ms;
    table.add(core);
    table.add(pool);
    const auto rows = table.take(1100 * ms);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_NEAR(rows[0].busy, 0.8, 1e-9);
    EXPECT_EQ(rows[0].runs, 4u);
    EXPECT_NEAR(rows[1].busy, 0.5, 1e-9) << "of two workers";
    watch::Snapshot snapshot;
    snapshot.interval_ns = 100 * ms;
    const auto lines = command::top_lines(snapshot, {}, "head", 0, 0, rows);
    ASSERT_EQ(lines.size(), 7u);
    EXPECT_NE(lines[5].find("npu.1            ok          1.00       3   80%     1    40.0"),
              std::string::npos)
        << lines[5];
    EXPECT_NE(lines[6].find("cpu              failed"), std::string::npos) << lines[6];
    const auto json = command::to_json(rows, {});
    EXPECT_EQ(json.at(0).at("processor"), "npu.1");
    EXPECT_EQ(json.at(0).at("retries"), 3u);
    EXPECT_EQ(json.at(1).at("state"), "failed");
    EXPECT_EQ(json.at(1).at("queue"), 2u);
    command::TopView another;
    another.words = "another";
    EXPECT_TRUE(command::to_json(rows, another).empty());
}

TEST(ProcessorTable, AnEngineGoesWithItsProcessors) {
    watch::ProcessorTable table;
    table.add(processor(0, 0));
    ProcessorEvent of_another = processor(0, 0);
    of_another.engine = 2;
    table.add(of_another);
    auto rows = table.take(1);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[1].engine, 2u);
    table.add(processor(1, 0, 0, ProcessorState::gone));
    rows = table.take(2);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].engine, 2u) << "its number stays";
    table.forget({11});
    EXPECT_TRUE(table.take(3).empty());
    EXPECT_TRUE(table.processes().empty());
}

TEST(ProcessorTable, MemoryIsBoundedForEachProcess) {
    watch::ProcessorTable table;
    for (std::uint64_t engine = 1; engine <= watch::ProcessorTable::most_of_process + 5; engine++) {
        ProcessorEvent event = processor(0, 0);
        event.engine = engine;
        table.add(event);
    }
    EXPECT_EQ(table.take(1).size(), watch::ProcessorTable::most_of_process);
    EXPECT_EQ(table.refused(), 5u);
}

TEST(ProcessorLanes, EachCoreAndEachWorkerHasARow) {
    watch::ProcessorLanes lanes;
    for (const auto& event :
         {processor(0, 0), processor(0, 2), arrive(0, 1, "net"), arrive(0, 2, "net"),
          end_run(4, 1, 0, 0, 1, 0b11), end_run(7, 1, 1, 2, 5), end_run(8, 2, 0, 2, 6),
          end_run(9, 2, 1, 2, 0), end_run(9, 3, 0, 2, 8),
          processor(5, 0, 0, ProcessorState::failed), processor(6, 0, 0, ProcessorState::trial),
          processor(7, 0, 0)})
        lanes.add(event);
    timeline::Timeline timeline;
    lanes.add_to(timeline, 1);
    ASSERT_EQ(timeline.lanes.size(), 4u);
    EXPECT_EQ(timeline.lanes[0].name, "core 1");
    EXPECT_TRUE(timeline.lanes[0].rings);
    EXPECT_EQ(timeline.lanes[1].name, "npu.1 (11)");
    EXPECT_EQ(timeline.lanes[2].name, "cpu #1 (11)");
    EXPECT_EQ(timeline.lanes[3].name, "cpu #2 (11)");
    ASSERT_EQ(timeline.fcs.size(), 3u)
        << "one that did not begin, and one of an unknown request, are not drawn";
    EXPECT_EQ(timeline.fcs[0].core, 2u);
    EXPECT_EQ(timeline.fcs[0].what, "units 0 to 1");
    EXPECT_EQ(timeline.fcs[1].core, 3u);
    EXPECT_EQ(timeline.fcs[2].core, 4u) << "two at a time";
    ASSERT_EQ(timeline.conditions.size(), 2u);
    EXPECT_EQ(timeline.conditions[0].core, 2u);
    EXPECT_EQ(timeline.conditions[0].from_ns, 5 * ms);
    EXPECT_EQ(timeline.conditions[1].to_ns, 7 * ms);
    EXPECT_FALSE(timeline.conditions[0].works);
}

TEST(ProcessorNames, OfRequestsAndProcessorsAreKeptWhileTheyLive) {
    watch::ProcessorNames names;
    EXPECT_EQ(names.follow(dispatch(0, 1, 0, 0, 1, 1)).processor, "");
    names.follow(processor(0, 0));
    names.follow(arrive(0, 1, "net", 9));
    const auto about = names.follow(dispatch(0, 1, 0, 0, 1, 1));
    EXPECT_EQ(about.processor, "npu.1");
    EXPECT_EQ(about.model, model_id("net"));
    EXPECT_EQ(about.priority, 9u);
    EXPECT_TRUE(names.follow(end(1, 1)).model);
    EXPECT_FALSE(names.follow(end(1, 1)).model);
}

TEST(ProcessorLine, SaysWhatHappened) {
    ProcessorEvent run = dispatch(3, 1, 2, 0, 0b110, 1);
    EXPECT_EQ(watch::to_line(run, model_id("net"), "npu.1", 1 * ms),
              "   0.002000000    - -      run_dispatch         11 net       run 2: units 1 to 2 on "
              "npu.1, expected 4.000 ms");
    EXPECT_NE(watch::to_line(run, 0, "", 0).find("on processor 0"), std::string::npos);
    ProcessorEvent throttled = processor(3, 0, 2, ProcessorState::throttled);
    throttled.ratio = 3004;
    throttled.retries = 1;
    EXPECT_NE(
        watch::to_line(throttled, 0, "", 0).find("npu.1: throttled, 2 runs, ratio 3.00, 1 retry"),
        std::string::npos);
    EXPECT_EQ(watch::to_json(run, model_id("net"), "npu.1").dump(),
              R"({"time_ns":3000000,"event":"run_dispatch","pid":11,"engine":1,"task":1,)"
              R"("model":"net","run":2,"units":6,"processor":"npu.1","able":1,)"
              R"("expected_ns":4000000})");
    EXPECT_EQ(watch::to_json(throttled, 0, "npu.1").at("state"), "throttled");
    run.job = 70;
    EXPECT_TRUE(watch::to_line(run, 0, "npu.1", 0).ends_with("expected 4.000 ms, jobs 70-71"));
    EXPECT_EQ(watch::to_json(run, 0, "npu.1").at("jobs").dump(), "[70,71]");
    run.units = 1;
    EXPECT_TRUE(watch::to_line(run, 0, "npu.1", 0).ends_with("expected 4.000 ms, job 70"));
}

TEST(ProcessorFilter, TakesWhatIsOfTheRequest) {
    const ProcessorEvent run = dispatch(3, 1, 2, 0, 1, 1), of_processor = processor(0, 0);
    const auto takes = [&](const watch::Filter& filter, const ProcessorEvent& event) {
        return event.type == ProcessorEventType::processor
                   ? filter.takes(event, std::nullopt, std::nullopt)
                   : filter.takes(event, model_id("net"), 9);
    };
    EXPECT_TRUE(takes({}, run) && takes({}, of_processor));
    EXPECT_TRUE(takes({.pids = {11}, .priorities = {9}, .models = {"net"}}, run));
    EXPECT_FALSE(takes({.pids = {12}}, run));
    EXPECT_FALSE(takes({.priorities = {9}}, of_processor));
    EXPECT_FALSE(takes({.models = {"net"}}, of_processor));
    EXPECT_FALSE(takes({.cores = {1}}, run)) << "a core of a device, which it does not name";
    EXPECT_TRUE(takes({.types = {"run_dispatch"}}, run));
    EXPECT_FALSE(takes({.types = {"run_dispatch"}}, of_processor));
}

} // namespace
} // namespace overtake::test
