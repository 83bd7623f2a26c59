// SPDX-License-Identifier: MIT
#include "record_option.hpp"

#include "option_checks.hpp"

namespace overtake::command {

void add_record_option(CLI::App& command, unsigned& level) {
    command
        .add_option("--record-level", level,
                    "1: record what runs on the device in its second run, and replay it from then "
                    "on; 2: in its first run, refuse what cannot be recorded, and give back what "
                    "only preparing needed; results are the same")
        ->check(whole_number(0, 2))
        ->capture_default_str();
}

} // namespace overtake::command
