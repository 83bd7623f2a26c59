// SPDX-License-Identifier: MIT
//
// Conformance: jobs, completions and faults on a device whose clock runs by itself.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <functional>
#include <random>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "backends.hpp"
#include "programs.hpp"

namespace overtake::test {
namespace {

/// Cycles after which the watchdog acts: soon on an embedded device.
constexpr std::uint64_t watchdog_cycles = 10'000'000;

class QueueTest : public testing::TestWithParam<Backend> {
protected:
    void SetUp() override {
        EmbeddedOptions options;
        options.watchdog_cycles = watchdog_cycles;
        device = open_backend(GetParam(), {.manual_clock = false, .embedded = options});
    }

    void submit(Queue& queue, const Job& job) { queue.submit({&job, 1}); }
    Completion run(Queue& queue, const Job& job) {
        submit(queue, job);
        const std::vector<Completion> ended = reap_all(queue, 1);
        return ended.empty() ? Completion{} : ended.front();
    }

    std::shared_ptr<Device> device;
};

TEST_P(QueueTest, AJobCompletesWithItsTagAndTimes) {
    SKIP_WITHOUT(device);
    auto queue = device->create_queue();
    Program program(*device, {delay_insn(10), delay_insn(10), delay_insn(10)});
    program.fcs = {{0, 1}, {1, 2}};
    const Completion job = run(*queue, program.job(0xfeedfacecafe));
    EXPECT_EQ(job.tag, 0xfeedfacecafeu);
    EXPECT_EQ(job.status, 0);
    EXPECT_EQ(job.fault, OVERTAKE_FAULT_NONE);
    EXPECT_EQ(job.fcs_done, 2u);
    EXPECT_LE(job.queued_ns, job.start_ns);
    EXPECT_LE(job.start_ns, job.end_ns);
    EXPECT_LE(job.executed_ns, job.end_ns - job.start_ns);
    EXPECT_GE(job.core, 1u);
    EXPECT_LE(job.core, device->info().core_count);
    EXPECT_EQ(queue->in_flight(), 0u);
}

/// Tests that look at results: mode timed computes nothing.
class ComputingQueueTest : public QueueTest {};

TEST_P(ComputingQueueTest, AJobComputesWhatItsProgramSays) {
    SKIP_WITHOUT(device);
    auto queue = device->create_queue();
    auto in = device->create_buffer(4096);
    auto out = device->create_buffer(4096);
    for (std::size_t i = 0; i < 4096; i++)
        in->data()[i] = static_cast<std::byte>(i * 7 + 3);
    Program program(*device, {copy_insn(500)});
    program.bind(OVERTAKE_REGION_IO, *in, OVERTAKE_MAP_READ);
    program.bind(OVERTAKE_REGION_IO + 1, *out, OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
    EXPECT_EQ(run(*queue, program.job(1)).status, 0);
    EXPECT_EQ(std::memcmp(in->data(), out->data(), 4000), 0);
    EXPECT_TRUE(std::all_of(out->data() + 4000, out->data() + 4096,
                            [](std::byte b) { return b == std::byte{0}; }));
}

TEST_P(ComputingQueueTest, ScratchIsZeroedForEveryJob) {
    SKIP_WITHOUT(device);
    auto queue = device->create_queue();
    auto in = device->create_buffer(4096);
    auto out = device->create_buffer(4096);
    std::memset(in->data(), 0x55, 4096);
    overtake_insn save = copy_insn(100);
    save.in[0].region = OVERTAKE_REGION_SCRATCH;
    overtake_insn spoil = copy_insn(100);
    spoil.out.region = OVERTAKE_REGION_SCRATCH;
    Program program(*device, {save, spoil});
    program.bind(OVERTAKE_REGION_IO, *in, OVERTAKE_MAP_READ);
    program.bind(OVERTAKE_REGION_IO + 1, *out, OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
    for (std::uint64_t tag = 0; tag < 3; tag++) {
        std::memset(out->data(), 0x33, 4096);
        Job job = program.job(tag);
        job.scratch_bytes = 800;
        ASSERT_EQ(run(*queue, job).status, 0);
        EXPECT_TRUE(std::all_of(out->data(), out->data() + 800,
                                [](std::byte b) { return b == std::byte{0}; }));
    }
}

TEST_P(QueueTest, ManyJobsInFlightAllCompleteOnce) {
    SKIP_WITHOUT(device);
    constexpr std::uint64_t rounds = 6;
    constexpr std::uint64_t jobs_a_round = 400;
    auto queue = device->create_queue();
    const Program program(*device, {delay_insn(5)});
    std::set<std::uint64_t> ended;
    const auto reap_a_round = [&] {
        for (const Completion& job : reap_all(*queue, jobs_a_round)) {
            EXPECT_EQ(job.status, 0);
            EXPECT_TRUE(ended.insert(job.tag).second) << job.tag << " ended twice";
        }
    };
    for (std::uint64_t round = 0; round < rounds; round++) {
        std::vector<Job> jobs;
        for (std::uint64_t i = 0; i < jobs_a_round; i++)
            jobs.push_back(program.job(round * jobs_a_round + i, static_cast<unsigned>(i % 255)));
        queue->submit(jobs);
        if (round != 0)
            reap_a_round();
    }
    reap_a_round();
    EXPECT_EQ(ended.size(), rounds * jobs_a_round);
    EXPECT_EQ(*ended.rbegin(), rounds * jobs_a_round - 1);
    EXPECT_EQ(queue->in_flight(), 0u);
}

TEST_P(QueueTest, ReapWithNothingInFlightReturnsAtOnce) {
    SKIP_WITHOUT(device);
    auto queue = device->create_queue();
    Completion none;
    EXPECT_EQ(queue->reap({&none, 1}, deadline_never), 0u);
    EXPECT_EQ(queue->reap({&none, 1}, 0), 0u);
    EXPECT_FALSE(queue->cancel(1));
}

TEST_P(QueueTest, ReapTakesNoMoreThanItHasRoomFor) {
    SKIP_WITHOUT(device);
    auto queue = device->create_queue();
    const Program program(*device, {delay_insn(5)});
    const std::vector<Job> jobs{program.job(1), program.job(2), program.job(3)};
    queue->submit(jobs);
    std::set<std::uint64_t> tags;
    for (std::size_t left = 3; left-- != 0;) {
        Completion one;
        ASSERT_EQ(queue->reap({&one, 1}, patience()), 1u);
        EXPECT_EQ(queue->in_flight(), left);
        tags.insert(one.tag);
    }
    EXPECT_EQ(tags.size(), 3u);
}

TEST_P(QueueTest, QueuesSeeOnlyTheirOwnJobs) {
    SKIP_WITHOUT(device);
    auto first = device->create_queue();
    auto second = device->create_queue();
    const Program program(*device, {delay_insn(5)});
    submit(*first, program.job(1));
    submit(*second, program.job(1));
    submit(*second, program.job(2));
    EXPECT_EQ(reap_all(*first, 1).size(), 1u);
    EXPECT_FALSE(first->cancel(2));
    EXPECT_EQ(reap_all(*second, 2).size(), 2u);
}

TEST_P(QueueTest, ATagIsFreeAgainOnceItsJobIsReaped) {
    SKIP_WITHOUT(device);
    auto queue = device->create_queue();
    const Program program(*device, {delay_insn(5)});
    submit(*queue, program.job(9));
    EXPECT_EQ(reap_all(*queue, 1).size(), 1u);
    submit(*queue, program.job(9));
    EXPECT_EQ(reap_all(*queue, 1).size(), 1u);
}

TEST_P(QueueTest, ThreadsWithQueuesOfTheirOwnShareADevice) {
    SKIP_WITHOUT(device);
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < 4; thread++)
        threads.emplace_back([this] {
            auto queue = device->create_queue();
            const Program program(*device, {delay_insn(5)});
            for (std::uint64_t tag = 0; tag < 100; tag += 4) {
                const std::vector<Job> jobs{program.job(tag), program.job(tag + 1),
                                            program.job(tag + 2), program.job(tag + 3)};
                queue->submit(jobs);
                queue->cancel(tag + 3);
                EXPECT_EQ(reap_all(*queue, 4).size(), 4u);
            }
        });
    for (std::thread& thread : threads)
        thread.join();
}

TEST_P(QueueTest, AnIdleQueueMayChangeThreads) {
    SKIP_WITHOUT(device);
    auto queue = device->create_queue();
    const Program program(*device, {delay_insn(5)});
    EXPECT_EQ(run(*queue, program.job(1)).status, 0);
    std::thread([&] { EXPECT_EQ(run(*queue, program.job(2)).status, 0); }).join();
    EXPECT_EQ(run(*queue, program.job(3)).status, 0);
}

TEST_P(QueueTest, AQueueMayGoWithWorkInFlight) {
    SKIP_WITHOUT(device);
    auto other = device->create_queue();
    const Program quick(*device, {delay_insn(5)});
    {
        auto doomed = device->create_queue();
        const Program endless(*device, {jump_insn(0)});
        const std::vector<Job> jobs{endless.job(1), endless.job(2), quick.job(3), endless.job(4)};
        doomed->submit(jobs);
    }
    EXPECT_EQ(run(*other, quick.job(1)).status, 0);
}

TEST_P(QueueTest, QueuesMayComeAndGoWhileOthersWork) {
    SKIP_WITHOUT(device);
    const Program endless(*device, {jump_insn(0)});
    const Program quick(*device, {delay_insn(5)});
    const auto come_and_go = [&] {
        for (int round = 0; round < 8; round++) {
            auto doomed = device->create_queue();
            const std::vector<Job> jobs{quick.job(1), endless.job(2), quick.job(3), endless.job(4),
                                        quick.job(5)};
            doomed->submit(jobs);
            doomed->cancel(4);
        }
    };
    std::thread first(come_and_go);
    std::thread second(come_and_go);
    auto queue = device->create_queue();
    for (std::uint64_t tag = 0; tag < 100; tag++) {
        const Completion job = run(*queue, quick.job(tag));
        EXPECT_EQ(job.status, 0);
        EXPECT_EQ(job.fcs_done, 1u);
    }
    first.join();
    second.join();
}

// This test races with the device on purpose, so the thread sanitizer does not see it.
#ifndef __SANITIZE_THREAD__
TEST_P(QueueTest, AProgramRewrittenWhileItRunsHurtsOnlyItsOwnJob) {
    SKIP_WITHOUT(device);
    auto queue = device->create_queue();
    auto in = device->create_buffer(4096);
    auto spoilt = device->create_buffer(4096);
    auto out = device->create_buffer(4096);
    std::memset(in->data(), 0x5a, 4096);
    const auto copies = [&](const Buffer& to, std::size_t count) {
        Program program(*device, std::vector<overtake_insn>(count, copy_insn(512)));
        program.bind(OVERTAKE_REGION_IO, *in, OVERTAKE_MAP_READ);
        program.bind(OVERTAKE_REGION_IO + 1, to, OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
        return program;
    };
    Program scribbled = copies(*spoilt, 300);
    const Program good = copies(*out, 3);
    std::atomic<bool> stop = false;
    std::thread vandal([&] {
        std::mt19937_64 random(7);
        auto* words = reinterpret_cast<volatile std::uint64_t*>(scribbled.buffer->data());
        const std::size_t count = scribbled.buffer->size() / sizeof(std::uint64_t);
        while (!stop)
            words[random() % count] = random() % 3 ? random() % 64 : random();
    });
    const bool computes = device->info().mode != OVERTAKE_MODE_TIMED;
    for (std::uint64_t round = 0; round < 20; round++) {
        const std::vector<Job> jobs{scribbled.job(3 * round), good.job(3 * round + 1),
                                    scribbled.job(3 * round + 2)};
        queue->submit(jobs);
        for (const Completion& job : reap_all(*queue, 3)) {
            if (job.tag % 3 == 1)
                EXPECT_EQ(job.status, 0);
            else
                EXPECT_TRUE(job.status == 0 || job.status == -ENOEXEC || job.status == -ETIMEDOUT)
                    << job.status;
        }
        EXPECT_TRUE(!computes || std::memcmp(in->data(), out->data(), 4096) == 0);
        std::memset(out->data(), 0, 4096);
    }
    stop = true;
    vandal.join();
}
#endif

TEST_P(QueueTest, ABufferMayGoWhileItsJobRuns) {
    SKIP_WITHOUT(device);
    auto queue = device->create_queue();
    {
        auto in = device->create_buffer(4096);
        auto out = device->create_buffer(4096);
        Program program(*device, std::vector<overtake_insn>(2000, copy_insn(512)));
        program.bind(OVERTAKE_REGION_IO, *in, OVERTAKE_MAP_READ);
        program.bind(OVERTAKE_REGION_IO + 1, *out, OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
        submit(*queue, program.job(1));
    }
    EXPECT_EQ(reap_all(*queue, 1).front().status, 0);
}

// Faults: each ends its own job, with the fault and the instruction, and no other job.

struct FaultCase {
    const char* description;
    std::uint32_t fault;
    std::uint32_t at;                                    ///< the number of the instruction
    std::function<void(Program&, overtake_insn*)> spoil; ///< changes a program of three copies
};

const FaultCase fault_cases[] = {
    {"an opcode that does not exist", OVERTAKE_FAULT_OPCODE, 1,
     [](Program&, overtake_insn* insns) { insns[1].opcode = 999; }},
    {"a reserved field that is not zero", OVERTAKE_FAULT_RESERVED, 2,
     [](Program&, overtake_insn* insns) { insns[2].reserved[3] = 1; }},
    {"an operand that leaves its region", OVERTAKE_FAULT_BOUNDS, 0,
     [](Program&, overtake_insn* insns) { insns[0].in[0].offset = 4096; }},
    {"an offset that overflows", OVERTAKE_FAULT_BOUNDS, 0,
     [](Program&, overtake_insn* insns) { insns[0].in[0].offset = ~0ull - 7; }},
    {"a region that is not bound", OVERTAKE_FAULT_REGION, 1,
     [](Program&, overtake_insn* insns) { insns[1].in[0].region = 9; }},
    {"a region that does not exist", OVERTAKE_FAULT_REGION, 1,
     [](Program&, overtake_insn* insns) { insns[1].in[0].region = 16; }},
    {"a write to a read-only region", OVERTAKE_FAULT_PERMISSION, 1,
     [](Program&, overtake_insn* insns) { insns[1].out.region = OVERTAKE_REGION_IO; }},
    {"an FC that leaves the program", OVERTAKE_FAULT_PROGRAM, 3,
     [](Program& program, overtake_insn*) {
         program.fcs = {{0, 4}};
     }},
    {"a jump out of the FC", OVERTAKE_FAULT_PROGRAM, 0,
     [](Program&, overtake_insn* insns) { insns[0] = jump_insn(3); }},
};

TEST_P(QueueTest, AFaultEndsItsJobAndNoOther) {
    SKIP_WITHOUT(device);
    auto queue = device->create_queue();
    auto memory = device->create_buffer(4096);
    const auto three_copies = [&] {
        Program program(*device, {copy_insn(8), copy_insn(8), copy_insn(8)});
        program.bind(OVERTAKE_REGION_IO, *memory, OVERTAKE_MAP_READ);
        program.bind(OVERTAKE_REGION_IO + 1, *memory, OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
        return program;
    };
    const Program good = three_copies();
    for (const FaultCase& row : fault_cases) {
        SCOPED_TRACE(row.description);
        Program bad = three_copies();
        // The program's memory is longer than its region.
        row.spoil(bad, reinterpret_cast<overtake_insn*>(bad.buffer->data()));
        const std::vector<Job> jobs{good.job(1, 0, 1), bad.job(2, 0, 1), good.job(3, 0, 1)};
        queue->submit(jobs);
        std::vector<Completion> ended = reap_all(*queue, 3);
        ASSERT_EQ(ended.size(), 3u);
        std::ranges::sort(ended, {}, &Completion::tag);
        EXPECT_EQ(ended[0].status, 0);
        EXPECT_EQ(ended[1].status, -ENOEXEC);
        EXPECT_EQ(ended[1].fault, row.fault);
        EXPECT_EQ(ended[1].fault_insn, row.at);
        EXPECT_EQ(ended[2].status, 0);
    }
}

TEST_P(QueueTest, AnEndlessProgramEndsByTheWatchdog) {
    SKIP_WITHOUT(device);
    if (device->info().watchdog_cycles > 10 * watchdog_cycles)
        GTEST_SKIP() << "SKIPPED: the device's watchdog is too slow for a test";
    auto queue = device->create_queue();
    const Program endless(*device, {jump_insn(0)});
    const Program good(*device, {delay_insn(5)});
    const std::vector<Job> jobs{endless.job(1, 0, 1), good.job(2, 0, 1)};
    queue->submit(jobs);
    std::vector<Completion> ended = reap_all(*queue, 2);
    ASSERT_EQ(ended.size(), 2u);
    EXPECT_EQ(ended[0].tag, 1u);
    EXPECT_EQ(ended[0].status, -ETIMEDOUT);
    EXPECT_EQ(ended[0].fault, OVERTAKE_FAULT_WATCHDOG);
    EXPECT_EQ(ended[1].status, 0);
}

// Runs in mode timed, where an FC keeps its core busy for its modelled time.  The wait reaches its
// bound only if the test fails: then the job ends with that FC, in 137 s.
TEST(EmbeddedQueue, CancelEndsAWaitingJobWhileItsCoreIsBusy) {
    EmbeddedOptions options;
    options.mode = OVERTAKE_MODE_TIMED;
    options.profile = "ideal";
    options.watchdog_cycles = 64 * OVERTAKE_DELAY_CYCLES_MAX;
    options.queue_timeout_ns = 600'000'000'000;
    const auto device = open_embedded(options);
    auto queue = device->create_queue();
    const Program busy(*device,
                       std::vector<overtake_insn>(32, delay_insn(OVERTAKE_DELAY_CYCLES_MAX)));
    const std::vector<Job> jobs{busy.job(1, 0, 1), busy.job(2, 0, 1)};
    queue->submit(jobs);
    Completion ended{};
    EXPECT_EQ(queue->reap({&ended, 1}, in_ms(300)), 0u)
        << "the device's threads have gone to sleep";
    EXPECT_TRUE(queue->cancel(2));
    ASSERT_EQ(queue->reap({&ended, 1}, patience()), 1u);
    EXPECT_EQ(ended.tag, 2u);
    EXPECT_EQ(ended.status, -ECANCELED);
    EXPECT_EQ(ended.fcs_done, 0u);
    EXPECT_EQ(queue->in_flight(), 1u);
}

std::chrono::nanoseconds process_cpu_time() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// The FC ends by its CPU time.  If that were not counted, the FC would end by wall time, at 5 times
// the clock.
TEST(EmbeddedQueue, AnEndlessFcEndsByTheCpuTimeThatItTook) {
    constexpr std::chrono::milliseconds fc_clock(100);
    EmbeddedOptions options;
    options.fc_clock_ns = std::chrono::nanoseconds(fc_clock).count();
    options.watchdog_cycles = ~0ull;
    const auto device = open_embedded(options);
    auto queue = device->create_queue();
    const Program endless(*device, {jump_insn(0)});
    const Job job = endless.job(1);
    const auto before = process_cpu_time();
    queue->submit({&job, 1});
    const std::vector<Completion> ended = reap_all(*queue, 1);
    ASSERT_EQ(ended.size(), 1u);
    EXPECT_EQ(ended[0].status, -ETIMEDOUT);
    EXPECT_EQ(ended[0].fault, OVERTAKE_FAULT_CLOCK);
    EXPECT_LT(process_cpu_time() - before, 3 * fc_clock);
}

TEST_P(QueueTest, BuffersAreZeroed) {
    SKIP_WITHOUT(device);
    auto buffer = device->create_buffer(5000);
    ASSERT_GE(buffer->size(), 5000u);
    EXPECT_NE(buffer->address(), 0u);
    EXPECT_TRUE(std::all_of(buffer->data(), buffer->data() + buffer->size(),
                            [](std::byte b) { return b == std::byte{0}; }));
}

INSTANTIATE_TEST_SUITE_P(Conformance, QueueTest, testing::ValuesIn(all_backends_and_modes()),
                         backend_name);
INSTANTIATE_TEST_SUITE_P(Conformance, ComputingQueueTest,
                         testing::ValuesIn(all_computing_backends_and_modes()), backend_name);

} // namespace
} // namespace overtake::test
