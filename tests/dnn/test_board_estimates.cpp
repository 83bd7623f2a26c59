// SPDX-License-Identifier: MIT
//
// The recorded time of a CPU segment decides which tasks may fill the gap that it leaves.
#include <thread>

#include <gtest/gtest.h>

#include "board_task.hpp"
#include "dnn/process.hpp"
#include "requests/request.hpp"

namespace overtake::test {
namespace {

constexpr std::uint64_t first_bpu_us = 1000, guess_us = 10'000, filler_us = 20'000;
constexpr double weight = 0.1;

/// Whether the filler exceeds the gap by less than 10 % of the leader's next BPU segment.
bool fits(double gap_us) {
    return (filler_us - gap_us) / first_bpu_us * 100 < 10;
}

TaskScenario one_core() {
    TaskScenario scenario;
    scenario.core_limits = {1};
    scenario.insert_max_time_ms = 0;         // no task is short enough to fill any gap
    scenario.wait_dispatch_time_ms = 100000; // no gap is long enough for all
    return scenario;
}

ScenarioTask task_of(const char* id, unsigned priority, std::vector<TaskSegment> segments) {
    ScenarioTask task;
    task.id = id;
    task.core = 1;
    task.priority = priority;
    task.segments = std::move(segments);
    return task;
}

/// A task with a gap, and one of lower priority that would fill it.
class Gap {
public:
    Gap()
        : device_(open()),
          process_(device_, scenario_engine(device_, scenario_, 0, CpuTime::modelled)) {
        dnn::Process::use_in_this_thread(&process_);
        leader_ = load_segments(leader_task_, 0, 0, 3, CpuTime::modelled);
        filler_ = load_segments(filler_task_, 1, 0, 1, CpuTime::modelled);
    }
    ~Gap() { dnn::Process::use_in_this_thread(nullptr); }

    /// Submits the leader, and the filler as the gap of `cpu_us` begins.  True if the gap was
    /// filled.
    bool is_filled(std::uint64_t cpu_us) {
        hbDNNTaskHandle_t leader = nullptr, filler = nullptr;
        infer(&leader, leader_, leader_task_, false);
        step();
        advance(first_bpu_us);
        ModelledWork::only().wait_for({0, 1});
        infer(&filler, filler_, filler_task_, false);
        step();
        const std::uint64_t gap_begins = device_->manual_clock()->now_ns();
        advance(cpu_us);
        end_cpu();
        advance(first_bpu_us + filler_us);
        advance(first_bpu_us + filler_us);
        EXPECT_EQ(request_of(leader)->status(), 0);
        EXPECT_EQ(request_of(filler)->status(), 0);
        const bool filled = request_of(filler)->dispatched_ns() == gap_begins;
        EXPECT_EQ(hbDNNReleaseTask(leader), 0);
        EXPECT_EQ(hbDNNReleaseTask(filler), 0);
        return filled;
    }

private:
    static std::shared_ptr<Device> open() {
        EmbeddedOptions options;
        options.cores = 1;
        options.mode = OVERTAKE_MODE_TIMED;
        options.profile = "ideal";
        options.manual_clock = true;
        options.watchdog_cycles = ~0ull >> 1;
        return open_embedded(options);
    }
    engine::ThreadedEngine& engine() {
        return static_cast<engine::ThreadedEngine&>(*process_.engine()->state().engine);
    }
    std::shared_ptr<Request> request_of(hbDNNTaskHandle_t task) {
        return process_.tasks.find(task)->request();
    }
    void step() {
        engine().step_gather();
        while (engine().step_first_end())
            engine().step_handle_first_end();
        engine().step_arrivals();
        engine().step_dispatch();
    }
    void advance(std::uint64_t us) {
        ManualClock& clock = *device_->manual_clock();
        clock.advance_to(clock.now_ns() + us * ns_per_us);
        step();
    }
    void end_cpu() {
        const std::size_t before = engine().cpu_ends();
        ModelledWork::only().end({0, 1});
        while (engine().cpu_ends() == before)
            std::this_thread::yield();
        step();
    }

    const TaskScenario scenario_ = one_core();
    const ScenarioTask leader_task_ = task_of("leader", 9,
                                              {{.bpu = {first_bpu_us}, .cpu = 0},
                                               {.bpu = {}, .cpu = guess_us},
                                               {.bpu = {first_bpu_us}, .cpu = 0}});
    const ScenarioTask filler_task_ = task_of("filler", 5, {{.bpu = {filler_us}, .cpu = 0}});
    std::shared_ptr<Device> device_;
    dnn::Process process_;
    LoadedSegments leader_, filler_;
};

/// The first record replaces the compiler's guess.
TEST(BoardEstimates, AWrongGuessDecidesOnce) {
    Gap gap;
    EXPECT_FALSE(gap.is_filled(3 * guess_us)); // 20 ms do not fit into 10
    EXPECT_TRUE(gap.is_filled(3 * guess_us));  // they do fit into 30
    EXPECT_TRUE(gap.is_filled(3 * guess_us));
}

/// Later records move the estimate by a tenth of the difference.
TEST(BoardEstimates, ASegmentThatBecomesSlowerIsBelievedByAndBy) {
    Gap gap;
    double estimate = guess_us;
    EXPECT_FALSE(gap.is_filled(guess_us)); // recorded as the compiler guessed
    int refused = 0;
    for (; !fits(estimate); refused++) {
        ASSERT_LT(refused, 100);
        EXPECT_FALSE(gap.is_filled(3 * guess_us)) << refused;
        estimate += weight * (3 * guess_us - estimate);
    }
    EXPECT_EQ(refused, 7);
    EXPECT_TRUE(gap.is_filled(3 * guess_us));
}

} // namespace
} // namespace overtake::test
