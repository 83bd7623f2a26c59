// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace overtake::command {

/// Memory of this process that is in RAM.
struct ResidentMemory {
    std::size_t anonymous_bytes = 0;
    std::size_t file_bytes = 0;   ///< of files that are mapped: programs, models
    std::size_t shared_bytes = 0; ///< with other processes

    std::size_t all_bytes() const { return anonymous_bytes + file_bytes + shared_bytes; }
};

/// As Linux has it at this moment; zeros where it cannot be read.
ResidentMemory resident_memory();

} // namespace overtake::command
