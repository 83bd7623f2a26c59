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

void place_planes(overtake_insn& insn, const PictureLayout& picture, std::uint32_t chroma_region) {
    overtake_operand &luma = insn.in[0], &chroma = insn.in[1];
    luma.offset = 0;
    luma.row_stride = picture.row_stride;
    luma.height = picture.height;
    luma.width = picture.width;
    if (insn.flags & OVERTAKE_FLAG_GRAY)
        return;
    chroma.region = chroma_region;
    chroma.offset = 0;
    chroma.row_stride = picture.row_stride;
    chroma.height = picture.height / 2;
    chroma.width = picture.width / 2;
}

/// Returns the step for which the first and last elements are the region's first and last ones.
std::uint32_t step_of(std::uint32_t from, std::uint32_t to) {
    if (to < 2)
        return 0;
    const std::uint64_t distance = std::uint64_t{from - 1} << OVERTAKE_POSITION_BITS;
    return static_cast<std::uint32_t>((distance + (to - 1) / 2) / (to - 1));
}

/// Returns the start for an instruction that may make only a part of the rows or columns: it begins
/// at a whole pixel.
std::int64_t start_of(std::int64_t compiled, std::uint32_t first, std::uint32_t step) {
    return (std::int64_t{first} << OVERTAKE_POSITION_BITS) +
           (compiled >> OVERTAKE_POSITION_BITS) * step;
}

void resize(overtake_insn& insn, const PictureLayout& picture, const Tensor& tensor) {
    insn.step_y = step_of(picture.bottom - picture.top + 1, tensor.height / 3 * 2);
    insn.step_x = step_of(picture.right - picture.left + 1, tensor.width);
    insn.start_y = start_of(insn.start_y, picture.top, insn.step_y);
    insn.start_x = start_of(insn.start_x, picture.left, insn.step_x);
    insn.flags &= static_cast<std::uint16_t>(~OVERTAKE_FLAG_NEAREST);
}

} // namespace

PicturePrograms::PicturePrograms(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {
    if (plan_->keeps() == PlanKeeps::running)
        return; // its pictures all lie as the tensor describes
    const std::span<const PlanSegment> segments = plan_->segments();
    for (std::size_t number = 0; number < segments.size(); number++)
        if (segments[number].on_bpu())
            find_readers(number, segments[number]);
}

void PicturePrograms::find_readers(std::size_t number, const PlanSegment& planned) {
    const Segment& segment = *planned.model;
    std::uint32_t next = OVERTAKE_REGION_IO;
    for (const TensorBinding& binding : segment.bindings)
        next = std::max(next, binding.region + 1);
    std::map<std::uint32_t, std::uint32_t> tensors; // the pictures' tensors, by region
    for (const TensorBinding& binding : segment.bindings) {
        if (plan_->tensors()[binding.tensor].data_type != DataType::nv12)
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
    find_readers(number, segment.fcs, tensors);
    if (planned.group)
        find_readers(number, planned.group->fcs, tensors);
}

void PicturePrograms::find_readers(std::size_t number, std::span<const overtake_fc> fcs,
                                   const std::map<std::uint32_t, std::uint32_t>& tensors) {
    const auto* insns = reinterpret_cast<const overtake_insn*>(plan_->model().program().data());
    for (const overtake_fc& fc : fcs)
        for (std::size_t i = fc.first_insn; i < std::size_t{fc.first_insn} + fc.insn_count; i++) {
            const auto picture = tensors.find(insns[i].in[0].region);
            const bool is_known = std::ranges::find(readers_, i, &Reader::insn) != readers_.end();
            if (insns[i].opcode == OVERTAKE_OP_NV12 && picture != tensors.end() && !is_known)
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

std::shared_ptr<Buffer> PicturePrograms::for_pictures(const PictureLayouts& layouts) {
    if (std::ranges::any_of(layouts, [](const auto& entry) { return entry.second.is_resized; }))
        return make(layouts);
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Buffer>& program = programs_[layouts];
    if (!program)
        program = make(layouts);
    return program;
}

std::shared_ptr<Buffer> PicturePrograms::make(const PictureLayouts& layouts) const {
    const Model& model = plan_->model();
    std::shared_ptr<Buffer> changed = plan_->device().create_buffer(model.program().size());
    std::memcpy(changed->data(), model.program().data(), model.program().size());
    for (const Reader& reader : readers_) {
        const auto layout = layouts.find(reader.tensor);
        if (layout == layouts.end())
            continue;
        overtake_insn& insn = instructions(changed->data())[reader.insn];
        place_planes(insn, layout->second, reader.chroma_region);
        if (layout->second.is_resized)
            resize(insn, layout->second, model.tensors()[reader.tensor]);
    }
    return changed;
}

} // namespace overtake::engine
