// SPDX-License-Identifier: MIT
//
// Learns costs of this host, or of a profile, from the times of pieces of layers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/host_profile/train.hpp"

namespace overtake::host_profile {

struct PartitionOptions {
    std::vector<std::string> networks; ///< ONNX files, beside layers of every kind
    std::string profile;               ///< whose cycle model to learn; empty: this host is measured
    std::size_t pieces = 20000;        ///< at most
    unsigned runs = 5;                 ///< the fastest counts
    bool trees = true;                 ///< needs libxgboost
};

struct PartitionCosts {
    Trained trained;
    std::size_t pieces = 0, layers = 0, meetings = 0;
};

/// Calls `progress` with the name of a step and the part of it that is done.  Throws Error.
PartitionCosts learn_partition_costs(
    const PartitionOptions& options,
    const std::function<void(const std::string& what, double done)>& progress = {});

} // namespace overtake::host_profile
