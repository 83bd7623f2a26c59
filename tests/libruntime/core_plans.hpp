// SPDX-License-Identifier: MIT
//
// Plans for several cores in model files for tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model_spec.hpp"
#include "overtake_isa.h"

namespace overtake::test {

inline std::unique_ptr<fbs::CorePartT> core_part(std::uint32_t core, std::vector<fbs::Fc> fcs,
                                                 std::vector<std::uint32_t> stages) {
    auto part = std::make_unique<fbs::CorePartT>();
    part->core = core;
    part->fcs = std::move(fcs);
    part->stages = std::move(stages);
    return part;
}

/// Returns copy_and_softmax() with a plan for two cores.  In stage 0 each core copies what one FC
/// copies on one core.  In stage 1 core 2 copies its rows once more.
inline std::unique_ptr<fbs::ModelT> with_core_plan() {
    auto model = unpacked(copy_and_softmax());
    auto plan = std::make_unique<fbs::CorePlanT>();
    plan->core_count = 2;
    plan->profiles.push_back(std::make_unique<fbs::ProfileT>(*model->profile));
    plan->sync_cycles = 500;
    auto segment = std::make_unique<fbs::CoreSegmentT>();
    segment->segment = 0;
    segment->parts.push_back(core_part(0, {fbs::Fc(0, 1, 100)}, {0}));
    segment->parts.push_back(core_part(1, {fbs::Fc(1, 1, 300), fbs::Fc(1, 1, 300)}, {0, 1}));
    segment->scratch_bytes = 64;
    segment->ns = 600;
    plan->segments.push_back(std::move(segment));
    plan->one_core_ns = 400;
    plan->bound_ns = 200;
    for (const char* name : {"copy", "softmax"}) {
        model->nodes.push_back(std::make_unique<fbs::NodeReportT>());
        model->nodes.back()->name = name;
    }
    auto layer = std::make_unique<fbs::CoreLayerT>();
    layer->scheme = fbs::Scheme::Row;
    layer->transmits = true;
    layer->outputs = {15, 45};
    layer->cycles = {100, 600};
    layer->operations = 60;
    layer->halo_operations = 45;
    plan->layers.push_back(std::move(layer));
    model->core_plan = std::move(plan);
    return model;
}

inline std::vector<std::byte> packed(const fbs::ModelT& model) {
    flatbuffers::FlatBufferBuilder builder;
    fbs::FinishModelBuffer(builder, fbs::Model::Pack(builder, &model));
    const auto* bytes = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
    return {bytes, bytes + builder.GetSize()};
}

} // namespace overtake::test
