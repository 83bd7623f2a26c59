// SPDX-License-Identifier: MIT
//
// Model files: the contents of sound ones, and that no other is accepted.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <regex>
#include <span>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "model_spec.hpp"
#include "overtake/device.hpp"
#include "overtake/model.hpp"
#include "overtake/model_contents.hpp"

namespace overtake::test {
namespace {

/// Reads everything that a loaded model offers: everything that passed verification must be
/// readable.
std::uint64_t read_everything(const Model& model) {
    std::uint64_t sum = model.name().size() + model.profile_name().size();
    for (const Tensor& tensor : model.tensors()) {
        sum += tensor.elements() + tensor.bytes + tensor.name.size();
        for (const char c : tensor.name)
            sum += static_cast<unsigned char>(c);
    }
    for (const std::uint32_t number : model.inputs())
        sum += model.tensors()[number].bytes;
    for (const std::uint32_t number : model.outputs())
        sum += model.tensors()[number].bytes;
    for (const Segment& segment : ModelContents::of(model).segments) {
        for (const overtake_fc& fc : segment.fcs) {
            overtake_insn last;
            std::memcpy(&last,
                        model.program().data() +
                            (std::size_t{fc.first_insn} + fc.insn_count - 1) * sizeof(last),
                        sizeof(last));
            sum += last.opcode;
        }
        for (const TensorBinding& binding : segment.bindings)
            sum += model.tensors()[binding.tensor].bytes;
        for (const CpuOp& op : segment.cpu_ops)
            sum += model.tensors()[op.inputs.at(0)].shape.at(0) + op.integers.size();
    }
    for (const std::byte byte : model.weights())
        sum += static_cast<std::uint64_t>(byte);
    return sum;
}

std::string refusal(const std::vector<std::byte>& bytes) {
    try {
        read_everything(*Model::from_bytes(bytes, "file.ovm"));
        return "";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), EINVAL) << error.what();
        return error.what();
    }
}

TEST(Model, HasTheContentsOfItsFile) {
    const auto model = Model::from_bytes(build(copy_and_softmax()));
    EXPECT_EQ(model->name(), "test");
    EXPECT_EQ(model->profile_name(), "default");
    ASSERT_EQ(model->inputs().size(), 1u);
    ASSERT_EQ(model->outputs().size(), 2u);
    const Tensor& input = model->input(0);
    EXPECT_EQ(input.name, "input");
    EXPECT_EQ(input.shape, (std::vector<std::uint32_t>{1, 3, 4, 5}));
    EXPECT_EQ(input.elements(), 60u);
    EXPECT_TRUE(input.on_device());
    EXPECT_FALSE(model->output(0).on_device());
    const std::vector<Segment>& segments = ModelContents::of(*model).segments;
    ASSERT_EQ(segments.size(), 2u);
    EXPECT_TRUE(segments[0].on_bpu());
    EXPECT_EQ(segments[0].fcs.size(), 2u);
    EXPECT_EQ(segments[0].fc_cycles[1], 300u);
    EXPECT_FALSE(segments[1].on_bpu());
    EXPECT_EQ(segments[1].cpu_ops[0].integers, std::vector<std::int64_t>{1});
    EXPECT_EQ(model->program().size(), 2 * sizeof(overtake_insn));
    EXPECT_THROW(model->input(1), Error);
    EXPECT_THROW(model->output(2), Error);
}

TEST(Model, ReportsTheOrderOfElements) {
    EXPECT_EQ(Model::from_bytes(build(copy_and_softmax()))->input(0).order, Order::planes);
    const auto rows = Model::from_bytes(build(softmax_and_copy()));
    EXPECT_EQ(rows->output(0).order, Order::rows);
    EXPECT_EQ(rows->output(0).shape, (std::vector<std::uint32_t>{1, 4, 5, 3}));
}

TEST(Model, IsLoadedFromAFile) {
    const std::string path = testing::TempDir() + "/overtake_test_model.ovm";
    const std::vector<std::byte> bytes = build(copy_and_softmax());
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    const auto model = Model::load(path);
    EXPECT_EQ(model->file().size(), bytes.size());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(model->program().data()) % 64, 0u);
    std::remove(path.c_str());
    read_everything(*model);
}

/// Loads the file, expects this errno, and returns the error's text after the path.
std::string refusal_of_file(const std::string& path, int code) {
    try {
        Model::load(path);
        return "loaded";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), code) << error.what();
        return std::string(error.what()).substr(path.size());
    }
}

TEST(Model, IsNotLoadedFromAFileThatCannotBeMapped) {
    const std::string path = testing::TempDir() + "/overtake_test_no_model.ovm";
    EXPECT_EQ(refusal_of_file(path, ENOENT),
              ": cannot open: No such file or directory; name a compiled model (.ovm)");
    std::ofstream(path).close();
    EXPECT_EQ(refusal_of_file(path, EINVAL),
              ": offset 0: the file is empty; compile the model again");
    std::remove(path.c_str());
    EXPECT_EQ(refusal_of_file(testing::TempDir(), EISDIR),
              ": is a directory; name a compiled model (.ovm)");
    EXPECT_EQ(refusal_of_file("/dev/zero", EINVAL),
              ": not a regular file; name a compiled model (.ovm)");
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); // no process writes to it
    EXPECT_EQ(refusal_of_file(path, EINVAL), ": not a regular file; name a compiled model (.ovm)");
    std::remove(path.c_str());
    const std::string unmappable = "/sys/kernel/uevent_seqnum"; // if there is a /sys
    if (std::ifstream(unmappable)) {
        EXPECT_EQ(refusal_of_file(unmappable, ENODEV), ": cannot map: No such device");
    }
}

TEST(Model, TypesHaveNames) {
    EXPECT_STREQ(name_of(DataType::float32), "float32");
    EXPECT_STREQ(name_of(DataType::int8), "int8");
    EXPECT_STREQ(name_of(DataType::int64), "int64");
    EXPECT_STREQ(name_of(DataType::uint8), "uint8");
    EXPECT_STREQ(name_of(DataType::nv12), "nv12");
    EXPECT_STREQ(name_of(static_cast<DataType>(99)), "?");
}

TEST(Model, NeedsNoMoreMemoryThanAClientHas) {
    const auto needing = [](std::uint64_t bytes) {
        ModelSpec spec = copy_and_softmax();
        const std::uint64_t there =
            spec.tensors[0].bytes + spec.tensors[1].bytes + spec.tensors[2].bytes +
            spec.program.size() * sizeof(overtake_insn) + spec.weights.size();
        TensorSpec large = device_tensor("large", 1, 1, 8, 1, 0);
        large.bytes = OVERTAKE_MAX_BUFFER_BYTES;
        spec.tensors.insert(spec.tensors.end(), 3, large);
        large.bytes = bytes - there - 3 * large.bytes;
        spec.tensors.push_back(large);
        spec.weights.clear();
        return refusal(build(spec));
    };
    EXPECT_EQ(needing(OVERTAKE_MAX_CLIENT_BYTES), "");
    EXPECT_NE(needing(OVERTAKE_MAX_CLIENT_BYTES + 1), "");
}

struct SpoiltField {
    const char* reason; ///< after the offset: the place and what is wrong
    std::function<void(ModelSpec&)> spoil;
};

/// Gives the tensor elements of 16 bits.
TensorSpec& widen(TensorSpec& tensor) {
    tensor.is_int16 = true;
    tensor.zero_point = 0;
    tensor.pixel_stride *= 2;
    tensor.row_stride *= 2;
    tensor.bytes *= 2;
    return tensor;
}

const SpoiltField spoilt_fields[] = {
    {"version: 3.0, but this library reads 2.x; compile the model again",
     [](ModelSpec& m) { m.version = 3u << 16; }},
    {"version: 3.3, but this library reads 2.x; compile the model again",
     [](ModelSpec& m) { m.version = 3u << 16 | 3; }},
    {"isa_version: 9.3, but this library knows 1.x",
     [](ModelSpec& m) { m.isa_version = 9u << 16 | 3; }},
    {"isa_version: 1.3, but this library knows 1.2 and older; install a newer one",
     [](ModelSpec& m) { m.isa_version = OVERTAKE_ISA_VERSION + 1; }},
    {"isa_version: 0.0, but this library knows 1.x", [](ModelSpec& m) { m.isa_version = 0; }},
    {"program: 511 bytes are no whole number of instructions of 256 bytes",
     [](ModelSpec& m) { m.program_bytes_cut = 1; }},
    {"segments[0].bpu.fcs[0]: instructions 0..1 of a program of 0",
     [](ModelSpec& m) { m.program.clear(); }},
    {"inputs: none", [](ModelSpec& m) { m.inputs.clear(); }},
    {"inputs[0]: tensor 3, but there are 3", [](ModelSpec& m) { m.inputs = {3}; }},
    {"inputs[1]: the same tensor twice, or a constant",
     [](ModelSpec& m) {
         m.inputs = {0, 0};
     }},
    {"outputs: none", [](ModelSpec& m) { m.outputs.clear(); }},
    {"outputs[1]: tensor 4294967295, but there are 3",
     [](ModelSpec& m) {
         m.outputs = {1, ~0u};
     }},
    {"outputs[0]: no segment writes this tensor", [](ModelSpec& m) { m.outputs = {0}; }},
    {"segments: none", [](ModelSpec& m) { m.segments.clear(); }},
    {"segments[0]: needs exactly one of bpu and cpu",
     [](ModelSpec& m) { m.segments[0].cpu = true; }},
    {"segments[1]: needs exactly one of bpu and cpu",
     [](ModelSpec& m) { m.segments[1].cpu = false; }},
    {"segments[0].bpu.fcs: 0 FCs, but 1..65536 are possible",
     [](ModelSpec& m) { m.segments[0].fcs.clear(); }},
    {"segments[0].bpu.fcs: 65537 FCs, but 1..65536 are possible",
     [](ModelSpec& m) { m.segments[0].fcs.assign(OVERTAKE_MAX_FCS + 1, fbs::Fc(0, 1, 1)); }},
    {"segments[0].bpu.fcs[1]: instructions 1..3 of a program of 2",
     [](ModelSpec& m) { m.segments[0].fcs[1] = fbs::Fc(1, 2, 1); }},
    {"segments[0].bpu.fcs[1]: instructions 1..1 of a program of 2",
     [](ModelSpec& m) { m.segments[0].fcs[1] = fbs::Fc(1, 0, 1); }},
    {"segments[0].bpu.fcs[1]: instructions 1..4294967296 of a program of 2",
     [](ModelSpec& m) { m.segments[0].fcs[1] = fbs::Fc(1, ~0u, 1); }},
    {"segments[0].bpu.fcs[0]: instructions 4294967295..4294967297 of a program of 2",
     [](ModelSpec& m) { m.segments[0].fcs[0] = fbs::Fc(~0u, 2, 1); }},
    {"segments[0].bpu.scratch_bytes: 268435457, at most 268435456",
     [](ModelSpec& m) { m.segments[0].scratch_bytes = OVERTAKE_MAX_SCRATCH_BYTES + 1; }},
    {"segments[0].bpu.bindings[0].region: 2, but 3..15 are possible",
     [](ModelSpec& m) { m.segments[0].bindings[0] = fbs::Binding(2, 0, false); }},
    {"segments[0].bpu.bindings[0].region: 16, but 3..15 are possible",
     [](ModelSpec& m) { m.segments[0].bindings[0] = fbs::Binding(16, 0, false); }},
    {"segments[0].bpu.bindings[1].region: bound twice",
     [](ModelSpec& m) { m.segments[0].bindings[1] = fbs::Binding(3, 1, true); }},
    {"segments[0].bpu.bindings[1].tensor: tensor 3, but there are 3",
     [](ModelSpec& m) { m.segments[0].bindings[1] = fbs::Binding(4, 3, true); }},
    {"segments[0].bpu.bindings[1].tensor: is not in device memory",
     [](ModelSpec& m) { m.segments[0].bindings[1] = fbs::Binding(4, 2, true); }},
    {"segments[0].bpu.bindings: tensor 1 is read before anything wrote it",
     [](ModelSpec& m) { m.segments[0].bindings[1] = fbs::Binding(4, 1, false); }},
    {"segments[0].bpu.bindings: tensor 0 is an input of the model and would be overwritten",
     [](ModelSpec& m) { m.segments[0].bindings[0] = fbs::Binding(3, 0, true); }},
    {"segments[1].cpu.ops: none", [](ModelSpec& m) { m.segments[1].ops.clear(); }},
    {"segments[1].cpu.ops[0].type: no operator 99",
     [](ModelSpec& m) { m.segments[1].ops[0].type = 99; }},
    {"segments[1].cpu.ops[0].inputs: none",
     [](ModelSpec& m) { m.segments[1].ops[0].inputs.clear(); }},
    {"segments[1].cpu.ops[0].inputs[0]: tensor 7, but there are 3",
     [](ModelSpec& m) { m.segments[1].ops[0].inputs = {7}; }},
    {"segments[1].cpu.ops[0].outputs: needs exactly one",
     [](ModelSpec& m) {
         m.segments[1].ops[0].outputs = {2, 2};
     }},
    {"segments[1].cpu.ops[0].outputs[0]: tensor 0 is an input of the model and would be "
     "overwritten",
     [](ModelSpec& m) { m.segments[1].ops[0].outputs = {0}; }},
    {"segments[1].cpu.ops[0].axis: 4 for 4 dimensions",
     [](ModelSpec& m) { m.segments[1].ops[0].axis = 4; }},
    {"segments[1].cpu.ops[0].axis: -5 for 4 dimensions",
     [](ModelSpec& m) { m.segments[1].ops[0].axis = -5; }},
    {"segments[1].cpu.ops[0]: Softmax input and output differ in shape",
     [](ModelSpec& m) {
         m.tensors[2] = host_tensor("softmax", {1, 60});
     }},
    {"tensors[1].shape: 0 dimensions, but 1..8 are possible",
     [](ModelSpec& m) { m.tensors[1].shape.clear(); }},
    {"tensors[1].shape: [1, 3, 5, 4] is not 4x5x3 (height, width, channels) of one sample",
     [](ModelSpec& m) {
         m.tensors[1].shape = {1, 3, 5, 4};
     }},
    {"tensors[1].shape: [2, 3, 5, 4] is not 4x5x3 (height, width, channels) of one sample",
     [](ModelSpec& m) {
         m.tensors[1].shape = {2, 3, 5, 4};
     }},
    {"tensors[1].shape: [2, 3, 4] is not 1x6x4 (height, width, channels) of one sample",
     [](ModelSpec& m) {
         m.tensors[1] = {"rows", {2, 3, 4}, 1, 6, 4, 48, 8, 1, 0, 48, 1, 1};
     }},
    {"tensors[1].shape: [5] is not 1x1x2 (height, width, channels) of one sample",
     [](ModelSpec& m) { m.tensors[1] = {"part", {5}, 1, 1, 2, 8, 8, 1, 0, 64}; }},
    {"tensors[1].bytes: 160, but its last element ends at 320",
     [](ModelSpec& m) {
         m.tensors[1].shape = {2, 3, 4, 5};
     }},
    {"tensors[1].shape: a dimension is 0",
     [](ModelSpec& m) {
         m.tensors[1].shape = {1, 3, 0, 5};
     }},
    {"tensors[1].shape: too many elements",
     [](ModelSpec& m) {
         m.tensors[1].shape = {~0u, ~0u, ~0u, ~0u};
     }},
    {"tensors[1].shape: 9 dimensions, but 1..8 are possible",
     [](ModelSpec& m) { m.tensors[1].shape.assign(9, 1); }},
    {"tensors[1]: no width or no channels", [](ModelSpec& m) { m.tensors[1].width = 0; }},
    {"tensors[1].data_type: no type 0", [](ModelSpec& m) { m.tensors[1].data_type = 0; }},
    {"tensors[1].data_type: no type 77", [](ModelSpec& m) { m.tensors[1].data_type = 77; }},
    {"tensors[1]: no NV12 picture", [](ModelSpec& m) { m.tensors[1].data_type = 5; }},
    {"tensors[0].bytes: 47, but its last element ends at 48",
     [](ModelSpec& m) {
         m.tensors[0] = {"camera", {1, 1, 6, 8}, 6, 8, 1, 8, 1, 1, 0, 47, 5};
     }},
    {"tensors[0].row_stride: 7 for 8 pixels of 1 bytes",
     [](ModelSpec& m) {
         m.tensors[0] = {"camera", {1, 1, 6, 8}, 6, 8, 1, 7, 1, 1, 0, 48, 5};
     }},
    {"tensors[0].shape: [1, 3, 4, 8] is not 6x8x1 (height, width, channels) of one sample",
     [](ModelSpec& m) {
         m.tensors[0] = {"camera", {1, 3, 4, 8}, 6, 8, 1, 8, 1, 1, 0, 48, 5};
     }},
    {"tensors[1].bytes: 159, but its last element ends at 160",
     [](ModelSpec& m) { m.tensors[1].bytes--; }},
    {"tensors[1].bytes: 18446744073709551615, at most 1073741824",
     [](ModelSpec& m) { m.tensors[1].bytes = ~0ull; }},
    {"tensors[1].pixel_stride: 4 for 3 channels",
     [](ModelSpec& m) { m.tensors[1].pixel_stride = 4; }},
    {"tensors[1].pixel_stride: 0 for 3 channels",
     [](ModelSpec& m) { m.tensors[1].pixel_stride = 0; }},
    {"tensors[1].pixel_stride: 8 for 9 channels",
     [](ModelSpec& m) {
         m.tensors[1].shape = {1, 9, 4, 5};
         m.tensors[1].channels = 9;
         m.tensors[1].bytes += 8; // the end of the last pixel
     }},
    {"tensors[1].row_stride: 32 for 5 pixels of 8 bytes",
     [](ModelSpec& m) { m.tensors[1].row_stride = 32; }},
    {"tensors[1].bytes: 160, but its last element ends at 12884901925",
     [](ModelSpec& m) { m.tensors[1].row_stride = ~0u; }},
    {"tensors[1].scale: 0 is not a positive number", [](ModelSpec& m) { m.tensors[1].scale = 0; }},
    {"tensors[1].scale: -1 is not a positive number",
     [](ModelSpec& m) { m.tensors[1].scale = -1; }},
    {"tensors[1].scale: nan is not a positive number",
     [](ModelSpec& m) { m.tensors[1].scale = NAN; }},
    {"tensors[1].scale: inf is not a positive number",
     [](ModelSpec& m) { m.tensors[1].scale = INFINITY; }},
    {"tensors[1].zero_point: 128 is not in -128..127",
     [](ModelSpec& m) { m.tensors[1].zero_point = 128; }},
    {"tensors[1].is_int16: of what is no float32 or has a zero point",
     [](ModelSpec& m) { m.tensors[1].is_int16 = true; }},
    {"tensors[1].is_int16: of what is no float32 or has a zero point",
     [](ModelSpec& m) { widen(m.tensors[1]).data_type = 2; }}, // int8
    {"tensors[1].pixel_stride: 8 for 3 channels",
     [](ModelSpec& m) { widen(m.tensors[1]).pixel_stride = 8; }},
    {"tensors[1].bytes: 319, but its last element ends at 320",
     [](ModelSpec& m) { widen(m.tensors[1]).bytes = 319; }},
    {"tensors[1].row_stride: 81 for 5 pixels of 16 bytes",
     [](ModelSpec& m) { widen(m.tensors[1]).row_stride = 81; }},
    {"tensors[1].order: no order 2", [](ModelSpec& m) { m.tensors[1].order = 2; }},
    {"tensors[2].shape: 9 dimensions, but 1..8 are possible",
     [](ModelSpec& m) { m.tensors[2].shape.assign(9, 1); }},
    {"tensors[2].shape: a dimension is 0",
     [](ModelSpec& m) {
         m.tensors[2].shape = {1, 0, 4, 5};
         m.tensors[2].bytes = 0;
     }},
    {"tensors[2].bytes: 4 for 60 float32", [](ModelSpec& m) { m.tensors[2].bytes = 4; }},
    {"tensors[2].data_type: tensors in host memory are float32",
     [](ModelSpec& m) { m.tensors[2].data_type = 3; }},
    {"tensors: need more than 4294967296 bytes together",
     [](ModelSpec& m) {
         TensorSpec large = device_tensor("large", 1, 1, 8, 1, 0);
         large.bytes = OVERTAKE_MAX_BUFFER_BYTES;
         m.tensors.insert(m.tensors.end(), 5, large);
     }},
};

/// Returns the text after "file.ovm: offset N: ", where N is in the file; empty for any other text.
std::string placed_reason(const std::string& text, std::size_t size) {
    static const std::regex form("file\\.ovm: offset (\\d+): (.+)");
    std::smatch match;
    return std::regex_match(text, match, form) && std::stoull(match[1]) < size ? match[2].str()
                                                                               : "";
}

TEST(Model, RefusesASpoiltFieldByOffsetAndName) {
    for (const SpoiltField& row : spoilt_fields) {
        ModelSpec spec = copy_and_softmax();
        row.spoil(spec);
        const std::vector<std::byte> bytes = build(spec);
        EXPECT_EQ(placed_reason(refusal(bytes), bytes.size()), row.reason) << refusal(bytes);
    }
}

TEST(Model, NamesThePlaceOfARefusedField) {
    ModelSpec spec = copy_and_softmax();
    spec.tensors[1].zero_point = 0x1234567;
    const std::vector<std::byte> bytes = build(spec);
    const std::string text = refusal(bytes);
    std::smatch match;
    ASSERT_TRUE(std::regex_search(text, match, std::regex("offset (\\d+): tensors\\[1\\]")));
    std::int32_t there = 0;
    std::memcpy(&there, bytes.data() + std::stoull(match[1]), sizeof(there));
    EXPECT_EQ(there, 0x1234567) << text;
}

TEST(Model, RefusesFilesThatAreNoModels) {
    EXPECT_NE(refusal({}).find("offset 0: the file is empty"), std::string::npos);
    EXPECT_NE(refusal(std::vector<std::byte>(7)).find("offset 0"), std::string::npos);
    EXPECT_NE(refusal(std::vector<std::byte>(8)).find("offset 4"), std::string::npos);
    EXPECT_NE(refusal(std::vector<std::byte>(4096)).find("offset 4"), std::string::npos);
    std::vector<std::byte> bytes = build(copy_and_softmax());
    bytes[0] = std::byte{0xff};
    bytes[3] = std::byte{0xff};
    EXPECT_NE(refusal(bytes).find("root table is damaged"), std::string::npos) << refusal(bytes);
}

const flatbuffers::Table& root_of(const std::vector<std::byte>& bytes) {
    return *flatbuffers::GetRoot<flatbuffers::Table>(bytes.data());
}

std::size_t offset_in(const std::vector<std::byte>& bytes, const void* place) {
    return static_cast<std::size_t>(static_cast<const std::byte*>(place) - bytes.data());
}

/// Returns the offset of the vector, string or table that a field of the file's root table refers
/// to.
std::size_t place_of(const std::vector<std::byte>& bytes, flatbuffers::voffset_t field) {
    return offset_in(bytes, root_of(bytes).GetPointer<const std::uint8_t*>(field));
}

/// Returns the message about a damaged field of the root.
std::string damaged(const char* name, std::size_t offset) {
    return "file.ovm: offset " + std::to_string(offset) + ": " + name +
           " is damaged (an offset or a size leaves the file, or a required field is missing); "
           "compile the model again";
}

TEST(Model, NamesTheFieldOfTheRootThatLeavesTheFile) {
    using Model = fbs::Model;
    const std::pair<flatbuffers::voffset_t, const char*> fields[] = {
        {Model::VT_NAME, "name"},         {Model::VT_TENSORS, "tensors"},
        {Model::VT_SEGMENTS, "segments"}, {Model::VT_INPUTS, "inputs"},
        {Model::VT_OUTPUTS, "outputs"},   {Model::VT_PROGRAM, "program"},
        {Model::VT_WEIGHTS, "weights"}};
    const std::vector<std::byte> whole = build(copy_and_softmax());
    for (const auto& [field, name] : fields) {
        std::vector<std::byte> bytes = whole;
        std::memset(bytes.data() + place_of(whole, field), 0x7f, sizeof(std::uint32_t)); // its size
        EXPECT_EQ(refusal(bytes),
                  damaged(name, offset_in(whole, root_of(whole).GetAddressOf(field))));
    }
    // If the field itself would be beyond the end, the message has the offset of the root.
    std::vector<std::byte> bytes = whole;
    const std::size_t entry = offset_in(whole, root_of(whole).GetVTable()) + Model::VT_NAME;
    std::memset(bytes.data() + entry, 0x7f, sizeof(flatbuffers::voffset_t));
    EXPECT_EQ(refusal(bytes), damaged("name", offset_in(whole, &root_of(whole))));
}

std::vector<std::byte> pack_of(const std::vector<ModelSpec>& specs) {
    fbs::ModelPackT pack;
    for (const ModelSpec& spec : specs) {
        const std::vector<std::byte> bytes = build(spec);
        pack.models.emplace_back(fbs::GetModel(bytes.data())->UnPack());
    }
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fbs::ModelPack::Pack(builder, &pack), "OVP1");
    const auto bytes = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
    return {bytes.begin(), bytes.end()};
}

std::string refusal_of_pack(const std::vector<std::byte>& bytes) {
    try {
        for (const auto& model : Model::all_from_bytes(bytes, "file.ovm"))
            read_everything(*model);
        return "";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), EINVAL) << error.what();
        return error.what();
    }
}

TEST(Model, AllModelsOfAPackAreLoaded) {
    ModelSpec other = copy_and_softmax(2, 3, 4);
    other.name = "other";
    const auto models = Model::all_from_bytes(pack_of({copy_and_softmax(), other}));
    ASSERT_EQ(models.size(), 2u);
    EXPECT_EQ(models[0]->name(), "test");
    EXPECT_EQ(models[1]->name(), "other");
    EXPECT_EQ(models[1]->input(0).elements(), 24u);
    EXPECT_EQ(refusal_of_pack(pack_of({})).find("file.ovm: offset "), 0u);
}

/// Returns the name of the model that is loaded, or the error's text after the path.
std::string loaded_from(const std::string& path, std::string_view name) {
    try {
        return std::string(Model::load(path, name)->name());
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), EINVAL) << error.what();
        return std::string(error.what()).substr(path.size());
    }
}

TEST(Model, IsPickedFromAPackByItsName) {
    const std::string path = testing::TempDir() + "/overtake_test_pack.ovm";
    const auto write = [&](const std::vector<ModelSpec>& specs) {
        const std::vector<std::byte> bytes = pack_of(specs);
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
    };
    ModelSpec other = copy_and_softmax(2, 3, 4);
    other.name = "other";
    write({copy_and_softmax(), other});
    EXPECT_EQ(loaded_from(path, "test"), "test");
    EXPECT_EQ(loaded_from(path, "other"), "other");
    EXPECT_EQ(loaded_from(path, ""), ": holds several models; name one of test, other");
    EXPECT_EQ(loaded_from(path, "third"), ": holds no model 'third' but test, other");
    write({other});
    EXPECT_EQ(loaded_from(path, ""), "other");
    EXPECT_EQ(loaded_from(path, "other"), "other");
    EXPECT_EQ(loaded_from(path, "test"), ": holds no model 'test' but other");
    std::remove(path.c_str());
}

TEST(Model, RefusesAPackThatIsCutOff) {
    const std::vector<std::byte> whole = pack_of({copy_and_softmax()});
    std::uint32_t root = 0;
    std::memcpy(&root, whole.data(), sizeof(root));
    const std::string reason = ": the pack is damaged (an offset or a size leaves the file, or a "
                               "required field is missing); make it again";
    for (std::size_t size = 8; size < whole.size() - 64; size++) {
        const std::vector<std::byte> part(whole.begin(),
                                          whole.begin() + static_cast<std::ptrdiff_t>(size));
        // The place where the root table is, or would be.
        const std::string place = std::to_string(root < size ? root : 0);
        EXPECT_EQ(refusal_of_pack(part), "file.ovm: offset " + place + reason) << size << " bytes";
    }
}

TEST(Model, RefusesEveryTruncation) {
    const std::vector<std::byte> whole = build(copy_and_softmax());
    for (std::size_t size = 0; size < whole.size(); size++) {
        const std::vector<std::byte> part(whole.begin(),
                                          whole.begin() + static_cast<std::ptrdiff_t>(size));
        // Only padding at the very end may be missing.
        if (whole.size() - size > 64)
            EXPECT_NE(refusal(part), "") << size << " of " << whole.size() << " bytes accepted";
        else
            refusal(part);
    }
}

TEST(Model, SurvivesFlippedBits) {
    const std::vector<std::byte> whole = build(copy_and_softmax());
    std::size_t refused = 0;
    for (std::size_t bit = 0; bit < whole.size() * 8; bit++) {
        std::vector<std::byte> bytes = whole;
        bytes[bit / 8] ^= std::byte{1} << (bit % 8);
        refused += !refusal(bytes).empty();
    }
    // The device checks instructions, and names are free, but structure is checked here.
    EXPECT_GT(refused, 1000u);
}

TEST(Model, SurvivesRandomDamage) {
    const std::vector<std::byte> whole = build(copy_and_softmax());
    std::mt19937 random(1);
    const auto below = [&](std::size_t limit) { return random() % limit; };
    for (int round = 0; round < 20'000; round++) {
        std::vector<std::byte> bytes = whole;
        for (std::size_t change = 1 + below(4); change-- != 0;) {
            // Changes whole words; half of the new ones look like offsets and sizes.
            const std::size_t at = below(bytes.size() / 4) * 4;
            std::uint32_t word = static_cast<std::uint32_t>(random());
            if (below(2))
                word %= 2 * bytes.size();
            std::memcpy(bytes.data() + at, &word, sizeof(word));
        }
        refusal(bytes);
    }
}

TEST(Model, ReportsHowThePixelsOfAPictureAreWritten) {
    const auto file = unpacked(copy_and_softmax());
    EXPECT_EQ(loaded(*file)->input(0).order, Order::planes);
    EXPECT_EQ(loaded(*file)->input(0).colours, Colours::unknown);
    EXPECT_FALSE(loaded(*file)->input(0).full_range);
    file->tensors[0]->order = fbs::Order::Rows;
    file->tensors[0]->shape = {1, 4, 5, 3};
    file->tensors[0]->colours = fbs::Colours::Bgr;
    file->tensors[0]->full_range = true;
    EXPECT_EQ(loaded(*file)->input(0).order, Order::rows);
    EXPECT_EQ(loaded(*file)->input(0).colours, Colours::bgr);
    EXPECT_TRUE(loaded(*file)->input(0).full_range);
}

TEST(Model, ASegmentMayHaveAsMuchScratchMemoryAsAJob) {
    const auto file = unpacked(copy_and_softmax());
    file->segments[0]->bpu->scratch_bytes = OVERTAKE_MAX_SCRATCH_BYTES;
    const auto model = loaded(*file);
    EXPECT_EQ(ModelContents::of(*model).segments[0].scratch_bytes, OVERTAKE_MAX_SCRATCH_BYTES);
    file->segments[0]->bpu->scratch_bytes++;
    EXPECT_THROW(loaded(*file), Error);
}

} // namespace
} // namespace overtake::test
