// SPDX-License-Identifier: MIT
#include "compiler/cores/layered_network.hpp"

#include <utility>

#include "compiler/lower/lower.hpp"
#include "compiler/quantise/concat_scales.hpp"

namespace overtake::compiler {

LayeredNetwork layered_network(Graph graph, const std::vector<Range>& ranges) {
    LayeredNetwork network;
    std::vector<Quantisation> quantisations = choose_quantisations(graph, ranges);
    align_concats(graph, quantisations);
    network.graph = std::move(graph);
    network.quantised = quantise(network.graph, std::move(quantisations));
    network.program = lower(network.graph, network.quantised);
    check_steps(network.graph, network.program);
    network.segments = layers_of(network.graph, network.quantised, network.program);
    return network;
}

} // namespace overtake::compiler
