// SPDX-License-Identifier: MIT
//
// Several processors: what the simulator adds around the coordinator, whose decisions
// tests/scenarios compares with a reference.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "overtake/error.hpp"
#include "simulated.hpp"
#include "simulator/processors/model_reader.hpp"

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
    work.segment.fcs.resize(cycles.size());
    work.segment.fc_cycles = std::move(cycles);
    return work;
}

UnitWork on_cpu(std::uint64_t ns) {
    UnitWork work;
    work.expected_ns = work.segment.expected_ns = ns;
    return work;
}

/// Unit 0 runs on cores of 1 GHz and of 500 MHz, unit 1 on the CPU alone.
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

} // namespace
} // namespace overtake::simulator::processors
