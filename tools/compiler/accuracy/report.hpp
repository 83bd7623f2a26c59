// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace overtake::compiler {

/// The cosine of an output's numbers with the rarer sign may be this many times as far from 1 as
/// that of all its numbers.  A detector's few scores above zero are such numbers: they count, but
/// are small beside the others.
inline constexpr float leniency_for_rarer_sign = 10;

/// Returns the cosine that is required of an output's rarer sign where `cosine` is required of the
/// output.
inline float cosine_of_rarer_sign(float cosine) {
    return 1 - leniency_for_rarer_sign * (1 - cosine);
}

/// The nearness of an output to float.  A number without a meaning for the output is NaN.
struct OutputNearness {
    float cosine;
    float rarer_sign;     ///< cosine of its numbers with the rarer sign
    float same_decisions; ///< share of the decisions that are those of float
    /// The share of them to be expected with other samples, where there are few decisions.
    float expected_decisions;
    /// The nearness of the probabilities that Softmax makes of the output (LogitSimilarity), if it
    /// may hold logits.
    float logits = std::numeric_limits<float>::quiet_NaN();

    /// Returns the smaller one of both shares.
    float decisions() const {
        return expected_decisions < same_decisions ? expected_decisions : same_decisions;
    }

    /// Returns the greatest accuracy that the output reaches (CompileOptions::accuracy).
    float least() const {
        const float by_sign = 1 - (1 - rarer_sign) / leniency_for_rarer_sign;
        const float of_numbers = by_sign < cosine ? by_sign : cosine;
        const float of_choices = decisions() < of_numbers ? decisions() : of_numbers;
        return logits < of_choices ? logits : of_choices;
    }
};

/// Returns a share in per cent, rounded down to two digits behind the point, so that 100 means all.
inline double percent_of(float share) {
    constexpr double error_of_float = 1e-3;
    return std::floor(1e4 * double{share} + error_of_float) / 100;
}

/// An attempt to compute a network in one way.
struct AccuracyAttempt {
    std::string what; ///< "kl", "ranges by tensor", "7 nodes in 16 bits", "7 nodes in float"
    std::vector<OutputNearness> outputs; ///< by output
    std::size_t samples = 0;             ///< samples that were compared
    double device_us = 0;                ///< modelled time of its instructions
    double cpu_us = 0;                   ///< estimated time of its nodes on the CPU
    std::set<std::string> moved;         ///< nodes of the file on the CPU, in float, for accuracy
    std::set<std::string> in_16_bits;    ///< nodes of the file with 16 bits, likewise
    std::string refusal;                 ///< why it cannot be made; empty: it can
    bool is_chosen = false;

    /// Returns the index of the output that is farthest from float; of the last output if least()
    /// of each is NaN.
    std::size_t farthest() const {
        std::size_t found = 0;
        for (std::size_t output = 0; output < outputs.size(); ++output)
            if (std::isnan(outputs[found].least()) ||
                outputs[output].least() < outputs[found].least())
                found = output;
        return found;
    }
};

/// The networks that a search for accuracy has tried, in order.
struct AccuracyReport {
    double wanted = 0;                ///< accuracy of each output: see OutputNearness::least()
    std::size_t samples = 0;          ///< all samples
    std::vector<std::string> outputs; ///< names
    std::vector<AccuracyAttempt> attempts;
    /// Whether fewer nodes in 16 bits or in float might do: the search had no more trials.
    bool is_cut_short = false;
};

} // namespace overtake::compiler
