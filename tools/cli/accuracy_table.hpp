// SPDX-License-Identifier: MIT
//
// What overtake compile --accuracy has tried, for people and for programs.
#pragma once

#include <cstdio>

#include <nlohmann/json.hpp>

#include "compiler/accuracy/report.hpp"

namespace overtake::command {

/// A line for each attempt: the output that is farthest from float, and what the attempt costs.
void print_accuracy(const compiler::AccuracyReport& report, std::FILE* stream);

nlohmann::ordered_json accuracy_json(const compiler::AccuracyReport& report);

} // namespace overtake::command
