// SPDX-License-Identifier: MIT
//
// The overtake command for tests that call it thousands of times.  Reads a command a line from
// standard input, a JSON array of arguments; answers each with a line of JSON, {"error": ""} on
// success.  What a command itself prints goes to standard error.
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "commands.hpp"

namespace {

std::string run(const std::string& line) {
    try {
        auto arguments = nlohmann::json::parse(line).get<std::vector<std::string>>();
        std::reverse(arguments.begin(), arguments.end()); // as CLI11 wants them
        CLI::App app;
        int status = 0;
        overtake::command::add_compile(app, status);
        overtake::command::add_run(app, status);
        app.parse(arguments);
        return status == 0 ? "" : "status " + std::to_string(status);
    } catch (const std::exception& error) {
        return *error.what() ? error.what() : "refused without a word";
    }
}

} // namespace

int main() {
    // Answers alone go where they are read.
    std::FILE* answers = fdopen(dup(STDOUT_FILENO), "w");
    if (!answers || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return 1;
    for (std::string line; std::getline(std::cin, line);) {
        const auto answer = nlohmann::json{{"error", run(line)}};
        const std::string text =
            answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        std::fprintf(answers, "%s\n", text.c_str());
        std::fflush(answers);
    }
    return std::fclose(answers) == 0 ? 0 : 1;
}
