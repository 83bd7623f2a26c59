// SPDX-License-Identifier: MIT
#include "compiler/candidate.hpp"

#include "compiler/lower/lower.hpp"
#include "compiler/quantise/concat_scales.hpp"

namespace overtake::compiler {

Candidate make_candidate(const Graph& graph, const Calibration& calibration,
                         const std::vector<Range>& ranges, bool corrects_bias) {
    Candidate result{graph, {}, {}};
    std::vector<Quantisation> quantisations = choose_quantisations(graph, ranges);
    align_concats(result.graph, quantisations);
    ChannelMeans means;
    if (corrects_bias) {
        means = calibration.channel_means();
        means.resize(quantisations.size());
    }
    result.quantised = quantise(result.graph, std::move(quantisations), means);
    result.program = lower(result.graph, result.quantised);
    check_steps(result.graph, result.program);
    return result;
}

} // namespace overtake::compiler
