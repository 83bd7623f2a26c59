// SPDX-License-Identifier: MIT
//
// States that go round: outputs that are inputs of the next run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compiler/inputs/samples.hpp"
#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// An input or output, as far as states are concerned.
struct StateTensor {
    std::string name;
    std::size_t elements;
};

/// Positions among the outputs and inputs.
struct StateLink {
    std::size_t output;
    std::size_t input;
};

/// Reads OUTPUT=INPUT for each state; names may hold '='.  Throws CompileError naming --state.
std::vector<StateLink> read_states(const std::vector<std::string>& arguments,
                                   const std::vector<StateTensor>& inputs,
                                   const std::vector<StateTensor>& outputs);
std::vector<StateLink> read_states(const std::vector<std::string>& arguments, const Graph& graph);

/// Gives the states' inputs what the sample before makes of them, in float: samples are steps of
/// one sequence.  The first one stays as it is.
void follow_states(const Graph& graph, const std::vector<StateLink>& states, Samples& samples);

} // namespace overtake::compiler
