// SPDX-License-Identifier: MIT
//
// What becomes of each node of a network, and what to say of those that are refused.
#pragma once

#include <string>
#include <vector>

#include "compiler/import/context.hpp"
#include "compiler/import/import.hpp"

namespace overtake::compiler {

/// The reason in the message of a CompileError about the node at hand.
std::string reason_in(const Context& context, const std::string& message);

/// Whether the node at hand reads what a refused node would have made.
bool waits_for_refused(const Context& context);

/// Stands in for the outputs of the node at hand, which is refused, so that the nodes behind it can
/// be looked at: with values of the shapes that are known.
void stand_in(Context& context);

/// One line about all nodes that are refused: by operator and reason how many there are, and some
/// of their names.
std::string text_of_refusals(const std::vector<NodeVerdict>& nodes);

} // namespace overtake::compiler
