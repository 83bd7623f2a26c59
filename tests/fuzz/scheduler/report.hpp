// SPDX-License-Identifier: MIT
//
// Runs and reports of the program fuzz_scheduler.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace overtake::fuzz {

struct ProgramOptions {
    std::uint64_t cases = 0;
    std::uint64_t seed = 1;
    unsigned commands = 100;
    unsigned threads = 1;
    bool processors = false;              ///< scenarios with several processors
    std::string output;                   ///< file of the shrunk case; "" is fuzz-SEED.json
    std::string commit = "unknown";       ///< commit from which the program was built
    std::function<void(double)> progress; ///< may be empty
};

/// Runs the cases; returns 0 if all are clean, or 1 after a failure, which is printed and written.
int run_cases(const ProgramOptions& options);

/// Runs a written case or scenario again; returns 0 if it is clean, or 1 after printing the
/// violation. Throws Error, which names the file, if the file is no case and no scenario.
int replay(const std::string& path);

} // namespace overtake::fuzz
