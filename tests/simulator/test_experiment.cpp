// SPDX-License-Identifier: MIT
//
// Sweeps and repetitions: their order, their independence of threads, and their intervals.
#include <algorithm>
#include <cmath>
#include <optional>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "simulated.hpp"
#include "simulator/experiment.hpp"
#include "simulator/simulate.hpp"

namespace overtake::simulator {
namespace {

using test::error_of;

const char* const loaded = R"({"version": 1, "kind": "fc", "cores": 1, "core_limit": 0, "seed": 7,
    "loads": [{"id": "high", "priority": 255, "fcs": [30], "count": 200, "slo": 90,
               "arrivals": {"type": "poisson", "mean": 200}},
              {"id": "low", "fcs": [40, 60], "count": 200,
               "arrivals": {"type": "log_normal", "mean": 250, "sigma": 1}}]})";

Experiment experiment_of(const char* json, const Grid* grid, unsigned repeat, unsigned threads) {
    return {.document = nlohmann::json::parse(json),
            .directory = {},
            .grid = grid,
            .repeat = repeat,
            .threads = threads,
            .progress = {}};
}

TEST(Experiment, DoesNotDependOnTheNumberOfThreads) {
    const Grid grid("core_limit=0..3,loads.low.priority=0|255");
    const auto one = run_experiment(experiment_of(loaded, &grid, 3, 1));
    for (const unsigned threads : {2u, 4u, 100u}) {
        const auto several = run_experiment(experiment_of(loaded, &grid, 3, threads));
        EXPECT_EQ(to_text(several), to_text(one)) << threads;
        EXPECT_EQ(to_json(several).dump(), to_json(one).dump()) << threads;
    }
}

TEST(Experiment, HasARowForEachPointInTheGridsOrder) {
    const Grid grid("core_limit=0..1,loads.low.priority=0|255");
    const auto points = run_experiment(experiment_of(loaded, &grid, 1, 4));
    ASSERT_EQ(points.size(), 4u);
    for (std::size_t i = 0; i < 4; i++) {
        ASSERT_EQ(points[i].settings.size(), 2u);
        EXPECT_EQ(points[i].settings[0].value, i / 2);
        EXPECT_EQ(points[i].settings[1].value, i % 2 * 255);
        // The summary of a run of the changed scenario.
        nlohmann::json document = nlohmann::json::parse(loaded);
        for (const Setting& setting : points[i].settings)
            apply_setting(document, setting);
        EXPECT_EQ(to_json(points[i].runs.at(0)),
                  to_json(simulate(parse_scenario(document, {}), 7)));
    }
}

TEST(Experiment, RepeatsWithTheSeedsThatFollowAndTheSameForEachPoint) {
    const Grid grid("name=a|b");
    const auto points = run_experiment(experiment_of(loaded, &grid, 3, 2));
    const Scenario scenario = test::scenario_of(loaded);
    for (const Point& point : points) {
        ASSERT_EQ(point.runs.size(), 3u);
        for (std::size_t run = 0; run < 3; run++)
            EXPECT_EQ(to_json(point.runs[run]), to_json(simulate(scenario, 7 + run)));
    }
    EXPECT_NE(to_json(points[0].runs[0]), to_json(points[0].runs[1]));
}

TEST(Experiment, WithoutAGridIsTheScenario) {
    const auto points = run_experiment(experiment_of(loaded, nullptr, 1, 1));
    ASSERT_EQ(points.size(), 1u);
    EXPECT_TRUE(points[0].settings.empty());
    EXPECT_EQ(to_json(points[0].runs.at(0)), to_json(simulate(test::scenario_of(loaded), 7)));
}

TEST(Experiment, ChoosesColumnsByHeadBeginningOrEnd) {
    const Grid grid("core_limit=0..1");
    const auto points = run_experiment(experiment_of(loaded, &grid, 1, 1));
    const auto head = [&](const std::vector<std::string>& columns) {
        const std::string text = to_text(points, columns);
        return text.substr(0, text.find('\n'));
    };
    EXPECT_EQ(head({"ANTT", "low p99"}), "core_limit  ANTT  low p99");
    EXPECT_EQ(head({"SLO met", "max"}), "core_limit  high SLO met  high max  low max");
    EXPECT_EQ(head({"p50", "low", "low p50", "p50"}),
              "core_limit  high p50  low p50  low p99  low max  low x alone")
        << "each once, and of a class the usual ones";
    EXPECT_EQ(head({"low p99.9", "mean", "per s"}),
              "core_limit  low p99.9  high mean  low mean  high per s  low per s");
    EXPECT_EQ(head({"all"}),
              "core_limit  high mean  high p50  high p90  high p99  high p99.9  high max  "
              "high x alone  high SLO met  high missed  high dropped  high cancelled  "
              "high preempted  high per s  low mean  low p50  low p90  low p99  low p99.9  "
              "low max  low x alone  low dropped  low cancelled  low preempted  low per s  "
              " busy  ANTT   STP");
    EXPECT_NE(head({"high"}).find("high x alone"), std::string::npos);
    EXPECT_EQ(head({"high"}).find("low"), std::string::npos);
}

TEST(Experiment, ChoosesTheFiguresOfJsonToo) {
    const auto points = run_experiment(experiment_of(loaded, nullptr, 1, 1));
    const auto all = to_json(points).at(0);
    const auto chosen = to_json(points, {"ANTT", "low p99"}).at(0);
    EXPECT_EQ(chosen, nlohmann::ordered_json({{"settings", nlohmann::ordered_json::object()},
                                              {"runs", 1},
                                              {"antt", all.at("antt")},
                                              {"low.p99_us", all.at("low.p99_us")}}));
    EXPECT_EQ(error_of([&] { to_json(points, {"p42"}); }).substr(0, 33),
              "--columns: no column is \"p42\"; th");
}

TEST(Experiment, RefusesAColumnBeforeAnythingRuns) {
    Experiment experiment = experiment_of(loaded, nullptr, 2, 1);
    experiment.columns = {"high p99", "p50 high"};
    experiment.progress = [](double) { FAIL() << "something ran"; };
    EXPECT_EQ(error_of([&] { run_experiment(experiment); }),
              "--columns: no column is \"p50 high\"; there are high mean, high p50, high p90, "
              "high p99, high p99.9, high max, high x alone, high SLO met, high missed, "
              "high dropped, high cancelled, high preempted, high per s, low mean, low p50, "
              "low p90, low p99, low p99.9, low max, low x alone, low dropped, low cancelled, "
              "low preempted, low per s, busy, ANTT, STP");
}

TEST(Experiment, CountsWhatWasDroppedCancelledMissedAndPreempted) {
    // Class "n" arrives at 0, 100, ..., 400: arrivals at 0 and 300 are admitted, others dropped.
    // Both are overtaken by an "h"; the second is cancelled. The last end is at 550.
    const char* const json = R"({"version": 1, "kind": "fc", "cores": 1, "core_limit": 1,
        "jobs": [{"id": "h", "at": 10, "class": "h", "priority": 255, "fcs": [20]},
                 {"id": "i", "at": 310, "class": "h", "priority": 255, "fcs": [20]}],
        "loads": [{"id": "n", "fcs": [100, 130], "slo": 250, "max_pending": 1, "timeout": 250,
                   "count": 5, "arrivals": {"type": "periodic", "period": 100}}]})";
    const Grid grid("loads.n.timeout=1000|240");
    const auto points = run_experiment(experiment_of(json, &grid, 1, 1));
    EXPECT_EQ(to_text(points, {"SLO met", "missed", "dropped", "cancelled", "preempted", "per s"}),
              "loads.n.timeout  n SLO met  n missed  h dropped  n dropped  h cancelled  n cancelled"
              "  h preempted  n preempted  h per s  n per s\n"
              "1000                 40.0%         3          0          3            0            0"
              "            0            2  3636.36  3636.36\n"
              "240                   0.0%         5          0          3            0            2"
              "            0            2  3636.36     0.00\n");
    const std::string text = to_text(points);
    const std::string head = text.substr(0, text.find('\n'));
    EXPECT_NE(head.find("n dropped  n cancelled"), std::string::npos) << "as some are: " << head;
    EXPECT_EQ(head.find("h dropped"), std::string::npos) << head;
    const auto of = to_json(points).at(1);
    EXPECT_EQ(of.at("n.dropped").at("mean"), 3);
    EXPECT_EQ(of.at("n.cancelled").at("mean"), 2);
    EXPECT_EQ(of.at("n.slo_missed").at("mean"), 5);
    EXPECT_EQ(of.at("n.preemptions").at("mean"), 2);
    EXPECT_NEAR(of.at("h.throughput_per_s").at("mean").get<double>(), 2 / 550e-6, 1e-6);
}

TEST(Experiment, MarksPercentilesThatRestOnFewerThanTenLatencies) {
    const char* const json = R"({"version": 1, "kind": "fc", "cores": 1,
        "loads": [{"id": "l", "fcs": [5], "count": 900,
                   "arrivals": {"type": "periodic", "period": 10}}]})";
    const Grid grid("loads.l.count=900|899");
    const auto points = run_experiment(experiment_of(json, &grid, 1, 1));
    EXPECT_EQ(to_text(points, {"l p90", "l p99", "l p99.9", "l max"}),
              "loads.l.count  l p90  l p99  l p99.9  l max\n"
              "900             5 us   5 us    ~5 us   5 us\n"
              "899             5 us  ~5 us    ~5 us   5 us\n"
              "~ rests on fewer than 10 latencies\n");
    EXPECT_FALSE(to_json(points).at(0).at("l.p99_us").contains("rests_on_few"));
    EXPECT_EQ(to_json(points).at(1).at("l.p99_us").at("rests_on_few"), true);
    EXPECT_EQ(to_text(points, {"l p90"}).find('~'), std::string::npos) << "no note without a mark";
}

TEST(Experiment, GivesNoIntervalWhereAllRunsAreAlike) {
    const char* const periodic = R"({"version": 1, "kind": "fc", "cores": 1,
        "loads": [{"id": "l", "fcs": [5], "count": 2000,
                   "arrivals": {"type": "periodic", "period": 10}}]})";
    const auto points = run_experiment(experiment_of(periodic, nullptr, 3, 1));
    EXPECT_EQ(to_text(points, {"l p50", "l p99", "busy"}), "l p50  l p99   busy\n"
                                                           "5 us    5 us  50.0%\n");
}

TEST(Experiment, LeavesOutWarmUpAndDrain) {
    // One task of 50 us every 100 us from 0 to 900; the last ends at 950.
    const char* const json = R"({"version": 1, "kind": "fc", "cores": 1,
        "loads": [{"id": "l", "fcs": [50], "count": 10,
                   "arrivals": {"type": "periodic", "period": 100}}]})";
    const Scenario scenario = test::scenario_of(json);
    const Summary all = simulate(scenario, 1);
    EXPECT_EQ(all.classes[0].tasks, 10u);
    const Summary some = simulate(scenario, 1, {.warm_up = 125, .drain = 250});
    EXPECT_EQ(some.from, 125u);
    EXPECT_EQ(some.to, 700u);
    EXPECT_EQ(some.classes[0].tasks, 5u) << "those of 200 to 600";
    EXPECT_EQ(some.classes[0].latency.samples, 5u);
    EXPECT_EQ(some.priorities[0].tasks, 5u);
    EXPECT_EQ(some.fcs, 5u);
    EXPECT_DOUBLE_EQ(some.cores[0].utilisation, 275.0 / 575) << "25 us of the task of 100";
    EXPECT_EQ(error_of([&] { simulate(scenario, 1, {.warm_up = 500, .drain = 450}); }),
              "--warm-up and --drain leave nothing of a run of 950 us");
    EXPECT_EQ(error_of([&] { simulate(scenario, 1, {.warm_up = 951, .drain = 0}); }),
              "--warm-up and --drain leave nothing of a run of 950 us");
    EXPECT_EQ(simulate(scenario, 1, {.warm_up = 500, .drain = 449}).classes[0].tasks, 1u);

    Experiment experiment = experiment_of(json, nullptr, 1, 1);
    experiment.trim = {.warm_up = 125, .drain = 250};
    EXPECT_EQ(to_json(run_experiment(experiment).at(0).runs.at(0)), to_json(some));
}

/// A scenario with the classes "priority N" and "priority 255".
const char* const named_by_priority = R"({"version": 1, "kind": "fc", "cores": 1, "jobs": [
    {"id": "N", "at": 0, "priority": 1, "fcs": [10]},
    {"id": "H", "at": 0, "priority": 255, "fcs": [20, 30]}]})";

TEST(Experiment, FindsClassesThatASettingRenamesByTheirNames) {
    const Grid grid("jobs.N.priority=1|2|255");
    Experiment experiment = experiment_of(named_by_priority, &grid, 1, 1);
    experiment.columns = {"max"}; // a column of all classes, which is known before the first run
    const auto points = run_experiment(experiment);
    EXPECT_EQ(to_text(points, experiment.columns),
              "jobs.N.priority  priority 1 max  priority 255 max  priority 2 max\n"
              "1                         10 us             60 us               -\n"
              "2                             -             60 us           10 us\n"
              "255                           -             60 us               -\n");
    const auto json = to_json(points);
    EXPECT_EQ(json[0]["priority 1.max_us"]["mean"], 10);
    EXPECT_EQ(json[0]["priority 2.max_us"]["mean"], nullptr);
    EXPECT_EQ(json[1]["priority 1.max_us"]["mean"], nullptr);
    EXPECT_EQ(json[1]["priority 2.max_us"]["mean"], 10);
    EXPECT_EQ(json[2]["priority 255.max_us"]["mean"], 60);
    experiment.columns = {"priority 2"};
    EXPECT_EQ(run_experiment(experiment).size(), 3u) << "a class of the second point alone";
}

TEST(Experiment, CountsNoLatencyWhereNothingCompleted) {
    const char* const cancelled = R"({"version": 1, "kind": "fc", "cores": 1, "jobs": [
        {"id": "F", "at": 0, "class": "first", "fcs": [50]},
        {"id": "C", "at": 1, "class": "second", "slo": 10, "fcs": [10]}],
        "cancels": [{"id": "C", "at": 900}, {"id": "F", "at": 900}]})";
    const Grid grid("cancels.0.at=900|2,cancels.1.at=900|3");
    const auto points = run_experiment(experiment_of(cancelled, &grid, 1, 1));
    EXPECT_EQ(to_text(points, {"p50", "x alone", "second SLO met", "ANTT", "STP"}),
              "cancels.0.at  cancels.1.at  first p50  second p50  first x alone  second x alone  "
              "second SLO met  ANTT   STP\n"
              "900                    900     ~50 us      ~59 us           1.00            5.90  "
              "          0.0%  3.45  1.17\n"
              "900                      3          -      ~59 us              -            5.90  "
              "          0.0%  5.90  0.17\n"
              "2                      900     ~50 us           -           1.00               -  "
              "          0.0%  1.00  1.00\n"
              "2                        3          -           -              -               -  "
              "          0.0%     -     -\n"
              "~ rests on fewer than 10 latencies\n");
    const auto json = to_json(points).at(3);
    for (const char* figure :
         {"first.p50_us", "first.p99_us", "first.max_us", "first.turnaround", "antt", "stp"})
        EXPECT_EQ(json.at(figure), nlohmann::ordered_json({{"mean", nullptr}, {"runs", 0}}))
            << figure;
    EXPECT_EQ(json.at("second.slo_met").at("mean"), 0.0) << "cancelled ones are missed";
}

#ifdef __GLIBC__
TEST(Experiment, KeepsNoScenarioOfAPointThatIsNotAtWork) {
    // This scenario takes long to read and is short to run.
    std::string jobs;
    for (int i = 0; i < 500; i++)
        jobs += fmt::format(R"({}{{"id": "{}", "at": {}, "fcs": [1]}})", i == 0 ? "" : ",", i, i);
    const std::string json = R"({"version": 1, "kind": "fc", "cores": 1, "jobs": [)" + jobs + "]}";
    const auto in_use = [] {
        const struct mallinfo2 info = mallinfo2();
        return info.uordblks + info.hblkhd;
    };
    if (in_use() == 0)
        GTEST_SKIP() << "this allocator does not tell";
    const auto size_of_a_scenario = [&] {
        const std::size_t before = in_use();
        const Scenario scenario = test::scenario_of(json);
        return in_use() - before;
    };
    const Grid grid("core_limit=1..20");
    Experiment experiment = experiment_of(json.c_str(), &grid, 1, 1);
    std::size_t most = 0;
    const std::size_t before = in_use();
    experiment.progress = [&](double) { most = std::max(most, in_use() - before); };
    run_experiment(experiment);
    EXPECT_LT(most, 2 * size_of_a_scenario()) << "of 20 points";
}
#endif

TEST(Experiment, TellsItsProgress) {
    const Grid grid("core_limit=0..4");
    Experiment experiment = experiment_of(loaded, &grid, 2, 3);
    std::vector<double> shares;
    experiment.progress = [&](double share) { shares.push_back(share); };
    run_experiment(experiment);
    ASSERT_EQ(shares.size(), 10u);
    for (std::size_t i = 0; i < shares.size(); i++)
        EXPECT_DOUBLE_EQ(shares[i], static_cast<double>(i + 1) / 10);
}

TEST(Experiment, NamesTheFirstPointThatFails) {
    const Grid cores("core_limit=0..1,cores=2|65|0");
    EXPECT_EQ(error_of([&] { run_experiment(experiment_of(loaded, &cores, 1, 4)); }),
              "with core_limit=0, cores=65: cores: 65, but at most 64 is possible");
    const Grid unknown("loads.middle.priority=1|2");
    EXPECT_EQ(error_of([&] { run_experiment(experiment_of(loaded, &unknown, 1, 4)); }),
              "loads.middle.priority: the scenario has no loads.middle");
}

TEST(Experiment, ThrowsTheFailureOfTheFirstRunThatFails) {
    // Virtual time runs out, sooner or later.
    const char* const endless = R"({"version": 1, "kind": "fc", "cores": 1,
        "loads": [{"id": "l", "fcs": [9000000000000000000], "count": 3,
                   "arrivals": {"type": "periodic", "period": 1}}]})";
    const Grid grid("loads.l.count=3..6");
    for (const unsigned threads : {1u, 4u})
        EXPECT_EQ(error_of([&] { run_experiment(experiment_of(endless, &grid, 1, threads)); }),
                  "virtual time passed 2^63 us: give the loads a smaller until")
            << threads;
}

/// Points of runs in which class "c" has these p50, in us; none: a task, which was dropped.
std::vector<Point> points_of(const std::vector<std::optional<std::uint64_t>>& p50) {
    Point point;
    for (const std::optional<std::uint64_t>& value : p50) {
        Summary summary{};
        ClassSummary of;
        of.name = "c";
        of.tasks = 1;
        of.dropped = value ? 0 : 1;
        of.latency.p50 = value.value_or(0);
        of.latency.samples = 1000;
        summary.classes.push_back(of);
        summary.cores.push_back({0.5, 0, 0, 0, 0});
        point.runs.push_back(summary);
    }
    return {point};
}

TEST(Intervals, AreStudents) {
    struct Row {
        const char* description;
        std::vector<std::optional<std::uint64_t>> values;
        double mean;
        double half_width;
    };
    // Half-width: t * s / sqrt(n), with t the 97.5 % quantile for n - 1 degrees of freedom.
    const std::vector<Row> rows = {
        {"two runs: s / sqrt(2) = 1, t = 12.706", {1, 3}, 2, 12.706},
        {"three runs: s = 2, t = 4.303", {10, 12, 14}, 12, 4.303 * 2 / std::sqrt(3)},
        {"all the same", {5, 5, 5, 5}, 5, 0},
        {"five runs: s = sqrt(2.5), t = 2.776",
         {1, 2, 3, 4, 5},
         3,
         2.776 * std::sqrt(2.5) / std::sqrt(5)},
    };
    for (const Row& row : rows) {
        const auto json = to_json(points_of(row.values)).at(0);
        EXPECT_EQ(json.at("runs"), row.values.size());
        EXPECT_NEAR(json.at("c.p50_us").at("mean").get<double>(), row.mean, 1e-9)
            << row.description;
        EXPECT_NEAR(json.at("c.p50_us").at("ci95").get<double>(), row.half_width, 1e-9)
            << row.description;
    }
}

TEST(Intervals, OfManyRunsUseTheirDegreesOfFreedom) {
    const std::vector<std::pair<std::size_t, double>> quantiles = {
        {30, 2.045}, {31, 2.042}, {32, 2.0395}, {61, 2.0003}, {121, 1.9799}};
    for (const auto& [runs, quantile] : quantiles) {
        // Half of the runs 0 and half 2, up to one of 1: s^2 = (n or n - 1) / (n - 1).
        std::vector<std::optional<std::uint64_t>> values(runs, 1);
        for (std::size_t i = 0; i + 1 < runs; i += 2) {
            values[i] = 0;
            values[i + 1] = 2;
        }
        const double n = static_cast<double>(runs);
        const double deviation = std::sqrt((runs % 2 == 0 ? n : n - 1) / (n - 1));
        const double half_width =
            to_json(points_of(values)).at(0).at("c.p50_us").at("ci95").get<double>();
        EXPECT_NEAR(half_width, quantile * deviation / std::sqrt(n),
                    0.005 * quantile / std::sqrt(n))
            << runs;
    }
}

TEST(Intervals, AreOfTheRunsThatHaveTheFigure) {
    const std::optional<std::uint64_t> none;
    const auto two = points_of({1, none, 3, none});
    const auto json = to_json(two).at(0).at("c.p50_us");
    EXPECT_EQ(json.at("mean"), 2);
    EXPECT_NEAR(json.at("ci95").get<double>(), 12.706, 1e-9) << "as of two runs";
    EXPECT_EQ(json.at("runs"), 2);
    EXPECT_NE(to_text(two).find("2 us ± 12.7 us"), std::string::npos) << to_text(two);
    EXPECT_FALSE(to_json(points_of({1, 3})).at(0).at("c.p50_us").contains("runs")) << "all have it";

    const auto one = points_of({none, 7});
    EXPECT_EQ(to_json(one).at(0).at("c.p50_us"),
              nlohmann::ordered_json({{"mean", 7.0}, {"ci95", nullptr}, {"runs", 1}}));
    EXPECT_EQ(to_text(one, {"c p50"}), "c p50\n7 us\n");
    EXPECT_EQ(to_text(points_of({none, none}), {"c p50"}), "c p50\n-\n");
}

TEST(Intervals, AreLeftOutOfOneRun) {
    const auto json = to_json(points_of({10})).at(0);
    EXPECT_EQ(json.at("c.p50_us").at("mean"), 10);
    EXPECT_FALSE(json.at("c.p50_us").contains("ci95"));
    EXPECT_EQ(to_text(points_of({10})).find("±"), std::string::npos);
    EXPECT_EQ(to_text(points_of({10, 10})).find("±"), std::string::npos);
    EXPECT_NE(to_text(points_of({10, 14})).find("12 us ± "), std::string::npos)
        << to_text(points_of({10, 14}));
}

} // namespace
} // namespace overtake::simulator
