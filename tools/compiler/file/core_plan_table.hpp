// SPDX-License-Identifier: MIT
//
// Writes a CorePlan, and the profiles that files name, into a model file.
#pragma once

#include <cstdint>
#include <span>

#include "compiler/cores/core_plan.hpp"
#include "compiler/ir/cpu_rates.hpp"
#include "model_generated.h"

namespace overtake::compiler {

flatbuffers::Offset<fbs::Profile> profile_table(flatbuffers::FlatBufferBuilder& builder,
                                                const ovt_profile& profile, const CpuRates& cpu);

/// `segments` has, by segment of the program, its number in the file.
flatbuffers::Offset<fbs::CorePlan> core_plan_table(flatbuffers::FlatBufferBuilder& builder,
                                                   const CorePlan& plan,
                                                   std::span<const std::uint32_t> segments);

} // namespace overtake::compiler
