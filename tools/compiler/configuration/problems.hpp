// SPDX-License-Identifier: MIT
//
// The problems of a configuration file: every fault and every warning, each with its line.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/error.hpp"

namespace overtake::compiler {

struct ConfigurationProblem {
    int line; ///< from 1
    bool is_error;
    std::string text; ///< FILE:LINE: KEY: what is wrong; remedy
};

/// A fault at one line of the file.
class ConfigurationError : public CompileError {
public:
    ConfigurationError(const std::string& path, int line, const std::string& what)
        : CompileError(path + ":" + std::to_string(line), what), line_(line) {}
    int line() const { return line_; }

private:
    int line_;
};

/// The problems of one file, in the order of its lines.
class ConfigurationProblems {
public:
    explicit ConfigurationProblems(std::string path) : path_(std::move(path)) {}

    const std::string& path() const { return path_; }
    void warn(int line, const std::string& text);
    void add(const ConfigurationError& error);
    /// Adds a problem unless the same one is there already.
    void add_once(const ConfigurationProblem& problem);
    /// Runs the step.  A ConfigurationError ends the step and is kept, and reading goes on.
    template <typename Step>
    void attempt(const Step& step) {
        try {
            step();
        } catch (const ConfigurationError& error) {
            add(error);
        }
    }
    std::vector<ConfigurationProblem> sorted() const;

private:
    std::string path_;
    std::vector<ConfigurationProblem> problems_;
};

} // namespace overtake::compiler
