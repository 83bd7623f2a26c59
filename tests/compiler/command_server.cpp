// SPDX-License-Identifier: MIT
//
// The overtake command for tests that call it thousands of times.  Reads a command a line from
// standard input, a JSON array of arguments; answers each with a line of JSON: "error", empty on
// success, and "output", which is what the command printed on standard output.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include "commands.hpp"

namespace {

std::string run(const std::string& line) {
    try {
        auto arguments = nlohmann::json::parse(line).get<std::vector<std::string>>();
        std::reverse(arguments.begin(), arguments.end()); // as CLI11 wants them
        CLI::App app;
        int status = 0;
        overtake::command::add_compile_measuring(app, status);
        overtake::command::add_run(app, status);
        overtake::command::add_info(app, status);
        overtake::command::add_sim(app, status);
        app.parse(arguments);
        return status == 0 ? "" : "status " + std::to_string(status);
    } catch (const std::exception& error) {
        return *error.what() ? error.what() : "refused without a word";
    }
}

// What has been printed into the file, which is empty afterwards.
std::string take(int file) {
    std::fflush(stdout);
    std::string text(static_cast<std::size_t>(lseek(file, 0, SEEK_CUR)), '\0');
    if (pread(file, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
        ftruncate(file, 0) != 0 || lseek(file, 0, SEEK_SET) != 0)
        throw std::runtime_error("what a command printed cannot be read");
    return text;
}

} // namespace

int main() {
    std::FILE* answers = fdopen(dup(STDOUT_FILENO), "w");
    const int printed = memfd_create("output", 0);
    if (!answers || printed < 0 || dup2(printed, STDOUT_FILENO) < 0)
        return 1;
    for (std::string line; std::getline(std::cin, line);) {
        nlohmann::json answer{{"error", run(line)}};
        answer["output"] = take(printed);
        const std::string text =
            answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        std::fprintf(answers, "%s\n", text.c_str());
        std::fflush(answers);
    }
    return std::fclose(answers) == 0 ? 0 : 1;
}
