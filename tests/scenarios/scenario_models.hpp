// SPDX-License-Identifier: MIT
//
// Model files for scenarios with several processors: units that compute nothing and take their
// time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "overtake/model.hpp"
#include "simulator/processors/scenario.hpp"

namespace overtake::test {

/// Makes a model with the inputs and outputs of CopyInference, except `softmax`.  On cores of the
/// profile `ideal` its FCs take tick_ns for each unit of the scenario's time.  `of_class`: a
/// processor of each class.
std::shared_ptr<const Model> waiting_model(const simulator::processors::Model& model,
                                           const std::vector<ovt_coord_processor>& of_class,
                                           const std::vector<std::string>& class_names,
                                           std::uint64_t tick_ns);

} // namespace overtake::test
