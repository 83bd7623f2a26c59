// SPDX-License-Identifier: MIT
//
// Plans for several cores in model files: the contents of sound ones, and that no others are
// accepted.
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <regex>
#include <span>

#include <gtest/gtest.h>

#include "core_plans.hpp"
#include "overtake/device.hpp"
#include "overtake/model.hpp"
#include "overtake/model_contents.hpp"

namespace overtake::test {
namespace {

/// Reads everything that passed verification.
std::uint64_t read_plan(const ModelContents& contents) {
    std::uint64_t sum = 0;
    if (!contents.core_plan)
        return sum;
    for (const std::string_view profile : contents.core_plan->profiles)
        sum += profile.size();
    for (const CoreSegment& segment : contents.core_plan->segments) {
        std::size_t next = 0;
        for (const overtake_part& part : segment.parts)
            for (std::uint32_t fc = 0; fc < part.fc_count; fc++, next++) {
                const overtake_fc& call = segment.fcs.at(next);
                overtake_insn last;
                std::memcpy(&last,
                            contents.program.data() +
                                (std::size_t{call.first_insn} + call.insn_count - 1) * sizeof(last),
                            sizeof(last));
                sum += last.opcode + segment.stages.at(next) + segment.fc_cycles.at(next);
            }
    }
    const auto* layers = contents.table->core_plan()->layers();
    for (std::uint32_t index = 0; layers && index < layers->size(); index++) {
        const fbs::CoreLayer* layer = layers->Get(index);
        for (std::size_t core = 0; core < contents.core_plan->profiles.size(); core++)
            sum += layer->outputs()->Get(static_cast<std::uint32_t>(core)) +
                   layer->cycles()->Get(static_cast<std::uint32_t>(core)) +
                   contents.table->nodes()->Get(layer->node())->macs();
    }
    return sum;
}

std::string refusal_of(const std::vector<std::byte>& bytes) {
    try {
        read_plan(ModelContents::of(*Model::from_bytes(bytes, "file.ovm")));
        return "";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), EINVAL) << error.what();
        return error.what();
    }
}

TEST(ModelCorePlans, HaveTheContentsOfTheirFile) {
    const auto model = loaded(*with_core_plan());
    const ModelContents& contents = ModelContents::of(*model);
    ASSERT_TRUE(contents.core_plan);
    const CorePlan& plan = *contents.core_plan;
    EXPECT_TRUE(plan.are_alike);
    EXPECT_EQ(plan.profiles, (std::vector<std::string_view>{"default", "default"}));
    EXPECT_EQ(plan.width, 2u);
    EXPECT_EQ(plan.one_core_ns, 400u);
    EXPECT_EQ(plan.expected_ns, 600u);
    EXPECT_EQ(plan.bound_ns, 200u);
    ASSERT_EQ(plan.segments.size(), 2u) << "as many as the model has";
    EXPECT_TRUE(plan.segments[1].fcs.empty()) << "it is on the CPU";
    const CoreSegment& segment = plan.segments[0];
    ASSERT_EQ(segment.parts.size(), 2u);
    EXPECT_EQ(segment.parts[0].fc_count, 1u);
    EXPECT_EQ(segment.parts[1].fc_count, 2u);
    EXPECT_EQ(segment.parts[0].core, 1u);
    EXPECT_EQ(segment.parts[1].core, 2u);
    EXPECT_EQ(segment.fcs.size(), 3u);
    EXPECT_EQ(segment.fc_cycles, (std::vector<std::uint64_t>{100, 300, 300}));
    EXPECT_EQ(segment.stages, (std::vector<std::uint32_t>{0, 0, 1}));
    EXPECT_EQ(segment.stage_count, 2u);
    EXPECT_EQ(segment.scratch_bytes, 64u);
    EXPECT_EQ(segment.expected_ns, 600u);
}

TEST(ModelCorePlans, AreNotInFilesWithoutOne) {
    EXPECT_FALSE(ModelContents::of(*Model::from_bytes(build(copy_and_softmax()))).core_plan);
}

TEST(ModelCorePlans, NameTheProfileOfEachCoreIfProfilesDiffer) {
    const auto model = with_core_plan();
    auto& profiles = model->core_plan->profiles;
    profiles.push_back(std::make_unique<fbs::ProfileT>(*profiles[0]));
    profiles[1]->name = "little";
    const auto file = loaded(*model);
    const CorePlan plan = *ModelContents::of(*file).core_plan;
    EXPECT_FALSE(plan.are_alike);
    EXPECT_EQ(plan.profiles, (std::vector<std::string_view>{"default", "little"}));
}

fbs::CoreSegmentT& segment_of(fbs::ModelT& model) {
    return *model.core_plan->segments[0];
}

fbs::CorePartT& part_of(fbs::ModelT& model, std::size_t part) {
    return *segment_of(model).parts[part];
}

overtake_insn& instruction(fbs::ModelT& model, std::size_t number) {
    return reinterpret_cast<overtake_insn*>(model.program.data())[number];
}

struct SpoiltPlan {
    const char* reason; ///< after the offset: the place and what is wrong
    std::function<void(fbs::ModelT&)> spoil;
};

const SpoiltPlan spoilt_plans[] = {
    {"core_plan.core_count: 1, but 2..64 are possible",
     [](fbs::ModelT& m) { m.core_plan->core_count = 1; }},
    {"core_plan.core_count: 65, but 2..64 are possible",
     [](fbs::ModelT& m) { m.core_plan->core_count = 65; }},
    {"core_plan.profiles: 0, but 1 or 2 are possible",
     [](fbs::ModelT& m) { m.core_plan->profiles.clear(); }},
    {"core_plan.profiles: 3, but 1 or 2 are possible",
     [](fbs::ModelT& m) {
         auto& profiles = m.core_plan->profiles;
         while (profiles.size() < 3)
             profiles.push_back(std::make_unique<fbs::ProfileT>(*profiles[0]));
     }},
    {"core_plan.profiles[0].clock_khz: 0",
     [](fbs::ModelT& m) { m.core_plan->profiles[0]->clock_khz = 0; }},
    {"core_plan.segments: 0, but 1 are on the BPU",
     [](fbs::ModelT& m) { m.core_plan->segments.clear(); }},
    {"core_plan.segments[0].segment: 1 is no segment of the BPU",
     [](fbs::ModelT& m) { segment_of(m).segment = 1; }},
    {"core_plan.segments[0].segment: 2 is no segment of the BPU",
     [](fbs::ModelT& m) { segment_of(m).segment = 2; }},
    {"core_plan.segments[1].segment: is not in order",
     [](fbs::ModelT& m) {
         m.segments.push_back(std::make_unique<fbs::SegmentT>(*m.segments[0]));
         auto& segments = m.core_plan->segments;
         segments.push_back(std::make_unique<fbs::CoreSegmentT>(*segments[0]));
     }},
    {"core_plan.segments[0].parts: none", [](fbs::ModelT& m) { segment_of(m).parts.clear(); }},
    {"core_plan.segments[0].parts[1].core: 2, but there are 2",
     [](fbs::ModelT& m) { part_of(m, 1).core = 2; }},
    {"core_plan.segments[0].parts[1].core: is not in order",
     [](fbs::ModelT& m) { part_of(m, 1).core = 0; }},
    {"core_plan.segments[0].parts[0].fcs: 0 FCs, but 1..65536 are possible",
     [](fbs::ModelT& m) { part_of(m, 0).fcs.clear(); }},
    {"core_plan.segments[0].parts[1].fcs: 65536 FCs, but 1..65535 are possible",
     [](fbs::ModelT& m) { part_of(m, 1).fcs.resize(OVERTAKE_MAX_FCS, fbs::Fc(1, 1, 1)); }},
    {"core_plan.segments[0].parts[1].fcs[1]: instructions 1..3 of a program of 2",
     [](fbs::ModelT& m) { part_of(m, 1).fcs[1] = fbs::Fc(1, 2, 1); }},
    {"core_plan.segments[0].parts[1].fcs[0]: instructions 1..1 of a program of 2",
     [](fbs::ModelT& m) { part_of(m, 1).fcs[0] = fbs::Fc(1, 0, 1); }},
    {"core_plan.segments[0].parts[1].stages: 1 for 2 FCs",
     [](fbs::ModelT& m) { part_of(m, 1).stages.pop_back(); }},
    {"core_plan.segments[0].parts[1].stages: are not in order",
     [](fbs::ModelT& m) {
         part_of(m, 1).stages = {1, 0};
     }},
    {"core_plan.segments[0].parts: no FC is in stage 1",
     [](fbs::ModelT& m) { part_of(m, 1).stages[1] = 2; }},
    {"core_plan.segments[0].parts: stage 4096, but 0..4095 are possible",
     [](fbs::ModelT& m) { part_of(m, 1).stages[1] = OVERTAKE_MAX_STAGES; }},
    {"core_plan.segments[0].scratch_bytes: 268435457, at most 268435456",
     [](fbs::ModelT& m) { segment_of(m).scratch_bytes = OVERTAKE_MAX_SCRATCH_BYTES + 1; }},
    {"core_plan.segments[0]: cores cannot run instruction 1; compile the model again",
     [](fbs::ModelT& m) { instruction(m, 1).opcode = OVERTAKE_OP_COUNT; }},
    {"core_plan.segments[0]: cores cannot run instruction 1; compile the model again",
     [](fbs::ModelT& m) { instruction(m, 1).out.offset += 8; }},
    {"core_plan.segments[0]: cores cannot run instruction 0; compile the model again",
     [](fbs::ModelT& m) { instruction(m, 0).out.region = OVERTAKE_REGION_IO; }},
    {"core_plan.segments[0]: cores cannot run instruction 0; compile the model again",
     [](fbs::ModelT& m) {
         instruction(m, 0).out.region = OVERTAKE_REGION_SCRATCH;
         segment_of(m).scratch_bytes = 32;
     }},
    {"core_plan.layers[0].node: 2, but there are 2",
     [](fbs::ModelT& m) { m.core_plan->layers[0]->node = 2; }},
    {"core_plan.layers[0].segment: 1 is no segment of the BPU",
     [](fbs::ModelT& m) { m.core_plan->layers[0]->segment = 1; }},
    {"core_plan.layers[0].scheme: no scheme 6",
     [](fbs::ModelT& m) { m.core_plan->layers[0]->scheme = static_cast<fbs::Scheme>(6); }},
    {"core_plan.layers[0].outputs: 1 for 2 cores",
     [](fbs::ModelT& m) { m.core_plan->layers[0]->outputs.pop_back(); }},
    {"core_plan.layers[0].cycles: 0 for 2 cores",
     [](fbs::ModelT& m) { m.core_plan->layers[0]->cycles.clear(); }},
};

TEST(ModelCorePlans, AreRefusedWithOffsetAndNameOfTheSpoiltField) {
    static const std::regex form("file\\.ovm: offset (\\d+): (.+)");
    for (const SpoiltPlan& row : spoilt_plans) {
        const auto model = with_core_plan();
        row.spoil(*model);
        const std::vector<std::byte> bytes = packed(*model);
        const std::string text = refusal_of(bytes);
        std::smatch match;
        ASSERT_TRUE(std::regex_match(text, match, form)) << row.reason << "\n" << text;
        EXPECT_LT(std::stoull(match[1]), bytes.size());
        EXPECT_EQ(match[2].str(), row.reason);
    }
}

TEST(ModelCorePlans, MayUseTheScratchThatTheyName) {
    const auto model = with_core_plan();
    instruction(*model, 0).out.region = OVERTAKE_REGION_SCRATCH;
    segment_of(*model).scratch_bytes = 40;
    EXPECT_EQ(refusal_of(packed(*model)), "");
}

TEST(ModelCorePlans, TheRefusalNamesADamagedPlan) {
    std::vector<std::byte> bytes = packed(*with_core_plan());
    const auto& root = *flatbuffers::GetRoot<flatbuffers::Table>(bytes.data());
    const auto* plan = root.GetPointer<const flatbuffers::Table*>(fbs::Model::VT_CORE_PLAN);
    const auto* parts = plan->GetPointer<const std::byte*>(fbs::CorePlan::VT_SEGMENTS);
    std::memset(bytes.data() + (parts - bytes.data()), 0x7f, sizeof(std::uint32_t)); // its size
    EXPECT_NE(refusal_of(bytes).find(": core_plan is damaged"), std::string::npos)
        << refusal_of(bytes);
}

TEST(ModelCorePlans, SurviveFlippedBitsAndRandomDamage) {
    const std::vector<std::byte> whole = packed(*with_core_plan());
    std::size_t refused = 0;
    for (std::size_t bit = 0; bit < whole.size() * 8; bit++) {
        std::vector<std::byte> bytes = whole;
        bytes[bit / 8] ^= std::byte{1} << (bit % 8);
        refused += !refusal_of(bytes).empty();
    }
    EXPECT_GT(refused, 2000u);
    std::mt19937 random(1);
    for (int round = 0; round < 20'000; round++) {
        std::vector<std::byte> bytes = whole;
        for (std::size_t change = 1 + random() % 4; change-- != 0;) {
            const std::size_t at = random() % (bytes.size() / 4) * 4;
            auto word = static_cast<std::uint32_t>(random());
            if (random() % 2)
                word %= 2 * bytes.size();
            std::memcpy(bytes.data() + at, &word, sizeof(word));
        }
        refusal_of(bytes);
    }
}

} // namespace
} // namespace overtake::test
