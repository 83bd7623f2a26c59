// SPDX-License-Identifier: MIT
//
// Networks whose results are known: bytes pass through segments; each CPU segment adds 1 to them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dnn/hb_dnn.h"

namespace overtake::test {

constexpr std::int32_t load_rows = 4, load_width = 5, load_channels = 3;

/// A network that all threads of a process use.
struct LoadModel {
    enum class Kind { chain, faulty, region };
    Kind kind;
    std::string name;
    hbPackedDNNHandle_t pack;
    hbDNNHandle_t model;
    int added; ///< number that the network adds to every byte
};

/// Loads the networks: chains with CPU segments in all places, one whose BPU segment faults, one
/// whose CPU segment fails, one with an input from the resizer.  Throws std::runtime_error.
std::vector<LoadModel> load_models();

/// Loads a chain, in a pack of its own.
LoadModel load_chain(const std::string& segments);

} // namespace overtake::test
