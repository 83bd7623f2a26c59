// SPDX-License-Identifier: MIT
//
// A client of a device server cannot make other clients, or the server, wait for its wake-ups, the
// memory of its jobs, long calls, or the descriptors that it sends.
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <future>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>

#include "embedded/device_mutex.hpp"
#include "overtake/server.hpp"
#include "server/client.hpp"
#include "server/closer.hpp"
#include "service_clients.hpp"
#include "thread_clock.hpp"

namespace overtake::test {
namespace {

/// CPU time by which a hold may be longer than in the control; an attack that worked would hold the
/// lock ten times as long.
constexpr std::uint64_t allowance_ns = 5'000'000;

struct Hold {
    std::uint64_t cpu_ns;
    std::string where;
    unsigned steps;
};

/// Returns the longest hold of the server's device lock so far.
Hold longest_hold(const std::string& path) {
    const auto lock = nlohmann::json::parse(server_status(path)).at("lock");
    return {lock.value("longest_cpu_ns", std::uint64_t{0}), lock.value("where", ""),
            lock.at("most_steps").get<unsigned>()};
}

ServerOptions measured(unsigned cores, unsigned mode = OVERTAKE_MODE_FUNCTIONAL) {
    ServerOptions options = options_of(cores, mode);
    options.measure_lock = true;
    return options;
}

/// A raw queue with a program that does nothing.
class RawWorker : public RawQueue {
public:
    explicit RawWorker(const std::string& path)
        : RawQueue(path), program_(make_shared_memory("test", 4096)),
          mapping_(program_.get(), 4096) {
        const overtake_insn insn = delay_insn(1);
        std::memcpy(mapping_.data(), &insn, sizeof(insn));
        address_ = answer(Operation::create_buffer, 0, 0, program_.get()).reply.values[0];
    }

    /// Submits a job, and tells the server that it waits for the end.
    void submit(std::uint64_t tag) {
        const overtake_fc fc{.first_insn = 0, .insn_count = 1};
        const overtake_binding binding{.address = address_,
                                       .length = 4096,
                                       .region = OVERTAKE_REGION_PROGRAM,
                                       .flags = OVERTAKE_MAP_READ};
        WireJob job{};
        job.tag = tag;
        job.fc_count = 1;
        job.binding_count = 1;
        std::size_t at = 0;
        const auto put = [&](const auto& value) {
            std::memcpy(area().jobs.data() + at, &value, sizeof(value));
            at += sizeof(value);
        };
        put(job);
        put(fc);
        put(binding);
        area().client_waits = 1;
        call(static_cast<std::uint32_t>(at));
        EXPECT_TRUE(is_answered());
        EXPECT_EQ(area().code, 0) << area().text.data();
    }
    void wait_for_end(std::uint32_t count) {
        const std::int64_t deadline = patience();
        while (area().completion_tail != count) {
            ASSERT_LT(in_ms(0), deadline);
            std::this_thread::yield();
        }
        area().completion_head = count;
    }

private:
    Descriptor program_;
    Mapping mapping_;
    std::uint64_t address_;
};

/// Many pollers of one descriptor: a wake-up of it walks through all of them.
class Watchers {
public:
    Watchers(int watched, int count) {
        for (int i = 0; i < count; i++) {
            all_.emplace_back(epoll_create1(EPOLL_CLOEXEC));
            epoll_event event{};
            event.events = EPOLLIN | EPOLLET;
            if (!all_.back() || epoll_ctl(all_.back().get(), EPOLL_CTL_ADD, watched, &event) != 0) {
                all_.pop_back();
                break;
            }
        }
    }
    std::size_t count() const { return all_.size(); }

private:
    std::vector<Descriptor> all_;
};

/// Measures jobs whose client is woken each time, with many watchers of the client's descriptor or
/// of another.
Hold hold_with_watchers(bool of_its_own) {
    const TestServer server(measured(1));
    RawWorker client(server.path());
    const Descriptor other(eventfd(0, EFD_CLOEXEC));
    const Watchers watchers(of_its_own ? client.channel() : other.get(), 10'000);
    EXPECT_GT(watchers.count(), 500u);
    for (std::uint32_t i = 1; i <= 100; i++) {
        client.submit(i);
        client.wait_for_end(i);
    }
    return longest_hold(server.path());
}

/// Wake-ups of a client delay only itself: they are not sent under the lock that all others need.
TEST(ServerWaits, AClientsWakeUpsAreSentWithoutTheLock) {
    const Hold control = hold_with_watchers(false);
    Hold attack = hold_with_watchers(true);
    // The attack lasts much longer, so an interrupt may come in one of its holds, but not in each
    // run.
    for (int again = 0; again < 2 && attack.cpu_ns >= control.cpu_ns + allowance_ns / 5; again++)
        attack = hold_with_watchers(true);
    std::printf("longest hold of the device's lock: %.3f ms in %s, without watchers %.3f ms\n",
                attack.cpu_ns / 1e6, attack.where.c_str(), control.cpu_ns / 1e6);
    EXPECT_LT(attack.cpu_ns, control.cpu_ns + allowance_ns / 5);
}

using server::WakeUpRests;
constexpr std::uint64_t cheap_ns = 10'000, dear_ns = 5'000'000;

/// Cheap wake-ups of a client's one queue do not hide expensive ones of its other queue.
TEST(WakeUpRests, AnExpensiveWakeUpIsFollowedByARestAfterAnyNumberOfCheapOnes) {
    WakeUpRests rests;
    std::uint64_t now_ns = 1;
    ASSERT_FALSE(rests.measures(now_ns));
    rests.lasted(now_ns, now_ns + dear_ns);
    now_ns += dear_ns;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 1000; i++, now_ns += cheap_ns) {
            ASSERT_TRUE(rests.measures(now_ns));
            ASSERT_EQ(rests.rest_after(cheap_ns, now_ns + cheap_ns), 0u);
        }
        ASSERT_TRUE(rests.measures(now_ns));
        now_ns += dear_ns;
        const std::uint64_t rest_ns = rests.rest_after(dear_ns, now_ns);
        EXPECT_EQ(rest_ns, 19 * dear_ns);
    }
}

TEST(WakeUpRests, OneWakeUpInTenSecondsIsFollowedByNoRest) {
    WakeUpRests rests;
    rests.lasted(0, WakeUpRests::long_wake_up_ns);
    EXPECT_FALSE(rests.measures(1)) << "no longer than that is cheap";
    rests.lasted(0, dear_ns);
    std::uint64_t until_ns = dear_ns + WakeUpRests::measured_after_a_long_one_ns;
    EXPECT_TRUE(rests.measures(until_ns - 1));
    EXPECT_FALSE(rests.measures(until_ns));
    EXPECT_EQ(rests.rest_after(WakeUpRests::long_wake_up_ns, until_ns - 1), 0u);
    EXPECT_FALSE(rests.measures(until_ns)) << "a cheap one makes it no longer";
    EXPECT_NE(rests.rest_after(dear_ns, until_ns - 1), 0u);
    until_ns += WakeUpRests::measured_after_a_long_one_ns - 1;
    EXPECT_TRUE(rests.measures(until_ns - 1));
    EXPECT_FALSE(rests.measures(until_ns));
}

TEST(WakeUpRests, ARestHasALimit) {
    WakeUpRests rests;
    const std::uint64_t rest_ns = rests.rest_after(std::uint64_t{1} << 40, 0);
    EXPECT_EQ(rest_ns, 500'000'000u);
}

/// Measures a job that has the last reference to a large buffer, or does not.
Hold hold_with_last_buffer(bool is_last) {
    const TestServer server(measured(1, OVERTAKE_MODE_TIMED));
    const auto device = open_server(server.path());
    const auto queue = device->create_queue();
    auto large = device->create_buffer(std::size_t{256} << 20);
    Program program(*device, {delay_insn(1)});
    program.bind(OVERTAKE_REGION_IO, *large, OVERTAKE_MAP_READ);
    const Program busy = delays(*device, {200'000});
    const std::array jobs{busy.job(1), program.job(2)};
    queue->submit(jobs);
    if (is_last)
        large.reset();
    EXPECT_EQ(reap_all(*queue, 2).size(), 2u);
    return longest_hold(server.path());
}

/// Freeing the memory of a job takes long: it never happens under the lock.
TEST(ServerWaits, AJobsMemoryIsFreedWithoutTheLock) {
    const Hold control = hold_with_last_buffer(false);
    const Hold attack = hold_with_last_buffer(true);
    std::printf("longest hold of the device's lock: %.3f ms in %s, with the buffer kept %.3f ms\n",
                attack.cpu_ns / 1e6, attack.where.c_str(), control.cpu_ns / 1e6);
    EXPECT_LT(attack.cpu_ns, control.cpu_ns + allowance_ns);
}

/// A client has as many jobs and tasks as it may have, and all of them end at once.
TEST(ServerWaits, EachHoldOfTheLockHasABoundedNumberOfSteps) {
    const TestServer server(measured(2));
    const auto device = open_server(server.path());
    const Program program = delays(*device, {1});
    const Program long_program = delays(*device, {3'600'000'000u});
    const auto submit_all = [&](Queue& queue, const Program& of) {
        std::vector<Job> jobs;
        for (std::uint64_t tag = 0; tag < OVERTAKE_MAX_JOBS; tag++)
            jobs.push_back(of.job(tag));
        queue.submit(jobs);
    };
    {
        const auto queue = device->create_queue();
        submit_all(*queue, program); // jobs that end one by one
        reap_all(*queue, OVERTAKE_MAX_JOBS);
    }
    for (int i = 0; i < 2; i++) { // jobs that end with their queue
        const auto queue = device->create_queue();
        submit_all(*queue, long_program);
    }
    for (int i = 0; i < 2; i++) { // tasks that end with their queue
        ServiceProcess process(device);
        for (std::uint64_t tag = 0; tag < OVERTAKE_MAX_TASKS; tag++)
            process.queue->submit(Segments().cpu(1).bpu(program).task(tag, 10));
        if (i == 0)
            process.queue->reap(patience()); // takes as many events as there are
    }
    const Hold hold = longest_hold(server.path());
    std::printf("longest hold of the device's lock: %.3f ms in %s; most steps %u\n",
                hold.cpu_ns / 1e6, hold.where.c_str(), hold.steps);
    // At most one call of the firmware or of the task scheduler more than a pause takes.  The
    // longest call, ovt_service_abandon(), does one thing more of both kinds.
    EXPECT_LE(hold.steps, 2 * steps_per_hold + 2);
}

// Descriptors

/// A connected socket whose close() waits for its data to be taken, which never happens.
class LingeringSocket {
public:
    LingeringSocket() {
        const Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t bytes = sizeof(address);
        auto* const any = reinterpret_cast<sockaddr*>(&address);
        socket_ = Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const bool is_connected = bind(listener.get(), any, bytes) == 0 &&
                                  listen(listener.get(), 1) == 0 &&
                                  getsockname(listener.get(), any, &bytes) == 0 &&
                                  connect(socket_.get(), any, bytes) == 0;
        EXPECT_TRUE(is_connected);
        peer_ = Descriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        const linger waits{.l_onoff = 1, .l_linger = 3600};
        EXPECT_EQ(setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &waits, sizeof(waits)), 0);
        const std::vector<char> data(1 << 16);
        while (send(socket_.get(), data.data(), data.size(), MSG_DONTWAIT) > 0)
            ;
    }
    int fd() const { return socket_.get(); }
    /// Closes the test's own descriptor in a thread.  The last owner waits in close(): the server,
    /// or this thread if the server has closed its descriptor earlier.
    void give_up() {
        closing_ = std::async(std::launch::async,
                              [mine = std::move(socket_)]() mutable { mine = Descriptor(); });
    }
    Descriptor hand_over() { return std::move(socket_); }
    void let_go() { peer_ = Descriptor(); }

private:
    Descriptor socket_;
    std::future<void> closing_; ///< waits for its thread, once the peer is closed
    Descriptor peer_;
};

/// Waits for threads of this process that still close sockets, since a later test may fork.
void wait_for_threads_to_end() {
    const std::int64_t deadline = patience();
    const auto threads = [] {
        const std::filesystem::directory_iterator all("/proc/self/task");
        return std::distance(begin(all), end(all));
    };
    while (threads() != 1 && in_ms(0) < deadline)
        std::this_thread::yield();
}

/// Expects the server to end, and to end before the sockets were released.
void expect_to_end(std::unique_ptr<TestServer> server, std::vector<LingeringSocket>& sockets) {
    auto ends = std::async(std::launch::async, [&] { server.reset(); });
    EXPECT_EQ(ends.wait_for(std::chrono::seconds(30)), std::future_status::ready)
        << "the server waits for a socket that a client has sent";
    for (LingeringSocket& socket : sockets)
        socket.let_go();
    ends.get();
    wait_for_threads_to_end();
}

TEST(ServerWaits, ARefusedDescriptorIsClosedByAThreadOfItsOwn) {
    auto server = std::make_unique<TestServer>(options_of(1));
    Victim victim(server->path());
    std::vector<LingeringSocket> sockets(8);
    RawClient client(server->path());
    client.greet();
    for (LingeringSocket& socket : sockets) {
        client.ask(Operation::create_buffer, 0, 0, socket.fd());
        socket.give_up();
        const auto heard = client.hear();
        ASSERT_TRUE(heard);
        EXPECT_EQ(heard->reply.code, EINVAL);
        // The client itself gets an answer as well.
        EXPECT_EQ(client.answer(Operation::info).reply.code, 0);
    }
    victim.expect_to_work();
    expect_to_end(std::move(server), sockets);
}

/// The places where descriptors are dropped: a channel, which takes only wake-ups, a connection
/// that is closed, and one that is refused.
TEST(ServerWaits, TheServerEndsWithAnyDescriptorsThatClientsSent) {
    ServerOptions options = options_of(1);
    options.clients = 1;
    auto server = std::make_unique<TestServer>(options);
    std::vector<LingeringSocket> sockets(3);
    RawQueue client(server->path());
    const auto throw_at = [&](int socket, LingeringSocket& what) {
        const int fd = what.fd();
        const Request request{Operation::info, 0, {}};
        if (send_packet(socket, bytes_of(request), {}, {&fd, 1}, 0)) // else the system refused it
            what.give_up();
    };
    throw_at(client.channel(), sockets[0]);
    client.say({}); // after this it gets no answer
    throw_at(client.socket_fd(), sockets[1]);
    RawClient refused(server->path());
    throw_at(refused.socket_fd(), sockets[2]);
    expect_to_end(std::move(server), sockets);
}

/// Returns a listening socket, as systemd passes it.  Unlike the server's own socket, it accepts
/// descriptors: clients that connect before the server starts may send some.
Descriptor listen_at(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, path.size());
    Descriptor listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    EXPECT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(listener.get(), SOMAXCONN), 0);
    return listener;
}

/// Refuses more connections with such sockets than descriptors may wait to be closed.
TEST(ServerWaits, RefusedConnectionsDoNotDelayLaterClients) {
    std::string directory = "/tmp/overtake-test-XXXXXX";
    ASSERT_NE(mkdtemp(directory.data()), nullptr);
    const std::string path = directory + "/device";
    ServerOptions options = options_of(1);
    options.clients = 1;
    Descriptor listener = listen_at(path);
    std::vector<std::unique_ptr<RawClient>> holders; // they hold all places, also the trusted ones
    for (int i = 0; i < 5; i++)
        holders.push_back(std::make_unique<RawClient>(path));
    std::vector<LingeringSocket> sockets(Closer::most_waiting + 10);
    std::vector<std::unique_ptr<RawClient>> refused;
    for (LingeringSocket& socket : sockets) {
        refused.push_back(std::make_unique<RawClient>(path));
        refused.back()->ask(Operation::hello, protocol_version, 0, socket.fd());
        socket.give_up();
    }
    options.listening_socket = dup(listener.get());
    listener = Descriptor();
    auto server = std::make_unique<TestServer>(options);
    for (const auto& client : refused) {
        auto heard = client->hear();
        if (!heard) // ECONNRESET comes before the server's answer
            heard = client->hear();
        ASSERT_TRUE(heard);
        EXPECT_EQ(heard->reply.code, EBUSY);
    }
    holders.clear();
    EXPECT_NO_THROW(server_report(path, std::chrono::seconds(30))) << "who connects now waits";
    expect_to_end(std::move(server), sockets);
    std::filesystem::remove_all(directory);
}

/// Waits until the closer's thread is in close().
void wait_until_it_closes(const Closer& closer) {
    const std::int64_t deadline = patience();
    while (closer.waiting() != 1) {
        ASSERT_LT(in_ms(0), deadline);
        std::this_thread::yield();
    }
}

TEST(Closer, GivesBackDescriptorsThatItHasNoRoomFor) {
    Closer closer;
    LingeringSocket lingers;
    closer.close(lingers.hand_over());
    constexpr std::size_t most = 3;
    const auto make = [] { return Descriptor(eventfd(0, EFD_CLOEXEC)); };
    Descriptor next = make();
    std::size_t taken = 0;
    for (; taken < 10 && closer.take(next, most); taken++) {
        EXPECT_FALSE(next);
        next = make();
    }
    EXPECT_LE(taken, most + 1);
    EXPECT_TRUE(next) << "it is still the caller's";
    lingers.let_go();
    closer.finish_by(static_cast<std::uint64_t>(patience()));
    EXPECT_EQ(closer.waiting(), 0u);
}

/// Several users, each with a socket whose data nothing takes, share one deadline.
TEST(Closer, LeavesDescriptorsThatAreNotClosedAtTheDeadline) {
    std::vector<LingeringSocket> sockets(20);
    std::vector<Closer> closers(sockets.size());
    for (std::size_t i = 0; i < closers.size(); i++)
        closers[i].close(sockets[i].hand_over());
    for (const Closer& closer : closers)
        wait_until_it_closes(closer);
    const auto deadline = static_cast<std::uint64_t>(in_ms(0)); // it has passed
    for (Closer& closer : closers) {
        closer.finish_by(deadline);
        EXPECT_EQ(closer.waiting(), 1u);
    }
    for (LingeringSocket& socket : sockets)
        socket.let_go();
    wait_for_threads_to_end();
}

/// A client that has closed keeps its descriptors until its jobs have ended.
TEST(ServerLimits, DescriptorsAreEnoughForClientsThatAreEnding) {
    const pid_t child = fork_test();
    if (child == 0) {
        rlimit limit{};
        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = 256;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
            _exit(1);
        const TestServer server(options_of(1));
        constexpr rlim_t of_a_client = OVERTAKE_MAX_CONTEXTS + 2;
        constexpr rlim_t clients = 64 + 4 + 256; // connected, trusted, ending
        getrlimit(RLIMIT_NOFILE, &limit);
        _exit(limit.rlim_cur == limit.rlim_max || limit.rlim_cur >= clients * of_a_client ? 0 : 2);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

// Places

/// The place of a client is free as soon as it has closed its connection.
TEST(ServerWaits, APlaceIsFreeForTheNextClientAtOnce) {
    ServerOptions options = options_of(1);
    options.clients = 1;
    const TestServer server(options, ServerIn::process);
    open_to_all(server);
    const auto one_after_the_other = [&] {
        for (int i = 0; i < 50; i++) {
            RawClient client(server.path());
            if (client.answer(Operation::hello, protocol_version).reply.code != 0)
                return 1 + i;
        }
        return 0;
    };
    if (geteuid() == 0) {
        EXPECT_EQ(as_stranger({}, one_after_the_other), 0);
    }
    // A trusted user has four more places.
    std::vector<std::unique_ptr<RawClient>> others;
    for (int i = 0; i < 4; i++) {
        others.push_back(std::make_unique<RawClient>(server.path()));
        others.back()->greet();
    }
    EXPECT_EQ(one_after_the_other(), 0);
}

} // namespace
} // namespace overtake::test
