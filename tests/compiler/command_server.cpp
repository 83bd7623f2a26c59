// SPDX-License-Identifier: MIT
//
// The overtake command for tests that call it thousands of times (command_server.py).
//
//     command_server COMMANDS ANSWERS
//
// Both are numbers of open files.  Reads one command a line from COMMANDS: a JSON array of a
// directory and arguments.  Runs the command there, as main() does, and writes a line with its exit
// status to ANSWERS.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "command_line.hpp"
#include "commands.hpp"
#include "compiler/float/onednn.hpp"
#include "process.hpp"

namespace {

int run(const char* line) {
    auto words = nlohmann::json::parse(line).get<std::vector<std::string>>();
    std::filesystem::current_path(words.at(0));
    words[0] = "overtake";
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const int status = overtake::command::run_command_line(
        static_cast<int>(words.size()), arguments.data(), overtake::command::all_commands);
    std::fflush(stderr);
    return status;
}

} // namespace

int main(int argc, char** argv) {
    overtake::command::prepare_process();
    overtake::compiler::keep_no_primitives();
    overtake::compiler::limit_onednn(); // before a command computes without the limit
    std::FILE* const commands = argc == 3 ? fdopen(std::atoi(argv[1]), "r") : nullptr;
    std::FILE* const answers = argc == 3 ? fdopen(std::atoi(argv[2]), "w") : nullptr;
    if (!commands || !answers) {
        std::fprintf(stderr, "usage: command_server COMMANDS ANSWERS\n");
        return EXIT_FAILURE;
    }
    char* line = nullptr;
    std::size_t size = 0;
    while (getline(&line, &size, commands) > 0) {
        std::fprintf(answers, "%d\n", run(line));
        std::fflush(answers);
    }
    std::free(line);
    return std::fclose(answers) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
