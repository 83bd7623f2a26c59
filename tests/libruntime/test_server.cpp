// SPDX-License-Identifier: MIT
//
// The promises of a device server to its clients: rights, room, and an end of every call.  The
// conformance suite also runs on it ("server").
#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <grp.h>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "server_clients.hpp"

namespace overtake::test {
namespace {

TEST(Server, AClientsMemoryIsCountedAndGivenBack) {
    ServerOptions options = options_of(1);
    options.memory_bytes = 16 << 20;
    const TestServer server(options);
    const auto greedy = open_server(server.path());
    std::vector<std::unique_ptr<Buffer>> buffers;
    for (int i = 0; i < 15; i++)
        buffers.push_back(greedy->create_buffer(1 << 20));
    const auto other = open_server(server.path());
    expect_error(ENOSPC, "bytes of a client", [&] { greedy->create_buffer(2 << 20); });
    expect_error(ENOSPC, "free buffers", [&] { other->create_buffer(2 << 20); });
    buffers.clear();
    EXPECT_EQ(other->create_buffer(15 << 20)->size(), std::size_t{15} << 20);
    // A queue's memory counts as well.
    std::vector<std::unique_ptr<Queue>> queues;
    expect_error(ENOSPC, "bytes of a client", [&] {
        for (;;)
            queues.push_back(other->create_queue());
    });
    EXPECT_GE(queues.size(), 10u);
}

// Rights

/// Returns 0 if a stranger may have a queue of priority 255, otherwise the code of the error.
int ask_for_high(const TestServer& server, const std::vector<gid_t>& groups) {
    return as_stranger(groups, [&] {
        open_server(server.path())->create_queue({.max_priority = 255});
        return 0;
    });
}

TEST(Server, Priority255IsForUsersWithTheRight) {
    SKIP_UNLESS_ROOT();
    const TestServer closed(options_of(1), ServerIn::process);
    open_to_all(closed);
    EXPECT_EQ(ask_for_high(closed, {}), EPERM);
    EXPECT_EQ(ask_for_high(closed, {0}), EPERM);
    EXPECT_EQ(as_stranger({},
                          [&] {
                              Victim(closed.path()).expect_to_work();
                              return 0;
                          }),
              0);

    ServerOptions options = options_of(1);
    options.high_users = {1, a_stranger};
    const TestServer to_user(options, ServerIn::process);
    open_to_all(to_user);
    EXPECT_EQ(ask_for_high(to_user, {}), 0);

    options.high_users = {1};
    options.high_groups = {7777};
    const TestServer to_group(options, ServerIn::process);
    open_to_all(to_group);
    EXPECT_EQ(ask_for_high(to_group, {}), EPERM);
    EXPECT_EQ(ask_for_high(to_group, {5, 7777}), 0);
    expect_clients(to_group.path(), 0);
}

TEST(Server, StrangersSeeOnlyThemselvesAndCoarseCounters) {
    SKIP_UNLESS_ROOT();
    const TestServer server(options_of(1), ServerIn::process);
    open_to_all(server);
    Victim victim(server.path());
    for (int i = 0; i < 20; i++)
        victim.expect_to_work();
    EXPECT_EQ(open_server(server.path())->cores().front().fcs_normal, 20u);
    EXPECT_EQ(as_stranger({},
                          [&] {
                              const auto device = open_server(server.path());
                              auto core = device->cores().front();
                              while (core.fcs_normal == 0) // until the period is over
                                  core = device->cores().front();
                              if (core.fcs_normal != 16 || core.busy_ns % 10'000'000 != 0)
                                  return 1;
                              const auto status =
                                  nlohmann::json::parse(server_status(server.path()));
                              return status.at("clients").size() == 1 ? 0 : 2; // its own
                          }),
              0);
    expect_clients(server.path(), 1);
}

TEST(Server, AStrangerLeavesHalfOfEverythingToOthers) {
    SKIP_UNLESS_ROOT();
    ServerOptions options = options_of(1);
    options.memory_bytes = 64 << 20;
    const TestServer server(options, ServerIn::process);
    open_to_all(server);
    RawClient mine(server.path()); // root's client, used by the stranger's process
    mine.greet();
    const Descriptor half = make_shared_memory("test", 32 << 20);
    EXPECT_EQ(as_stranger(
                  {},
                  [&] {
                      std::vector<std::shared_ptr<Device>> devices;
                      std::vector<std::unique_ptr<Buffer>> buffers;
                      try {
                          for (;;) {
                              devices.push_back(open_server(server.path()));
                              for (int i = 0; i < 8; i++)
                                  buffers.push_back(devices.back()->create_buffer(1 << 20));
                          }
                      } catch (const Error& error) {
                          // The connections and the tables have used some of it.
                          if (error.code() != ENOSPC || buffers.size() < 28 || buffers.size() > 31)
                              return 1;
                      }
                      return mine.answer(Operation::create_buffer, 0, 0, half.get()).reply.code == 0
                                 ? 0
                                 : 2;
                  }),
              0);
}

TEST(Server, AStrangersSmallBuffersAreCounted) {
    SKIP_UNLESS_ROOT();
    const TestServer server(options_of(1), ServerIn::process);
    open_to_all(server);
    EXPECT_EQ(as_stranger(
                  {},
                  [&] {
                      // One file of one page is enough: the mappings are what counts.
                      const Descriptor memory = make_shared_memory("test", 4096);
                      std::vector<std::unique_ptr<RawClient>> clients;
                      std::size_t mapped = 0;
                      for (;;) {
                          clients.push_back(std::make_unique<RawClient>(server.path()));
                          clients.back()->greet();
                          for (std::uint32_t i = 0; i < OVERTAKE_MAX_BUFFERS; i++, mapped++) {
                              const auto heard = clients.back()->answer(Operation::create_buffer, 0,
                                                                        0, memory.get());
                              if (heard.reply.code == 0)
                                  continue;
                              const bool says_why =
                                  heard.payload.find("fewer and larger ones") != std::string::npos;
                              return heard.reply.code == ENOSPC && says_why && mapped == 12'288 ? 0
                                                                                                : 1;
                          }
                      }
                  }),
              0);
    Victim(server.path()).expect_to_work();
}

TEST(Server, WakeUpsWithoutEndDoNotKeepItFromEnding) {
    std::atomic<bool> over = false;
    std::vector<std::thread> wakes;
    {
        const TestServer server(options_of(1));
        auto client = std::make_shared<RawQueue>(server.path());
        for (int i = 0; i < 6; i++)
            wakes.emplace_back([client, &over] {
                while (!over)
                    client->wake();
            });
        Victim(server.path()).expect_to_work();
    }
    over = true;
    for (std::thread& thread : wakes)
        thread.join();
}

TEST(Server, SoManyClientsAndNoMore) {
    ServerOptions options = options_of(1);
    options.clients = 3; // and four more for trusted users
    const TestServer server(options);
    std::vector<std::shared_ptr<Device>> clients;
    for (int i = 0; i < 7; i++)
        clients.push_back(open_server(server.path()));
    expect_error(EBUSY, "7 clients, and takes no more", [&] { open_server(server.path()); });
    clients.pop_back();
    const std::int64_t deadline = patience();
    std::shared_ptr<Device> late;
    while (!late && in_ms(0) < deadline) {
        try {
            late = open_server(server.path());
        } catch (const Error&) {
        }
    }
    EXPECT_TRUE(late);
}

TEST(Server, AUserHasItsShareOfTheClients) {
    SKIP_UNLESS_ROOT();
    ServerOptions options = options_of(1);
    options.clients_of_user = 2;
    const TestServer server(options, ServerIn::process);
    open_to_all(server);
    EXPECT_EQ(as_stranger({},
                          [&] {
                              const auto first = open_server(server.path());
                              const auto second = open_server(server.path());
                              open_server(server.path());
                              return 0;
                          }),
              EBUSY);
    const auto first = open_server(server.path());
    const auto second = open_server(server.path());
    EXPECT_TRUE(open_server(server.path()));
}

// Ends

TEST(Server, JobsInFlightOfAKilledClientDelayNoOtherClient) {
    const TestServer server(options_of(1, OVERTAKE_MODE_BOTH), ServerIn::process);
    Victim victim(server.path());
    std::mt19937_64 random(1);
    for (int round = 0; round < 30; round++) {
        const pid_t child = fork_test();
        ASSERT_GE(child, 0);
        if (child == 0) {
            const auto device = open_server(server.path());
            const auto queue = device->create_queue();
            const Program program = delays(*device, std::vector<std::uint64_t>(100, 100'000));
            for (std::uint64_t tag = 1; tag < 50; tag++) {
                const Job job = program.job(tag);
                queue->submit({&job, 1});
            }
            pause();
        }
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
        expect_clients(server.path(), 1);
        // Up to 490 s of FCs would be ahead of it, unless they ended with their client.
        victim.expect_to_work();
    }
}

#ifndef __SANITIZE_ADDRESS__ // it needs descriptors itself to look at an exception
/// A queue needs two descriptors; without them the client refuses it, and other queues go on.
TEST(Server, AQueueForWhichThereIsNoDescriptorIsRefused) {
    TestServer server(options_of(1), ServerIn::process);
    const auto device = open_server(server.path());
    const auto queue = device->create_queue();
    const Program program = delays(*device, {10});
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (const rlim_t free : {0, 1, 2}) { // with 2 there is none for the event that interrupts
        const int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
        ASSERT_GE(lowest, 0);
        close(lowest);
        const rlimit few{static_cast<rlim_t>(lowest) + free, before.rlim_max};
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
        QueueOptions interruptible;
        interruptible.interruptible = true;
        expect_error(EMFILE, "", [&] { device->create_queue(interruptible); });
        ServiceQueueOptions in_service;
        in_service.interruptible = true;
        expect_error(EMFILE, "", [&] { device->create_service_queue(in_service); });
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
        std::array<Completion, 1> done;
        const Job job = program.job(1 + free);
        queue->submit({&job, 1});
        ASSERT_EQ(queue->reap(done, patience()), 1u);
        EXPECT_EQ(done[0].status, 0);
    }
}
#endif

/// A user who may write in the directory could make the server open any file of the server's user.
TEST(Server, ALockThatIsALinkIsRefused) {
    std::string directory = "/tmp/overtake-server-XXXXXX";
    ASSERT_NE(mkdtemp(directory.data()), nullptr);
    ServerOptions options = options_of(1);
    options.socket_path = directory + "/device";
    ASSERT_EQ(symlink((directory + "/elsewhere").c_str(), (directory + "/device.lock").c_str()), 0);
    expect_error(ELOOP, "symbolic link", [&] { Server server(options); });
    EXPECT_FALSE(std::filesystem::exists(directory + "/elsewhere"));
    std::filesystem::remove_all(directory);
}

TEST(Server, EveryCallEndsWhenTheServerDoes) {
    for (int round = 0; round < 20; round++) {
        std::array<int, 2> ready{};
        ASSERT_EQ(pipe2(ready.data(), O_CLOEXEC), 0);
        std::string directory = "/tmp/overtake-server-XXXXXX";
        ASSERT_NE(mkdtemp(directory.data()), nullptr);
        const std::string path = directory + "/device";
        const pid_t child = fork_test();
        ASSERT_GE(child, 0);
        if (child == 0) {
            ServerOptions options = options_of(2, OVERTAKE_MODE_TIMED);
            options.socket_path = path;
            Server server(options);
            (void)!write(ready[1], "r", 1);
            server.run();
            _exit(0);
        }
        char byte;
        ASSERT_EQ(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        close(ready[1]);
        std::atomic<int> gone = 0;
        std::atomic<int> begun = 0;
        std::vector<std::thread> clients;
        for (int i = 0; i < 8; i++)
            clients.emplace_back([&, i] {
                const auto device = open_server(path);
                const auto queue = device->create_queue();
                const Program program = delays(*device, {i < 4 ? 3'600'000'000u : 10u});
                begun++;
                std::array<Completion, 16> completions;
                try {
                    for (std::uint64_t tag = 1;; tag++) {
                        const Job job = program.job(tag);
                        queue->submit({&job, 1});
                        queue->reap(completions, deadline_never);
                    }
                } catch (const Error& error) {
                    gone += error.code() == ENODEV;
                }
            });
        while (begun < 8)
            std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(round));
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
        for (std::thread& client : clients)
            client.join();
        EXPECT_EQ(gone, 8);
        expect_error(ECONNREFUSED, "start one", [&] { open_server(path); });
        // Files that it has left do not hinder the next server.
        ServerOptions options = options_of(1);
        options.socket_path = path;
        Server next(options);
        std::thread runs([&] { next.run(); });
        Victim(path).expect_to_work();
        next.stop();
        runs.join();
        std::filesystem::remove_all(directory);
    }
}

TEST(Server, OnlyOneServerIsAtASocket) {
    const TestServer server(options_of(1));
    ServerOptions options = options_of(1);
    options.socket_path = server.path();
    expect_error(EADDRINUSE, "a device server is there already", [&] { Server again(options); });
    Victim(server.path()).expect_to_work();
    options.socket_path = "";
    expect_error(EINVAL, "1 to 107 characters", [&] { Server nowhere(options); });
    options.socket_path = std::string(108, 'x');
    expect_error(EINVAL, "1 to 107 characters", [&] { Server far(options); });
    options.socket_path = "/proc/overtake/device";
    expect_error(ENOENT, "/proc/overtake/device", [&] { Server there(options); });
    expect_error(ENOENT, "overtake serve", [&] { open_server(server.path() + "2"); });
}

TEST(Server, RunReturnsWhenNoClientComesForLong) {
    std::string directory = "/tmp/overtake-server-XXXXXX";
    ASSERT_NE(mkdtemp(directory.data()), nullptr);
    ServerOptions options = options_of(1);
    options.socket_path = directory + "/device";
    options.idle_exit_s = 1;
    Server server(options);
    std::thread client;
    {
        const auto device = [&] {
            client = std::thread([&] { server.run(); });
            return open_server(options.socket_path);
        }();
        std::this_thread::sleep_for(std::chrono::milliseconds(2500));
        EXPECT_EQ(device->info().core_count, 1u); // the server waits for clients that are there
    }
    client.join();
    std::filesystem::remove_all(directory);
}

TEST(Server, AutoFindsItWhereThereIsNoDriver) {
    if (std::filesystem::exists("/dev/accel/accel0"))
        return;
    const TestServer server(options_of(3));
    ASSERT_EQ(setenv("OVERTAKE_SERVER", server.path().c_str(), 1), 0);
    EXPECT_EQ(open_device("auto")->backend(), "server");
    EXPECT_EQ(open_device("server")->info().core_count, 3u);
    EXPECT_EQ(open_device("server:" + server.path())->info().core_count, 3u);
    ASSERT_EQ(setenv("OVERTAKE_SERVER", (server.path() + "2").c_str(), 1), 0);
    EXPECT_EQ(open_device("auto")->backend(), "embedded");
    unsetenv("OVERTAKE_SERVER");
}

TEST(Server, TheJobsOfTwoProcessesAreOrderedTogether) {
    ServerOptions options = options_of(1, OVERTAKE_MODE_TIMED);
    options.device.profile = "ideal";
    options.device.manual_clock = true;
    options.device.core_limit = 1;
    const TestServer server(options);
    const auto large = open_server(server.path());
    const auto detector = open_server(server.path());
    const auto normal = large->create_queue();
    const auto high = detector->create_queue({.max_priority = 255});
    const Program long_program = delays(*large, {1000, 1000, 1000});
    const Program short_program = delays(*detector, {100});
    const std::uint64_t start = large->manual_clock()->now_ns();
    const Job first = long_program.job(1);
    normal->submit({&first, 1});
    large->manual_clock()->advance_to(start + 500'000);
    const Job urgent = short_program.job(2, 255);
    high->submit({&urgent, 1});
    detector->manual_clock()->advance_to(start + 5'000'000);
    EXPECT_EQ(reap_all(*high, 1).front().start_ns, start + 1'000'000);
    const Completion overtaken = reap_all(*normal, 1).front();
    EXPECT_EQ(overtaken.end_ns, start + 3'100'000);
    EXPECT_EQ(overtaken.preemptions, 1u);
}

TEST(Server, MoreCompletionsThanItsRingHasComeInOrder) {
    const TestServer server(options_of(1));
    const auto device = open_server(server.path());
    const auto queue = device->create_queue();
    Program program(*device, {delay_insn(1)});
    std::uint64_t tag = 0;
    std::uint64_t expected = 0;
    for (int round = 0; round < 5; round++) {
        for (std::uint32_t i = 0; i < OVERTAKE_MAX_JOBS; i++) {
            const Job job = program.job(++tag, 0, 1);
            queue->submit({&job, 1});
        }
        for (const Completion& completion : reap_all(*queue, OVERTAKE_MAX_JOBS))
            EXPECT_EQ(completion.tag, ++expected);
    }
    EXPECT_EQ(queue->in_flight(), 0u);
}

} // namespace
} // namespace overtake::test
