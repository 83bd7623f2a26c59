// SPDX-License-Identifier: MIT
//
// Accounts of time, in cases that are small enough to follow by hand.
#include <array>
#include <map>
#include <numeric>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "simulated.hpp"
#include "simulator/accounts.hpp"
#include "simulator/recorder.hpp"
#include "simulator/simulate.hpp"

namespace overtake::simulator {
namespace {

using test::class_of;
using test::scenario_of;
using test::summary_of;
using Times = std::vector<std::uint64_t>;

std::uint64_t sum(const Times& times) {
    return std::accumulate(times.begin(), times.end(), std::uint64_t{0});
}

TEST(Accounts, TellBlockedFromPreemptedAndByWhom) {
    // n 0-1000 | h 1000-1200 | n 1200-2200 | n 2200-3200
    const Summary summary = summary_of(R"({"version": 1, "kind": "fc", "cores": 1, "core_limit": 1,
        "jobs": [{"id": "N", "at": 0, "class": "n", "fcs": [1000, 1000, 1000]},
                 {"id": "H", "at": 400, "class": "h", "priority": 255, "fcs": [200]}]})");
    const ClassSummary& n = class_of(summary, "n");
    EXPECT_EQ(n.latency_sum, 3200u);
    EXPECT_EQ(n.running, 3000u);
    EXPECT_EQ(n.blocked_by, (Times{0, 0}));
    EXPECT_EQ(n.preempted_by, (Times{0, 200}));
    EXPECT_EQ(n.preemptions, 1u);
    EXPECT_DOUBLE_EQ(n.turnaround, 3200.0 / 3000);
    const ClassSummary& h = class_of(summary, "h");
    EXPECT_EQ(h.latency_sum, 800u);
    EXPECT_EQ(h.running, 200u);
    EXPECT_EQ(h.blocked_by, (Times{600, 0}));
    EXPECT_EQ(h.preempted_by, (Times{0, 0}));
    EXPECT_DOUBLE_EQ(h.turnaround, 4);
    ASSERT_EQ(summary.cores.size(), 1u);
    EXPECT_DOUBLE_EQ(summary.cores[0].utilisation, 1);
    EXPECT_EQ(summary.cores[0].fcs_high, 1u);
    EXPECT_EQ(summary.cores[0].fcs_normal, 3u);
    EXPECT_EQ(summary.from, 0u);
    EXPECT_EQ(summary.to, 3200u);
    EXPECT_DOUBLE_EQ(summary.antt, (3200.0 / 3000 + 4) / 2);
    EXPECT_DOUBLE_EQ(summary.stp, 3000.0 / 3200 + 0.25);
}

TEST(Accounts, TellWhoseTurnItWasOnAFairDevice) {
    // a 0-100 | b 100-150 | a 150-250 | b 250-300 | a 300-400; generated, of contexts x and "7"
    const Summary summary = summary_of(R"({"version": 1, "kind": "fc", "cores": 1, "fair": true,
        "loads": [{"id": "a", "context": "x", "fcs": [100, 100, 100], "count": 1,
                   "arrivals": {"type": "periodic", "period": 1000}},
                  {"id": "b", "context": 7, "fcs": [50], "count": 2,
                   "arrivals": {"type": "closed_loop", "depth": 2}}]})");
    const ClassSummary& a = class_of(summary, "a");
    EXPECT_EQ(a.latency_sum, 400u);
    EXPECT_EQ(a.preempted_by, (Times{0, 100}));
    EXPECT_EQ(a.preemptions, 0u);
    const ClassSummary& b = class_of(summary, "b");
    EXPECT_EQ(b.latency_sum, 150u + 300u);
    EXPECT_EQ(b.blocked_by, (Times{100 + 200, 50}));
}

TEST(Accounts, BlockedTimeIsSharedAmongThoseWhoRan) {
    // a 0-100 | b 100-150 | c 150-160; c waits from 20
    const Summary summary = summary_of(R"({"version": 1, "kind": "fc", "cores": 1,
        "jobs": [{"id": "A", "at": 0, "class": "a", "fcs": [100]},
                 {"id": "B", "at": 10, "class": "b", "fcs": [50]},
                 {"id": "C", "at": 20, "class": "c", "fcs": [10]}]})");
    EXPECT_EQ(class_of(summary, "b").blocked_by, (Times{90, 0, 0}));
    EXPECT_EQ(class_of(summary, "c").blocked_by, (Times{80, 50, 0}));
    EXPECT_EQ(class_of(summary, "c").latency_sum, 140u);
}

TEST(Accounts, AClassMayWaitForItself) {
    const Summary summary = summary_of(R"({"version": 1, "kind": "fc", "cores": 1,
        "jobs": [{"id": "A", "at": 0, "fcs": [100]}, {"id": "B", "at": 0, "fcs": [100]}]})");
    const ClassSummary& of = class_of(summary, "priority 0");
    EXPECT_EQ(of.blocked_by, (Times{100}));
    EXPECT_EQ(of.latency_sum, 300u);
    EXPECT_EQ(of.running, 200u);
    EXPECT_EQ(of.latency.p50, 100u);
    EXPECT_EQ(of.latency.max, 200u);
}

TEST(Accounts, OtherCoresDoNotBlock) {
    const Summary summary = summary_of(R"({"version": 1, "kind": "fc", "cores": 2,
        "jobs": [{"id": "A", "at": 0, "core": 1, "class": "a", "fcs": [100]},
                 {"id": "B", "at": 0, "core": 2, "class": "b", "fcs": [70]},
                 {"id": "C", "at": 10, "core": 2, "class": "c", "fcs": [10]}]})");
    EXPECT_EQ(class_of(summary, "c").blocked_by, (Times{0, 60, 0}));
    EXPECT_DOUBLE_EQ(summary.cores[1].utilisation, 0.8);
}

TEST(Accounts, CancelledTasksCountUntilTheirEnd) {
    // n 0-100 | h 100-600; N is cancelled at 300 between its FCs, B at 60 before its first
    const Summary summary = summary_of(R"({"version": 1, "kind": "fc", "cores": 1, "core_limit": 1,
        "jobs": [{"id": "N", "at": 0, "class": "n", "slo": 1000, "fcs": [100, 100]},
                 {"id": "H", "at": 10, "class": "h", "priority": 255, "fcs": [500]},
                 {"id": "B", "at": 20, "class": "b", "fcs": [5]}],
        "cancels": [{"id": "N", "at": 300}, {"id": "B", "at": 60}]})");
    const ClassSummary& n = class_of(summary, "n");
    EXPECT_EQ(n.latency_sum, 300u);
    EXPECT_EQ(n.running, 100u);
    EXPECT_EQ(n.preempted_by, (Times{0, 200, 0}));
    EXPECT_EQ(n.cancelled, 1u);
    EXPECT_EQ(n.latency.max, 0u) << "no latency of a cancelled task";
    EXPECT_EQ(n.turnaround, 0);
    EXPECT_EQ(n.slo_met, 0.0);
    const ClassSummary& b = class_of(summary, "b");
    EXPECT_EQ(b.latency_sum, 40u);
    EXPECT_EQ(b.blocked_by, (Times{40, 0, 0}));
    EXPECT_FALSE(b.slo_met.has_value());
    ASSERT_EQ(summary.priorities.size(), 1u);
    EXPECT_EQ(summary.priorities[0].priority, 255u);
    EXPECT_DOUBLE_EQ(summary.antt, class_of(summary, "h").turnaround);
    const auto classes = to_json(summary).at("classes");
    EXPECT_EQ(classes.at(0).at("class"), "n");
    EXPECT_EQ(classes.at(0).at("latency_us"), nullptr) << "not a latency of 0";
    EXPECT_EQ(classes.at(0).at("turnaround"), nullptr);
    EXPECT_EQ(classes.at(1).at("latency_us").at("max"), 590);
    EXPECT_EQ(classes.at(1).at("turnaround"), class_of(summary, "h").turnaround);
}

TEST(Accounts, FollowATaskThroughQueueWorkerCpuAndGap) {
    // core: g 0-100 | s 100-140 | g 180-280 | d 280-290
    // the process's worker: c 60-130 | g 130-180 | d 180-200
    const Summary summary = summary_of(R"({"version": 1, "kind": "task", "cores": 1,
        "env": {"HB_MAX_THREAD_NUM": 1, "HB_DNN_SCHEDULE_INSERT_FC_MAX_TIME": 0,
                "HB_DNN_SCHEDULE_WAIT_DISPATCH_TIME": 1000},
        "models": {"g": {"segments": [{"bpu": [100]}, {"cpu": 50}, {"bpu": [100]}]},
                   "s": {"segments": [{"bpu": [40]}]}, "c": {"segments": [{"cpu": 70}]},
                   "d": {"segments": [{"cpu": 20}, {"bpu": [10]}]}},
        "tasks": [{"id": "G", "at": 0, "model": "g", "priority": 10},
                  {"id": "S", "at": 0, "model": "s", "priority": 5},
                  {"id": "C", "at": 60, "model": "c"}, {"id": "D", "at": 70, "model": "d"}]})");
    const ClassSummary& g = class_of(summary, "g");
    EXPECT_EQ(g.latency_sum, 280u);
    EXPECT_EQ(g.queued, 0u);
    EXPECT_EQ(g.worker, 30u);
    EXPECT_EQ(g.cpu, 50u);
    EXPECT_EQ(g.running, 200u);
    EXPECT_EQ(sum(g.blocked_by) + sum(g.preempted_by), 0u);
    const ClassSummary& s = class_of(summary, "s");
    EXPECT_EQ(s.queued, 100u);
    EXPECT_EQ(s.running, 40u);
    EXPECT_EQ(s.latency_sum, 140u);
    const ClassSummary& c = class_of(summary, "c");
    EXPECT_EQ(c.cpu, 70u);
    EXPECT_EQ(c.latency_sum, 70u);
    const ClassSummary& d = class_of(summary, "d");
    EXPECT_EQ(d.worker, 110u);
    EXPECT_EQ(d.cpu, 20u);
    EXPECT_EQ(d.queued, 80u) << "ready, without a slot";
    EXPECT_EQ(d.running, 10u);
    EXPECT_EQ(d.latency_sum, 220u);
    EXPECT_EQ(summary.cores[0].gap, 80u);
    EXPECT_EQ(summary.cores[0].gap_filled, 40u);
}

TEST(Accounts, GapsThatOverlapCountOnceForACore) {
    // Two processes: their tasks' gaps are 100-160 and 130-180 after FCs of 100 and 30; then t runs
    // from 140 to 150.
    const Summary summary = summary_of(R"({"version": 1, "kind": "task", "cores": 1,
        "models": {"a": {"segments": [{"bpu": [100]}, {"cpu": 60}, {"bpu": [1]}]},
                   "b": {"segments": [{"bpu": [30]}, {"cpu": 50}, {"bpu": [1]}]},
                   "t": {"segments": [{"bpu": [10]}]}},
        "tasks": [{"id": "A", "at": 0, "process": "p", "model": "a"},
                  {"id": "B", "at": 0, "process": "q", "model": "b"},
                  {"id": "T", "at": 140, "process": "r", "model": "t"}]})");
    EXPECT_EQ(summary.cores[0].gap, 80u);
    // b from 100 to 130, t from 140 to 150, a's second segment from 160 to 161
    EXPECT_EQ(summary.cores[0].gap_filled, 30u + 10u + 1u);
}

TEST(Accounts, LeadingAndTrailingCpuSegmentsAreNoGaps) {
    const Summary summary = summary_of(R"({"version": 1, "kind": "task", "cores": 1,
        "models": {"m": {"segments": [{"cpu": 10}, {"bpu": [20]}, {"cpu": 30}]}},
        "tasks": [{"id": "M", "at": 5, "model": "m"}]})");
    EXPECT_EQ(class_of(summary, "m").cpu, 40u);
    EXPECT_EQ(class_of(summary, "m").running, 20u);
    EXPECT_EQ(summary.cores[0].gap, 0u);
    EXPECT_EQ(summary.from, 5u);
    EXPECT_EQ(summary.to, 65u);
    EXPECT_DOUBLE_EQ(summary.cores[0].utilisation, 20.0 / 60);
}

TEST(Accounts, DroppedTasksMissTheirSlo) {
    // Arrivals at 0, 100, ..., 400; those at 0 and 300 are let in and take 250.
    const Summary summary = summary_of(R"({"version": 1, "kind": "fc", "cores": 1,
        "loads": [{"id": "l", "fcs": [250], "slo": 250, "max_pending": 1, "count": 5,
                   "arrivals": {"type": "periodic", "period": 100}}]})");
    const ClassSummary& of = class_of(summary, "l");
    EXPECT_EQ(of.tasks, 5u);
    EXPECT_EQ(of.dropped, 3u);
    EXPECT_EQ(of.over, 2u);
    EXPECT_EQ(of.slo_met, 0.4);
    EXPECT_EQ(summary.to, 550u);
}

TEST(Accounts, TimeoutsCancelAndMissTheirSlo) {
    // 0-250; the second, of 100, is cancelled at 300 while it runs and ends at 500
    const Summary summary = summary_of(R"({"version": 1, "kind": "fc", "cores": 1,
        "loads": [{"id": "l", "fcs": [250, 1], "slo": 1000, "timeout": 300, "count": 2,
                   "arrivals": {"type": "periodic", "period": 100}}]})");
    const ClassSummary& of = class_of(summary, "l");
    EXPECT_EQ(of.tasks, 2u);
    EXPECT_EQ(of.cancelled, 1u);
    EXPECT_EQ(of.slo_met, 0.5);
    EXPECT_EQ(of.latency.max, 251u);
    EXPECT_EQ(summary.to, 501u);
}

TEST(Accounts, SlosAreMetUpToTheirLastMicrosecond) {
    for (const std::uint64_t slo : {149, 150, 151}) {
        const Summary summary = summary_of(
            R"({"version": 1, "kind": "fc", "cores": 1, "jobs": [
                {"id": "A", "at": 0, "class": "c", "slo": )" +
            std::to_string(slo) + R"(, "fcs": [100]}, {"id": "B", "at": 0, "class": "c", "slo": )" +
            std::to_string(slo) + R"(, "fcs": [50]}]})");
        EXPECT_EQ(class_of(summary, "c").slo_met, slo < 150 ? 0.5 : 1.0) << slo;
    }
    const Scenario scenario = scenario_of(R"({"version": 1, "kind": "fc", "cores": 1, "jobs": [
        {"id": "A", "at": 0, "slo": {"isolated": 1.5}, "fcs": [101]}]})");
    EXPECT_EQ(scenario.listed[0].kind.slo, 151u) << "rounded down";
}

TEST(Accounts, AShareOf100PercentMeansAll) {
    EXPECT_EQ(format_share(1), "100.0%");
    EXPECT_EQ(format_share(0.99999), "99.9%");
    EXPECT_EQ(format_share(2.0 / 3), "66.6%");
    EXPECT_EQ(format_share(0.999), "99.9%");
    EXPECT_EQ(format_share(0), "0.0%");
    for (int tenths = 0; tenths <= 1000; tenths++)
        EXPECT_EQ(format_share(tenths / 1000.0),
                  std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + "%");
}

TEST(Accounts, TellHowManyMissedTheirSlo) {
    // One of 3000 tasks arrives while another runs, and is late.
    const Summary summary = summary_of(R"({"version": 1, "kind": "fc", "cores": 1,
        "jobs": [{"id": "x", "at": 95, "class": "x", "fcs": [50]}],
        "loads": [{"id": "l", "fcs": [50], "slo": 50, "count": 3000,
                   "arrivals": {"type": "periodic", "period": 100}}]})");
    EXPECT_EQ(class_of(summary, "l").slo_missed, 1u);
    EXPECT_NE(to_text(summary).find("  50 us  99.9%       1  "), std::string::npos)
        << to_text(summary);
    const auto of = to_json(summary).at("classes").at(1);
    EXPECT_EQ(of.at("slo_missed"), 1);
    EXPECT_EQ(of.at("latency_us").at("rest_on_few"), nlohmann::ordered_json({"p99_9"}));
    EXPECT_EQ(of.at("latency_us").at("samples"), 3000);
}

/// A busy device: every kind of arrival, wait and end.
const char* const busy = R"({"version": 1, "kind": "task", "cores": 2, "core_limit": [1, 2],
    "env": {"HB_MAX_THREAD_NUM": 1, "HB_MAX_TASK_NUM": 3, "HB_DNN_SCHEDULE_INSERT_FC_MAX_TIME": 1},
    "until": 300000,
    "models": {"gap": {"segments": [{"bpu": [300, 400]}, {"cpu": 500}, {"bpu": [200, 100]}]},
               "cpu": {"segments": [{"cpu": 700}]},
               "lead": {"segments": [{"cpu": 100}, {"bpu": [100, 50, 50]}, {"cpu": 30}]},
               "short": {"segments": [{"bpu": [80]}]}},
    "tasks": [{"id": "one", "at": 1000, "model": "gap", "core": 2, "slo": 5000},
              {"id": "two", "at": 2000, "models": ["lead", "gap"], "priority": 9}],
    "cancels": [{"id": "two", "at": 2600}],
    "loads": [{"id": "a", "model": "gap", "priority": 3, "slo": 9000, "timeout": 20000,
               "arrivals": {"type": "poisson", "mean": 2500}},
              {"id": "b", "model": "short", "priority": 255, "slo": {"isolated": 3},
               "arrivals": {"type": "periodic", "period": 700, "jitter": 300}},
              {"id": "c", "models": ["lead", "short"], "priority": 1, "process": "p",
               "max_pending": 2, "arrivals": {"type": "log_normal", "mean": 900, "sigma": 1.5}},
              {"id": "d", "model": "cpu", "process": "p",
               "arrivals": {"type": "closed_loop", "depth": 2, "think": 50}}]})";

TEST(Accounts, AddUpUnderLoad) {
    const Scenario scenario = scenario_of(busy);
    for (std::uint64_t seed = 1; seed <= 5; seed++) {
        Accounts accounts(scenario);
        Recorder recorder(scenario);
        const std::array<Observer*, 2> observers = {&accounts, &recorder};
        Simulator(scenario, seed, observers).run();
        EXPECT_NO_THROW(accounts.check());

        // The timeline is a second account of the same run.
        Times latency(scenario.classes.size());
        Times over(scenario.classes.size());
        for (const Recorder::Task& task : recorder.tasks()) {
            latency[task.task_class] += task.end - task.arrival;
            over[task.task_class]++;
        }
        Times running(scenario.cores);
        for (const Recorder::Fc& fc : recorder.fcs())
            running[fc.core - 1] += fc.end - fc.start;
        std::uint64_t cpu = 0;
        for (const Recorder::Cpu& segment : recorder.cpu())
            cpu += segment.end - segment.start;

        std::uint64_t class_running = 0;
        std::uint64_t class_cpu = 0;
        for (std::size_t i = 0; i < scenario.classes.size(); i++) {
            const ClassAccount& account = accounts.classes()[i];
            EXPECT_EQ(account.latency_sum, latency[i]) << scenario.classes[i].name;
            EXPECT_EQ(account.ended, over[i]);
            EXPECT_EQ(account.latency.count(), account.ended - account.cancelled);
            class_running += account.running;
            class_cpu += account.cpu;
        }
        std::uint64_t core_busy = 0;
        for (std::size_t core = 0; core < scenario.cores; core++) {
            const CoreAccount& account = accounts.cores()[core];
            EXPECT_EQ(account.busy, running[core]);
            EXPECT_LE(account.gap_filled, account.gap);
            EXPECT_GT(account.gap, 0u);
            core_busy += account.busy;
        }
        EXPECT_EQ(class_running, core_busy);
        EXPECT_EQ(class_cpu, cpu);
    }
}

TEST(Accounts, TheLoadAboveTriesEveryPart) {
    const Summary summary = summary_of(busy);
    std::map<std::string, std::uint64_t> parts;
    for (const ClassSummary& of : summary.classes) {
        parts["queued"] += of.queued;
        parts["worker"] += of.worker;
        parts["cpu"] += of.cpu;
        parts["running"] += of.running;
        parts["blocked"] += sum(of.blocked_by);
        parts["preempted"] += sum(of.preempted_by);
        parts["dropped"] += of.dropped;
        parts["cancelled"] += of.cancelled;
        EXPECT_EQ(of.latency_sum, of.queued + of.worker + of.cpu + of.running + sum(of.blocked_by) +
                                      sum(of.preempted_by));
    }
    EXPECT_EQ(parts.size(), 8u);
    for (const auto& [part, value] : parts)
        EXPECT_GT(value, 0u) << part;
}

} // namespace
} // namespace overtake::simulator
