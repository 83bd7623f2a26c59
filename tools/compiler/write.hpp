// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "compare.hpp"
#include "program.hpp"
#include "quantise.hpp"

namespace overtake::compiler {

/// What a model file holds beside graph and program.
struct ModelFacts {
    const ovt_profile* profile;
    std::uint32_t max_time_per_fc_us;
    std::vector<Nearness> nearness; // by node
    std::uint32_t samples = 0;      // calibrated with
    std::uint32_t compared = 0;     // of them
    bool noise = false;             // they are random
};

/// The bytes of a model file (libruntime/model.fbs).
std::vector<std::uint8_t> serialise(const Graph& graph, const QuantisedGraph& quantised,
                                    const Program& program, const ModelFacts& facts);

} // namespace overtake::compiler
