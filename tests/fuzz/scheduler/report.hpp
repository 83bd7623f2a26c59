// SPDX-License-Identifier: MIT
//
// What the program fuzz_scheduler does and prints.
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
    std::string output;                   ///< of the shrunk case; "" is fuzz-SEED.json
    std::string commit = "unknown";       ///< that the program was built from
    std::function<void(double)> progress; ///< may be empty
};

/// Runs the cases: 0 if all are clean; 1 after a failure, which is printed and written.
int run_cases(const ProgramOptions& options);

/// A written case or scenario again: 0 if it is clean, 1 after saying what it violates. Throws
/// Error, which names the file, if it is neither.
int replay(const std::string& path);

} // namespace overtake::fuzz
