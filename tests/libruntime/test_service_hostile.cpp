// SPDX-License-Identifier: MIT
//
// Neighbours in service mode can do nothing to each other and to the device, of a driver or of a
// server, except for the delays that docs/use/service.md counts.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "service_clients.hpp"

namespace overtake::test {
namespace {

/// A connection with a queue of service mode, whose memory a test may fill with anything.
class RawTasks : public RawClient {
public:
    explicit RawTasks(const std::string& path) : RawClient(path) {
        greet();
        Heard heard = answer(Operation::create_tasks, 254, std::uint64_t{4} << 32);
        id_ = heard.reply.values[0];
        mapping_ = Mapping(heard.descriptors[0].get(), round_to_pages(sizeof(TaskArea)));
        channel_ = std::move(heard.descriptors[1]);
    }
    TaskArea& area() { return *reinterpret_cast<TaskArea*>(mapping_.data()); }
    std::uint64_t id() const { return id_; }
    void close_channel() { channel_ = Descriptor(); }
    void wake() { send_wake_up(channel_.get()); }
    void call(std::uint32_t operation, std::uint32_t bytes) {
        area().operation = operation;
        area().call_bytes = bytes;
        area().calls++;
        wake();
    }
    template <class... Values>
    void call(TaskCall operation, const Values&... values) {
        std::size_t at = 0;
        const auto put = [&](const auto& value) {
            std::memcpy(area().call.data() + at, &value, sizeof(value));
            at += sizeof(value);
        };
        (put(values), ...);
        call(static_cast<std::uint32_t>(operation), static_cast<std::uint32_t>(at));
    }
    /// Returns false if the connection is closed instead.
    bool is_answered() {
        while (area().answers != area().calls) {
            std::array<pollfd, 2> sources{{{channel_.get(), POLLIN, 0}, {socket_fd(), POLLIN, 0}}};
            if (poll(sources.data(), sources.size(), 60'000) <= 0 ||
                !take_wake_ups(channel_.get()) || sources[1].revents != 0)
                return false;
        }
        // A closed connection sends no answer.
        pollfd connection{socket_fd(), POLLIN, 0};
        return poll(&connection, 1, 0) == 0;
    }

private:
    std::uint64_t id_ = 0;
    Mapping mapping_;
    Descriptor channel_;
};

constexpr WireTask one_segment{.tag = 1,
                               .custom_id = 0,
                               .model = 0,
                               .deadline_ns = 0,
                               .priority = 0,
                               .core = 0,
                               .segment_count = 1,
                               .width = 0};
constexpr WireSegment on_cpu{};

WireTask with(std::function<void(WireTask&)> change) {
    WireTask task = one_segment;
    change(task);
    return task;
}

WireSegment segment(std::function<void(WireSegment&)> change) {
    WireSegment of = on_cpu;
    change(of);
    return of;
}

struct ServiceAttack {
    const char* name;
    std::function<void(RawTasks&)> make;
};

const WireTask wide = with([](WireTask& task) { task.width = 1; });

WireSegment of_parts(std::uint32_t fcs, std::uint32_t parts, std::uint32_t stages) {
    return segment([&](WireSegment& of) {
        of.fc_count = fcs;
        of.part_count = parts;
        of.stage_count = stages;
    });
}

ServiceAttack submitted(const char* name, WireTask task, WireSegment of, auto... behind) {
    return {name, [=](RawTasks& client) { client.call(TaskCall::submit, task, of, behind...); }};
}

const std::vector<ServiceAttack>& service_attacks_that_end_a_client() {
    static const std::vector<ServiceAttack> attacks{
        {"a call for what is none", [](RawTasks& client) { client.call(99u, 0); }},
        {"a call for nothing", [](RawTasks& client) { client.call(0u, 0); }},
        {"a call longer than its area",
         [](RawTasks& client) { client.call(1u, job_area_bytes + 1); }},
        {"the longest call there can be", [](RawTasks& client) { client.call(1u, ~0u); }},
        {"two calls at once",
         [](RawTasks& client) {
             client.area().calls = 2;
             client.wake();
         }},
        {"calls that go back",
         [](RawTasks& client) {
             client.area().calls = ~0u;
             client.wake();
         }},
        {"a piece of a task", [](RawTasks& client) { client.call(1u, sizeof(WireTask) - 8); }},
        {"a task without its segment",
         [](RawTasks& client) { client.call(TaskCall::submit, one_segment); }},
        {"as many segments as can be said",
         [](RawTasks& client) {
             client.call(TaskCall::submit, with([](WireTask& t) { t.segment_count = ~0u; }),
                         on_cpu);
         }},
        submitted("a width without parts", wide, on_cpu),
        submitted("parts without stages", one_segment, of_parts(0, 1, 0), overtake_part{}),
        submitted("stages without parts", one_segment, of_parts(0, 0, 2), std::uint64_t{}),
        submitted("parts behind the end", one_segment, of_parts(0, 2, 2)),
        submitted("as many parts and stages as can be said", one_segment, of_parts(0, ~0u, ~0u)),
        {"a reserved field of a segment",
         [](RawTasks& client) {
             client.call(TaskCall::submit, one_segment,
                         segment([](WireSegment& s) { s.reserved = 1; }));
         }},
        {"FCs behind the end",
         [](RawTasks& client) {
             client.call(TaskCall::submit, one_segment,
                         segment([](WireSegment& s) { s.fc_count = 5; }));
         }},
        {"as many FCs as can be said",
         [](RawTasks& client) {
             client.call(TaskCall::submit, one_segment,
                         segment([](WireSegment& s) { s.fc_count = ~0u; }));
         }},
        {"as many bindings as can be said",
         [](RawTasks& client) {
             client.call(TaskCall::submit, one_segment,
                         segment([](WireSegment& s) { s.binding_count = ~0u; }));
         }},
        {"more than a task",
         [](RawTasks& client) { client.call(TaskCall::submit, one_segment, on_cpu, on_cpu); }},
        {"a piece of a report",
         [](RawTasks& client) { client.call(TaskCall::cpu_done, std::uint64_t{1}); }},
        {"a piece of a tag",
         [](RawTasks& client) { client.call(TaskCall::cancel, std::uint32_t{1}); }},
    };
    return attacks;
}

TEST(HostileService, AClientThatBreaksTheProtocolIsClosedAlone) {
    const TestServer server(options_of(1));
    ServiceVictim victim(server.path());
    for (const ServiceAttack& attack : service_attacks_that_end_a_client()) {
        SCOPED_TRACE(attack.name);
        RawTasks client(server.path());
        attack.make(client);
        EXPECT_FALSE(client.is_answered());
        victim.expect_to_work();
    }
    expect_clients(server.path(), 1);
}

TEST(HostileService, AChannelThatIsClosedEndsItsQueueAlone) {
    const TestServer server(options_of(1));
    RawTasks client(server.path());
    client.area().calls = 1;
    client.close_channel();
    expect_queues(server.path(), 0);
    EXPECT_EQ(client.answer(Operation::info).reply.code, 0);
}

const std::vector<ServiceAttack>& attacks_that_are_refused() {
    static const std::vector<ServiceAttack> attacks{
        {"no segment",
         [](RawTasks& client) {
             client.call(TaskCall::submit, with([](WireTask& t) { t.segment_count = 0; }));
         }},
        {"a priority above its right",
         [](RawTasks& client) {
             client.call(TaskCall::submit, with([](WireTask& t) { t.priority = 255; }), on_cpu);
         }},
        {"a priority that is none",
         [](RawTasks& client) {
             client.call(TaskCall::submit, with([](WireTask& t) { t.priority = ~0u; }), on_cpu);
         }},
        submitted("a width that no device has", with([](WireTask& t) { t.width = ~0u; }), on_cpu),
        submitted("a width and a core", with([](WireTask& t) { t.width = t.core = 1; }), on_cpu),
        submitted("a segment on the CPU with parts", wide, of_parts(0, 1, 2),
                  overtake_part{.fc_count = 1, .core = 0}, std::uint64_t{}),
        submitted("a part that names its core", wide, of_parts(1, 1, 2), overtake_fc{0, 1},
                  overtake_part{.fc_count = 1, .core = 1}, std::uint64_t{}),
        {"a core that is none",
         [](RawTasks& client) {
             client.call(TaskCall::submit, with([](WireTask& t) { t.core = ~0u; }), on_cpu);
         }},
        {"a segment on the CPU with scratch memory",
         [](RawTasks& client) {
             client.call(TaskCall::submit, one_segment,
                         segment([](WireSegment& s) { s.scratch_bytes = 1; }));
         }},
        {"an FC without a program",
         [](RawTasks& client) {
             client.call(TaskCall::submit, one_segment,
                         segment([](WireSegment& s) { s.fc_count = 1; }), overtake_fc{0, 1});
         }},
        {"another's address",
         [](RawTasks& client) {
             const overtake_binding others{.address = 1 << 16,
                                           .length = 64,
                                           .region = OVERTAKE_REGION_PROGRAM,
                                           .flags = OVERTAKE_MAP_READ};
             client.call(TaskCall::submit, one_segment, segment([](WireSegment& s) {
                             s.fc_count = 1;
                             s.binding_count = 1;
                         }),
                         overtake_fc{0, 1}, others);
         }},
        {"scratch memory beyond all limits",
         [](RawTasks& client) {
             client.call(TaskCall::submit, one_segment, segment([](WireSegment& s) {
                             s.fc_count = 1;
                             s.scratch_bytes = ~0u;
                         }),
                         overtake_fc{0, 1});
         }},
        {"a report of what is not there",
         [](RawTasks& client) {
             client.call(TaskCall::cpu_done, WireCpuDone{.tag = 77, .segment = 0, .status = 0});
         }},
        {"a report with a status that is none",
         [](RawTasks& client) {
             client.call(TaskCall::cpu_done,
                         WireCpuDone{.tag = 77, .segment = 0, .status = INT32_MIN});
         }},
    };
    return attacks;
}

TEST(HostileService, AWrongCallIsRefusedAndNothingChanges) {
    const TestServer server(options_of(1));
    ServiceVictim victim(server.path());
    RawTasks client(server.path());
    for (const ServiceAttack& attack : attacks_that_are_refused()) {
        SCOPED_TRACE(attack.name);
        attack.make(client);
        ASSERT_TRUE(client.is_answered());
        EXPECT_NE(client.area().code, 0);
        EXPECT_NE(client.area().text[0], 0);
        victim.expect_to_work();
    }
    client.call(TaskCall::cancel, std::uint64_t{77});
    ASSERT_TRUE(client.is_answered());
    EXPECT_EQ(client.area().code, 0);
    EXPECT_EQ(client.area().answer[0], std::byte{0});
}

TEST(HostileService, AnAreaThatIsOverwrittenHurtsItsOwnerAlone) {
    const TestServer server(options_of(1));
    ServiceVictim victim(server.path());
    std::mt19937 random(1);
    for (int round = 0; round < 100; round++) {
        RawTasks client(server.path());
        client.call(TaskCall::submit, one_segment, on_cpu);
        auto* bytes = reinterpret_cast<unsigned char*>(&client.area());
        for (std::size_t i = 0; i < sizeof(TaskArea); i += 1 + random() % 64)
            bytes[i] = static_cast<unsigned char>(random());
        for (int call = 0; call < 3; call++)
            client.wake();
        if (round % 10 == 0)
            victim.expect_to_work();
    }
    expect_clients(server.path(), 1);
    victim.expect_to_work();
}

// Neighbours that die, stop and lie, as processes

/// Runs `action` in a process of its own, which it returns.  The process exits with 0 when `action`
/// returns, and with 1 when it throws.
pid_t start(const std::function<void()>& action) {
    const pid_t child = fork_test();
    if (child == 0) {
        try {
            action();
        } catch (const std::exception&) {
            _exit(1);
        }
        _exit(0);
    }
    return child;
}

/// Opens the device as another process.
using Open = std::function<std::shared_ptr<Device>()>;

struct Misbehaviour {
    const char* name;
    /// Goes on until it is killed, or for a while.
    std::function<void(const Open& open)> act;
    std::uint64_t claim_ns = ms; ///< the claim about its CPU segments that counts
};

/// Submits tasks with a CPU segment between two segments for the device.  Every second task begins
/// with another CPU segment.
void submit_some(ServiceProcess& process, const Program& program, unsigned count,
                 std::uint64_t expected_ns = ms) {
    for (std::uint64_t tag = 0; tag < count; tag++) {
        const Segments gap = Segments().bpu(program).cpu(2, expected_ns).bpu(program);
        const Segments leading = Segments().cpu(1, expected_ns).bpu(program).cpu(3).bpu(program);
        process.queue->submit((tag % 2 == 0 ? gap : leading).task(tag, 100));
    }
}

const std::vector<Misbehaviour>& misbehaviours() {
    static const std::vector<Misbehaviour> all{
        {"runs and reports, and is killed",
         [](const Open& open) {
             ServiceProcess process(open());
             const Program program = delays(*process.device, {100});
             for (;;) {
                 submit_some(process, program, 20);
                 for (int i = 0; i < 20; i++)
                     process.next_end();
             }
         }},
        {"never reports",
         [](const Open& open) {
             ServiceProcess process(open());
             const Program program = delays(*process.device, {100});
             submit_some(process, program, 100);
             pause();
         }},
        {"takes events and never reports",
         [](const Open& open) {
             ServiceProcess process(open());
             const Program program = delays(*process.device, {100});
             submit_some(process, program, 100);
             for (;;)
                 process.queue->reap(deadline_never);
         }},
        {"reports twice, early and for others",
         [](const Open& open) {
             ServiceProcess process(open());
             const Program program = delays(*process.device, {100});
             submit_some(process, program, 100);
             std::minstd_rand random(7);
             for (;;) {
                 try {
                     process.queue->cpu_done(random() % 120, random() % 4, 0);
                 } catch (const Error&) { // nearly always
                 }
                 process.queue->reap(0);
             }
         }},
        {"claims nothing",
         [](const Open& open) {
             ServiceProcess process(open());
             const Program program = delays(*process.device, {100});
             submit_some(process, program, 50, 0);
             pause();
         }},
        {"claims 2^63",
         [](const Open& open) {
             ServiceProcess process(open());
             const Program program = delays(*process.device, {100});
             submit_some(process, program, 50, 1ull << 63);
             pause();
         },
         1000 * ms},
        {"submits without end",
         [](const Open& open) {
             ServiceProcess process(open(), {.workers = 1024});
             const Program program = delays(*process.device, {100});
             for (std::uint64_t tag = 0;; tag++) {
                 try {
                     process.queue->submit(Segments().bpu(program).cpu(1).task(tag, 100));
                 } catch (const Error&) {
                     process.next_end();
                 }
             }
         }},
        {"cancels all it has",
         [](const Open& open) {
             ServiceProcess process(open());
             const Program program = delays(*process.device, {100});
             for (;;) {
                 submit_some(process, program, 20);
                 for (std::uint64_t tag = 0; tag < 20; tag++)
                     process.queue->cancel(tag);
                 for (int i = 0; i < 20; i++)
                     process.next_end();
             }
         }},
        {"forks with tasks alive",
         [](const Open& open) {
             ServiceProcess process(open());
             const Program program = delays(*process.device, {100});
             submit_some(process, program, 20);
             if (fork() == 0) {
                 usleep(2000);
                 _exit(0); // closes its copies of the descriptors
             }
             pause();
         }},
        {"calls exec with tasks alive",
         [](const Open& open) {
             ServiceProcess process(open());
             const Program program = delays(*process.device, {100});
             submit_some(process, program, 20);
             execlp("sleep", "sleep", "60", nullptr);
         }},
        {"closes while it waits",
         [](const Open& open) {
             for (;;) {
                 auto process = std::make_unique<ServiceProcess>(open());
                 const Program program = delays(*process->device, {100});
                 submit_some(*process, program, 20);
                 process->queue->reap(in_ms(1));
                 process->queue.reset();
             }
         }},
    };
    return all;
}

unsigned rounds_of_hostility() {
    const char* wanted = std::getenv("OVERTAKE_TEST_ROUNDS");
    return wanted ? static_cast<unsigned>(std::stoul(wanted)) : 3;
}

/// Returns the time for which a neighbour is stopped before it goes on; 0: for one task of each
/// victim.
std::chrono::milliseconds length_of_a_stop() {
    const char* wanted = std::getenv("OVERTAKE_TEST_STOP_MS");
    return std::chrono::milliseconds(wanted ? std::stoul(wanted) : 0);
}

/// Returns the larger of the bounds of docs/use/service.md, "How long a neighbour can delay a
/// task": for a slot and for a place.
std::uint64_t bound_ns(const ServiceSettings& of, std::uint64_t claim_ns) {
    const auto overdue_ns = [&](std::uint64_t expected_ns) {
        return std::max(of.overdue_factor * expected_ns, of.overdue_min_time_ns);
    };
    return 2 * std::max(overdue_ns(of.wait_dispatch_time_ns), overdue_ns(claim_ns));
}

class HostileNeighbour : public testing::TestWithParam<std::tuple<std::size_t, Backend>> {};

/// Two victims beside the neighbour get every byte right, however it ends; and nothing of it is
/// left.
TEST_P(HostileNeighbour, HurtsNoOtherClient) {
    const auto& [number, backend] = GetParam();
    const Misbehaviour& of = misbehaviours()[number];
    std::unique_ptr<TestServer> server;
    if (backend.name == "server")
        server = std::make_unique<TestServer>(options_of(1, OVERTAKE_MODE_BOTH), ServerIn::process);
    const Open open = [&] {
        return server ? open_server(server->path()) : open_backend(backend, {});
    };
    const auto device = open();
    if (!device)
        return;
    if (device->info().mode == OVERTAKE_MODE_TIMED)
        GTEST_SKIP() << "SKIPPED: the device does not compute";
    std::mt19937 random(static_cast<unsigned>(number));
    ServiceVictim one(open());
    ServiceVictim two(open());
    for (unsigned round = 0; round < rounds_of_hostility(); round++) {
        const pid_t child = start([&] { of.act(open); });
        const unsigned tasks_before = random() % 8;
        for (unsigned i = 0; i < tasks_before; i++)
            (i % 2 == 0 ? one : two).expect_to_work();
        if (random() % 2 == 0) {
            kill(child, SIGSTOP);
            const auto until = std::chrono::steady_clock::now() + length_of_a_stop();
            one.expect_to_work();
            two.expect_to_work();
            while (std::chrono::steady_clock::now() < until) {
                usleep(10'000);
                one.expect_to_work();
                two.expect_to_work();
            }
            kill(child, SIGCONT);
        }
        usleep(random() % 20'000);
        kill(child, SIGKILL);
        one.expect_to_work();
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFSIGNALED(status)) << of.name << " ended with " << WEXITSTATUS(status);
        two.expect_to_work();
    }
    // The host may be late by this in addition, which no neighbour causes.  A neighbour that could
    // delay the victims for ever would exceed it.
    constexpr std::uint64_t host_lateness = 5000 * ms;
    const std::uint64_t bound = bound_ns(one.settings(), of.claim_ns);
    for (const ServiceVictim* victim : {&one, &two}) {
        EXPECT_LE(victim->worst_ns(), bound + host_lateness);
        std::printf("worst delay %.3f ms of %llu ms in %d tasks\n",
                    static_cast<double>(victim->worst_ns()) / 1e6,
                    static_cast<unsigned long long>(bound / ms), victim->tasks());
    }
    if (!server)
        return;
    expect_clients(server->path(), 3);
    const auto status = nlohmann::json::parse(server_status(server->path()));
    for (const auto& client : status.at("clients")) {
        EXPECT_EQ(client.at("jobs"), 0);
        if (!client.contains("tasks"))
            continue;
        EXPECT_EQ(client.at("tasks").at("dispatched"), 0);
        EXPECT_EQ(client.at("tasks").at("slots"), 0);
    }
}

INSTANTIATE_TEST_SUITE_P(All, HostileNeighbour,
                         testing::Combine(testing::Range(std::size_t{0}, misbehaviours().size()),
                                          testing::Values(Backend{"server"}, Backend{"ioctl"})),
                         [](const testing::TestParamInfo<std::tuple<std::size_t, Backend>>& info) {
                             std::string name = misbehaviours()[std::get<0>(info.param)].name;
                             for (char& c : name)
                                 if (!std::isalnum(static_cast<unsigned char>(c)))
                                     c = '_';
                             return name + "_" + std::get<1>(info.param).name;
                         });

/// Eight clients wait for ends, compute and submit: every call returns.
TEST(HostileService, AServerThatIsKilledLeavesNoClientWaiting) {
    for (unsigned round = 0; round < rounds_of_hostility(); round++) {
        int ready[2];
        ASSERT_EQ(pipe(ready), 0);
        const std::string path = "/tmp/overtake-killed-" + std::to_string(getpid()) + "/device";
        const pid_t child = start([&] {
            ServerOptions options = options_of(1);
            options.socket_path = path;
            Server server(options);
            if (write(ready[1], "", 1) == 1)
                server.run();
        });
        char byte;
        ASSERT_EQ(read(ready[0], &byte, 1), 1);
        std::atomic<int> ended = 0;
        std::vector<std::thread> clients;
        for (int i = 0; i < 8; i++)
            clients.emplace_back([&, i] {
                try {
                    ServiceProcess process(path);
                    const Program program = delays(*process.device, {50});
                    for (std::uint64_t tag = 0;; tag++) {
                        process.queue->submit(
                            Segments().bpu(program).cpu(1).bpu(program).task(tag));
                        if (i % 2 == 0)
                            for (const ServiceEvent& event : process.queue->reap(deadline_never))
                                if (event.type == ServiceEvent::Type::run_cpu)
                                    process.queue->cpu_done(event.tag, event.segment, 0);
                    }
                } catch (const Error& error) {
                    // Some clients that never reap have all the tasks that they may have.
                    if (error.code() == ENODEV || error.code() == ECONNREFUSED ||
                        (i % 2 == 1 && error.code() == ENOSPC))
                        ended++;
                }
            });
        usleep(round * 7 % 30 * 1000);
        kill(child, SIGKILL);
        for (std::thread& client : clients)
            client.join();
        EXPECT_EQ(ended, 8);
        waitpid(child, nullptr, 0);
        close(ready[0]);
        close(ready[1]);
    }
}

} // namespace
} // namespace overtake::test
