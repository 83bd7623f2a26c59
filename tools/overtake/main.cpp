// SPDX-License-Identifier: MIT
//
// The overtake command: one subcommand a file.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <new>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "commands.hpp"
#include "overtake/device.hpp"

namespace {

constexpr int exit_failure = 1;
constexpr int exit_usage = 2;

/// One line, whatever names of the user's it quotes.
std::string one_line(std::string_view text) {
    std::string line;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte != 0x7f)
            line += c;
        else if (c == '\n')
            line += "\\n";
        else
            line += fmt::format("\\x{:02x}", byte);
    }
    return line;
}

void complain(std::string_view what) {
    std::fprintf(stderr, "overtake: %s\n", one_line(what).c_str());
}

/// What was printed has arrived: a full disk is not to be noticed by the file being short.
int flushed(int status) {
    std::cout.flush();
    if (std::cout && std::fflush(stdout) == 0 && std::ferror(stdout) == 0)
        return status;
    complain(fmt::format("standard output: cannot be written: {}", std::strerror(errno)));
    return exit_failure;
}

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
        complain(what + "; see overtake --help");
        return exit_usage;
    } catch (const std::bad_alloc&) {
        complain("it needs more memory than there is; give it smaller tensors or fewer samples");
        return exit_failure;
    } catch (const std::exception& error) {
        complain(error.what());
        return exit_failure;
    }
}

} // namespace

// Files that are opened do not take the place of standard input, output and error.
static void open_standard_streams() {
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor)
        if (fcntl(descriptor, F_GETFD) < 0)
            (void)!open("/dev/null", O_RDWR); // the lowest that is free
}

int main(int argc, char** argv) {
    open_standard_streams();
    // A limit of file sizes is an error of writing, to be told as one.
    std::signal(SIGXFSZ, SIG_IGN);
    CLI::App app{"Compile neural networks for the Overtake NPU, run them and watch them run"};
    app.name("overtake");
    app.set_version_flag("--version", "overtake " OVERTAKE_VERSION);
    app.require_subcommand(1);
    int status = 0;
    overtake::command::add_compile(app, status);
    overtake::command::add_info(app, status);
    overtake::command::add_run(app, status);
    overtake::command::add_pack(app, status);
    overtake::command::add_perf(app, status);
    overtake::command::add_devices(app, status);
    overtake::command::add_compare(app, status);
    overtake::command::add_sim(app, status);
    overtake::command::add_calibrate(app, status);
    overtake::command::add_demo(app, status);
    overtake::command::add_completion(app, status);
    return flushed(parse_and_run(app, argc, argv, status));
}
