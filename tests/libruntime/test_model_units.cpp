// SPDX-License-Identifier: MIT
//
// Units of model files: the contents of sound ones, and that no others are accepted.
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <regex>
#include <span>

#include <gtest/gtest.h>

#include "model_spec.hpp"
#include "overtake/device.hpp"
#include "overtake/model.hpp"
#include "overtake/model_contents.hpp"

namespace overtake::test {
namespace {

std::unique_ptr<fbs::UnitWorkT> work(std::uint32_t of_class, const fbs::SegmentT& segment) {
    auto result = std::make_unique<fbs::UnitWorkT>();
    result->class_index = of_class;
    result->segments.push_back(std::make_unique<fbs::SegmentT>(segment));
    return result;
}

std::unique_ptr<fbs::UnitT> unit(std::uint64_t after) {
    auto result = std::make_unique<fbs::UnitT>();
    result->after = after;
    result->operations = 60;
    return result;
}

/// Returns copy_and_softmax() with cores "npu" and workers "cpu": one unit copies into a tensor of
/// its own, the next one copies that, and the last is the softmax.
std::unique_ptr<fbs::ModelT> with_units() {
    auto model = unpacked(copy_and_softmax());
    for (const char* name : {"npu", "cpu"}) {
        model->unit_classes.push_back(std::make_unique<fbs::UnitClassT>());
        model->unit_classes.back()->name = name;
    }
    model->unit_classes[0]->profile = std::make_unique<fbs::ProfileT>(*model->profile);
    model->unit_classes[0]->profile->clock_khz = 500'000;
    model->unit_tensors.push_back(std::make_unique<fbs::TensorT>(*model->tensors[1]));
    model->unit_tensors[0]->name = "between";
    const fbs::SegmentT &copy = *model->segments[0], &softmax = *model->segments[1];
    const auto copying = [&](std::uint32_t from, std::uint32_t to) {
        fbs::SegmentT segment = copy;
        segment.bpu->bindings = {fbs::Binding(OVERTAKE_REGION_IO, from, false),
                                 fbs::Binding(OVERTAKE_REGION_IO + 1, to, true)};
        return segment;
    };
    for (const auto& [from, to] : {std::pair(0u, 3u), std::pair(3u, 1u)}) {
        model->units.push_back(unit(model->units.size()));
        for (const std::uint32_t of_class : {0u, 1u})
            model->units.back()->work.push_back(work(of_class, copying(from, to)));
    }
    model->units.push_back(unit(1u << 1));
    model->units[2]->work.push_back(work(1, softmax));
    model->units[2]->work[0]->segments[0]->cpu->expected_ns = 70;
    return model;
}

std::vector<std::byte> packed(const fbs::ModelT& model) {
    flatbuffers::FlatBufferBuilder builder;
    fbs::FinishModelBuffer(builder, fbs::Model::Pack(builder, &model));
    const auto bytes = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
    return {bytes.begin(), bytes.end()};
}

/// Reads everything that passed verification.
std::uint64_t read_units(const ModelContents& contents) {
    std::uint64_t sum = contents.units.size();
    for (const UnitClass& of : contents.classes)
        sum += of.name.size() + of.profile_name.size() + of.clock_khz;
    for (const Unit& unit : contents.units)
        for (const auto& work : unit.work)
            for (std::size_t index = 0; work && index < work->segments.size(); index++) {
                const Segment& segment = work->segments[index];
                for (const overtake_fc& fc : segment.fcs) {
                    overtake_insn last;
                    std::memcpy(&last,
                                contents.program.data() +
                                    (std::size_t{fc.first_insn} + fc.insn_count - 1) * sizeof(last),
                                sizeof(last));
                    sum += last.opcode;
                }
                for (const TensorBinding& binding : segment.bindings)
                    sum += contents.tensors[binding.tensor].bytes;
                for (const CpuOp& op : segment.cpu_ops)
                    sum += contents.tensors[op.inputs.at(0)].shape.at(0) +
                           contents.tensors[op.output].bytes;
            }
    return sum;
}

std::string refusal_of_units(const std::vector<std::byte>& bytes) {
    try {
        read_units(ModelContents::of(*Model::from_bytes(bytes, "file.ovm")));
        return "";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), EINVAL) << error.what();
        return error.what();
    }
}

TEST(ModelUnits, HaveTheContentsOfTheirFile) {
    const auto model = loaded(*with_units());
    const ModelContents& contents = ModelContents::of(*model);
    ASSERT_EQ(contents.classes.size(), 2u);
    EXPECT_EQ(contents.classes[0].name, "npu");
    EXPECT_TRUE(contents.classes[0].is_cores());
    EXPECT_EQ(contents.classes[0].clock_khz, 500'000u);
    EXPECT_EQ(contents.classes[1].name, "cpu");
    EXPECT_FALSE(contents.classes[1].is_cores());
    EXPECT_EQ(model->tensors().size(), 3u) << "what segments need";
    ASSERT_EQ(contents.tensors.size(), 4u);
    EXPECT_EQ(contents.tensors[3].name, "between");
    EXPECT_EQ(contents.segment_tensors, 3u);
    ASSERT_EQ(contents.units.size(), 3u);
    EXPECT_EQ(contents.units[1].after, 1u);
    EXPECT_EQ(contents.units[1].operations, 60u);
    EXPECT_EQ(contents.units[0].output_bytes, contents.tensors[3].bytes);
    EXPECT_EQ(contents.units[1].output_bytes, contents.tensors[1].bytes);
    EXPECT_EQ(contents.units[2].output_bytes, contents.tensors[2].bytes);
    EXPECT_EQ(contents.units[2].work[0], nullptr);
    EXPECT_EQ(contents.units[0].work[0]->expected_ns, 800u) << "400 cycles at half a GHz";
    EXPECT_EQ(contents.units[0].work[1]->expected_ns, 400u) << "of workers nanoseconds";
    EXPECT_EQ(contents.units[2].work[1]->expected_ns, 70u);
}

TEST(ModelUnits, AreNotInOldFiles) {
    const auto model = Model::from_bytes(build(copy_and_softmax()));
    EXPECT_TRUE(ModelContents::of(*model).classes.empty());
    EXPECT_TRUE(ModelContents::of(*model).units.empty());
    EXPECT_EQ(ModelContents::of(*model).segment_tensors, 3u);
}

fbs::SegmentT& segment_of(fbs::ModelT& model, std::size_t unit, std::size_t of_class) {
    return *model.units[unit]->work[of_class]->segments[0];
}

fbs::Binding& binding_of(fbs::ModelT& model, std::size_t unit, std::size_t of_class,
                         std::size_t i) {
    return segment_of(model, unit, of_class).bpu->bindings[i];
}

struct SpoiltUnit {
    const char* reason; ///< after the offset: the place and what is wrong
    std::function<void(fbs::ModelT&)> spoil;
};

const SpoiltUnit spoilt_units[] = {
    {"unit_classes: 0, but 1..64 are possible", [](fbs::ModelT& m) { m.unit_classes.clear(); }},
    {"units: 0, but 1..64 are possible", [](fbs::ModelT& m) { m.units.clear(); }},
    {"units: 65, but 1..64 are possible",
     [](fbs::ModelT& m) {
         while (m.units.size() < 65)
             m.units.push_back(std::make_unique<fbs::UnitT>(*m.units[2]));
     }},
    {"unit_classes[0].name: is empty", [](fbs::ModelT& m) { m.unit_classes[0]->name.clear(); }},
    {"unit_classes[1].name: is that of another class",
     [](fbs::ModelT& m) { m.unit_classes[1]->name = "npu"; }},
    {"unit_classes[0].profile.clock_khz: 0",
     [](fbs::ModelT& m) { m.unit_classes[0]->profile->clock_khz = 0; }},
    {"units[1].after: 0x2 has units that are not before it",
     [](fbs::ModelT& m) { m.units[1]->after = 2; }},
    {"units[0].after: 0x8000000000000000 has units that are not before it",
     [](fbs::ModelT& m) { m.units[0]->after = 1ull << 63; }},
    {"units[0].work: none", [](fbs::ModelT& m) { m.units[0]->work.clear(); }},
    {"units[2].work[0].class_index: 2, but there are 2 classes",
     [](fbs::ModelT& m) { m.units[2]->work[0]->class_index = 2; }},
    {"units[0].work[1].class_index: is not in order",
     [](fbs::ModelT& m) { m.units[0]->work[1]->class_index = 0; }},
    {"units[0].work[0].segments: none",
     [](fbs::ModelT& m) { m.units[0]->work[0]->segments.clear(); }},
    {"units[0].work[0].segments: 2, but cores run one",
     [](fbs::ModelT& m) {
         auto& segments = m.units[0]->work[0]->segments;
         segments.push_back(std::make_unique<fbs::SegmentT>(*segments[0]));
     }},
    {"units[2].work[0].segments[0]: is none of cores",
     [](fbs::ModelT& m) { m.units[2]->work[0]->class_index = 0; }},
    {"units[2].work[0].segments[0]: needs exactly one of bpu and cpu",
     [](fbs::ModelT& m) { segment_of(m, 2, 0).cpu.reset(); }},
    {"units[0].work[1].segments[0].bpu.fcs[0]: instructions 7..8 of a program of 2",
     [](fbs::ModelT& m) { segment_of(m, 0, 1).bpu->fcs[0] = fbs::Fc(7, 1, 1); }},
    {"units[0].work[0].segments[0].bpu.scratch_bytes: 268435457, at most 268435456",
     [](fbs::ModelT& m) {
         segment_of(m, 0, 0).bpu->scratch_bytes = OVERTAKE_MAX_SCRATCH_BYTES + 1;
     }},
    {"units[0].work[0].segments[0].bpu.bindings[1].tensor: tensor 4, but there are 4",
     [](fbs::ModelT& m) { binding_of(m, 0, 0, 1) = fbs::Binding(4, 4, true); }},
    {"units[0].work[0].segments[0].bpu.bindings: tensor 0 is an input of the model and would be "
     "overwritten",
     [](fbs::ModelT& m) { binding_of(m, 0, 0, 1) = fbs::Binding(4, 0, true); }},
    {"units[0].work[0].segments[0].bpu.bindings: tensor 1 is read before anything wrote it",
     [](fbs::ModelT& m) { binding_of(m, 0, 0, 0) = fbs::Binding(3, 1, false); }},
    {"units[1].work[0].segments[0].bpu.bindings: tensor 3 is of unit 0, which is no predecessor",
     [](fbs::ModelT& m) { m.units[1]->after = 0; }},
    {"units[1].work[0].segments[0].bpu.bindings: tensor 3 is of unit 0 and would be overwritten",
     [](fbs::ModelT& m) { binding_of(m, 1, 0, 1) = fbs::Binding(4, 3, true); }},
    {"units[0].work[1].segments[0].bpu.bindings: tensor 3 is read before this class wrote it",
     [](fbs::ModelT& m) {
         segment_of(m, 0, 1).bpu->bindings = {fbs::Binding(3, 3, false), fbs::Binding(4, 1, true)};
     }},
    {"units[1].work[0].segments[0].bpu.bindings: tensor 3 is read before anything wrote it",
     [](fbs::ModelT& m) { binding_of(m, 0, 1, 1) = fbs::Binding(4, 1, true); }},
    {"units: no unit writes tensor 2, an output of the model",
     [](fbs::ModelT& m) { m.units.pop_back(); }},
    {"unit_tensors[0].zero_point: 128 is not in -128..127",
     [](fbs::ModelT& m) { m.unit_tensors[0]->zero_point = 128; }},
    {"unit_tensors: need more than 4294967296 bytes together",
     [](fbs::ModelT& m) {
         m.unit_tensors[0]->bytes = OVERTAKE_MAX_BUFFER_BYTES;
         while (m.unit_tensors.size() < 5)
             m.unit_tensors.push_back(std::make_unique<fbs::TensorT>(*m.unit_tensors[0]));
     }},
    {"segments[0].bpu.bindings[1].tensor: tensor 3, but there are 3",
     [](fbs::ModelT& m) { m.segments[0]->bpu->bindings[1] = fbs::Binding(4, 3, true); }},
};

TEST(ModelUnits, AreRefusedWithOffsetAndNameOfTheSpoiltField) {
    static const std::regex form("file\\.ovm: offset (\\d+): (.+)");
    for (const SpoiltUnit& row : spoilt_units) {
        const auto model = with_units();
        row.spoil(*model);
        const std::vector<std::byte> bytes = packed(*model);
        const std::string text = refusal_of_units(bytes);
        std::smatch match;
        ASSERT_TRUE(std::regex_match(text, match, form)) << row.reason << "\n" << text;
        EXPECT_LT(std::stoull(match[1]), bytes.size());
        EXPECT_EQ(match[2].str(), row.reason);
    }
}

TEST(ModelUnits, HaveNoMoreFcsThanTheLimit) {
    const auto model = with_units();
    for (std::size_t unit : {0, 1})
        for (std::size_t of_class : {0, 1})
            segment_of(*model, unit, of_class).bpu->fcs.assign(OVERTAKE_MAX_FCS, fbs::Fc(0, 1, 1));
    EXPECT_EQ(refusal_of_units(packed(*model)), "");
    auto& segments = model->units[0]->work[1]->segments; // workers may have any number
    while (segments.size() < 14)
        segments.push_back(std::make_unique<fbs::SegmentT>(*segments[0]));
    EXPECT_NE(refusal_of_units(packed(*model)).find("units have more than 1048576 FCs together"),
              std::string::npos)
        << refusal_of_units(packed(*model));
}

TEST(ModelUnits, TheRefusalNamesADamagedField) {
    const std::vector<std::byte> whole = packed(*with_units());
    const auto& root = *flatbuffers::GetRoot<flatbuffers::Table>(whole.data());
    for (const auto& [field, name] : {std::pair(fbs::Model::VT_UNIT_CLASSES, "unit_classes"),
                                      std::pair(fbs::Model::VT_UNITS, "units"),
                                      std::pair(fbs::Model::VT_UNIT_TENSORS, "unit_tensors")}) {
        std::vector<std::byte> bytes = whole;
        const auto* vector = root.GetPointer<const std::uint8_t*>(field);
        std::memset(bytes.data() + (reinterpret_cast<const std::byte*>(vector) - whole.data()),
                    0x7f, sizeof(std::uint32_t)); // its size
        EXPECT_NE(refusal_of_units(bytes).find(std::string(": ") + name + " is damaged"),
                  std::string::npos)
            << refusal_of_units(bytes);
    }
}

TEST(ModelUnits, SurviveFlippedBitsAndRandomDamage) {
    const std::vector<std::byte> whole = packed(*with_units());
    std::size_t refused = 0;
    for (std::size_t bit = 0; bit < whole.size() * 8; bit++) {
        std::vector<std::byte> bytes = whole;
        bytes[bit / 8] ^= std::byte{1} << (bit % 8);
        refused += !refusal_of_units(bytes).empty();
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
        refusal_of_units(bytes);
    }
}

} // namespace
} // namespace overtake::test
