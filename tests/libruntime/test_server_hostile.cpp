// SPDX-License-Identifier: MIT
//
// Clients without the Overtake library can do nothing to a device server and to its other clients.
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <random>
#include <set>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server_clients.hpp"

namespace overtake::test {
namespace {

struct Attack {
    const char* name;
    std::function<void(RawQueue&)> make;
};

const std::vector<Attack>& attacks_that_end_a_client() {
    static const WireJob none{};
    const auto ask = [](Operation operation) {
        return [operation](RawQueue& client) { client.ask(operation); };
    };
    static const std::vector<Attack> attacks{
        {"an operation that is none", ask(static_cast<Operation>(99))},
        {"operation 0", ask(static_cast<Operation>(0))},
        {"a buffer without memory", ask(Operation::create_buffer)},
        {"half a request",
         [](RawQueue& client) {
             const std::array<std::byte, sizeof(Request) / 2> half{};
             client.say(half);
         }},
        {"a request that is too long",
         [](RawQueue& client) {
             const std::array<std::byte, sizeof(Request) + 8> more{};
             client.say(more);
         }},
        {"a reserved field",
         [](RawQueue& client) {
             const Request request{Operation::info, 1, {}};
             client.say(bytes_of(request));
         }},
        {"an empty packet", [](RawQueue& client) { client.say({}); }},
        {"two calls at once",
         [](RawQueue& client) {
             client.area().calls = 2;
             client.wake();
         }},
        {"calls that go back",
         [](RawQueue& client) {
             client.area().calls = ~0u;
             client.wake();
         }},
        {"a call longer than its area", [](RawQueue& client) { client.call(job_area_bytes + 1); }},
        {"the longest call there can be", [](RawQueue& client) { client.call(~0u); }},
        {"a piece of a job", [](RawQueue& client) { client.call(sizeof(WireJob) - 8); }},
        {"FCs behind the end",
         [](RawQueue& client) {
             WireJob job = none;
             job.fc_count = 1;
             client.call(job);
         }},
        {"as many FCs as can be said",
         [](RawQueue& client) {
             WireJob job = none;
             job.fc_count = ~0u;
             client.call(job);
         }},
        {"as many bindings as can be said",
         [](RawQueue& client) {
             WireJob job = none;
             job.binding_count = ~0u;
             client.call(job);
         }},
        {"a recording that is a replay",
         [](RawQueue& client) {
             WireJob job = none;
             job.instances = 1;
             job.recording = 1;
             client.call(job);
         }},
        {"a recording in front of a job",
         [](RawQueue& client) {
             std::array<WireJob, 2> jobs{none, none};
             jobs[0].instances = 1;
             std::memcpy(client.area().jobs.data(), jobs.data(), sizeof(jobs));
             client.call(static_cast<std::uint32_t>(sizeof(jobs)));
         }},
        {"a replay with an FC",
         [](RawQueue& client) {
             struct {
                 WireJob job = none;
                 overtake_fc fc{0, 1};
             } call;
             call.job.recording = 1;
             call.job.fc_count = 1;
             std::memcpy(client.area().jobs.data(), &call, sizeof(call));
             client.call(static_cast<std::uint32_t>(sizeof(call)));
         }},
        {"a replay on more cores than there can be",
         [](RawQueue& client) {
             std::array<std::byte, sizeof(WireJob) + 65 * sizeof(overtake_part)> call{};
             WireJob job = none;
             job.recording = 1;
             job.part_count = 65;
             std::memcpy(call.data(), &job, sizeof(job));
             std::memcpy(client.area().jobs.data(), call.data(), call.size());
             client.call(static_cast<std::uint32_t>(call.size()));
         }},
    };
    return attacks;
}

TEST(Server, AClientThatBreaksTheProtocolIsClosedAndOthersWork) {
    const TestServer server(options_of(2));
    Victim victim(server.path());
    for (const Attack& attack : attacks_that_end_a_client()) {
        SCOPED_TRACE(attack.name);
        RawQueue client(server.path());
        attack.make(client);
        EXPECT_FALSE(client.hear());
        victim.expect_to_work();
    }
    expect_clients(server.path(), 1);
}

TEST(Server, AChannelThatIsClosedEndsItsQueueAlone) {
    const TestServer server(options_of(1));
    RawQueue client(server.path());
    client.close_channel();
    expect_queues(server.path(), 0);
    EXPECT_EQ(client.answer(Operation::info).reply.code, 0);
}

TEST(Server, AClientWithoutAHelloIsClosed) {
    const TestServer server(options_of(1));
    RawClient client(server.path());
    client.ask(Operation::info);
    EXPECT_FALSE(client.hear());
}

TEST(Server, AClientOfAnotherVersionIsRefusedWithTheRemedy) {
    const TestServer server(options_of(1));
    RawClient client(server.path());
    const auto heard = client.answer(Operation::hello, protocol_version + 1);
    EXPECT_EQ(heard.reply.code, EPROTO);
    EXPECT_NE(heard.payload.find("install the same version"), std::string::npos);
    EXPECT_EQ(client.answer(Operation::hello, protocol_version).reply.code, 0);
}

struct Refusal {
    const char* name;
    int code;
    std::function<RawClient::Heard(RawQueue&)> ask;
};

TEST(Server, AWrongCallIsRefusedAndTheClientGoesOn) {
    const TestServer server(options_of(1));
    RawQueue client(server.path());
    const auto of = [](Operation operation, std::uint64_t first, std::uint64_t second = 0) {
        return [=](RawQueue& asks) { return asks.answer(operation, first, second); };
    };
    const std::vector<Refusal> refusals{
        {"a buffer that is none", ENOENT, of(Operation::destroy_buffer, 12345)},
        {"a queue that is none", ENOENT, of(Operation::destroy_queue, 77)},
        {"a cancel in a queue that is none", ENOENT, of(Operation::cancel, 77)},
        {"a clock that is not stepped", EINVAL, of(Operation::clock_advance, 5)},
        {"a priority that is none", EINVAL, of(Operation::create_queue, 256)},
        {"a priority of more than 32 bits", EINVAL, of(Operation::create_queue, 1ull << 32)},
        {"a core limit without the right", EINVAL, of(Operation::create_queue, 254, 1)},
    };
    for (const Refusal& refusal : refusals) {
        SCOPED_TRACE(refusal.name);
        const auto heard = refusal.ask(client);
        EXPECT_EQ(heard.reply.code, refusal.code) << heard.payload;
        EXPECT_NE(heard.payload, "");
    }
    EXPECT_EQ(client.answer(Operation::cancel, client.id(), 5).reply.values[0], 0u);
}

TEST(Server, AJobThatIsWrongIsRefusedInWords) {
    const TestServer server(options_of(1));
    RawQueue client(server.path());
    client.call(WireJob{});
    ASSERT_TRUE(client.is_answered());
    EXPECT_EQ(client.area().accepted, 0u);
    EXPECT_EQ(client.area().code, EINVAL);
    EXPECT_STREQ(client.area().text.data(), "job 0: no FC");
    client.call(0); // also a call without jobs
    ASSERT_TRUE(client.is_answered());
    EXPECT_EQ(client.area().code, 0);
}

// Memory

TEST(Server, MemoryThatCouldGoAwayIsRefused) {
    const TestServer server(options_of(1));
    RawQueue client(server.path());
    const auto refused = [&](int fd, const std::string& words) {
        const auto heard = client.answer(Operation::create_buffer, 0, 0, fd);
        EXPECT_EQ(heard.reply.code, EINVAL) << heard.payload;
        EXPECT_NE(heard.payload.find(words), std::string::npos) << heard.payload;
    };
    const auto memory = [](unsigned flags, std::size_t bytes, int seals) {
        Descriptor fd(memfd_create("test", flags));
        EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
        if (seals != 0) {
            EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, seals), 0);
        }
        return fd;
    };
    refused(memory(MFD_ALLOW_SEALING, 4096, 0).get(), "not sealed");
    refused(memory(MFD_ALLOW_SEALING, 4096, F_SEAL_SHRINK).get(), "not sealed");
    refused(memory(MFD_ALLOW_SEALING, 4096, F_SEAL_GROW).get(), "not sealed");
    refused(memory(MFD_ALLOW_SEALING, 4096, F_SEAL_GROW | F_SEAL_SHRINK).get(), "not sealed");
    refused(memory(0, 4096, 0).get(), "not sealed");
    constexpr int right_seals = F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    refused(memory(MFD_ALLOW_SEALING, 4097, right_seals).get(), "whole pages");
    refused(memory(MFD_ALLOW_SEALING, 0, right_seals).get(), "0 bytes");
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    const Descriptor in(ends[0]);
    const Descriptor out(ends[1]);
    refused(in.get(), "no memory file");
    const Descriptor file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    refused(file.get(), "no memory file");
    // Memory that cannot be written any more cannot be shared for writing.
    for (const int seal : {F_SEAL_WRITE, F_SEAL_FUTURE_WRITE})
        refused(memory(MFD_ALLOW_SEALING, 4096, right_seals | seal).get(), "against writing");
    const Descriptor right = make_shared_memory("test", 4096);
    EXPECT_EQ(client.answer(Operation::create_buffer, 0, 0, right.get()).reply.code, 0);
}

/// Returns the number of blocks of 512 bytes that the file's memory has.
std::int64_t blocks_of(int fd) {
    struct stat file {};
    EXPECT_EQ(fstat(fd, &file), 0);
    return file.st_blocks;
}

/// A client cannot keep, by a descriptor, memory that is no longer charged to it.
TEST(Server, DestroyedMemoryIsGivenBack) {
    const TestServer server(options_of(1));
    const Descriptor memory = make_shared_memory("test", 1 << 20);
    Descriptor area;
    {
        RawQueue client(server.path());
        const auto made = client.answer(Operation::create_buffer, 0, 0, memory.get());
        ASSERT_EQ(made.reply.code, 0);
        EXPECT_GT(blocks_of(memory.get()), 0);
        area = Descriptor(dup(client.memory()));
        ASSERT_EQ(client.answer(Operation::destroy_buffer, made.reply.values[0]).reply.code, 0);
        EXPECT_EQ(blocks_of(memory.get()), 0);
        EXPECT_GT(blocks_of(area.get()), 0);
    }
    // The memory is freed soon after the connection is closed.
    for (const std::int64_t deadline = patience(); blocks_of(area.get()) != 0;)
        ASSERT_LT(in_ms(0), deadline);
}

TEST(Server, ResultsOutliveTheServer) {
    auto server = std::make_unique<TestServer>(options_of(1));
    const auto device = open_server(server->path());
    const auto buffer = device->create_buffer(4096);
    std::memset(buffer->data(), 7, 4096);
    server.reset();
    EXPECT_EQ(std::to_integer<int>(buffer->data()[4095]), 7);
}

/// Scratch is memory in a mapping of its own, and a process has a limited number of mappings.
TEST(Server, ScratchCountsAsAMapping) {
    auto account = std::make_shared<MemoryAccount>(std::size_t{1} << 30, nullptr, 3);
    auto one = std::make_unique<PrivateAllocation>(account, 1);
    const PrivateAllocation two(account, 1);
    const PrivateAllocation three(account, 1);
    expect_error(ENOSPC, "jobs with scratch", [&] { const PrivateAllocation four(account, 1); });
    EXPECT_EQ(account->bytes(), 3 * round_to_pages(1));
    one.reset();
    const PrivateAllocation four(account, 1);
}

TEST(Server, AHoleInABufferIsTheClientsOwn) {
    const TestServer server(options_of(1));
    Victim victim(server.path());
    const auto device = open_server(server.path());
    const auto queue = device->create_queue();
    RawQueue client(server.path());
    const Descriptor memory = make_shared_memory("test", 1 << 20);
    ASSERT_EQ(client.answer(Operation::create_buffer, 0, 0, memory.get()).reply.code, 0);
    for (int i = 0; i < 50; i++) {
        EXPECT_EQ(fallocate(memory.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1 << 20),
                  0);
        EXPECT_EQ(fallocate(client.memory(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                            static_cast<off_t>(round_to_pages(sizeof(QueueArea)))),
                  0);
        client.call(WireJob{});
        client.wake();
        victim.expect_to_work();
    }
}

TEST(Server, APageThatIsGoneIsZerosAndNoSignal) {
    guard_mappings();
    const Descriptor memory(memfd_create("test", MFD_CLOEXEC));
    ASSERT_EQ(ftruncate(memory.get(), 3 * 4096), 0);
    const GuardedMapping mapping(memory.get(), 3 * 4096);
    std::memset(mapping.data(), 1, 3 * 4096);
    ASSERT_EQ(ftruncate(memory.get(), 4096), 0);
    const auto byte = [&](std::size_t at) {
        return std::to_integer<int>(static_cast<volatile std::byte*>(mapping.data())[at]);
    };
    EXPECT_EQ(byte(4095), 1);
    EXPECT_EQ(byte(4096), 0);
    EXPECT_EQ(byte(3 * 4096 - 1), 0);
    mapping.data()[5000] = std::byte{7};
    EXPECT_EQ(byte(5000), 7);
}

TEST(Server, PagesOfAFileGoWithItsLastMapping) {
    const Descriptor memory = make_shared_memory("test", 4096);
    auto first = std::make_unique<GuardedMapping>(memory.get(), 4096);
    auto second = std::make_unique<GuardedMapping>(memory.get(), 4096);
    const auto blocks = [&] {
        struct stat file {};
        EXPECT_EQ(fstat(memory.get(), &file), 0);
        return file.st_blocks;
    };
    first->data()[5] = std::byte{7};
    first.reset();
    EXPECT_EQ(second->data()[5], std::byte{7});
    EXPECT_NE(blocks(), 0);
    second.reset();
    EXPECT_EQ(blocks(), 0);
    first = std::make_unique<GuardedMapping>(memory.get(), 4096);
    EXPECT_EQ(first->data()[5], std::byte{0});
    EXPECT_NE(blocks(), 0);
    first.reset();
    EXPECT_EQ(blocks(), 0);
}

TEST(Server, ABusErrorOfAnotherEndsTheProcess) {
    const Descriptor memory(memfd_create("test", MFD_CLOEXEC));
    ASSERT_EQ(ftruncate(memory.get(), 4096), 0);
    const Mapping mapping(memory.get(), 4096);
    ASSERT_EQ(ftruncate(memory.get(), 0), 0);
    const pid_t child = fork_test();
    ASSERT_GE(child, 0);
    if (child == 0) {
        signal(SIGBUS, SIG_DFL); // without a sanitizer's handler
        guard_mappings();
        static_cast<volatile std::byte*>(mapping.data())[0];
        _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), SIGBUS);
}

TEST(Server, NoClientReadsTheMemoryOfAnother) {
    const TestServer server(options_of(1));
    Victim victim(server.path());
    victim.expect_to_work();
    const auto thief = open_server(server.path());
    const auto queue = thief->create_queue();
    Program program(*thief, {copy_insn(64)});
    const auto mine = thief->create_buffer(1 << 20);
    // Tries every address that the victim may have, from the beginning of all addresses.
    std::set<std::uint64_t> found;
    for (std::uint64_t address = 0; address < (4u << 20); address += 4096) {
        Job job = program.job(1);
        std::array<overtake_binding, 3> bindings{
            {program.bindings[0],
             {address, 512, OVERTAKE_REGION_IO, OVERTAKE_MAP_READ},
             {mine->address(), 512, OVERTAKE_REGION_IO + 1,
              OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE}}};
        job.bindings = bindings;
        try {
            queue->submit({&job, 1});
        } catch (const Error& error) {
            ASSERT_EQ(error.code(), ENOENT) << error.what();
            continue;
        }
        EXPECT_EQ(reap_all(*queue, 1).front().status, 0);
        EXPECT_NE(std::memcmp(mine->data(), victim.source().data(), 512), 0) << address;
        found.insert(address);
    }
    EXPECT_GE(found.size(), mine->size() / 4096); // its own addresses
    victim.expect_to_work();
}

TEST(Server, AClientThatReadsNoAnswersDelaysNoOther) {
    const TestServer server(options_of(2));
    Victim victim(server.path());
    RawQueue client(server.path());
    // It sends calls and reads no answers.
    for (int i = 0; i < 100'000; i++) {
        const Request request{Operation::cores, 0, {}};
        if (!send_packet(client.socket_fd(), bytes_of(request), {}, {}, MSG_DONTWAIT) &&
            errno != EAGAIN)
            break;
    }
    victim.expect_to_work();
    for (int i = 0; i < 100'000; i++)
        client.wake();
    victim.expect_to_work();
}

/// Anything at all, in requests and in the memory of a queue.
TEST(Server, RandomMessagesAndMemoryHarmNoOtherClient) {
    const TestServer server(options_of(2));
    Victim victim(server.path());
    std::mt19937_64 random(20261124);
    const Descriptor memory = make_shared_memory("test", 4096);
    std::unique_ptr<RawQueue> client;
    int ended = 0;
    for (int round = 0; round < 20'000; round++) {
        if (!client)
            client = std::make_unique<RawQueue>(server.path());
        QueueArea& area = client->area();
        if (random() % 2 == 0) {
            Request request{static_cast<Operation>(random() % 19), 0, {random() % 4, random() % 4}};
            if (random() % 50 == 0)
                request.reserved = static_cast<std::uint32_t>(random());
            if (random() % 4 == 0)
                request.arguments[random() % 2] = random();
            const int fd = memory.get();
            client->say(bytes_of(request), std::span(&fd, random() % 2));
        } else {
            WireJob job{};
            const std::span bytes = std::as_writable_bytes(std::span(&job, 1));
            for (std::uint64_t changes = random() % 8; changes != 0; changes--)
                bytes[random() % bytes.size()] = static_cast<std::byte>(random());
            job.fc_count = static_cast<std::uint32_t>(random() % 4);
            job.binding_count = static_cast<std::uint32_t>(random() % 4);
            if (random() % 2 == 0)
                (random() % 2 == 0 ? job.instances : job.recording) =
                    static_cast<std::uint32_t>(random() % 5);
            std::memcpy(area.jobs.data(), &job, sizeof(job));
            for (std::size_t i = sizeof(job); i < 200; i++)
                area.jobs[i] = static_cast<std::byte>(random() % 3);
            const std::size_t whole = sizeof(job) + job.fc_count * sizeof(overtake_fc) +
                                      job.binding_count * sizeof(overtake_binding);
            area.job_bytes =
                static_cast<std::uint32_t>(random() % 20 == 0 ? random() % 200 : whole);
            area.calls += random() % 100 == 0 ? 2 : 1;
            client->wake();
            if (!client->is_answered()) {
                client.reset();
                ended++;
                continue;
            }
        }
        // Its answers are ignored, but have to be read.
        std::array<std::byte, 8> rest{};
        while (auto packet = receive_packet(client->socket_fd(), rest, MSG_DONTWAIT)) {
            if (packet->bytes == 0) {
                client.reset();
                ended++;
                break;
            }
        }
        if (round % 500 == 0)
            victim.expect_to_work();
    }
    EXPECT_GT(ended, 100);
    client.reset();
    victim.expect_to_work();
    expect_clients(server.path(), 1);
}

} // namespace
} // namespace overtake::test
