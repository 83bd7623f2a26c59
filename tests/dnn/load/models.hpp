// SPDX-License-Identifier: MIT
//
// Networks whose results are known: bytes that pass through segments, each of which adds to them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dnn/hb_dnn.h"

namespace overtake::test {

constexpr std::int32_t load_rows = 4, load_width = 5, load_channels = 3;

/// One network, for all threads of a process.
struct LoadModel {
    enum class Kind { chain, faulty, region };
    Kind kind;
    std::string name;
    hbPackedDNNHandle_t pack;
    hbDNNHandle_t model;
    int added; ///< to every byte
};

/// Loads them: chains with CPU segments in all places, one whose BPU segment faults, one whose CPU
/// segment fails, one with an input from the resizer.  Throws std::runtime_error.
std::vector<LoadModel> load_models();

/// A chain of its own in a pack of its own.
LoadModel load_chain(const std::string& segments);

} // namespace overtake::test
