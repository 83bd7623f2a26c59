// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace overtake::compiler {

/// What the user wants to do without at the inputs and outputs of a network.
struct RemovedNode {
    std::string name;  ///< of one node, or an operator
    bool is_type;      ///< all nodes of the operator that are at an input or an output then
    std::string place; ///< begins warnings about it
};

} // namespace overtake::compiler
