// SPDX-License-Identifier: MIT
//
// The models of a scenario as the coordinator has them: with records of the times of runs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "simulator/processors/scenario.hpp"

namespace overtake::simulator::processors {

class LiveModels {
public:
    /// Adds the models to the coordinator. `scenario` outlives it.
    LiveModels(const ProcessorScenario& scenario, ovt_coord& coord)
        : described_(scenario.models.size()), records_(scenario.models.size()) {
        for (std::size_t i = 0; i < described_.size(); i++) {
            const Model& model = scenario.models[i];
            const auto units = static_cast<u32>(model.units.size());
            records_[i].resize(scenario.class_names.size() * ovt_coord_record_count(units));
            ovt_coord_model& described = described_[i];
            described.units = model.units.data();
            described.unit_count = units;
            described.input_bytes = model.input_bytes;
            described.times = model.times.data();
            described.longest = model.longest.data();
            described.measured = model.measured.data();
            described.records = records_[i].data();
            ovt_coord_add_model(&coord, &described);
            std::size_t fcs = 0;
            for (const auto& unit : model.fcs)
                for (const auto& of_class : unit)
                    fcs += of_class.size();
            longest_program_ = std::max(longest_program_, fcs);
        }
    }

    ovt_coord_model* at(std::size_t model) { return &described_[model]; }
    /// Returns a number of FCs that no run exceeds: the most FCs of a model on all classes
    /// together.
    std::size_t longest_program() const { return longest_program_; }

private:
    std::vector<ovt_coord_model> described_;
    std::vector<std::vector<ovt_coord_record>> records_;
    std::size_t longest_program_ = 1;
};

} // namespace overtake::simulator::processors
