// SPDX-License-Identifier: MIT
//
// The table of operators: the functions that import each, and its description for users.
#pragma once

#include <map>
#include <string>

#include "compiler/import/context.hpp"

namespace overtake::compiler {

/// The import of an operator into the graph.
struct Row {
    Import bpu = nullptr;    ///< as an operator of the device; null: it has no form there
    Import cpu = nullptr;    ///< as an operator of the CPU; null: it has no form there
    const char* on_bpu = ""; ///< what the device requires, in words
    const char* on_cpu = "";
    Import constant = nullptr; ///< for operators that only make constants; then the others are null
};

/// The rows by the operator's name.
const std::map<std::string, Row>& operators();

} // namespace overtake::compiler
