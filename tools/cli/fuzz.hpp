// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace overtake::command {

struct FuzzOptions {
    std::uint64_t cases = 0;
    std::uint64_t seed = 1;
    unsigned commands = 100;
    unsigned threads = 1;
    std::string output; ///< of the shrunk case; "" is fuzz-SEED.json
};

/// overtake sim --fuzz: 0 if all are clean; 1 after a failure, which is printed and written.
int run_fuzz(const FuzzOptions& options);

/// A written case again: 0 if it is clean, 1 after saying what it violates.
int replay_fuzz(const nlohmann::json& document);

} // namespace overtake::command
