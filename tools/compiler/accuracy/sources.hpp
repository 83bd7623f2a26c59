// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/accuracy/float_order.hpp"
#include "compiler/candidate.hpp"
#include "compiler/inputs/samples.hpp"

namespace overtake::compiler {

/// Makes what reports the progress of a step by this name.
using StepOf = std::function<std::function<void(double)>(std::string)>;

/// What makes the candidate's outputs differ from those of `graph`, which it was made of: values
/// that are rounded, and nodes that add errors of their own.  A value is no longer rounded once all
/// nodes around it compute in float.  What costs no output anything is left out.
std::vector<ErrorSource> error_sources(const Graph& graph, const Candidate& candidate,
                                       const Samples& samples, const StepOf& step);

} // namespace overtake::compiler
