// SPDX-License-Identifier: MIT
//
// Board programs under load: threads of several processes submit tasks of all kinds at random, with
// cancels, timeouts and callbacks, and check the results of the tasks that they wait for.
//
//   board_load [--processes N] [--threads N] [--tasks N] [--seed N] [--refuse PER_MILLE]
//
// The device is the one of OVERTAKE_DEVICE.  --refuse makes so many of a thousand allocations
// fail, in the library and in its threads.  Exits with 0 if every task ended once, as it should.
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <CLI/CLI.hpp>

#include "worker.hpp"

using namespace overtake::test;

int main(int argc, char** argv) {
    CLI::App app("board programs under load");
    LoadOptions options;
    unsigned processes = 1;
    app.add_option("--processes", processes, "each with a library of its own");
    app.add_option("--threads", options.threads, "of each process");
    app.add_option("--tasks", options.tasks, "of each thread");
    app.add_option("--seed", options.seed);
    app.add_option("--refuse", options.refused_per_mille, "of all allocations");
    CLI11_PARSE(app, argc, argv);

    std::vector<pid_t> children;
    for (unsigned number = 0; number < processes; number++) {
        const pid_t child = fork();
        if (child < 0) {
            std::perror("fork");
            return 1;
        }
        if (child == 0) {
            options.seed = options.seed * 1000 + number;
            std::exit(run_load(options) ? 0 : 1);
        }
        children.push_back(child);
    }
    bool all_well = true;
    for (const pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            std::fprintf(stderr, "process %d: status %#x\n", child, static_cast<unsigned>(status));
            all_well = false;
        }
    }
    return all_well ? 0 : 1;
}
