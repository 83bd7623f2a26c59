// SPDX-License-Identifier: MIT
//
// The longest delays that processes in service mode can cause each other, to the nanosecond:
// docs/use/service.md, "How long a neighbour can delay a task".
#include <algorithm>
#include <thread>

#include "service_clients.hpp"

namespace overtake::test {
namespace {

/// A gap takes no task whose work on the device is longer than the gap.
ServerOptions without_insertion() {
    ServerOptions options = stepped_options();
    options.service.insert_max_time_ns = 0;
    options.service.wait_dispatch_time_ns = 10'000 * ms;
    return options;
}

class SteppedServiceTest : public testing::Test {
protected:
    explicit SteppedServiceTest(const ServerOptions& options = without_insertion())
        : server(options), stopped(server.path()), other(server.path()),
          clock(*other.device->manual_clock()), begin(clock.now_ns()) {}

    void step_to(std::uint64_t ns) { clock.advance_to(begin + ns); }
    /// Lets everything of the present instant happen.
    void settle() { clock.advance_to(clock.now_ns()); }
    ServiceEvent end_of(ServiceProcess& process) { return process.next_end(); }

    const TestServer server;
    ServiceProcess stopped;
    ServiceProcess other;
    ManualClock& clock;
    const std::uint64_t begin;
};

/// A process that stops in a gap keeps the slot for the overdue time and no longer:
/// docs/use/service.md, "How long a neighbour can delay a task".
TEST_F(SteppedServiceTest, AProcessThatStopsInAGapHoldsTheCoreForTheOverdueTime) {
    const Program first = delays(*stopped.device, {10'000});
    const Program long_one = delays(*other.device, {50'000});
    // No task of 50 ms may use a gap.
    stopped.queue->submit(Segments().bpu(first).cpu(1, 5 * ms).bpu(first).task(1, 100));
    settle();
    other.queue->submit(Segments().bpu(long_one).task(1, 200));
    step_to(1000 * ms);
    settle();
    const ServiceEvent end = other.next_end();
    // The first FC of the stopped task takes 10 ms, and its CPU segment is overdue after 4 * 5 ms.
    // The segment gets a worker at once, so no time is added for waiting for one.
    EXPECT_EQ(end.dispatched_ns - begin, (10 + 20) * ms);
    EXPECT_EQ(end.ended_ns - begin, (10 + 20 + 50) * ms);
    // When it goes on after all, it waits for a slot like any other task.
    const ServiceEvent run = stopped.next();
    EXPECT_EQ(run.start_ns - begin, 10 * ms);
    stopped.queue->cpu_done(1, 1, 0);
    step_to(2000 * ms);
    settle();
    EXPECT_EQ(stopped.next_end().ended_ns - begin, 1010 * ms);
}

/// Stopped tasks in leading CPU segments do not use up the task limit of others.
TEST_F(SteppedServiceTest, AProcessThatStopsInLeadingSegmentsDoesNotFillTheTaskLimit) {
    const Program one = delays(*other.device, {1'000});
    const Program same = delays(*stopped.device, {1'000});
    for (std::uint64_t tag = 0; tag < 50; tag++)
        stopped.queue->submit(Segments().cpu(1, 1 * ms).bpu(same).task(tag, 100));
    settle();
    // A place of the task limit is kept for another process only while it waits.  None has waited
    // so far, so the stopped process has taken all eight.
    other.queue->submit(Segments().bpu(one).task(1, 10));
    settle();
    step_to(1000 * ms);
    settle();
    const ServiceEvent end = other.next_end();
    // Four have a worker and are overdue after 20 ms, and four wait as long for one.
    EXPECT_EQ(end.dispatched_ns - begin, 20 * ms);
    EXPECT_EQ(end.ended_ns - begin, 21 * ms);
}

// The bounds of docs/use/service.md, "How long a neighbour can delay a task"

struct Bounds {
    const ServiceSettings& settings;
    std::uint64_t longest_fc_ns;
    std::uint64_t longest_segment_ns;

    std::uint64_t overdue_ns(std::uint64_t expected_ns) const {
        return std::max(settings.overdue_factor * expected_ns, settings.overdue_min_time_ns);
    }
    std::uint64_t of_death() const { return longest_fc_ns; }
    std::uint64_t of_stop(std::uint64_t expected_ns) const {
        return longest_segment_ns + 2 * overdue_ns(expected_ns);
    }
    std::uint64_t of_lie_for_a_slot() const { return of_stop(settings.wait_dispatch_time_ns); }
    std::uint64_t of_lie_for_a_place() const { return of_stop(1000 * ms); }
};

/// Returns options with a task limit of 1, and with which no task is short enough to fill any gap.
ServerOptions without_short_tasks() {
    ServerOptions options = stepped_options();
    options.service.insert_max_time_ns = 0;
    options.service.task_limit = 1;
    return options;
}

class BoundTest : public SteppedServiceTest {
protected:
    BoundTest() : SteppedServiceTest(without_short_tasks()) {}

    /// Submits two tasks of a process with one worker.  Task 2 has priority 255, and needs neither
    /// slot nor place.  Its CPU segment keeps the worker busy, and ends 1 ns before task 1 has
    /// waited too long for the worker.  After that the process reports nothing.
    void stop_with(ServiceProcess& process, const Program& program, std::uint64_t claim_ns,
                   std::uint64_t wait_ns) {
        process.queue->submit(Segments().bpu(program).cpu(2, claim_ns).bpu(program).task(1, 100));
        process.queue->submit(Segments().cpu(1, 1).task(2, 255));
        settle();
        ASSERT_EQ(process.next().tag, 2u);
        step_to(wait_ns - 1);
        process.queue->cpu_done(2, 0, 0);
        settle();
    }
    Bounds bounds(std::uint64_t segment_ns) const {
        return {stopped.queue->settings(), segment_ns, segment_ns};
    }
};

/// Task 1 of the lying process holds its slot for twice the overdue time: while it waits for a
/// worker, and while it runs.
TEST_F(BoundTest, AProcessThatStopsAndLiesHoldsASlotAsLongAsDocumented) {
    ServiceProcess liar(server.path(), {.max_priority = 255, .workers = 1});
    const Program segment = delays(*liar.device, {10'000});
    const Program longer = delays(*other.device, {50'000});
    const Bounds of = bounds(10 * ms);
    const std::uint64_t claim = of.settings.wait_dispatch_time_ns; // longer gaps are open
    stop_with(liar, segment, claim, 10 * ms + of.overdue_ns(claim));
    other.queue->submit(Segments().bpu(longer).task(1, 200));
    step_to(100'000 * ms);
    settle();
    // Task 1 of the liar got its worker 1 ns before its time for waiting was over, hence - 1.
    EXPECT_EQ(other.next_end().dispatched_ns - begin, of.of_lie_for_a_slot() - 1);
    EXPECT_EQ(of.of_lie_for_a_slot(), (10 + 160) * ms) << "as documented";
}

TEST_F(BoundTest, AProcessThatStopsAndLiesHoldsAPlaceAsLongAsDocumented) {
    ServiceProcess liar(server.path(), {.max_priority = 255, .workers = 1});
    const Program segment = delays(*liar.device, {10'000});
    const Bounds of = bounds(10 * ms);
    stop_with(liar, segment, ~0ull, 10 * ms + of.overdue_ns(1000 * ms));
    other.queue->submit(Segments().cpu(1).task(1, 200)); // needs a place, and no slot
    step_to(100'000 * ms);
    settle();
    EXPECT_EQ(other.next().start_ns - begin, of.of_lie_for_a_place() - 1);
    EXPECT_EQ(of.of_lie_for_a_place(), (10 + 8000) * ms) << "as documented";
}

TEST_F(BoundTest, AProcessThatDiesHoldsTheCoreForAnFc) {
    const Program fcs = delays(*stopped.device, {10'000, 10'000, 10'000});
    const Program one = delays(*other.device, {1'000});
    const Bounds of = bounds(10 * ms);
    stopped.queue->submit(Segments().bpu(fcs).cpu(1).bpu(fcs).task(1, 100));
    settle();
    step_to(1);
    other.queue->submit(Segments().bpu(one).task(1, 10));
    settle();
    // Its queue is closed once its last FC has ended.
    std::thread dies([&] { stopped.queue.reset(); });
    while (nlohmann::json::parse(server_status(server.path())).at("clients")[0].at("jobs") != 0)
        clock.advance_to(begin + of.of_death());
    dies.join();
    settle();
    step_to(100 * ms);
    settle();
    EXPECT_EQ(other.next_end().dispatched_ns - begin, of.of_death());
}

class DefaultSteppedServiceTest : public SteppedServiceTest {
protected:
    DefaultSteppedServiceTest() : SteppedServiceTest(stepped_options()) {}
};

/// The expected times of a task's CPU segments count for at most a second together.  The process's
/// own estimate of a segment counts only until the segment was measured.
TEST_F(DefaultSteppedServiceTest, AClaimIsBelievedForASecondAtMost) {
    const Program first = delays(*stopped.device, {10'000});
    const Program longer = delays(*other.device, {1'500'000});
    stopped.queue->submit(Segments().bpu(first).cpu(1, 1ull << 63).bpu(first).task(1, 100));
    settle();
    // The task of 1.5 s does not fit into a gap of 1 s.  But the gap is expected to last longer
    // than wait_dispatch_time, so it is open to any task.
    other.queue->submit(Segments().bpu(longer).task(1, 10));
    step_to(10'000 * ms);
    settle();
    const ServiceEvent end = other.next_end();
    EXPECT_EQ(end.dispatched_ns - begin, 10 * ms);
    const auto status = nlohmann::json::parse(server_status(server.path())).at("clients")[0];
    EXPECT_EQ(status.at("tasks").at("overdue"), 1) << "4 s and not 2^65 ns";
}

TEST_F(SteppedServiceTest, AProcessThatDiesGivesItsSlotBackAtOnce) {
    const Program first = delays(*stopped.device, {10'000});
    const Program longer = delays(*other.device, {50'000});
    stopped.queue->submit(Segments().bpu(first).cpu(1, 5 * ms).bpu(first).task(1, 100));
    settle();
    other.queue->submit(Segments().bpu(longer).task(1, 10));
    step_to(12 * ms);
    settle();
    stopped.queue.reset();
    settle();
    step_to(100 * ms);
    settle();
    EXPECT_EQ(other.next_end().dispatched_ns - begin, 12 * ms);
}

class SharingServiceTest : public SteppedServiceTest, public testing::WithParamInterface<bool> {
protected:
    SharingServiceTest() : SteppedServiceTest(options()) {}

    static ServerOptions options() {
        ServerOptions options = without_insertion();
        options.service.share = GetParam();
        options.service.overdue_min_time_ns = 0;
        return options;
    }
};

/// Eight tasks of one process have all places of the limit.  With `share`, the first place that
/// becomes free goes to the process that has none, although tasks of the first process are before
/// it in the queue.  Without `share`, it goes to the next task of the queue.
TEST_P(SharingServiceTest, APlaceIsKeptForAProcessThatHasNone) {
    const Program one = delays(*other.device, {1'000});
    const Program same = delays(*stopped.device, {1'000});
    for (std::uint64_t tag = 0; tag < 100; tag++)
        stopped.queue->submit(Segments().cpu(1).bpu(same).task(tag, 100));
    settle();
    other.queue->submit(Segments().cpu(1).bpu(one).task(1, 10));
    settle();
    EXPECT_TRUE(other.queue->reap(0).empty());
    const ServiceEvent first = stopped.next();
    stopped.queue->cpu_done(first.tag, 0, 0);
    settle();
    step_to(1 * ms);
    settle();
    EXPECT_EQ(other.queue->reap(0).size(), GetParam() ? 1u : 0u);
}

INSTANTIATE_TEST_SUITE_P(Service, SharingServiceTest, testing::Bool());

} // namespace
} // namespace overtake::test
