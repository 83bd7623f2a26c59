// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include "network/host_core.hpp"
#include "network/plan.hpp"
#include "network/workspace.hpp"

namespace overtake {

/// Returns the regions of a BPU segment's job in this process.  `program` replaces the model's,
/// unless it is null.
HostRegions host_regions(const Plan& plan, std::size_t segment,
                         std::span<const overtake_binding> bindings,
                         std::span<const TensorPlace> places, const std::byte* program = nullptr);

} // namespace overtake
