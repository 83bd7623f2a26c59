// SPDX-License-Identifier: MIT
//
// The events that a device reports: the same on an embedded device and through a server.
#include <algorithm>
#include <cerrno>
#include <map>
#include <tuple>

#include <gtest/gtest.h>
#include <unistd.h>

#include "backends.hpp"
#include "overtake/event_source.hpp"
#include "programs.hpp"

namespace overtake::test {
namespace {

constexpr std::uint64_t us = 1000;

std::vector<Event> read_all(EventSource& source) {
    std::vector<Event> all, some(64);
    while (const std::size_t count = source.read(some, 0))
        all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
    return all;
}

std::vector<Event> of_type(const std::vector<Event>& events, EventType type) {
    std::vector<Event> found;
    std::ranges::copy_if(events, std::back_inserter(found),
                         [&](const Event& event) { return event.type == type; });
    return found;
}

Event only(const std::vector<Event>& events, EventType type) {
    const std::vector<Event> found = of_type(events, type);
    EXPECT_EQ(found.size(), 1u) << event_type_name(type);
    return found.empty() ? Event{} : found.front();
}

class Events : public testing::TestWithParam<Backend> {
protected:
    void SetUp() override {
        EmbeddedOptions options;
        options.cores = 2;
        options.mode = OVERTAKE_MODE_TIMED;
        options.profile = "ideal";
        options.manual_clock = true;
        made = std::make_unique<MadeDevice>(GetParam(), options);
        device = (*made)();
        clock = device->manual_clock();
        origin = clock->now_ns() + us;
        clock->advance_to(origin);
    }
    void at(std::uint64_t microseconds) { clock->advance_to(origin + microseconds * us); }
    void submit(Queue& queue, std::uint64_t tag, const std::vector<std::uint64_t>& fcs,
                unsigned priority = 0, unsigned core = 1) {
        const Program program = delays(*device, fcs);
        Job job = program.job(tag, priority, core);
        job.custom_id = 40 + static_cast<std::int64_t>(tag);
        job.model = model_id("detector");
        queue.submit({&job, 1});
    }

    std::unique_ptr<MadeDevice> made;
    std::shared_ptr<Device> device;
    ManualClock* clock = nullptr;
    std::uint64_t origin = 0;
};

TEST_P(Events, AJobIsReportedFromItsQueueToItsEnd) {
    const auto source = device->events({});
    const auto queue = device->create_queue({.max_priority = 200});
    at(10);
    submit(*queue, 7, {100, 20}, 3);
    at(1000);
    ASSERT_EQ(reap_all(*queue, 1).size(), 1u);
    const std::vector<Event> events = read_all(*source);
    std::vector<std::tuple<EventType, std::uint64_t, std::uint32_t>> told;
    for (const Event& event : events) {
        EXPECT_EQ(event.pid, static_cast<std::uint32_t>(getpid()));
        EXPECT_EQ(event.context, 1u);
        EXPECT_EQ(event.client, events.front().client);
        EXPECT_FALSE(event.high);
        told.emplace_back(event.type, (event.time_ns - origin) / us, event.fc_index);
    }
    const std::vector<std::tuple<EventType, std::uint64_t, std::uint32_t>> expected{
        {EventType::ctx_create, 0, 0}, {EventType::job_queue, 10, 0}, {EventType::fc_submit, 10, 0},
        {EventType::fc_start, 10, 0},  {EventType::fc_done, 110, 0},  {EventType::fc_start, 110, 1},
        {EventType::fc_done, 130, 1},  {EventType::job_done, 130, 0}};
    EXPECT_EQ(told, expected);
    EXPECT_EQ(only(events, EventType::ctx_create).priority, 200u);
    const Event queued = only(events, EventType::job_queue);
    EXPECT_EQ(queued.tag, 7u);
    EXPECT_EQ(queued.fc_count, 2u);
    EXPECT_EQ(queued.priority, 3u);
    EXPECT_EQ(queued.custom_id, 47);
    EXPECT_EQ(queued.model, model_id("detector"));
    EXPECT_EQ(queued.core, 1u);
    const Event submitted = only(events, EventType::fc_submit);
    EXPECT_EQ(submitted.fc_count, 2u);
    EXPECT_EQ(submitted.custom_id, 47);
    const std::vector<Event> ends = of_type(events, EventType::fc_done);
    ASSERT_EQ(ends.size(), 2u);
    EXPECT_EQ(ends[0].duration_ns, 100 * us);
    EXPECT_EQ(ends[1].duration_ns, 20 * us);
    EXPECT_EQ(ends[1].core, 1u);
    EXPECT_EQ(ends[1].fault, 0u);
    const Event done = only(events, EventType::job_done);
    EXPECT_EQ(done.status, 0);
    EXPECT_EQ(done.executed, 2u);
    EXPECT_EQ(done.duration_ns, 120 * us);
    EXPECT_EQ(done.preemptions, 0u);
    EXPECT_EQ(source->lost(), 0u);
}

TEST_P(Events, AReplayIsReportedAsRecorded) {
    auto queue = device->create_queue();
    const Program program = delays(*device, {100});
    Job job = program.job(0);
    job.model = model_id("detector");
    const std::uint32_t recording = queue->record(job, 1);
    const auto source = device->events({});
    submit(*queue, 6, {100});
    Replay replay;
    replay.recording = recording;
    replay.tag = 7;
    queue->replay({&replay, 1});
    at(1000);
    reap_all(*queue, 2);
    for (const Event& event : read_all(*source)) {
        EXPECT_EQ(event.recorded, event.type == EventType::job_queue && event.tag == 7);
        if (event.type == EventType::job_queue) {
            EXPECT_EQ(event.model, model_id("detector"));
        }
    }
}

/// Part 0 has an FC in each of stages 0 and 1, part 1 has one in stage 0.  The profile has no sync.
TEST_P(Events, AGroupIsReportedPartByPart) {
    const auto source = device->events({});
    const auto queue = device->create_queue({.max_priority = 200});
    const Program program = delays(*device, {10, 20, 30});
    const std::vector<overtake_part> parts = {{2, 2}, {1, 1}};
    const std::vector<std::uint32_t> stages = {0, 1, 0};
    Job job = program.job(5, 0, core_any);
    job.parts = parts;
    job.stages = stages;
    queue->submit({&job, 1});
    at(100);
    ASSERT_EQ(reap_all(*queue, 1).size(), 1u);
    using Row =
        std::tuple<EventType, std::uint64_t, unsigned, unsigned, unsigned, unsigned, unsigned>;
    std::vector<Row> told;
    for (const Event& event : read_all(*source))
        told.emplace_back(event.type, (event.time_ns - origin) / us, event.core, event.part,
                          event.stage, event.fc_index, event.fc_count);
    using enum EventType;
    const std::vector<Row> expected{{ctx_create, 0, 0, 0, 0, 0, 0}, {job_queue, 0, 2, 0, 0, 0, 3},
                                    {fc_submit, 0, 2, 0, 0, 0, 2},  {fc_submit, 0, 1, 1, 0, 0, 1},
                                    {fc_start, 0, 1, 1, 0, 0, 0},   {fc_start, 0, 2, 0, 0, 0, 0},
                                    {fc_done, 10, 2, 0, 0, 0, 0},   {fc_done, 30, 1, 1, 0, 0, 0},
                                    {fc_start, 30, 2, 0, 1, 1, 0},  {fc_done, 50, 2, 0, 1, 1, 0},
                                    {job_done, 50, 2, 0, 0, 0, 0}};
    EXPECT_EQ(told, expected);
}

TEST_P(Events, APreemptionNamesTheJobThatOvertakes) {
    const auto source = device->events({});
    const auto large = device->create_queue({.max_priority = 254});
    const auto detector = device->create_queue({.max_priority = 255, .core_limit = 1});
    submit(*large, 1, {100, 100, 100});
    at(10);
    submit(*detector, 2, {30, 20}, 255);
    at(1000);
    ASSERT_EQ(reap_all(*large, 1).size(), 1u);
    ASSERT_EQ(reap_all(*detector, 1).size(), 1u);
    const std::vector<Event> events = read_all(*source);
    const Event preempted = only(events, EventType::fc_preempt);
    EXPECT_EQ(preempted.time_ns, origin + 100 * us);
    EXPECT_EQ(preempted.tag, 1u);
    EXPECT_EQ(preempted.context, 1u);
    EXPECT_EQ(preempted.fc_index, 1u);
    EXPECT_EQ(preempted.core, 1u);
    EXPECT_FALSE(preempted.high);
    EXPECT_EQ(preempted.by_tag, 2u);
    EXPECT_EQ(preempted.by_context, 2u);
    EXPECT_EQ(preempted.by_client, preempted.client);
    EXPECT_EQ(preempted.by_pid, static_cast<std::uint32_t>(getpid()));
    const Event resumed = only(events, EventType::fc_resume);
    EXPECT_EQ(resumed.time_ns, origin + 150 * us);
    EXPECT_EQ(resumed.tag, 1u);
    EXPECT_EQ(resumed.fc_index, 1u);
    // The events come just before the FC that they announce.
    for (std::size_t i = 0; i < events.size(); i++)
        if (events[i].type == EventType::fc_preempt || events[i].type == EventType::fc_resume) {
            ASSERT_LT(i + 1, events.size());
            EXPECT_EQ(events[i + 1].type, EventType::fc_start);
            EXPECT_EQ(events[i + 1].high, events[i].type == EventType::fc_preempt);
        }
    EXPECT_EQ(of_type(events, EventType::job_done).back().preemptions, 1u);
}

TEST_P(Events, LimitsAndContextsComeAndGo) {
    const auto source = device->events({});
    device->create_queue({.max_priority = 255, .core_limit = 2}).reset();
    const std::vector<Event> events = read_all(*source);
    const std::vector<Event> limits = of_type(events, EventType::core_limit);
    ASSERT_EQ(limits.size(), 4u);
    for (unsigned core = 1; core <= 2; core++) {
        EXPECT_EQ(limits[core - 1].core, core);
        EXPECT_EQ(limits[core - 1].limit_before, 0u);
        EXPECT_EQ(limits[core - 1].limit, 2u);
        EXPECT_EQ(limits[core - 1].by_pid, static_cast<std::uint32_t>(getpid()));
        EXPECT_EQ(limits[core + 1].limit_before, 2u);
        EXPECT_EQ(limits[core + 1].limit, 0u);
    }
    EXPECT_EQ(only(events, EventType::ctx_create).context,
              only(events, EventType::ctx_destroy).context);
}

TEST_P(Events, FaultsAndCancelsAreInTheEnds) {
    const auto source = device->events({});
    const auto queue = device->create_queue();
    overtake_insn unknown{};
    unknown.opcode = 4000;
    const Program faulty(*device, {unknown});
    queue->submit(std::vector<Job>{faulty.job(1, 0, 1)});
    submit(*queue, 2, {100, 100}, 0, 2);
    at(50);
    EXPECT_TRUE(queue->cancel(2));
    at(1000);
    ASSERT_EQ(reap_all(*queue, 2).size(), 2u);
    std::map<std::uint64_t, Event> ends, fc_ends;
    for (const Event& event : read_all(*source)) {
        if (event.type == EventType::job_done)
            ends[event.tag] = event;
        if (event.type == EventType::fc_done)
            fc_ends[event.tag] = event;
    }
    EXPECT_EQ(ends[1].status, -ENOEXEC);
    EXPECT_NE(fc_ends[1].fault, 0u);
    EXPECT_EQ(ends[2].status, -ECANCELED);
    EXPECT_EQ(ends[2].executed, 1u);
    EXPECT_EQ(fc_ends[2].fault, 0u);
}

TEST_P(Events, EventsWithoutRoomAreCountedAndTheOldestStay) {
    const auto source = device->events({.capacity = 4});
    const auto queue = device->create_queue();
    submit(*queue, 1, {10, 10, 10});
    at(1000);
    ASSERT_EQ(reap_all(*queue, 1).size(), 1u);
    // ctx_create, job_queue, fc_submit, 3 x (start, done), job_done
    EXPECT_EQ(source->lost(), 6u);
    EXPECT_EQ(read_all(*source).size(), 4u);
    submit(*queue, 2, {10});
    at(2000);
    EXPECT_EQ(source->lost(), 7u);
    EXPECT_EQ(only(read_all(*source), EventType::job_queue).tag, 2u);
}

TEST_P(Events, SeveralSourcesAreTheirOwn) {
    const auto first = device->events({});
    const auto queue = device->create_queue();
    auto second = device->events({});
    submit(*queue, 1, {10});
    at(1000);
    second.reset();
    submit(*queue, 2, {10});
    at(2000);
    ASSERT_EQ(reap_all(*queue, 2).size(), 2u);
    EXPECT_EQ(of_type(read_all(*first), EventType::job_done).size(), 2u);
}

TEST_P(Events, AReaderThatWaitsIsWoken) {
    const auto source = device->events({});
    const auto queue = device->create_queue();
    std::vector<Event> one(1);
    EXPECT_EQ(source->read(one, patience()), 1u); // the queue's ctx_create
    EXPECT_EQ(source->read(one, in_ms(1)), 0u);
    std::thread later([&] {
        submit(*queue, 1, {10});
        at(1000);
    });
    EXPECT_EQ(source->read(one, patience()), 1u);
    later.join();
    EXPECT_EQ(one.front().type, EventType::job_queue);
    EXPECT_EQ(reap_all(*queue, 1).size(), 1u);
}

TEST_P(Events, ImpossibleOptionsAreRefused) {
    for (const EventOptions& options :
         {EventOptions{.capacity = 0}, EventOptions{.capacity = most_events_kept + 1}})
        try {
            device->events(options);
            ADD_FAILURE() << "accepted";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), EINVAL) << error.what();
        }
}

INSTANTIATE_TEST_SUITE_P(Sources, Events, testing::Values(Backend{"embedded"}, Backend{"server"}),
                         backend_name);

/// Every FC of several threads is reported once, with start and end, and those of a core are in the
/// order of their times.
TEST(EventsOfManyJobs, NoneIsMissingAndTimesDoNotRunBack) {
    constexpr unsigned jobs = 2000, fcs = 8;
    EmbeddedOptions options;
    options.cores = 2;
    options.core_limit = 1;
    const auto device = open_embedded(options);
    const auto source = device->events({.capacity = most_events_kept});
    const auto run = [&](unsigned priority) {
        const auto queue = device->create_queue({.max_priority = priority});
        const Program program = delays(*device, std::vector<std::uint64_t>(fcs, 1));
        for (std::uint64_t tag = 0; tag < jobs; tag += 100) {
            for (std::uint64_t i = 0; i < 100; i++) {
                const Job job = program.job(tag + i, priority);
                queue->submit({&job, 1});
            }
            EXPECT_EQ(reap_all(*queue, 100).size(), 100u);
        }
    };
    std::thread high([&] { run(255); });
    run(0);
    high.join();
    const std::vector<Event> events = read_all(*source);
    EXPECT_EQ(source->lost(), 0u);
    std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>, int> starts, ends;
    std::map<unsigned, std::uint64_t> last;
    std::uint64_t preemptions = 0;
    for (const Event& event : events) {
        preemptions += event.type == EventType::fc_preempt;
        if (event.type != EventType::fc_start && event.type != EventType::fc_done)
            continue;
        EXPECT_GE(event.time_ns, last[event.core]);
        last[event.core] = event.time_ns;
        (event.type == EventType::fc_start ? starts
                                           : ends)[{event.context, event.tag, event.fc_index}]++;
    }
    EXPECT_EQ(starts.size(), 2u * jobs * fcs);
    EXPECT_EQ(starts, ends);
    EXPECT_TRUE(std::ranges::all_of(starts, [](const auto& start) { return start.second == 1; }));
    std::uint64_t counted = 0;
    for (const drm_overtake_core_info& core : device->cores())
        counted += core.preemptions;
    EXPECT_EQ(preemptions, counted);
}

} // namespace
} // namespace overtake::test
