// SPDX-License-Identifier: MIT
#include "compiler/file/pack_models.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "compiler/file/write.hpp"
#include "compiler/ir/error.hpp"
#include "compiler/ir/firmware.hpp"
#include "compiler/ir/program.hpp"
#include "model_generated.h"
#include "overtake/model_contents.hpp"

namespace overtake::compiler {
namespace {

constexpr std::uint64_t chunk_alignment = 64;

// Bytes of one model's weights that belong together, and their place in the pack.
struct Chunk {
    std::uint64_t begin, end;
    std::uint64_t moved_to = 0;
};

// A reference of an instruction to the weights region; `offset` points into the instruction.
struct WeightsUse {
    __u64* offset;
    std::uint64_t bytes;
};

void check(const overtake_insn& insn, std::uint64_t weights_bytes, const std::string& model) {
    static std::uint8_t anywhere[1]; // addresses are computed, not dereferenced
    std::array<ovt_region, OVERTAKE_MAX_REGIONS> regions;
    regions.fill({anywhere, OVERTAKE_MAX_BUFFER_BYTES, OVT_REGION_READ | OVT_REGION_WRITE, 0});
    regions[OVERTAKE_REGION_WEIGHTS] = {anywhere, weights_bytes, OVT_REGION_READ, 0};
    ovt_operands operands{};
    const std::uint32_t fault = ovt_insn_check(&insn, regions.data(), &operands);
    if (fault != OVERTAKE_FAULT_NONE)
        throw CompileError(model, "has an instruction that the device refuses (fault " +
                                      std::to_string(fault) + "); compile it again");
}

std::uint64_t extent(const overtake_operand& operand) {
    if (operand.height == 0 || operand.width == 0)
        return 0;
    return std::uint64_t{operand.height - 1} * operand.row_stride +
           std::uint64_t{operand.width} * operand.pixel_stride;
}

std::vector<WeightsUse> references(overtake_insn& insn) {
    std::vector<WeightsUse> found;
    if (insn.opcode == OVERTAKE_OP_JUMP || insn.opcode == OVERTAKE_OP_DELAY)
        return found;
    if (const std::uint64_t bytes = ovt_insn_weights_bytes(&insn);
        bytes > 0 && insn.weights_region == OVERTAKE_REGION_WEIGHTS)
        found.push_back({&insn.weights_offset, bytes});
    if (const std::uint64_t bytes = ovt_insn_params_bytes(&insn);
        bytes > 0 && insn.params_region == OVERTAKE_REGION_WEIGHTS)
        found.push_back({&insn.params_offset, bytes});
    for (overtake_operand& operand : insn.in)
        if (extent(operand) > 0 && operand.region == OVERTAKE_REGION_WEIGHTS)
            found.push_back({&operand.offset, extent(operand)});
    return found;
}

// Returns the chunks that references fall into, in order and disjoint.
std::vector<Chunk> chunks_of(std::vector<overtake_insn>& program, std::uint64_t weights_bytes) {
    std::vector<Chunk> pieces;
    for (overtake_insn& insn : program)
        for (const WeightsUse& reference : references(insn))
            pieces.push_back(
                {*reference.offset / chunk_alignment * chunk_alignment,
                 std::min<std::uint64_t>(*reference.offset + reference.bytes, weights_bytes), 0});
    std::ranges::sort(pieces, {}, &Chunk::begin);
    std::vector<Chunk> chunks;
    for (const Chunk& piece : pieces)
        if (!chunks.empty() && piece.begin < chunks.back().end)
            chunks.back().end = std::max(chunks.back().end, piece.end);
        else
            chunks.push_back(piece);
    return chunks;
}

// Appends the weights that the program refers to, and changes the references to them.
void move_weights(std::vector<overtake_insn>& program, std::span<const std::byte> weights,
                  Constants& constants) {
    std::vector<Chunk> chunks = chunks_of(program, weights.size());
    for (Chunk& chunk : chunks)
        chunk.moved_to = constants.append(weights.subspan(chunk.begin, chunk.end - chunk.begin));
    for (overtake_insn& insn : program)
        for (const WeightsUse& reference : references(insn)) {
            const auto behind = std::ranges::upper_bound(chunks, std::uint64_t{*reference.offset},
                                                         {}, &Chunk::begin);
            const Chunk& chunk = *std::prev(behind);
            *reference.offset += chunk.moved_to - chunk.begin;
        }
}

} // namespace

ModelPack pack_models(const std::vector<std::shared_ptr<const Model>>& models) {
    ModelPack pack;
    Constants constants;
    flatbuffers::FlatBufferBuilder builder;
    std::vector<flatbuffers::Offset<fbs::Model>> tables;
    std::set<std::string_view> names;
    std::uint64_t apart = 0; // bytes of each model by itself
    for (const auto& model : models) {
        const std::string name(model->name());
        if (!names.insert(model->name()).second)
            throw CompileError(name, "is the name of two models of the pack; rename one ONNX file");
        std::vector<overtake_insn> program(model->program().size() / sizeof(overtake_insn));
        std::memcpy(program.data(), model->program().data(), model->program().size());
        for (const overtake_insn& insn : program)
            check(insn, model->weights().size(), name);
        move_weights(program, model->weights(), constants);
        pack.weights_before += model->weights().size();
        apart += model->program().size();
        for (const Tensor& tensor : model->tensors())
            apart += tensor.data.size_bytes();
        for (const Segment& segment : ModelContents::of(*model).segments)
            for (const CpuOp& op : segment.cpu_ops)
                apart += op.weights.size_bytes();
        check_file_bytes("the pack", constants.bytes().size() + apart);

        fbs::ModelT copy;
        ModelContents::of(*model).table->UnPackTo(&copy);
        std::memcpy(copy.program.data(), program.data(), copy.program.size());
        copy.weights.clear();
        tables.push_back(fbs::CreateModel(builder, &copy));
    }
    const std::vector<std::uint8_t>& weights = constants.bytes();
    check_buffer("weights of the pack", weights.size());
    builder.ForceVectorAlignment(weights.size(), sizeof(std::uint8_t), chunk_alignment);
    const auto shared = builder.CreateVector(weights);
    const auto all = builder.CreateVector(tables);
    builder.Finish(fbs::CreateModelPack(builder, all, shared), "OVP1");
    pack.weights = weights.size();
    pack.file.assign(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
    return pack;
}

} // namespace overtake::compiler
