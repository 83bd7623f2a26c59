// SPDX-License-Identifier: MIT
#include "compiler/configuration/problems.hpp"

#include <algorithm>

namespace overtake::compiler {

void ConfigurationProblems::warn(int line, const std::string& text) {
    problems_.push_back({line, false, path_ + ":" + std::to_string(line) + ": warning: " + text});
}

void ConfigurationProblems::add(const ConfigurationError& error) {
    problems_.push_back({error.line(), true, error.what()});
}

void ConfigurationProblems::add_once(const ConfigurationProblem& problem) {
    if (std::ranges::find(problems_, problem.text, &ConfigurationProblem::text) == problems_.end())
        problems_.push_back(problem);
}

std::vector<ConfigurationProblem> ConfigurationProblems::sorted() const {
    std::vector<ConfigurationProblem> sorted = problems_;
    std::ranges::stable_sort(sorted, {}, &ConfigurationProblem::line);
    return sorted;
}

} // namespace overtake::compiler
