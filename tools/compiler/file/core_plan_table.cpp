// SPDX-License-Identifier: MIT
#include "compiler/file/core_plan_table.hpp"

#include <algorithm>
#include <vector>

namespace overtake::compiler {
namespace {

flatbuffers::Offset<fbs::CoreSegment> core_segment_table(flatbuffers::FlatBufferBuilder& builder,
                                                         const CoreSegment& segment,
                                                         std::span<const std::uint32_t> segments) {
    std::vector<flatbuffers::Offset<fbs::CorePart>> parts;
    for (const CorePart& part : segment.parts) {
        std::vector<fbs::Fc> fcs;
        for (const FunctionCall& fc : part.fcs)
            fcs.emplace_back(fc.first_step, fc.step_count, fc.cycles);
        parts.push_back(fbs::CreateCorePartDirect(builder, static_cast<std::uint32_t>(part.core),
                                                  &fcs, &part.stages));
    }
    return fbs::CreateCoreSegmentDirect(builder, segments[segment.segment], &parts,
                                        static_cast<std::uint32_t>(segment.scratch_bytes),
                                        segment.ns);
}

flatbuffers::Offset<fbs::CoreLayer> core_layer_table(flatbuffers::FlatBufferBuilder& builder,
                                                     const LayerReport& layer,
                                                     std::span<const std::uint32_t> segments) {
    return fbs::CreateCoreLayerDirect(
        builder, static_cast<std::uint32_t>(layer.node), segments[layer.segment],
        static_cast<fbs::Scheme>(layer.scheme), layer.transmits, &layer.outputs, &layer.cycles,
        layer.operations, layer.halo_operations);
}

} // namespace

flatbuffers::Offset<fbs::Profile> profile_table(flatbuffers::FlatBufferBuilder& builder,
                                                const ovt_profile& profile, const CpuRates& cpu) {
    return fbs::CreateProfileDirect(
        builder, profile.name, profile.clock_khz, profile.macs_per_cycle, profile.vector_per_cycle,
        profile.bytes_per_cycle, profile.insn_overhead_cycles, profile.fc_overhead_cycles,
        cpu.macs_per_us, cpu.bytes_per_us, cpu.operator_ns, profile.without);
}

flatbuffers::Offset<fbs::CorePlan> core_plan_table(flatbuffers::FlatBufferBuilder& builder,
                                                   const CorePlan& plan,
                                                   std::span<const std::uint32_t> segments) {
    const bool are_alike = std::ranges::all_of(
        plan.cores, [&](const auto& core) { return core == plan.cores.front(); });
    std::vector<flatbuffers::Offset<fbs::Profile>> profiles;
    for (const auto& core : std::span(plan.cores).first(are_alike ? 1 : plan.cores.size()))
        profiles.push_back(profile_table(builder, *core, {}));
    std::vector<flatbuffers::Offset<fbs::CoreSegment>> parts;
    for (const CoreSegment& segment : plan.segments)
        if (!segment.parts.empty()) // else it has only views, which nothing runs
            parts.push_back(core_segment_table(builder, segment, segments));
    std::vector<flatbuffers::Offset<fbs::CoreLayer>> layers;
    for (const LayerReport& layer : plan.layers)
        layers.push_back(core_layer_table(builder, layer, segments));
    return fbs::CreateCorePlanDirect(builder, static_cast<std::uint32_t>(plan.cores.size()),
                                     &profiles, plan.sync_cycles, &parts, &layers, plan.one_core_ns,
                                     plan.bound_ns);
}

} // namespace overtake::compiler
