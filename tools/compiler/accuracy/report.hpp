// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace overtake::compiler {

/// One way to compute a network that was tried.
struct AccuracyAttempt {
    std::string what; ///< "kl", "ranges by tensor", "7 nodes in 16 bits", "7 nodes in float"
    std::vector<float> cosines;       ///< by output: similarity to float; NaN where there is none
    std::size_t samples = 0;          ///< that were compared
    double device_us = 0;             ///< modelled, of its instructions
    double cpu_us = 0;                ///< estimated, of its nodes on the CPU
    std::set<std::string> moved;      ///< nodes of the file on the CPU, in float, for accuracy
    std::set<std::string> in_16_bits; ///< nodes of the file with 16 bits, likewise
    std::string refusal;              ///< why it cannot be had; empty: it can
    bool is_chosen = false;
};

/// What a search for accuracy has tried, in its order.
struct AccuracyReport {
    double wanted = 0;                ///< cosine of each output
    std::size_t samples = 0;          ///< that there are
    std::vector<std::string> outputs; ///< names
    std::vector<AccuracyAttempt> attempts;
    /// Whether fewer nodes in 16 bits or in float might do: no more networks were tried.
    bool is_cut_short = false;
};

} // namespace overtake::compiler
