// SPDX-License-Identifier: MIT
//
// The attempts of overtake compile --accuracy, for people and for programs.
#pragma once

#include <cstdio>

#include <nlohmann/json.hpp>

#include "compiler/accuracy/report.hpp"

namespace overtake::command {

/// Prints a line for each attempt: the output that is farthest from float, and the attempt's cost.
void print_accuracy(const compiler::AccuracyReport& report, std::FILE* stream);

nlohmann::ordered_json accuracy_json(const compiler::AccuracyReport& report);

} // namespace overtake::command
