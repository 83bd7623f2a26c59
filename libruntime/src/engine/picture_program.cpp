// SPDX-License-Identifier: MIT
#include "engine/picture_program.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "overtake_isa.h"

namespace overtake::engine {

namespace {

overtake_insn* instructions(std::byte* program) {
    return reinterpret_cast<overtake_insn*>(program);
}

} // namespace

PicturePrograms::PicturePrograms(std::shared_ptr<const Upload> upload)
    : upload_(std::move(upload)) {
    const std::vector<Segment>& segments = ModelContents::of(*upload_->model).segments;
    for (std::size_t number = 0; number < segments.size(); number++)
        if (segments[number].on_bpu())
            find_readers(number, segments[number]);
}

void PicturePrograms::find_readers(std::size_t number, const Segment& segment) {
    std::uint32_t next = OVERTAKE_REGION_IO;
    for (const TensorBinding& binding : segment.bindings)
        next = std::max(next, binding.region + 1);
    std::map<std::uint32_t, std::uint32_t> tensors; // of pictures, by region
    for (const TensorBinding& binding : segment.bindings) {
        if (upload_->model->tensors()[binding.tensor].data_type != DataType::nv12)
            continue;
        if (next < OVERTAKE_MAX_REGIONS) {
            tensors[binding.region] = binding.tensor;
            regions_[{number, binding.tensor}] = next++;
        } else {
            without_region_.push_back(binding.tensor);
        }
    }
    if (tensors.empty())
        return;
    const auto* insns = reinterpret_cast<const overtake_insn*>(upload_->model->program().data());
    for (const overtake_fc& fc : segment.fcs)
        for (std::size_t i = fc.first_insn; i < std::size_t{fc.first_insn} + fc.insn_count; i++) {
            const auto picture = tensors.find(insns[i].in[0].region);
            if (insns[i].opcode == OVERTAKE_OP_NV12 && picture != tensors.end())
                readers_.push_back({i, picture->second, regions_.at({number, picture->second})});
        }
}

std::optional<std::uint32_t> PicturePrograms::chroma_region(std::size_t segment,
                                                            std::uint32_t tensor) const {
    const auto found = regions_.find({segment, tensor});
    return found == regions_.end() ? std::nullopt : std::optional(found->second);
}

bool PicturePrograms::has_regions(std::uint32_t tensor) const {
    return std::ranges::find(without_region_, tensor) == without_region_.end();
}

std::shared_ptr<Buffer>
PicturePrograms::with_strides(const std::map<std::uint32_t, std::uint32_t>& strides) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Buffer>& program = programs_[strides];
    if (program)
        return program;
    const std::span<const std::byte> original = upload_->model->program();
    std::shared_ptr<Buffer> changed = upload_->device->create_buffer(original.size());
    std::memcpy(changed->data(), original.data(), original.size());
    for (const Reader& reader : readers_) {
        const auto stride = strides.find(reader.tensor);
        if (stride == strides.end())
            continue;
        overtake_insn& insn = instructions(changed->data())[reader.insn];
        insn.in[0].offset = 0;
        insn.in[0].row_stride = stride->second;
        if (insn.flags & OVERTAKE_FLAG_GRAY)
            continue;
        insn.in[1].region = reader.chroma_region;
        insn.in[1].offset = 0;
        insn.in[1].row_stride = stride->second;
    }
    program = std::move(changed);
    return program;
}

} // namespace overtake::engine
