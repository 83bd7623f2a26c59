// SPDX-License-Identifier: MIT
//
// States that are carried over: outputs that are inputs of the next run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compiler/inputs/samples.hpp"
#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// The properties of an input or output that matter for states.
struct StateTensor {
    std::string name;
    std::size_t elements;
};

/// The positions of a state among the outputs and inputs.
struct StateLink {
    std::size_t output;
    std::size_t input;
};

/// Reads OUTPUT=INPUT for each state; names may contain '='.  Throws CompileError naming --state.
std::vector<StateLink> read_states(const std::vector<std::string>& arguments,
                                   const std::vector<StateTensor>& inputs,
                                   const std::vector<StateTensor>& outputs);
std::vector<StateLink> read_states(const std::vector<std::string>& arguments, const Graph& graph);

/// Gives the inputs of states the results of the previous sample, in float: samples are steps of
/// one sequence.  The first sample does not change.
void follow_states(const Graph& graph, const std::vector<StateLink>& states, Samples& samples);

} // namespace overtake::compiler
