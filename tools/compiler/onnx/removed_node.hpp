// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace overtake::compiler {

/// A node that the user does not want at the inputs and outputs of a network.
struct RemovedNode {
    std::string name;  ///< name of one node, or of an operator
    bool is_type;      ///< true: all nodes of the operator that are at an input or an output
    std::string place; ///< the text with which warnings about it begin
};

} // namespace overtake::compiler
