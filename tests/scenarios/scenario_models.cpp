// SPDX-License-Identifier: MIT
#include "scenario_models.hpp"

#include <cstring>

#include "model_spec.hpp"
#include "programs.hpp"

namespace overtake::test {

std::shared_ptr<const Model> waiting_model(const simulator::processors::Model& model,
                                           const std::vector<ovt_coord_processor>& of_class,
                                           const std::vector<std::string>& class_names,
                                           std::uint64_t tick_ns) {
    auto made = unpacked(copy_and_softmax());
    made->segments.pop_back();
    made->outputs = {1};
    std::vector<overtake_insn> program(made->program.size() / sizeof(overtake_insn));
    std::memcpy(program.data(), made->program.data(), made->program.size());
    for (std::size_t c = 0; c < class_names.size(); c++) {
        made->unit_classes.push_back(std::make_unique<fbs::UnitClassT>());
        made->unit_classes.back()->name = class_names[c];
        if (of_class[c].workers == 0)
            made->unit_classes.back()->profile = std::make_unique<fbs::ProfileT>(*made->profile);
    }
    for (std::size_t u = 0; u < model.units.size(); u++) {
        made->units.push_back(std::make_unique<fbs::UnitT>());
        made->units.back()->after = model.units[u].after;
        for (std::size_t c = 0; c < class_names.size(); c++) {
            if (model.fcs[u][c].empty())
                continue;
            auto work = std::make_unique<fbs::UnitWorkT>();
            work->class_index = static_cast<std::uint32_t>(c);
            auto segment = std::make_unique<fbs::SegmentT>();
            segment->bpu = std::make_unique<fbs::BpuSegmentT>();
            for (const std::uint64_t time : model.fcs[u][c]) {
                segment->bpu->fcs.emplace_back(static_cast<std::uint32_t>(program.size()), 1,
                                               time * tick_ns);
                program.push_back(delay_insn(time * tick_ns));
            }
            if (u + 1 == model.units.size()) {
                segment->bpu->bindings.emplace_back(OVERTAKE_REGION_IO, 0, false);
                segment->bpu->bindings.emplace_back(OVERTAKE_REGION_IO + 1, 1, true);
            }
            work->segments.push_back(std::move(segment));
            made->units.back()->work.push_back(std::move(work));
        }
    }
    made->program.resize(program.size() * sizeof(overtake_insn));
    std::memcpy(made->program.data(), program.data(), made->program.size());
    return loaded(*made);
}

} // namespace overtake::test
