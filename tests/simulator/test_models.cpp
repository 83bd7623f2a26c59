// SPDX-License-Identifier: MIT
//
// Models that are written out, split, or read from compiled files.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model_spec.hpp"
#include "simulated.hpp"
#include "simulator/models.hpp"

namespace overtake::simulator {
namespace {

using test::error_of;
using test::TemporaryFile;
using Times = std::vector<std::uint64_t>;

Models models_of(const std::string& json, Kind kind, const std::filesystem::path& directory = {}) {
    const nlohmann::json document = {{"models", nlohmann::json::parse(json)}};
    return read_models(Place(document).at("models"), kind, directory);
}

/// Returns the times of the FCs of an FC-level model.
Times fcs_of(const std::string& model) {
    return models_of("{\"m\": " + model + "}", Kind::fc).at("m")->segments.at(0).fcs;
}

TEST(Models, AreReadAsWritten) {
    const Models models = models_of(
        R"({"m": {"segments": [{"bpu": [10, 20]}, {"cpu": 5}, {"bpu": [7]}]}})", Kind::task);
    const Chain& chain = *models.at("m");
    ASSERT_EQ(chain.segments.size(), 3u);
    EXPECT_EQ(chain.segments[0].fcs, (Times{10, 20}));
    EXPECT_EQ(chain.segments[1].fcs, Times{});
    EXPECT_EQ(chain.segments[1].time, 5u);
    EXPECT_EQ(chain.time, 42u);
    ASSERT_EQ(chain.schedule.size(), 3u);
    EXPECT_EQ(chain.schedule[0].time, 30u);
    EXPECT_EQ(chain.schedule[0].fc_count, 2u);
    EXPECT_EQ(chain.schedule[1].time, 5u);
    EXPECT_EQ(chain.schedule[1].fc_count, 0u);
}

TEST(Split, MakesEqualPartsNoneTooLong) {
    EXPECT_EQ(fcs_of(R"({"fcs": [1000], "max_time_per_fc": 300})"), (Times{250, 250, 250, 250}));
    EXPECT_EQ(fcs_of(R"({"fcs": [10], "max_time_per_fc": 4})"), (Times{4, 3, 3}));
    EXPECT_EQ(fcs_of(R"({"fcs": [11], "max_time_per_fc": 4})"), (Times{4, 4, 3}));
    EXPECT_EQ(fcs_of(R"({"fcs": [5, 9], "max_time_per_fc": 5})"), (Times{5, 5, 4}));
    EXPECT_EQ(fcs_of(R"({"fcs": [3], "max_time_per_fc": 1})"), (Times{1, 1, 1}));
    EXPECT_EQ(fcs_of(R"({"fcs": [3, 4], "max_time_per_fc": 0})"), (Times{3, 4})) << "off";
    EXPECT_EQ(fcs_of(R"({"fcs": [9223372036854775807], "max_time_per_fc": 9223372036854775806})"),
              (Times{4611686018427387904, 4611686018427387903}));
}

TEST(Split, AddsTheOverheadToEachPartOfASplitFc) {
    EXPECT_EQ(fcs_of(R"({"fcs": [10, 20], "max_time_per_fc": 10, "fc_overhead": 3})"),
              (Times{10, 13, 13}));
    EXPECT_EQ(fcs_of(R"({"fcs": [10], "fc_overhead": 3})"), (Times{10}));
}

TEST(Split, AppliesToEveryBpuSegmentAndToNoOther) {
    const Models models = models_of(R"({"m": {"max_time_per_fc": 10, "fc_overhead": 1,
        "segments": [{"bpu": [20]}, {"cpu": 100}, {"bpu": [5, 15]}]}})",
                                    Kind::task);
    const Chain& chain = *models.at("m");
    EXPECT_EQ(chain.segments[0].fcs, (Times{11, 11}));
    EXPECT_EQ(chain.segments[1].time, 100u);
    EXPECT_EQ(chain.segments[2].fcs, (Times{5, 9, 8}));
    EXPECT_EQ(chain.time, 22u + 100 + 22);
    EXPECT_EQ(chain.schedule[2].fc_count, 3u);
}

TEST(Split, IsBounded) {
    EXPECT_EQ(error_of([] { fcs_of(R"({"fcs": [10000001], "max_time_per_fc": 1})"); }),
              "models.m: max_time_per_fc makes more than 10000000 FCs");
}

/// Returns a compiled model: FCs with these costs in cycles of 1 ns, then a CPU segment.
TemporaryFile compiled(const Times& cycles, unsigned bpu_segments = 1, bool on_two_cores = false) {
    overtake::test::ModelSpec spec = overtake::test::copy_and_softmax();
    spec.on_two_cores = on_two_cores;
    auto& bpu = spec.segments[0];
    bpu.fcs.clear();
    for (const std::uint64_t cost : cycles)
        bpu.fcs.emplace_back(static_cast<std::uint32_t>(bpu.fcs.size() % 2), 1, cost);
    for (unsigned i = 1; i < bpu_segments; i++)
        spec.segments.insert(spec.segments.begin(), spec.segments[0]);
    const std::vector<std::byte> bytes = build(spec);
    return {"m.ovm", bytes.data(), bytes.size()};
}

TEST(CompiledModels, BringTheirModelledTimesInWholeMicrosecondsWithRightSums) {
    const TemporaryFile file = compiled({1, 499, 1499, 1500, 2'000'000});
    const Models models =
        models_of(R"({"m": {"file": "m.ovm", "cpu": 77}})", Kind::task, file.directory());
    const Chain& chain = *models.at("m");
    ASSERT_EQ(chain.segments.size(), 2u);
    EXPECT_EQ(chain.segments[0].fcs, (Times{1, 1, 1, 1, 1999}));
    EXPECT_EQ(chain.segments[1].fcs, Times{});
    EXPECT_EQ(chain.segments[1].time, 77u);
    EXPECT_EQ(chain.time, 2003u + 77);
}

TEST(CompiledModels, AtFcLevelAreTheirOneBpuSegment) {
    const TemporaryFile file = compiled({5000, 7000});
    const Models models = models_of(R"({"m": {"file": "m.ovm"}})", Kind::fc, file.directory());
    ASSERT_EQ(models.at("m")->segments.size(), 1u);
    EXPECT_EQ(models.at("m")->segments[0].fcs, (Times{5, 7}));
}

TEST(CompiledModels, MayBeSplitFurther) {
    const TemporaryFile file = compiled({5000, 1000});
    const Models models =
        models_of(R"({"m": {"file": "m.ovm", "max_time_per_fc": 2, "fc_overhead": 1}})", Kind::fc,
                  file.directory());
    EXPECT_EQ(models.at("m")->segments[0].fcs, (Times{3, 3, 2, 1}));
}

TEST(CompiledModels, WithAPlanForSeveralCoresHavePartsWhereTheDeviceHasThese) {
    const TemporaryFile file = compiled({5000, 7000, 2000}, 1, true);
    const auto chain_on = [&](std::uint32_t cores, const char* more = "") {
        const nlohmann::json document = {
            {"models", nlohmann::json::parse(std::string(R"({"m": {"file": "m.ovm", "cpu": 77)") +
                                             more + "}}")}};
        return read_models(Place(document).at("models"), Kind::task, file.directory(), 1000,
                           {.cores = cores, .sync = 3, .parts_name_cores = false})
            .at("m");
    };
    const auto chain = chain_on(2);
    EXPECT_EQ(chain->width, 2u);
    ASSERT_EQ(chain->segments.size(), 2u);
    ASSERT_TRUE(chain->segments[0].parts);
    EXPECT_EQ(chain->segments[0].fcs, (Times{5, 7, 2}));
    EXPECT_EQ(chain->segments[0].time, 9u) << "of the longer part";
    EXPECT_EQ(chain->segments[1].time, 77u);
    ASSERT_TRUE(chain->on_one_core);
    EXPECT_EQ(chain->on_one_core->segments[0].time, 14u);
    EXPECT_EQ(chain->on_one_core->width, 0u);
    EXPECT_EQ(chain_on(1)->width, 0u) << "the device has one core";
    EXPECT_EQ(chain_on(2, R"(, "max_time_per_fc": 3)")->width, 0u) << "parts are not cut";
}

TEST(CompiledModels, SayWhatIsMissing) {
    const TemporaryFile one = compiled({5000});
    const TemporaryFile two = compiled({5000}, 2);
    EXPECT_EQ(
        error_of([&] { models_of(R"({"m": {"file": "m.ovm"}})", Kind::task, one.directory()); }),
        "models.m: the file has CPU segments: say with cpu how long one takes");
    EXPECT_EQ(
        error_of([&] { models_of(R"({"m": {"file": "m.ovm"}})", Kind::fc, two.directory()); }),
        "models.m: 2 BPU segments, but a job has one: use kind task");
    const TemporaryFile bad("m.ovm", std::string(100, 'x'));
    for (const char* name : {"m.ovm", "none.ovm"}) {
        const std::string error = error_of([&] {
            models_of(std::string(R"({"m": {"file": ")") + name + "\"}}", Kind::fc,
                      bad.directory());
        });
        EXPECT_TRUE(error.starts_with("models.m.file: ")) << error;
        EXPECT_NE(error.find(name), std::string::npos) << error;
    }
}

TEST(Models, RefuseContradictions) {
    struct Row {
        Kind kind;
        const char* models;
        const char* error;
    };
    const std::vector<Row> rows = {
        {Kind::fc, "{}", "models: no model"},
        {Kind::fc, "[]", "models: not an object"},
        {Kind::fc, R"({"m": {"fcs": [1], "file": "m"}})", "models.m: both file and fcs"},
        {Kind::task, R"({"m": {"segments": [], "file": "m"}})", "models.m: both file and segments"},
        {Kind::task, R"({"m": {"segments": [{"cpu": 1}], "cpu": 5}})",
         "models.m: cpu is for models from a file"},
        {Kind::task, R"({"m": {"segments": [{}]}})", "models.m.segments[0]: neither bpu nor cpu"},
        {Kind::task, R"({"m": {"segments": [{"cpu": 1}, {"cpu": 1, "bpu": [1]}]}})",
         "models.m.segments[1]: both bpu and cpu"},
        {Kind::task,
         R"({"m": {"segments": [{"bpu": [9223372036854775807]}, {"cpu": 1}, {"cpu": 1}]}})",
         "models.m.segments[2]: the sum of all times passes 2^63"},
        {Kind::fc, R"({"m": {"fcs": [9223372036854775807, 2]}})",
         "models.m: the sum of all times passes 2^63"},
    };
    for (const Row& row : rows) {
        const std::string error = error_of([&] { models_of(row.models, row.kind); });
        EXPECT_EQ(error, row.error) << row.models;
    }
}

} // namespace
} // namespace overtake::simulator
