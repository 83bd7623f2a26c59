// SPDX-License-Identifier: MIT
//
// The table of operators: what import does with each, and how it is described to users.
#pragma once

#include <map>
#include <string>

#include "compiler/import/context.hpp"

namespace overtake::compiler {

/// How an operator gets into the graph.
struct Row {
    Import bpu = nullptr;    ///< as an operator of the device; null: it has no form there
    Import cpu = nullptr;    ///< as one of the CPU
    const char* on_bpu = ""; ///< what the device wants, for people
    const char* on_cpu = "";
    Import constant = nullptr; ///< for those that only make constants; then there is nothing else
};

/// The rows by the operator's name.
const std::map<std::string, Row>& operators();

} // namespace overtake::compiler
