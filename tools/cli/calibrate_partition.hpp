// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "compiler/host_profile/partition_costs.hpp"

namespace overtake::command {

/// Performs overtake calibrate --partition: learns costs and writes them to `output`.
void calibrate_partition(const host_profile::PartitionOptions& options, const std::string& output,
                         bool json);

} // namespace overtake::command
