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

/// Returns the sources of differences from `graph` if its values are rounded by `quantisations`,
/// which are by value.  The sources are values and, if `candidate` is not null, nodes with errors
/// of their own.  A value is no longer rounded once all nodes around it compute in float.  Leaves
/// out sources that change no output.
std::vector<ErrorSource> error_sources(const Graph& graph,
                                       const std::vector<Quantisation>& quantisations,
                                       const Candidate* candidate, const Samples& samples,
                                       const StepOf& step);

} // namespace overtake::compiler
