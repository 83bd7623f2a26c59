// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/accuracy/float_order.hpp"
#include "compiler/candidate.hpp"
#include "compiler/inputs/samples.hpp"

namespace overtake::compiler {

/// Returns a function that reports the progress of a step by this name.
using StepOf = std::function<std::function<void(double)>(std::string)>;

/// What makes outputs differ from those of `graph` where its values are rounded as
/// `quantisations`, by value, say: these values and, if there is a candidate of the graph, nodes of
/// it that add errors of their own.  A value is no longer rounded once all
/// nodes around it compute in float.  A source that changes no output is left out.
std::vector<ErrorSource> error_sources(const Graph& graph,
                                       const std::vector<Quantisation>& quantisations,
                                       const Candidate* candidate, const Samples& samples,
                                       const StepOf& step);

} // namespace overtake::compiler
