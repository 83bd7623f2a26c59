// SPDX-License-Identifier: MIT
//
// Conformance: what a host that schedules by itself needs from a queue.  The host leaves the choice
// of cores to the device, and another thread can wake it while it waits for ends.
#include <cerrno>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "backends.hpp"
#include "programs.hpp"

namespace overtake::test {
namespace {

class Placement : public testing::TestWithParam<Backend> {
protected:
    void SetUp() override {
        EmbeddedOptions options;
        options.cores = 2;
        device = open_backend(GetParam(), {.manual_clock = false, .embedded = options});
        if (device)
            program.emplace(*device, std::vector{delay_insn(10)});
    }

    unsigned submit(Queue& queue, std::uint64_t tag, std::uint64_t cores) {
        unsigned core = 77;
        Job job = program->job(tag);
        job.cores = cores;
        job.chosen_core = &core;
        queue.submit({&job, 1});
        return core;
    }

    int refusal(Queue& queue, unsigned core, std::uint64_t cores) {
        Job job = program->job(1, 0, core);
        job.cores = cores;
        try {
            queue.submit({&job, 1});
        } catch (const Error& error) {
            return error.code();
        }
        return 0;
    }

    std::shared_ptr<Device> device;
    std::optional<Program> program;
};

TEST_P(Placement, TheChosenCoreIsOneOfTheNamedOnesAndRunsTheJob) {
    SKIP_WITHOUT(device);
    auto queue = device->create_queue();
    for (std::uint64_t cores = 1; cores <= 3; cores++) {
        const unsigned chosen = submit(*queue, cores, cores);
        EXPECT_TRUE(chosen == 1 || chosen == 2) << chosen;
        EXPECT_NE(cores >> (chosen - 1) & 1, 0u) << "core " << chosen << " of " << cores;
        const auto ended = reap_all(*queue, 1);
        ASSERT_EQ(ended.size(), 1u);
        EXPECT_EQ(ended[0].core, chosen);
        EXPECT_EQ(ended[0].status, 0);
    }
}

TEST_P(Placement, ARefusedJobIsOnNoCore) {
    SKIP_WITHOUT(device);
    auto queue = device->create_queue();
    unsigned core = 77;
    Job job = program->job(1);
    job.fcs = {};
    job.cores = 3;
    job.chosen_core = &core;
    EXPECT_THROW(queue->submit({&job, 1}), Error);
    EXPECT_EQ(core, 77u);
}

TEST_P(Placement, EveryJobOfABatchLearnsItsCore) {
    SKIP_WITHOUT(device);
    auto queue = device->create_queue();
    std::vector<unsigned> chosen(300);
    std::vector<Job> jobs;
    for (std::size_t i = 0; i < chosen.size(); i++) {
        jobs.push_back(program->job(i));
        jobs.back().cores = i % 3 + 1;
        jobs.back().chosen_core = i % 5 == 0 ? nullptr : &chosen[i];
    }
    queue->submit(jobs);
    for (const Completion& ended : reap_all(*queue, jobs.size())) {
        EXPECT_EQ(ended.status, 0);
        EXPECT_NE((ended.tag % 3 + 1) >> (ended.core - 1) & 1, 0u) << ended.tag;
        EXPECT_EQ(chosen[ended.tag], ended.tag % 5 != 0 ? ended.core : 0) << ended.tag;
    }
}

TEST_P(Placement, AnImpossibleChoiceOfCoresIsRefused) {
    SKIP_WITHOUT(device);
    auto queue = device->create_queue();
    EXPECT_EQ(refusal(*queue, 1, 0x3), EINVAL); // both a core and a set of cores
    EXPECT_EQ(refusal(*queue, 0, 0x4), EINVAL); // there is no core 3
    EXPECT_EQ(refusal(*queue, 0, 0x5), EINVAL);
    EXPECT_EQ(refusal(*queue, 0, ~std::uint64_t{0}), EINVAL);
    EXPECT_EQ(queue->in_flight(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Conformance, Placement, testing::ValuesIn(all_backends()), backend_name);

/// Runs on a manual clock, so that the loads are known.
class PlacementOnTheClock : public Placement {
protected:
    void SetUp() override {
        EmbeddedOptions options;
        options.cores = 2;
        device = open_backend(GetParam(), {.manual_clock = true, .embedded = options});
        if (device)
            program.emplace(delays(*device, {10, 10}));
    }
};

TEST_P(PlacementOnTheClock, TheDeviceTakesTheCoreWithTheFewestFcsThoseOnTheirWayIncluded) {
    SKIP_WITHOUT(device);
    auto queue = device->create_queue();
    EXPECT_EQ(submit(*queue, 1, 0x3), 1u);
    EXPECT_EQ(submit(*queue, 2, 0x3), 2u); // in the same instant
    EXPECT_EQ(submit(*queue, 3, 0x2), 2u);
    EXPECT_EQ(submit(*queue, 4, 0x3), 1u);
    EXPECT_EQ(submit(*queue, 5, 0x3), 1u); // a tie
    ManualClock& clock = *device->manual_clock();
    clock.advance_to(clock.now_ns() + 20'000);
    EXPECT_EQ(submit(*queue, 6, 0x3), 2u); // core 1 has 4 left, core 2 has 2
    clock.advance_to(clock.now_ns() + 1'000'000);
    for (const Completion& ended : reap_all(*queue, 6))
        EXPECT_EQ(ended.status, 0);
}

INSTANTIATE_TEST_SUITE_P(Conformance, PlacementOnTheClock, testing::ValuesIn(all_backends()),
                         backend_name);

/// A queue with one job, which does not end while the manual clock stands still.
class Interruption : public testing::TestWithParam<Backend> {
protected:
    void SetUp() override {
        device = open_backend(GetParam(), {.manual_clock = true, .embedded = {}});
        if (!device)
            return;
        QueueOptions options;
        options.interruptible = true;
        queue = device->create_queue(options);
        program.emplace(delays(*device, {1'000'000}));
        const Job job = program->job(1);
        queue->submit({&job, 1});
    }

    std::size_t reap(std::int64_t deadline_ns) {
        Completion ended;
        return queue->reap({&ended, 1}, deadline_ns);
    }

    std::shared_ptr<Device> device;
    std::unique_ptr<Queue> queue;
    std::optional<Program> program;
};

TEST_P(Interruption, AReapThatWaitsForeverReturnsWhenInterrupted) {
    SKIP_WITHOUT(device);
    for (int round = 0; round < 20; round++) {
        std::promise<void> begins;
        std::thread other([&] {
            begins.get_future().wait();
            queue->interrupt();
        });
        begins.set_value();
        EXPECT_EQ(reap(deadline_never), 0u);
        other.join();
    }
    EXPECT_EQ(queue->in_flight(), 1u);
}

TEST_P(Interruption, SeveralInterruptionsBeforeAReapCountAsOne) {
    SKIP_WITHOUT(device);
    queue->interrupt();
    queue->interrupt();
    EXPECT_EQ(reap(deadline_never), 0u);
    EXPECT_EQ(reap(in_ms(20)), 0u); // at its deadline: nothing interrupted it
}

TEST_P(Interruption, AnInterruptedReapStillReturnsEndedJobs) {
    SKIP_WITHOUT(device);
    ASSERT_TRUE(queue->cancel(1));
    ManualClock& clock = *device->manual_clock();
    clock.advance_to(clock.now_ns() + 2'000'000'000);
    Completion ended{};
    std::size_t count = 0;
    // The device reports the end in a thread of its own, which the system may run late.
    const std::int64_t deadline = patience();
    while (count == 0 && in_ms(0) < deadline) {
        queue->interrupt();
        count = queue->reap({&ended, 1}, deadline);
    }
    EXPECT_EQ(count, 1u);
    EXPECT_EQ(ended.tag, 1u);
    EXPECT_EQ(queue->in_flight(), 0u);
}

TEST_P(Interruption, AQueueWithoutTheOptionRefusesIt) {
    SKIP_WITHOUT(device);
    auto plain = device->create_queue();
    try {
        plain->interrupt();
        FAIL() << "accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), EINVAL);
        EXPECT_NE(std::string(error.what()).find("interruptible"), std::string::npos);
    }
}

TEST_P(Interruption, AQueueMayBeDestroyedWithAJobInFlight) {
    SKIP_WITHOUT(device);
    queue->interrupt();
    queue.reset();
    SUCCEED();
}

INSTANTIATE_TEST_SUITE_P(Conformance, Interruption, testing::ValuesIn(all_backends()),
                         backend_name);

} // namespace
} // namespace overtake::test
