// SPDX-License-Identifier: MIT
//
// The outcome of each node of a network, and the message about refused nodes.
#pragma once

#include <string>
#include <vector>

#include "compiler/import/context.hpp"
#include "compiler/import/import.hpp"

namespace overtake::compiler {

/// Returns the reason in the message of a CompileError about the present node.
std::string reason_in(const Context& context, const std::string& message);

/// Whether the present node reads an output of a refused node.
bool waits_for_refused(const Context& context);

/// Makes values of the known shapes for the outputs of the present node, which is refused, so that
/// later nodes can be imported.
void stand_in(Context& context);

/// Returns one line about all refused nodes: by operator and reason the number of nodes, and some
/// of their names.
std::string text_of_refusals(const std::vector<NodeVerdict>& nodes);

} // namespace overtake::compiler
