// SPDX-License-Identifier: MIT
//
// Conformance: order and times, to the nanosecond, under a manual clock.
#include <cerrno>
#include <map>

#include <gtest/gtest.h>

#include "backends.hpp"
#include "programs.hpp"

namespace overtake::test {
namespace {

constexpr std::uint64_t us = 1000;

class Timeline : public testing::TestWithParam<Backend> {
protected:
    void SetUp() override {
        device = open_backend(GetParam(), {.manual_clock = true, .embedded = {}});
        SKIP_WITHOUT(device);
        clock = device->manual_clock();
        ASSERT_NE(clock, nullptr);
        origin = clock->now_ns() + us;
        clock->advance_to(origin);
    }

    std::unique_ptr<Queue> queue_with_limit(unsigned limit) {
        return device->create_queue({.max_priority = 255, .core_limit = limit});
    }
    void at(std::uint64_t microseconds) { clock->advance_to(origin + microseconds * us); }
    void submit(Queue& queue, std::uint64_t tag, const std::vector<std::uint64_t>& fcs,
                unsigned priority = 0, unsigned core = 1) {
        const Program program = delays(*device, fcs);
        const Job job = program.job(tag, priority, core);
        queue.submit({&job, 1});
    }
    /// Returns completions by tag, with times in microseconds from the origin.
    std::map<std::uint64_t, Completion> ended(Queue& queue, std::size_t count) {
        std::map<std::uint64_t, Completion> all;
        for (Completion completion : reap_all(queue, count)) {
            completion.queued_ns = (completion.queued_ns - origin) / us;
            if (completion.start_ns != 0)
                completion.start_ns = (completion.start_ns - origin) / us;
            completion.end_ns = (completion.end_ns - origin) / us;
            all[completion.tag] = completion;
        }
        return all;
    }

    std::shared_ptr<Device> device;
    ManualClock* clock = nullptr;
    std::uint64_t origin = 0;
};

TEST_P(Timeline, AJobTakesItsModelledTimeAndReportsIt) {
    auto queue = queue_with_limit(0);
    at(10);
    submit(*queue, 7, {100, 20, 3});
    at(1000);
    const Completion job = ended(*queue, 1)[7];
    EXPECT_EQ(job.status, 0);
    EXPECT_EQ(job.queued_ns, 10u);
    EXPECT_EQ(job.start_ns, 10u);
    EXPECT_EQ(job.end_ns, 133u);
    EXPECT_EQ(job.executed_ns, 123 * us);
    EXPECT_EQ(job.fcs_done, 3u);
    EXPECT_EQ(job.core, 1u);
    EXPECT_EQ(job.preemptions, 0u);
}

TEST_P(Timeline, NothingEndsWhileTheClockStandsStill) {
    auto queue = queue_with_limit(0);
    submit(*queue, 1, {10});
    Completion none;
    EXPECT_EQ(queue->reap({&none, 1}, in_ms(5)), 0u);
    EXPECT_EQ(queue->in_flight(), 1u);
    at(9);
    EXPECT_EQ(queue->reap({&none, 1}, 0), 0u);
    at(10);
    EXPECT_EQ(ended(*queue, 1)[1].end_ns, 10u);
}

TEST_P(Timeline, AJobSubmittedAtAnEndPrecedesTheChoiceOfThatInstant) {
    auto queue = queue_with_limit(1);
    submit(*queue, 1, {10});
    submit(*queue, 2, {10});
    at(10);
    EXPECT_EQ(ended(*queue, 1)[1].end_ns, 10u);
    submit(*queue, 3, {5}, 255);
    at(100);
    auto jobs = ended(*queue, 2);
    EXPECT_EQ(jobs[3].start_ns, 10u);
    EXPECT_EQ(jobs[2].start_ns, 15u);
}

TEST_P(Timeline, TheClockDoesNotRunBackwards) {
    at(100);
    const std::uint64_t now = clock->now_ns();
    try {
        clock->advance_to(now - 1);
        FAIL() << "accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), EINVAL);
    }
    EXPECT_EQ(clock->now_ns(), now);
}

TEST_P(Timeline, TheClockEndsWithTheLastDeadline) {
    const std::uint64_t now = clock->now_ns();
    for (const std::uint64_t end : {std::uint64_t{deadline_never}, ~std::uint64_t{0}}) {
        try {
            clock->advance_to(end);
            FAIL() << "accepted";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), EINVAL);
        }
        EXPECT_EQ(clock->now_ns(), now);
    }
}

TEST_P(Timeline, NormalIsFirstComeFirstServedWhateverThePriority) {
    auto queue = queue_with_limit(1);
    submit(*queue, 1, {100}, 3);
    submit(*queue, 2, {100}, 254);
    submit(*queue, 3, {100}, 0);
    at(1000);
    auto jobs = ended(*queue, 3);
    EXPECT_EQ(jobs[1].start_ns, 0u);
    EXPECT_EQ(jobs[2].start_ns, 100u);
    EXPECT_EQ(jobs[3].start_ns, 200u);
}

TEST_P(Timeline, WithoutALimitHighWaitsForFcsThatCameFirst) {
    auto queue = queue_with_limit(0);
    submit(*queue, 1, {100, 100, 100});
    at(10);
    submit(*queue, 2, {50}, 255);
    at(1000);
    auto jobs = ended(*queue, 2);
    EXPECT_EQ(jobs[2].start_ns, 300u);
    EXPECT_EQ(jobs[1].preemptions, 0u);
}

TEST_P(Timeline, HighWaitsForAtMostTheCoreLimit) {
    auto queue = queue_with_limit(2);
    submit(*queue, 1, {100, 100, 100, 100, 100});
    at(10);
    submit(*queue, 2, {50}, 255);
    at(1000);
    auto jobs = ended(*queue, 2);
    EXPECT_EQ(jobs[2].start_ns, 200u);
    EXPECT_EQ(jobs[2].end_ns, 250u);
    EXPECT_EQ(jobs[1].end_ns, 550u);
    EXPECT_EQ(jobs[1].preemptions, 1u);
    EXPECT_EQ(jobs[1].executed_ns, 500 * us);
}

TEST_P(Timeline, TheTightestLimitOfLiveQueuesApplies) {
    auto loose = queue_with_limit(3);
    auto tight = queue_with_limit(1);
    at(1);
    EXPECT_EQ(device->cores()[0].core_limit, 1u);
    tight.reset();
    at(2);
    EXPECT_EQ(device->cores()[0].core_limit, 3u);
    loose.reset();
    at(3);
    EXPECT_EQ(device->cores()[0].core_limit, 0u);
}

TEST_P(Timeline, AnyCoreIsTheOneWithTheFewestUnfinishedFcs) {
    if (device->info().core_count < 2)
        GTEST_SKIP() << "SKIPPED: the device has one core";
    auto queue = queue_with_limit(0);
    submit(*queue, 1, {100, 100}, 0, core_any);
    submit(*queue, 2, {100}, 0, core_any);
    submit(*queue, 3, {100}, 0, core_any);
    at(1000);
    auto jobs = ended(*queue, 3);
    EXPECT_EQ(jobs[1].core, 1u);
    EXPECT_EQ(jobs[2].core, 2u);
    EXPECT_EQ(jobs[3].core, 2u);
    EXPECT_EQ(jobs[3].start_ns, 100u);
}

TEST_P(Timeline, CancelBeforeTheStartEndsAJobAtOnce) {
    auto queue = queue_with_limit(0);
    submit(*queue, 1, {100});
    submit(*queue, 2, {100});
    submit(*queue, 3, {100});
    at(30);
    EXPECT_TRUE(queue->cancel(2));
    at(1000);
    auto jobs = ended(*queue, 3);
    EXPECT_EQ(jobs[2].status, -ECANCELED);
    EXPECT_EQ(jobs[2].start_ns, 0u);
    EXPECT_EQ(jobs[2].end_ns, 30u);
    EXPECT_EQ(jobs[2].fcs_done, 0u);
    EXPECT_EQ(jobs[1].status, 0);
    EXPECT_EQ(jobs[3].start_ns, 100u);
}

TEST_P(Timeline, CancelWhileRunningLetsTheFcEnd) {
    auto queue = queue_with_limit(0);
    submit(*queue, 1, {100, 100, 100});
    submit(*queue, 2, {10});
    at(130);
    EXPECT_TRUE(queue->cancel(1));
    EXPECT_TRUE(queue->cancel(1)) << "still in flight, so cancelling again is no error";
    at(1000);
    auto jobs = ended(*queue, 2);
    EXPECT_EQ(jobs[1].status, -ECANCELED);
    EXPECT_EQ(jobs[1].end_ns, 200u);
    EXPECT_EQ(jobs[1].fcs_done, 2u);
    EXPECT_EQ(jobs[2].start_ns, 200u);
}

TEST_P(Timeline, ADeadlineCancelsAtItsInstant) {
    auto queue = queue_with_limit(0);
    submit(*queue, 1, {100});
    const Program late = delays(*device, {100});
    Job job = late.job(2, 0, 1);
    job.deadline_ns = static_cast<std::int64_t>(origin + 40 * us);
    queue->submit({&job, 1});
    at(1000);
    auto jobs = ended(*queue, 2);
    EXPECT_EQ(jobs[2].status, -ETIME);
    EXPECT_EQ(jobs[2].end_ns, 40u);
    EXPECT_EQ(jobs[2].fcs_done, 0u);
    EXPECT_EQ(jobs[1].status, 0);
}

TEST_P(Timeline, ADeadlineThatHasComeIsBeforeACancelAtTheSameInstant) {
    auto queue = queue_with_limit(0);
    submit(*queue, 1, {100});
    const Program late = delays(*device, {100});
    Job job = late.job(2, 0, 1);
    job.deadline_ns = static_cast<std::int64_t>(origin + 40 * us);
    queue->submit({&job, 1});
    at(40);
    queue->cancel(2);
    at(1000);
    const Completion completion = ended(*queue, 2)[2];
    EXPECT_EQ(completion.status, -ETIME);
    EXPECT_EQ(completion.end_ns, 40u);
}

TEST_P(Timeline, ADeadlineLetsTheRunningFcEnd) {
    auto queue = queue_with_limit(0);
    const Program slow = delays(*device, {100, 100});
    Job job = slow.job(1, 0, 1);
    job.deadline_ns = static_cast<std::int64_t>(origin + 40 * us);
    queue->submit({&job, 1});
    at(1000);
    auto jobs = ended(*queue, 1);
    EXPECT_EQ(jobs[1].status, -ETIME);
    EXPECT_EQ(jobs[1].end_ns, 100u);
    EXPECT_EQ(jobs[1].fcs_done, 1u);
}

TEST_P(Timeline, TwoQueuesShareACoreInArrivalOrder) {
    auto first = queue_with_limit(0);
    auto second = queue_with_limit(0);
    submit(*first, 1, {100});
    submit(*second, 1, {100});
    submit(*first, 2, {100});
    at(1000);
    auto of_first = ended(*first, 2);
    auto of_second = ended(*second, 1);
    EXPECT_EQ(of_first[1].start_ns, 0u);
    EXPECT_EQ(of_second[1].start_ns, 100u);
    EXPECT_EQ(of_first[2].start_ns, 200u);
}

TEST_P(Timeline, AQueueDestroyedWithWorkInFlightFreesTheCore) {
    auto doomed = queue_with_limit(0);
    auto other = queue_with_limit(0);
    submit(*doomed, 1, {1000, 1000});
    submit(*doomed, 2, {1000});
    submit(*other, 1, {10});
    at(100);
    doomed.reset();
    at(200);
    const Completion job = ended(*other, 1)[1];
    EXPECT_EQ(job.status, 0);
    EXPECT_EQ(job.start_ns, 100u);
}

TEST_P(Timeline, MoreFcsThanARingHoldsKeepTheirOrder) {
    auto queue = queue_with_limit(1);
    submit(*queue, 1, std::vector<std::uint64_t>(500, 2));
    submit(*queue, 2, std::vector<std::uint64_t>(500, 2));
    at(1);
    submit(*queue, 3, {5}, 255);
    at(10'000);
    auto jobs = ended(*queue, 3);
    EXPECT_EQ(jobs[3].start_ns, 2u);
    EXPECT_EQ(jobs[1].end_ns, 1005u);
    EXPECT_EQ(jobs[2].start_ns, 1005u);
    EXPECT_EQ(jobs[2].end_ns, 2005u);
}

TEST_P(Timeline, AsManyJobsAsAllowedAreInFlightAndNoMore) {
    auto queue = queue_with_limit(0);
    const Program program = delays(*device, {1});
    std::vector<Job> jobs;
    for (std::uint64_t tag = 0; tag < OVERTAKE_MAX_JOBS; tag++)
        jobs.push_back(program.job(tag, 0, 1));
    queue->submit(jobs);
    EXPECT_EQ(queue->in_flight(), OVERTAKE_MAX_JOBS);
    const Job one_more = program.job(OVERTAKE_MAX_JOBS, 0, 1);
    try {
        queue->submit({&one_more, 1});
        ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ENOSPC);
    }
    at(OVERTAKE_MAX_JOBS + 1);
    auto ends = ended(*queue, OVERTAKE_MAX_JOBS);
    ASSERT_EQ(ends.size(), OVERTAKE_MAX_JOBS);
    for (const auto& [tag, job] : ends)
        EXPECT_EQ(job.end_ns, tag + 1);
    EXPECT_EQ(queue->in_flight(), 0u);
}

TEST(EmbeddedTimeline, CoresCountWhatTheyHaveRun) {
    EmbeddedOptions options;
    options.cores = 2;
    options.mode = OVERTAKE_MODE_TIMED;
    options.profile = "ideal";
    options.manual_clock = true;
    const auto device = open_embedded(options);
    const std::uint64_t origin = device->manual_clock()->now_ns();
    const auto queue = device->create_queue({.max_priority = 255, .core_limit = 1});
    const Program normal = delays(*device, {100, 100, 100}), high = delays(*device, {50});
    overtake_insn unknown{};
    unknown.opcode = 4000;
    const Program faulty(*device, {unknown});
    queue->submit(std::vector<Job>{normal.job(1, 0, 2), faulty.job(2, 0, 1)});
    device->manual_clock()->advance_to(origin + 10 * us);
    queue->submit(std::vector<Job>{high.job(3, 255, 2)});
    device->manual_clock()->advance_to(origin + 1000 * us);
    EXPECT_EQ(reap_all(*queue, 3).size(), 3u);
    const std::vector<drm_overtake_core_info> cores = device->cores();
    ASSERT_EQ(cores.size(), 2u);
    EXPECT_EQ(cores[0].core, 1u);
    EXPECT_EQ(cores[0].faults, 1u);
    EXPECT_EQ(cores[0].fcs_normal, 1u);
    EXPECT_EQ(cores[0].fcs_high, 0u);
    EXPECT_EQ(cores[1].core, 2u);
    EXPECT_EQ(cores[1].core_limit, 1u);
    EXPECT_EQ(cores[1].busy_ns, 350 * us);
    EXPECT_EQ(cores[1].fcs_high, 1u);
    EXPECT_EQ(cores[1].fcs_normal, 3u);
    EXPECT_EQ(cores[1].preemptions, 1u);
    EXPECT_EQ(cores[1].faults, 0u);
}

INSTANTIATE_TEST_SUITE_P(Conformance, Timeline, testing::ValuesIn(all_backends()), backend_name);

} // namespace
} // namespace overtake::test
