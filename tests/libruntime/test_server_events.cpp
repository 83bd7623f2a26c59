// SPDX-License-Identifier: MIT
//
// Strangers may not read events of a device server, and a reader can do the server no harm.
#include <cerrno>
#include <set>

#include "embedded/event_ring.hpp"
#include "overtake/event_source.hpp"
#include "service_clients.hpp"

namespace overtake::test {
namespace {

TEST(ServerEvents, AStrangerGetsNoEvents) {
    SKIP_UNLESS_ROOT();
    const TestServer server(options_of(1), ServerIn::process);
    open_to_all(server);
    EXPECT_EQ(as_stranger({},
                          [&] {
                              open_server(server.path())->events({});
                              return 0;
                          }),
              EPERM);
}

TEST(ServerEvents, EventsDistinguishClients) {
    const TestServer server(options_of(1));
    const auto source = open_server(server.path())->events({});
    Victim first(server.path()), second(server.path());
    first.expect_to_work();
    second.expect_to_work();
    std::vector<Event> events(256);
    events.resize(source->read(events, patience()));
    std::set<std::uint64_t> clients;
    std::size_t done = 0;
    for (const Event& event : events) {
        clients.insert(event.client);
        EXPECT_EQ(event.context, 1u);
        done += event.type == EventType::job_done;
    }
    EXPECT_EQ(clients.size(), 2u);
    EXPECT_EQ(done, 2u);
}

TEST(ServerEvents, TasksOfServiceModeAreReportedWithTheirJobs) {
    constexpr std::uint64_t us = 1000;
    const TestServer server(stepped_options());
    ServiceProcess process(server.path());
    const auto source = process.device->events({});
    ManualClock& clock = *process.device->manual_clock();
    const std::uint64_t origin = clock.now_ns();
    const Program program = delays(*process.device, {50, 50});
    const auto segments = Segments().bpu(program);
    ServiceTask task = segments.task(9, 200);
    task.custom_id = 5;
    task.model = model_id("large");
    process.queue->submit(task);
    clock.advance_to(origin + 1000 * us);
    EXPECT_EQ(process.next_end().status, 0);
    std::vector<Event> events(256);
    events.resize(source->read(events, patience()));
    std::vector<EventType> types;
    for (const Event& event : events) {
        types.push_back(event.type);
        EXPECT_EQ(event.context, 1u);
        if (event_type_name(event.type).starts_with("task_")) {
            EXPECT_EQ(event.tag, 9u);
            EXPECT_EQ(event.custom_id, 5);
            EXPECT_EQ(event.priority, 200u);
            EXPECT_EQ(event.segment_count, 1u);
        }
        if (event.type == EventType::job_queue) {
            EXPECT_EQ(event.task, 9u);
            EXPECT_EQ(event.segment, 0u);
            EXPECT_EQ(event.model, model_id("large"));
        }
        if (event.type == EventType::task_arrive) {
            EXPECT_EQ(event.model, model_id("large"));
        }
        if (event.type == EventType::task_end) {
            EXPECT_EQ(event.time_ns, origin + 100 * us);
            EXPECT_EQ(event.status, 0);
        }
    }
    const std::vector<EventType> expected{EventType::task_arrive, EventType::task_dispatch,
                                          EventType::job_queue,   EventType::fc_submit,
                                          EventType::fc_start,    EventType::fc_done,
                                          EventType::fc_start,    EventType::fc_done,
                                          EventType::job_done,    EventType::task_end};
    EXPECT_EQ(types, expected);
}

TEST(ServerEvents, AReaderThatWritesNonsenseLosesOnlyItsOwnEvents) {
    const TestServer server(options_of(1));
    Victim victim(server.path());
    const auto honest = open_server(server.path())->events({});
    RawClient hostile(server.path());
    hostile.greet();
    auto heard = hostile.answer(Operation::create_events, 4);
    ASSERT_EQ(heard.reply.code, 0);
    Mapping mapping(heard.descriptors[0].get(), round_to_pages(event_ring_bytes(4)));
    auto* words = reinterpret_cast<std::atomic<std::uint32_t>*>(mapping.data());
    for (const std::uint32_t nonsense : {~0u, 0x80000000u, 5u, 1u}) {
        for (std::size_t i = 0; i < mapping.bytes() / sizeof(*words); i++)
            words[i].store(nonsense);
        victim.expect_to_work();
    }
    heard.descriptors[1] = Descriptor(); // its channel
    victim.expect_to_work();
    std::vector<Event> events(256);
    events.resize(honest->read(events, patience()));
    EXPECT_EQ(std::ranges::count(events, EventType::job_done, &Event::type), 5);
}

TEST(ServerEvents, AReaderThatGoesIsForgotten) {
    const TestServer server(options_of(1));
    Victim victim(server.path());
    {
        RawClient reader(server.path());
        reader.greet();
        EXPECT_EQ(reader.answer(Operation::create_events, 64).reply.code, 0);
        EXPECT_EQ(reader.answer(Operation::create_events, 64).reply.values[0], 2u);
        EXPECT_EQ(reader.answer(Operation::destroy_events, 2).reply.code, 0);
        EXPECT_EQ(reader.answer(Operation::destroy_events, 2).reply.code, ENOENT);
        for (int i = 0; i < 3; i++)
            EXPECT_EQ(reader.answer(Operation::create_events, 64).reply.code, 0);
        EXPECT_EQ(reader.answer(Operation::create_events, 64).reply.code, ENOSPC);
        EXPECT_EQ(reader.answer(Operation::create_events, 0).reply.code, EINVAL);
        EXPECT_EQ(reader.answer(Operation::create_events, ~std::uint64_t{0}).reply.code, EINVAL);
        victim.expect_to_work();
    }
    victim.expect_to_work();
}

TEST(ServerEvents, APollingReaderNoticesTheEndOfTheServer) {
    auto server = std::make_unique<TestServer>(options_of(1));
    const auto source = open_server(server->path())->events({});
    std::vector<Event> events(16);
    EXPECT_EQ(source->read(events, 0), 0u);
    server.reset();
    expect_error(ENODEV, "gone", [&] { source->read(events, 0); });
}

} // namespace
} // namespace overtake::test
