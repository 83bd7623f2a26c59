// SPDX-License-Identifier: MIT
//
// Service mode: the promises of its queue to a process, and the rules between processes.  The order
// of tasks is tested with scenarios (tests/dnn).
#include <atomic>
#include <cerrno>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "expect_error.hpp"
#include "overtake/engine.hpp"
#include "service_clients.hpp"

namespace overtake::test {
namespace {

/// A program that reads and writes no memory.
Program empty_program(Device& device) {
    return {device, {delay_insn(1)}};
}

/// Tests on each kind of device, with two cores that compute.
class ServiceTest : public testing::TestWithParam<Backend> {
protected:
    void SetUp() override {
        if (GetParam().name == "server")
            server_ = std::make_unique<TestServer>(options_of(2));
        const auto device = open();
        if (!device)
            return;
        if (device->info().mode == OVERTAKE_MODE_TIMED || device->info().core_count != 2)
            GTEST_SKIP() << "SKIPPED: the device does not compute, or has not two cores";
        made_.emplace(device);
    }
    /// Opens the device as another process, as far as the device can see.
    std::shared_ptr<Device> open() {
        return server_ ? open_server(server_->path()) : open_backend(GetParam(), {});
    }
    Program empty() { return empty_program(*process().device); }
    ServiceProcess& process() { return *made_; }

private:
    std::unique_ptr<TestServer> server_;
    std::optional<ServiceProcess> made_;
};

INSTANTIATE_TEST_SUITE_P(All, ServiceTest,
                         testing::Values(Backend{"server"}, Backend{"ioctl"}, Backend{"io_uring"}),
                         backend_name);

TEST(Service, IsRefusedWhereCoresAreUnlike) {
    ServerOptions options = options_of(2);
    options.device.profiles = {"default", "ideal"};
    const TestServer server(options);
    const auto device = open_server(server.path());
    expect_error(ENOTSUP, "service mode: the cores of this device have unlike profiles",
                 [&] { device->create_service_queue({}); });
    EXPECT_EQ(device->create_queue()->in_flight(), 0u) << "its own queues go on";
    options.device.profiles = {"ideal", "ideal"};
    const TestServer alike(options);
    EXPECT_NE(open_server(alike.path())->create_service_queue({}), nullptr);
}

/// A server for which nothing is overdue, even on a slow host.
class ServiceOnServer : public testing::Test {
protected:
    ServiceOnServer() : server(patient_options()), process(server.path()) {}

    static ServerOptions patient_options() {
        ServerOptions options = options_of(2);
        options.service.overdue_min_time_ns = 3600 * 1000 * ms;
        return options;
    }

    const TestServer server;
    ServiceProcess process;
};

TEST_P(ServiceTest, SegmentsRunInTheirOrder) {
    const auto source = process().device->create_buffer(4096);
    const auto target = process().device->create_buffer(4096);
    Program program(*process().device, {copy_insn(64)});
    program.bind(OVERTAKE_REGION_IO, *source, OVERTAKE_MAP_READ);
    program.bind(OVERTAKE_REGION_IO + 1, *target, OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
    std::memset(source->data(), 7, 512);
    process().queue->submit(Segments().bpu(program).cpu(1).bpu(program).task(42));
    EXPECT_EQ(process().queue->live(), 1u);

    const ServiceEvent run = process().next();
    ASSERT_EQ(run.type, ServiceEvent::Type::run_cpu);
    EXPECT_EQ(run.tag, 42u);
    EXPECT_EQ(run.segment, 1u);
    EXPECT_NE(run.start_ns, 0u);
    EXPECT_EQ(target->data()[511], std::byte{7});
    std::memset(source->data(), 9, 512);
    process().queue->cpu_done(42, 1, 0);

    const ServiceEvent end = process().next();
    ASSERT_EQ(end.type, ServiceEvent::Type::ended);
    EXPECT_EQ(end.tag, 42u);
    EXPECT_EQ(end.status, 0);
    EXPECT_EQ(target->data()[511], std::byte{9});
    EXPECT_TRUE(end.core == 1 || end.core == 2) << end.core;
    ASSERT_EQ(end.segments.size(), 3u);
    EXPECT_LE(end.arrived_ns, end.dispatched_ns);
    std::uint64_t at = end.dispatched_ns;
    for (const Completion& segment : end.segments) {
        EXPECT_LE(at, segment.queued_ns);
        EXPECT_LE(segment.queued_ns, segment.start_ns);
        EXPECT_LE(segment.start_ns, segment.end_ns);
        EXPECT_EQ(segment.status, 0);
        at = segment.end_ns;
    }
    EXPECT_LE(at, end.ended_ns);
    EXPECT_EQ(end.segments[0].core, end.core);
    EXPECT_EQ(end.segments[0].fcs_done, 1u);
    EXPECT_EQ(end.segments[1].core, 0u);
    EXPECT_EQ(end.segments[1].start_ns, run.start_ns);
    EXPECT_EQ(process().queue->live(), 0u);
    EXPECT_TRUE(process().queue->reap(0).empty());
}

TEST_P(ServiceTest, ATaskThatIsWrongIsRefusedAndNothingChanges) {
    const Program program = empty();
    const auto refuse = [&](int code, const std::string& words, const ServiceTask& task) {
        expect_error(code, words, [&] { process().queue->submit(task); });
        EXPECT_EQ(process().queue->live(), 0u);
    };
    const Segments good = Segments().bpu(program);
    refuse(EINVAL, "task 3: no segment", Segments().task(3));
    refuse(EPERM, "task 3: priority 255, but its queue was made for at most 254",
           good.task(3, 255));
    refuse(EINVAL, "task 3: priority 256, at most 255", good.task(3, 256));
    ServiceTask on_core = good.task(3);
    on_core.core = 3;
    refuse(EINVAL, "task 3: there is no core 3, the device has 2", on_core);
    Segments many;
    for (int i = 0; i < 1025; i++)
        many.cpu(1);
    refuse(E2BIG, "task 3: 1025 segments, at most 1024", many.task(3));
    Program without_fc_length = empty();
    without_fc_length.fcs[0].insn_count = 0;
    refuse(EINVAL, "task 3: segment 1: fcs[0].insn_count is 0",
           Segments().cpu(1).bpu(without_fc_length).task(3));
    Program elsewhere = empty();
    elsewhere.bindings[0].address = 64;
    refuse(ENOENT, "task 3: segment 0: bindings[0]", Segments().bpu(elsewhere).task(3));
    Program huge = empty();
    huge.fcs.resize(OVERTAKE_MAX_FCS, {0, 1});
    if (GetParam().name == "server") // the server has an area of fixed size for each task
        refuse(E2BIG, "make several tasks of it", Segments().bpu(huge).bpu(huge).bpu(huge).task(3));
    ServiceSegment half;
    half.bindings = program.bindings;
    ServiceTask of_half = good.task(3);
    of_half.segments = {&half, 1};
    refuse(EINVAL, "task 3: segment 0 has no FC, so it is on the CPU", of_half);

    process().queue->submit(good.task(3));
    EXPECT_EQ(process().next_end().status, 0);
}

TEST_P(ServiceTest, ASegmentMayBeAGroupOnSeveralCores) {
    const auto source = process().device->create_buffer(4096);
    const auto target = process().device->create_buffer(4096);
    Program program(*process().device, {copy_insn(64)});
    program.bind(OVERTAKE_REGION_IO, *source, OVERTAKE_MAP_READ);
    program.bind(OVERTAKE_REGION_IO + 1, *target, OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
    program.fcs.assign(3, program.fcs.front());
    for (int round = 1; round <= 5; round++) {
        std::memset(source->data(), round, 512);
        const Segments segments =
            Segments().group(program, 2).cpu(1).bpu(program).group(program, 1);
        process().queue->submit(segments.task(42));
        const ServiceEvent end = process().next_end();
        EXPECT_EQ(end.tag, 42u);
        EXPECT_EQ(end.status, 0);
        EXPECT_EQ(target->data()[511], static_cast<std::byte>(round));
        ASSERT_EQ(end.segments.size(), 4u);
        EXPECT_EQ(end.segments[0].fcs_done, 6u);
        EXPECT_EQ(end.segments[2].fcs_done, 3u);
        EXPECT_EQ(end.segments[3].fcs_done, 3u);
        EXPECT_TRUE(end.core == 1 || end.core == 2) << end.core;
        for (const std::size_t segment : {0, 2, 3})
            EXPECT_EQ(end.segments[segment].core, end.core);
    }
}

TEST_P(ServiceTest, AGroupThatIsWrongIsRefusedAndNothingChanges) {
    Program program = empty();
    program.fcs.assign(2, program.fcs.front());
    const auto refuse = [&](int code, const std::string& words, const ServiceTask& task) {
        expect_error(code, words, [&] { process().queue->submit(task); });
        EXPECT_EQ(process().queue->live(), 0u);
    };
    const auto made = [&] { return Segments().cpu(1).group(program, 2); };
    refuse(EINVAL, "task 3: a segment has 3 parts, but the device has 2 cores",
           Segments().group(program, 3).task(3));
    const Segments good = made();
    ServiceTask on_core = good.task(3);
    on_core.core = 1;
    refuse(EINVAL, "task 3: it has segments with parts, so it names no core: leave core 0",
           on_core);
    Segments named = made();
    named.last_parts()[1].core = 2;
    refuse(EINVAL,
           "task 3: segment 1: parts[1].core is 2, but parts of a task name no core: the device "
           "gives the task as many as it needs",
           named.task(3));
    Segments without_parts = made();
    without_parts.last().parts = {};
    refuse(EINVAL,
           "task 3: segment 1: stages or group_record, but no parts: a job without parts has "
           "neither",
           without_parts.task(3));
    Segments without_stages = made();
    without_stages.last().stages = {};
    refuse(EINVAL, "task 3: segment 1: 0 stages for 4 FCs: each FC has one",
           without_stages.task(3));
    Segments on_cpu = made();
    on_cpu.last().fcs = {};
    on_cpu.last().bindings = {};
    refuse(EINVAL,
           "task 3: segment 1 has no FC, so it is on the CPU and has neither parts nor stages",
           on_cpu.task(3));
    Segments empty_stage = made();
    empty_stage.last_stages() = {0, 0, 0, 2};
    refuse(EINVAL, "task 3: segment 1: no FC is in stage 1", empty_stage.task(3));
    Segments falls = made();
    falls.last_stages() = {1, 0, 0, 1};
    refuse(EINVAL,
           "task 3: segment 1: stages[1] is 0, less than that of the FC before it in its part",
           falls.task(3));
    Segments too_many = made();
    too_many.last_stages() = {0, 1, 0, OVERTAKE_MAX_STAGES};
    refuse(E2BIG, "task 3: segment 1: 4097 stages; the limit is 4096 stages of a group",
           too_many.task(3));
    Segments sum = made();
    sum.last_parts()[0].fc_count = 1;
    refuse(EINVAL, "task 3: segment 1: its parts do not have 4 FCs together, as the job has",
           sum.task(3));
    process().queue->submit(good.task(3));
    EXPECT_EQ(process().next_end().status, 0);
}

/// Closes a queue with several groups, while all parts run, wait for stages, or wait for slots.
TEST_P(ServiceTest, AQueueThatGoesEndsItsGroups) {
    Program endless(*process().device, {jump_insn(0)});
    endless.fcs.assign(3, endless.fcs.front());
    const Segments segments = Segments().group(endless, 2).cpu(1).group(endless, 2);
    for (int round = 0; round < 5; round++) {
        ServiceProcess other(open());
        Program theirs(*other.device, {jump_insn(0)});
        theirs.fcs.assign(3, theirs.fcs.front());
        const Segments wide = Segments().group(theirs, 2);
        for (std::uint64_t tag = 0; tag < 4; tag++)
            other.queue->submit(wide.task(tag));
        if (round % 2 == 0) {
            EXPECT_TRUE(other.queue->cancel(0));
        }
        other.queue.reset();
        const Program program = empty();
        process().queue->submit(Segments().group(program, 2).task(1));
        EXPECT_EQ(process().next_end().status, 0);
    }
    process().queue->submit(segments.task(2));
    EXPECT_TRUE(process().queue->cancel(2));
    EXPECT_EQ(process().next_end().status, -ECANCELED);
}

TEST_P(ServiceTest, ATagIsUsedOnceAtATime) {
    process().queue->submit(Segments().cpu(1).task(5));
    expect_error(EEXIST, "tag 5 is in use",
                 [&] { process().queue->submit(Segments().cpu(1).task(5)); });
    ServiceProcess other(open());
    other.queue->submit(Segments().cpu(1).task(5)); // another process has tags of its own
    EXPECT_EQ(process().next_end().tag, 5u);
    process().queue->submit(Segments().cpu(1).task(5));
    EXPECT_EQ(process().next_end().tag, 5u);
    EXPECT_EQ(other.next_end().tag, 5u);
}

TEST_P(ServiceTest, SoManyTasksAndNoMore) {
    for (std::uint64_t tag = 0; tag < 1024; tag++)
        process().queue->submit(Segments().cpu(1).task(tag));
    expect_error(ENOSPC, "1024 tasks of ",
                 [&] { process().queue->submit(Segments().cpu(1).task(1024)); });
    ServiceVictim(open()).expect_to_work();
    process().next_end();
    process().queue->submit(Segments().cpu(1).task(1024));
    for (int i = 0; i < 1024; i++)
        process().next_end();
    EXPECT_EQ(process().queue->live(), 0u);
}

/// Jobs follow each other: twelve tasks with a thousand segments have at most twelve jobs at a
/// time.
TEST_P(ServiceTest, SegmentsOfTheDeviceCountAsOneJob) {
    const Program program = empty();
    Segments many;
    many.cpu(1);
    for (int i = 0; i < 1000; i++)
        many.bpu(program);
    for (std::uint64_t tag = 0; tag < 12; tag++)
        process().queue->submit(many.task(tag));
    for (std::uint64_t tag = 1; tag < 12; tag++)
        EXPECT_TRUE(process().queue->cancel(tag));
    int done = 0;
    for (int i = 0; i < 12; i++)
        done += process().next_end().status == 0;
    EXPECT_EQ(done, 1);
}

TEST_P(ServiceTest, ReportsOfCpuSegmentsAreChecked) {
    const auto refuse = [&](int code, const std::string& words, std::uint64_t tag,
                            std::uint32_t segment, std::int32_t status = 0) {
        expect_error(code, words, [&] { process().queue->cpu_done(tag, segment, status); });
    };
    refuse(ENOENT, "no task 7", 7, 0);
    process().queue->submit(Segments().cpu(1).cpu(2).task(7));
    refuse(EINVAL, "segment 0 is not to be run", 7, 0); // its event has not been fetched yet
    ASSERT_EQ(process().next().segment, 0u);
    refuse(EINVAL, "segment 1 is not to be run", 7, 1);
    refuse(EINVAL, "segment 4294967295 is not", 7, ~0u);
    refuse(EINVAL, "5 is no status", 7, 0, 5);
    refuse(EINVAL, "-4096 is no status", 7, 0, -4096);
    ServiceProcess other(open());
    expect_error(ENOENT, "no task 7", [&] { other.queue->cpu_done(7, 0, 0); });
    process().queue->cpu_done(7, 0, 0);
    refuse(EINVAL, "has been reported already", 7, 0);
    ASSERT_EQ(process().next().segment, 1u);
    process().queue->cpu_done(7, 1, -EIO);
    const ServiceEvent end = process().next();
    EXPECT_EQ(end.status, -EIO);
    EXPECT_EQ(end.segments[1].status, -EIO);
    refuse(ENOENT, "no task 7", 7, 1);
}

TEST_P(ServiceTest, AFaultEndsItsTaskAndNoOther) {
    const Program bad(*process().device, {jump_insn(77)});
    const Program good = empty();
    process().queue->submit(Segments().bpu(bad).bpu(good).task(1));
    process().queue->submit(Segments().bpu(good).bpu(good).task(2));
    std::map<std::uint64_t, ServiceEvent> ends;
    for (int i = 0; i < 2; i++) {
        ServiceEvent end = process().next_end();
        ends[end.tag] = end;
    }
    EXPECT_EQ(ends[1].status, -ENOEXEC);
    EXPECT_EQ(ends[1].segments[1].queued_ns, 0u);
    EXPECT_EQ(ends[2].status, 0);
}

TEST_P(ServiceTest, ATaskIsCancelledWhereverItIs) {
    EXPECT_FALSE(process().queue->cancel(1));
    const Program endless(*process().device, {jump_insn(0)});
    process().queue->submit(Segments().bpu(endless).task(1)); // it runs
    process().queue->submit(Segments().cpu(1).task(2));       // it is with its process
    for (std::uint64_t tag = 10; tag < 20; tag++)
        process().queue->submit(Segments().bpu(endless).task(tag)); // it waits, or runs
    ASSERT_EQ(process().next().tag, 2u);
    for (std::uint64_t tag = 10; tag < 20; tag++)
        EXPECT_TRUE(process().queue->cancel(tag));
    EXPECT_TRUE(process().queue->cancel(1));
    EXPECT_TRUE(process().queue->cancel(2));
    process().queue->cpu_done(2, 0, 0);
    for (int i = 0; i < 12; i++)
        EXPECT_EQ(process().next_end().status, -ECANCELED);
    EXPECT_FALSE(process().queue->cancel(1));
    ServiceVictim(open()).expect_to_work();
}

TEST_P(ServiceTest, InterruptEndsAWait) {
    expect_error(EINVAL, "interruptible", [&] { process().queue->interrupt(); });
    ServiceProcess waiting(open(), {.interruptible = true});
    waiting.queue->submit(Segments().cpu(1).task(1));
    ASSERT_EQ(waiting.next().tag, 1u);
    waiting.queue->interrupt();
    EXPECT_TRUE(waiting.queue->reap(patience()).empty());
    std::thread other([&] { waiting.queue->interrupt(); });
    EXPECT_TRUE(waiting.queue->reap(patience()).empty());
    other.join();
    EXPECT_TRUE(waiting.queue->reap(in_ms(1)).empty());
    expect_error(EINVAL, "negative deadline", [&] { waiting.queue->reap(-1); });
}

TEST_P(ServiceTest, EventsWaitUntilTheClientAsks) {
    // These are more segments than one answer has room for.
    Segments wide;
    for (int i = 0; i < 1000; i++)
        wide.cpu(1);
    for (std::uint64_t tag = 0; tag < 5; tag++)
        process().queue->submit(wide.task(tag));
    for (std::uint64_t tag = 0; tag < 5; tag++)
        process().queue->cancel(tag);
    for (std::uint64_t tag = 0; tag < 5; tag++) {
        const ServiceEvent end = process().next_end();
        EXPECT_EQ(end.segments.size(), 1000u);
    }
    EXPECT_EQ(process().queue->live(), 0u);
}

TEST_P(ServiceTest, OptionsAreChecked) {
    const auto refuse = [&](int code, const std::string& words, ServiceQueueOptions options) {
        expect_error(code, words, [&] { process().device->create_service_queue(options); });
    };
    refuse(EINVAL, "0 CPU workers", {.workers = 0});
    refuse(EINVAL, "1025 CPU workers", {.workers = 1025});
    refuse(EINVAL, "256", {.max_priority = 256});
    refuse(EINVAL, "255", {.core_limit = 1});
    expect_error(ENOTSUP, "overtake serve",
                 [&] { open_embedded()->create_service_queue(ServiceQueueOptions{}); });
    EXPECT_EQ(process().queue->settings().task_limit, 8u);
    EXPECT_EQ(process().queue->settings().overdue_min_time_ns, 20 * ms);
}

TEST_F(ServiceOnServer, ASettingThatMakesNoSchedulerIsRefused) {
    for (const auto& [change, words] :
         std::map<std::string, std::string>{{"policy", "no policy named 'x'"},
                                            {"slots", "at least one slot"},
                                            {"task_limit", "a task limit of 1"}}) {
        ServerOptions options = options_of(1);
        if (change == "policy")
            options.policy = "x";
        if (change == "slots")
            options.service.slots = 0;
        if (change == "task_limit")
            options.service.task_limit = 0;
        expect_error(EINVAL, words, [&] { const TestServer refused(options); });
    }
}

TEST(Service, Priority255IsForUsersWithTheRight) {
    SKIP_UNLESS_ROOT();
    const TestServer server(options_of(1), ServerIn::process);
    open_to_all(server);
    EXPECT_EQ(
        as_stranger({},
                    [&] {
                        open_server(server.path())->create_service_queue({.max_priority = 255});
                        return 0;
                    }),
        EPERM);
}

TEST_P(ServiceTest, AQueueThatGoesEndsItsTasks) {
    const Program endless(*process().device, {jump_insn(0)});
    for (const unsigned core : {1u, 2u})
        for (std::uint64_t i = 0; i < 20; i++) {
            const Segments segments = Segments().bpu(endless).cpu(1).bpu(endless);
            ServiceTask task = segments.task(core * 100 + i);
            task.core = core;
            process().queue->submit(task);
        }
    process().queue.reset();
    ServiceVictim victim(open());
    victim.expect_to_work();
    process().queue = process().device->create_service_queue({});
    process().queue->submit(Segments().cpu(1).task(1));
    EXPECT_EQ(process().next_end().status, 0);
}

TEST_F(ServiceOnServer, StatusShowsWhatEachProcessHas) {
    ServiceProcess one_worker(server.path(), {.workers = 1});
    for (std::uint64_t tag = 0; tag < 12; tag++)
        one_worker.queue->submit(Segments().cpu(1).task(tag));
    const auto clients = nlohmann::json::parse(server_status(server.path())).at("clients");
    ASSERT_EQ(clients.size(), 2u);
    EXPECT_EQ(clients[0].at("tasks").at("dispatched"), 0);
    const auto& tasks = clients[1].at("tasks");
    EXPECT_EQ(tasks.at("dispatched"), 8);
    EXPECT_EQ(tasks.at("waiting"), 4);
    EXPECT_EQ(tasks.at("ready"), 0);
    EXPECT_EQ(tasks.at("slots"), 0);
    EXPECT_EQ(tasks.at("ended"), 0);
    one_worker.next_end();
    const auto later = nlohmann::json::parse(server_status(server.path())).at("clients")[1];
    EXPECT_EQ(later.at("tasks").at("ended"), 1);
    EXPECT_EQ(later.at("tasks").at("waiting"), 3);
}

TEST_P(ServiceTest, AnEngineUsesServiceMode) {
    EngineOptions options;
    options.service = true;
    Engine engine(process().device, options);
    ASSERT_TRUE(engine.service_settings());
    EXPECT_EQ(engine.service_settings()->slots, 1u);
    std::vector<std::shared_ptr<overtake::Request>> requests;
    std::atomic<int> computed = 0;
    for (int i = 0; i < 100; i++) {
        requests.push_back(engine.create_request());
        requests.back()->add([&] { return computed++, 0; });
        requests.back()->add([&] { return computed++, 0; });
        requests.back()->submit();
    }
    for (const auto& request : requests) {
        EXPECT_TRUE(request->wait(patience()));
        EXPECT_EQ(request->status(), 0) << request->error();
        ASSERT_EQ(request->segments().size(), 2u);
        EXPECT_NE(request->segments()[1].end_ns, 0u);
    }
    EXPECT_EQ(computed, 200);
    Engine own(process().device);
    EXPECT_FALSE(own.service_settings());
    expect_error(ENOTSUP, "overtake serve", [&] { const Engine none(open_embedded(), options); });
}

TEST(Service, AnEngineEndsItsRequestsWhenTheServerDies) {
    auto server = std::make_unique<TestServer>(options_of(1));
    EngineOptions options;
    options.service = true;
    Engine engine(open_server(server->path()), options);
    std::promise<void> begun, may_end;
    const auto end = may_end.get_future().share();
    const auto busy = engine.create_request();
    busy->add([&begun, end] {
        begun.set_value();
        end.wait();
        return 0;
    });
    busy->add([] { return 0; });
    busy->submit();
    const auto waiting = engine.create_request();
    waiting->add([] { return 0; }, 1);
    begun.get_future().wait();
    server.reset();
    waiting->submit();
    EXPECT_TRUE(waiting->wait(patience()));
    EXPECT_EQ(waiting->status(), -ENODEV);
    EXPECT_EQ(busy->status(), -EINPROGRESS); // it is being computed
    may_end.set_value();
    EXPECT_TRUE(busy->wait(patience()));
    EXPECT_EQ(busy->status(), -ENODEV);
}

TEST(Service, AStatusThatIsNoErrnoEndsItsOwnRequestAlone) {
    TestServer server(options_of(1));
    for (const bool service : {false, true}) {
        EngineOptions options;
        options.service = service;
        Engine engine(open_server(server.path()), options);
        for (const std::int32_t status : {1, -4096, INT32_MIN, INT32_MAX}) {
            const auto odd = engine.create_request();
            odd->add([status] { return status; });
            odd->submit();
            EXPECT_TRUE(odd->wait(patience()));
            EXPECT_EQ(odd->status(), -EIO);
            EXPECT_NE(odd->error().find("no errno"), std::string::npos) << odd->error();
        }
        for (const std::int32_t status : {0, -1, -4095}) {
            const auto plain = engine.create_request();
            plain->add([status] { return status; });
            plain->submit();
            EXPECT_TRUE(plain->wait(patience()));
            EXPECT_EQ(plain->status(), status);
        }
    }
}

/// The server dies at any moment: while tasks arrive, segments are reported or events come.
TEST(Service, EveryRequestEndsWhenTheServerIsKilled) {
    for (int round = 0; round < 30; round++) {
        TestServer server(options_of(1), ServerIn::process);
        EngineOptions options;
        options.service = true;
        Engine engine(open_server(server.path()), options);
        std::atomic<std::uint64_t> ended = 0;
        std::vector<std::thread> clients;
        for (int i = 0; i < 4; i++)
            clients.emplace_back([&] {
                for (int failed = 0; failed < 3;) {
                    const auto request = engine.create_request();
                    for (int segment = 0; segment < 3; segment++)
                        request->add([] { return 0; });
                    request->submit();
                    if (!request->wait(patience())) {
                        ADD_FAILURE() << "round " << round << ": a request has no end";
                        return;
                    }
                    ended++;
                    failed += request->status() != 0;
                }
            });
        while (ended < 20)
            std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::microseconds(137 * round));
        server.kill();
        for (std::thread& client : clients)
            client.join();
        if (HasFailure())
            return;
    }
}

} // namespace
} // namespace overtake::test
