// SPDX-License-Identifier: MIT
//
// fuzz_scheduler: random cases of misbehaving hosts and clients against the shipped device code and
// task scheduler, random scenarios with several processors against the coordinator, or a case of a
// file again.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <thread>

#include <CLI/CLI.hpp>

#include "option_checks.hpp"
#include "overtake_commit.h"
#include "progress.hpp"
#include "scheduler/report.hpp"

namespace {

using overtake::command::whole_number;

int run(int argc, char** argv) {
    overtake::fuzz::ProgramOptions options;
    options.threads = std::max(1u, std::thread::hardware_concurrency());
    options.commit = OVERTAKE_COMMIT;
    std::string written;
    CLI::App app("Generates cases of misbehaving clients and hosts, and checks invariants");
    auto* replayed = app.add_option("CASE.json", written, "A case that was written: once more");
    auto* cases = app.add_option("--cases", options.cases, "How many")
                      ->check(whole_number(1, std::uint64_t{1} << 40))
                      ->excludes(replayed);
    app.add_option("--seed", options.seed, "Of the first case; default: 1")
        ->check(whole_number(0, ~std::uint64_t{0}))
        ->needs(cases);
    auto* commands = app.add_option("--commands", options.commands, "In each case; default: 100")
                         ->check(whole_number(1, 100000))
                         ->needs(cases);
    app.add_flag("--processors", options.processors,
                 "Scenarios with several processors, on the coordinator")
        ->needs(cases)
        ->excludes(commands);
    app.add_option("--threads", options.threads, "Default: all CPUs")
        ->check(whole_number(1, 1024))
        ->needs(cases);
    app.add_option("-o,--output", options.output, "Of the shrunk case; default: fuzz-SEED.json")
        ->needs(cases);
    try {
        app.parse(argc, argv);
        if (!*replayed && !*cases)
            throw CLI::RequiredError("--cases or CASE.json");
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    if (*replayed)
        return overtake::fuzz::replay(written);
    overtake::command::ProgressBar bar;
    options.progress = [&](double done) { bar.show("fuzzing", done); };
    return overtake::fuzz::run_cases(options);
}

} // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "fuzz_scheduler: %s\n", error.what());
        return 1;
    }
}
