// SPDX-License-Identifier: MIT
//
// Several processors: the parts of the simulator around the coordinator. tests/scenarios compares
// the decisions of the coordinator with a reference.
#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "overtake/error.hpp"
#include "simulated.hpp"
#include "simulator/experiment.hpp"
#include "simulator/processors/blame.hpp"
#include "simulator/processors/model_reader.hpp"
#include "simulator/processors/pictures.hpp"
#include "simulator/processors/summary.hpp"
#include "simulator/simulate.hpp"

namespace overtake::simulator::processors {
namespace {

using nlohmann::json;
using test::error_of;

json two_cores() {
    return json::parse(R"({
        "version": 1, "kind": "task",
        "processors": [{"name": "npu", "class": "npu", "cores": 2},
                       {"name": "cpu", "class": "cpu", "workers": 2}],
        "models": {"M": {"units": [{"time": {"npu": [50, 50], "cpu": 400}},
                                   {"time": {"cpu": 100}}]}},
        "tasks": [{"id": "a", "at": 0, "model": "M", "slo": 300},
                  {"id": "b", "at": 0, "model": "M", "slo": 150},
                  {"id": "c", "at": 1000, "model": "M", "class": "late"}]})");
}

ProcessorScenario read(const json& document) {
    return parse_processor_scenario(document, {});
}

// Units of a file.

UnitWork fcs(std::vector<std::uint64_t> cycles) {
    UnitWork work;
    overtake::Segment& segment = work.segments.emplace_back();
    segment.fcs.resize(cycles.size());
    segment.fc_cycles = std::move(cycles);
    return work;
}

UnitWork on_cpu(std::uint64_t ns) {
    UnitWork work;
    work.expected_ns = ns;
    work.segments.resize(2); // a turn of FCs, and one of CPU operators
    work.segments[0].fc_cycles = {1'000};
    return work;
}

/// Returns a model: unit 0 runs on cores of 1 GHz and of 500 MHz, unit 1 on the CPU alone.
ModelContents two_units() {
    ModelContents contents;
    contents.classes = {
        {"npu", "default", 1'000'000}, {"little", "small", 500'000}, {"cpu", "", 0}};
    contents.tensors.resize(2);
    contents.tensors[1].bytes = 640;
    contents.inputs = {1};
    const auto shared = [](UnitWork work) {
        return std::make_shared<const UnitWork>(std::move(work));
    };
    contents.units = {
        {.after = 0,
         .operations = 7,
         .output_bytes = 60'000,
         .work = {shared(fcs({1'400, 1'400, 100})), shared(fcs({3'000})), shared(on_cpu(9'499))}},
        {.after = 1,
         .operations = 0,
         .output_bytes = 8,
         .work = {nullptr, nullptr, shared(on_cpu(1))}},
    };
    return contents;
}

Model taken(const ModelContents& contents, const std::vector<std::string>& names,
            const std::vector<bool>& are_pools, std::uint64_t tick_ns = 1000) {
    const json document = {{"file", "net.ovm"}};
    Model model;
    take_units(Place(document).at("file"), contents, {names, are_pools, tick_ns}, model);
    return model;
}

using Times = std::vector<std::uint64_t>;

TEST(FileUnits, AreThoseOfTheClassesByTheirNames) {
    const Model model = taken(two_units(), {"cpu", "npu"}, {true, false});
    ASSERT_EQ(model.units.size(), 2u);
    EXPECT_EQ(model.units[0].after, 0u);
    EXPECT_EQ(model.units[0].bytes, 60'000u);
    EXPECT_EQ(model.units[0].ops, 7u);
    EXPECT_EQ(model.units[1].after, 1u);
    EXPECT_EQ(model.input_bytes, 640u);
    EXPECT_EQ(model.fcs[0][0], Times{9}) << "9.499 us";
    // 1.4, 2.8 and 2.9 us: each FC ends at the nearest one, and takes at least one.
    EXPECT_EQ(model.fcs[0][1], (Times{1, 2, 1}));
    EXPECT_EQ(model.fcs[1][0], Times{1});
    EXPECT_EQ(model.fcs[1][1], Times{});
    EXPECT_EQ(model.times, (Times{9, 4, 1, 0}));
    EXPECT_EQ(model.longest, (Times{9, 2, 1, 0}));
}

TEST(FileUnits, HaveTheTimesOfTheirClasssClock) {
    const Model model = taken(two_units(), {"cpu", "little"}, {true, false}, 1);
    EXPECT_EQ(model.fcs[0][1], Times{6'000});
    EXPECT_EQ(model.fcs[0][0], Times{9'499});
}

TEST(FileUnits, LackAClassThatTheFileLacks) {
    const Model model = taken(two_units(), {"dsp", "cpu"}, {false, true});
    EXPECT_EQ(model.fcs[0][0], Times{});
    EXPECT_EQ(model.fcs[0][1], Times{9});
}

TEST(FileUnits, AreRefusedWhereTheScenarioCannotRunThem) {
    EXPECT_EQ(error_of([] { taken(two_units(), {"npu"}, {false}); }),
              "file: no class of the scenario supports unit 1 of the file; it was compiled for "
              "\"cpu\"");
    EXPECT_EQ(error_of([] {
                  taken(two_units(), {"npu", "cpu"}, {true, true});
              }),
              "file: class \"npu\" has workers in the scenario and cores in the file");
    EXPECT_EQ(error_of([] {
                  taken(two_units(), {"npu", "cpu"}, {false, false});
              }),
              "file: class \"cpu\" has cores in the scenario and workers in the file");
    EXPECT_EQ(error_of([] { taken({}, {"npu"}, {false}); }),
              "file: the file has no units for several processors: compile the network again with "
              "this version of overtake compile");
    ModelContents endless = two_units();
    endless.units[1].work[2] = std::make_shared<const UnitWork>(on_cpu(std::uint64_t{1} << 60));
    EXPECT_EQ(error_of([&] {
                  taken(endless, {"npu", "cpu"}, {false, true});
              }),
              "file: the time of a unit passes 2^40");
}

TEST(FileUnits, ComeFromAFileOrAreWrittenOut) {
    json document = two_cores();
    document["models"]["M"]["file"] = "net.ovm";
    EXPECT_EQ(error_of([&] { read(document); }), "models.M: both file and units");
    document["models"]["M"].erase("units");
    EXPECT_NE(error_of([&] { read(document); }).find("models.M.file: "), std::string::npos);
}

// Summaries and tables.

Summary run(const json& document, const Trim& trim = {}) {
    return simulate(read(document), 1, trim);
}

TEST(ProcessorTally, HasWhatOtherSummariesHave) {
    const Summary summary = run(two_cores());
    EXPECT_EQ(summary.from, 0u);
    EXPECT_EQ(summary.to, 1200u);
    ASSERT_EQ(summary.classes.size(), 2u);
    const ClassSummary& tasks = summary.classes[0];
    EXPECT_EQ(tasks.name, "tasks");
    EXPECT_EQ(tasks.tasks, 2u);
    EXPECT_EQ(tasks.slo, 300u);
    EXPECT_EQ(tasks.slo_met, 0.5);
    EXPECT_EQ(tasks.latency.max, 200u);
    EXPECT_EQ(tasks.turnaround, 1.0) << "two cores, two workers: nothing waits";
    EXPECT_EQ(summary.antt, 1.0);
    EXPECT_EQ(summary.stp, 2.0);
    ASSERT_EQ(summary.cores.size(), 3u);
    EXPECT_EQ(summary.cores[0].name, "npu.1");
    EXPECT_EQ(summary.cores[0].fcs_normal, 4u);
    EXPECT_DOUBLE_EQ(summary.cores[0].utilisation, 200.0 / 1200);
    EXPECT_DOUBLE_EQ(summary.cores[2].utilisation, 300.0 / 2400);
    EXPECT_EQ(summary.fcs, 6u);
}

TEST(ProcessorTally, CountsWhatIsInItsWindow) {
    const Summary summary = run(two_cores(), {.warm_up = 150, .drain = 50});
    EXPECT_EQ(summary.from, 150u);
    EXPECT_EQ(summary.to, 1150u);
    EXPECT_EQ(summary.classes[0].tasks, 0u);
    EXPECT_EQ(summary.classes[1].tasks, 1u);
    EXPECT_DOUBLE_EQ(summary.cores[0].utilisation, 0.1);
    // The second half of two runs of 100, and the first half of one.
    EXPECT_DOUBLE_EQ(summary.cores[2].utilisation, 150.0 / 2000);
    EXPECT_THROW(run(two_cores(), {.warm_up = 1200}), Error);
}

TEST(ProcessorTally, HasColumnsForWhatHappened) {
    json document = two_cores();
    const auto text_of = [&] {
        const ProcessorScenario scenario = read(document);
        Tally tally(scenario);
        Observer* const observers[] = {&tally};
        ProcessorSimulator(scenario, 1, observers).run();
        return tally.text();
    };
    EXPECT_EQ(text_of().find("cancelled"), std::string::npos);
    document["cancels"] = {{{"id", "a"}, {"at", 10}}};
    EXPECT_NE(text_of().find("   tasks    done dropped cancelled  retries"), std::string::npos)
        << text_of();
}

std::vector<Point> swept(const json& document, const Grid& grid) {
    Experiment experiment;
    experiment.document = document;
    experiment.grid = &grid;
    return run_experiment(experiment);
}

/// Each point of a sweep has the result of its scenario alone.
TEST(ProcessorSweep, RunsEachSetting) {
    json document = two_cores();
    document["loads"] = json::parse(R"([{"id": "load", "model": "M", "slo": 600, "until": 100000,
        "arrivals": {"type": "poisson", "mean": 60}}])");
    document["processors"][0]["core_limit"] = 0;
    document["processors"][0]["depth"] = 1;
    for (const char* keys :
         {"policy=priority|heft|least-slack,window=1|8", "processors.0.depth=1..3",
          "processors.0.core_limit=0|2,loads.load.priority=0|255", "smoothing=1|50|100",
          "drop=never|late|predicted"}) {
        const Grid grid(keys);
        const std::vector<Point> points = swept(document, grid);
        EXPECT_EQ(points.size(), grid.size());
        for (const Point& point : points) {
            json alone = document;
            for (const Setting& setting : point.settings)
                apply_setting(alone, setting);
            const Summary expected = run(alone);
            ASSERT_EQ(point.runs.size(), 1u);
            EXPECT_EQ(point.runs[0].classes[2].latency.p99, expected.classes[2].latency.p99);
            EXPECT_EQ(point.runs[0].classes[2].dropped, expected.classes[2].dropped);
            EXPECT_EQ(point.runs[0].to, expected.to) << keys;
        }
    }
    const Grid drops("drop=never|predicted");
    const std::vector<Point> points = swept(document, drops);
    EXPECT_EQ(points[0].runs[0].classes[2].dropped, 0u);
    EXPECT_GT(points[1].runs[0].classes[2].dropped, 0u);
}

TEST(ProcessorSweep, HasAColumnForEachProcessor) {
    const Grid grid("window=1|2");
    const std::vector<Point> points = swept(two_cores(), grid);
    EXPECT_EQ(to_text(points, {"cpu busy", "failed"}),
              "window  cpu busy  tasks failed  late failed\n"
              "1          12.5%             0            0\n"
              "2          12.5%             0            0\n");
    EXPECT_EQ(to_text(points).find("failed"), std::string::npos) << "none did";
}

TEST(ProcessorSweep, NamesTheSettingsThatAreRefused) {
    const Grid grid("window=1|65");
    EXPECT_EQ(error_of([&] { swept(two_cores(), grid); }),
              "with window=65: window: 65, but at most 64 is possible");
}

// Pictures.

ProcessorPictures drawn(const ProcessorScenario& scenario, const Pictures::Options& options) {
    ProcessorPictures pictures(scenario, "a title", options);
    Observer* const observers[] = {&pictures};
    ProcessorSimulator(scenario, 1, observers).run();
    return pictures;
}

json with_events() {
    json document = two_cores();
    document["retry_after"] = 500;
    document["loads"] = json::parse(R"([{"id": "load", "model": "M", "until": 4000,
        "arrivals": {"type": "poisson", "mean": 90}}])");
    document["events"] = json::parse(R"([
        {"at": 500, "processor": "npu.2", "event": "throttle", "factor": 300},
        {"at": 900, "processor": "npu.2", "event": "throttle", "factor": 100},
        {"at": 1000, "processor": "cpu", "event": "fail"},
        {"at": 1600, "processor": "cpu", "event": "recover"},
        {"at": 3000, "processor": "npu.1", "event": "throttle", "factor": 50}])");
    return document;
}

TEST(ProcessorPicture, HasALaneForEachCoreAndEachWorker) {
    const ProcessorScenario scenario = read(with_events());
    const timeline::Timeline timeline = drawn(scenario, {.every_fc = true}).timeline();
    std::vector<std::string> names;
    for (const timeline::Lane& lane : timeline.lanes)
        names.push_back(lane.name + (lane.rings ? " with rings" : ""));
    EXPECT_EQ(names, (std::vector<std::string>{"npu.1 with rings", "npu.2 with rings", "cpu #1",
                                               "cpu #2"}));
    // Boxes of one lane do not overlap, and show all that the same run has.
    std::vector<std::uint64_t> ends(5);
    std::vector<timeline::Fc> fcs = timeline.fcs;
    std::ranges::stable_sort(fcs, {}, &timeline::Fc::start_ns);
    std::uint64_t on_cpu = 0;
    for (const timeline::Fc& fc : fcs) {
        EXPECT_GE(fc.start_ns, ends[fc.core]) << fc.core;
        ends[fc.core] = fc.end_ns;
        if (fc.core > 2)
            on_cpu += fc.end_ns - fc.start_ns;
        EXPECT_EQ(fc.what.empty(), fc.core <= 2) << fc.what;
    }
    const Summary summary = simulate(scenario, 1);
    EXPECT_DOUBLE_EQ(static_cast<double>(on_cpu) / 2000.0 /
                         static_cast<double>(summary.to - summary.from),
                     summary.cores[2].utilisation);
    EXPECT_TRUE(std::ranges::any_of(fcs, [](const auto& fc) { return fc.core == 4; }));
}

TEST(ProcessorPicture, ShowsWhatFailedAndWhatWasSlower) {
    const ProcessorScenario scenario = read(with_events());
    const timeline::Timeline timeline = drawn(scenario, {}).timeline();
    std::vector<std::string> conditions;
    for (const timeline::Condition& of : timeline.conditions)
        conditions.push_back(std::to_string(of.core) + " " + of.what +
                             (of.works ? " " : " without work ") +
                             std::to_string(of.from_ns / 1000) + " " +
                             (of.to_ns < 3'000'000 ? std::to_string(of.to_ns / 1000) : "end"));
    // The CPU fails at 1000: a trial at 1500 finds the CPU failed, and the trial at 2500 finds it
    // working.
    EXPECT_EQ(conditions,
              (std::vector<std::string>{"1 takes 50 % 3000 end", "2 takes 300 % 500 900",
                                        "3 out of use without work 1000 2500",
                                        "4 out of use without work 1000 2500"}));
    const std::string svg = drawn(scenario, {}).svg();
    for (const char* words : {"a title", ">npu.2<", ">cpu #2<", ">takes 300 %<", ">out of use<",
                              "does not work", "at another speed"})
        EXPECT_NE(svg.find(words), std::string::npos) << words;
}

TEST(ProcessorPicture, OfManyRunsIsTheirDensity) {
    json document = with_events();
    document["loads"][0]["until"] = 400'000;
    const ProcessorScenario scenario = read(document);
    const std::string svg = drawn(scenario, {}).svg();
    for (const char* words : {">npu.1<", ">cpu #1<", "a bar is", "cpu #1 out of use", "busy "})
        EXPECT_NE(svg.find(words), std::string::npos) << words;
    const std::string part = drawn(scenario, {.from = 900, .to = 1100}).svg();
    EXPECT_EQ(part.find("a bar is"), std::string::npos);
    EXPECT_NE(part.find(">out of use<"), std::string::npos);
    EXPECT_THROW(drawn(scenario, {.from = 1'000'000}).demand_content(), Error);
}

// Blame.

nlohmann::ordered_json blamed(const json& document, std::string* text = nullptr) {
    const ProcessorScenario scenario = read(document);
    ProcessorBlame blame(scenario, 100);
    Observer* const observers[] = {&blame};
    ProcessorSimulator(scenario, 1, observers).run();
    nlohmann::ordered_json summary;
    blame.add_to(summary);
    if (text != nullptr)
        *text = blame.text();
    return summary["blame"];
}

/// The core is busy for 100, and the CPU, which would take 400, is idle: the plan waits.
TEST(ProcessorBlames, SaysForWhatATaskWaitedAndWhereItCouldHaveRun) {
    json document = two_cores();
    document["processors"][0]["cores"] = 1;
    document["tasks"] = json::parse(R"([{"id": "a", "at": 0, "model": "M"},
        {"id": "b", "at": 0, "model": "M", "class": "second", "slo": 250}])");
    std::string text;
    const auto blame = blamed(document, &text);
    EXPECT_EQ(text,
              "a 0.200 ms: 0.200 own\n"
              "b 0.300 ms, 0.050 late: 0.100 for npu (busy with tasks), could have run on cpu "
              "(idle for 0.100, takes 0.400); 0.200 own\n");
    EXPECT_EQ(blame[1]["parts"],
              nlohmann::ordered_json::parse(R"([{"processor": "npu", "ns": 100000,
                  "busy_ns": {"tasks": 100000},
                  "other": {"processor": "cpu", "idle_ns": 100000, "takes_ns": 400000}}])"));
}

TEST(ProcessorBlames, KnowsWhatIsNotAllowedThere) {
    json document = two_cores();
    document["processors"][0]["cores"] = 1;
    document["tasks"] = json::parse(R"([{"id": "a", "at": 0, "model": "M", "on": "npu"},
        {"id": "b", "at": 0, "model": "M", "on": "npu"}])");
    EXPECT_FALSE(blamed(document)[0]["parts"][0].contains("other"));
    document["tasks"][1].erase("on");
    document["drop"] = "predicted";
    document["tasks"][1]["slo"] = 250;
    std::string text;
    blamed(document, &text);
    EXPECT_NE(text.find("b 0.000 ms, dropped: 0.000 own"), std::string::npos) << text;
}

/// The latency of a task is always the sum of its runs and its waits.
TEST(ProcessorBlames, AddsUp) {
    json document = with_events();
    for (const char* policy : {"priority", "heft", "least-slack", "shortest-latency"}) {
        document["policy"] = policy;
        const auto blame = blamed(document);
        EXPECT_GT(blame.size(), 20u);
        for (const auto& of : blame) {
            std::uint64_t sum = of["own_ns"];
            for (const auto& part : of["parts"])
                sum += part["ns"].get<std::uint64_t>();
            EXPECT_EQ(sum, of["latency_ns"]) << of.dump();
        }
    }
}

} // namespace
} // namespace overtake::simulator::processors
