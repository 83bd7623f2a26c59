// SPDX-License-Identifier: MIT
//
// The overtake command: one subcommand a file.
#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "overtake/device.hpp"

namespace {

constexpr int exit_failure = 1;
constexpr int exit_usage = 2;

int parse_and_run(CLI::App& app, int argc, char** argv, int& status) {
    try {
        app.parse(argc, argv);
        return status;
    } catch (const CLI::ParseError& error) {
        // --help and --version arrive here too, as success.
        if (error.get_exit_code() == 0)
            return app.exit(error);
        const bool is_unknown = app.get_subcommands().empty() && argc > 1 && argv[1][0] != '-';
        const std::string what =
            is_unknown ? std::string(argv[1]) + ": is not a subcommand" : error.what();
        std::fprintf(stderr, "overtake: %s; see overtake --help\n", what.c_str());
        return exit_usage;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "overtake: %s\n", error.what());
        return exit_failure;
    }
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app{"Compile neural networks for the Overtake NPU, run them and watch them run"};
    app.name("overtake");
    app.set_version_flag("--version", "overtake " OVERTAKE_VERSION);
    app.require_subcommand(1);
    int status = 0;
    overtake::command::add_compile(app, status);
    overtake::command::add_info(app, status);
    overtake::command::add_run(app, status);
    overtake::command::add_perf(app, status);
    overtake::command::add_sim(app, status);
    overtake::command::add_demo(app, status);
    return parse_and_run(app, argc, argv, status);
}
