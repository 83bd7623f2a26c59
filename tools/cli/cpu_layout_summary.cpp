// SPDX-License-Identifier: MIT
#include "cpu_layout_summary.hpp"

#include <span>
#include <string>
#include <vector>

#include "cpu/program.hpp"
#include "overtake/model_contents.hpp"

namespace overtake::command {
namespace {

using Json = nlohmann::ordered_json;

Json crossing(const Tensor& tensor, cpu::Layout layout) {
    return {{"tensor", std::string(tensor.name)}, {"layout", cpu::name_of(layout)}};
}

Json layouts_of(const CpuProgram& program, std::span<const Tensor> tensors, Json& ops) {
    const cpu::Layout blocks = program.blocks;
    Json json = {{"blocks", cpu::lanes_of(blocks)},
                 {"chosen", program.is_stored ? "by the compiler" : "at load"},
                 {"in_blocks", 0},
                 {"from_device", Json::array()},
                 {"to_device", Json::array()},
                 {"conversions", Json::array()},
                 {"conversion_bytes", 0}};
    std::size_t in_blocks = 0, bytes = 0;
    for (std::size_t i = 0; i < program.layouts.size(); ++i) {
        const bool is_blocked = program.layouts[i].back() != 0;
        in_blocks += is_blocked;
        ops[i]["layout"] = cpu::name_of(is_blocked ? blocks : cpu::Layout::planes);
    }
    json["in_blocks"] = in_blocks;
    for (const CpuStep& step : program.steps) {
        if (step.prepared)
            continue;
        const Tensor& tensor = tensors[step.output.tensor];
        if (step.inputs[0].where == CpuSlot::Where::device) {
            json["from_device"].push_back(crossing(tensor, step.to));
        } else if (step.output.where == CpuSlot::Where::device) {
            json["to_device"].push_back(crossing(tensor, step.from));
        } else {
            const std::size_t its = sizeof(float) * (cpu::stored_elements(tensor.shape, step.from) +
                                                     cpu::stored_elements(tensor.shape, step.to));
            json["conversions"].push_back({{"tensor", std::string(tensor.name)},
                                           {"from", cpu::name_of(step.from)},
                                           {"to", cpu::name_of(step.to)},
                                           {"bytes", its}});
            bytes += its;
        }
    }
    json["conversion_bytes"] = bytes;
    return json;
}

} // namespace

void add_cpu_layouts(nlohmann::ordered_json& summary, const Model& model) {
    const ModelContents& contents = ModelContents::of(model);
    const std::span<const Tensor> tensors =
        std::span(contents.tensors).first(contents.segment_tensors);
    const std::vector<bool> is_internal = internal_tensors(contents, tensors);
    for (std::size_t i = 0; i < contents.segments.size(); ++i) {
        const Segment& segment = contents.segments[i];
        if (segment.on_bpu())
            continue;
        const CpuProgram program =
            make_cpu_program(segment.cpu_ops, tensors, is_internal, CpuLayout::automatic);
        Json& entry = summary["segments"][i];
        entry["layouts"] = layouts_of(program, tensors, entry["ops"]);
    }
}

} // namespace overtake::command
