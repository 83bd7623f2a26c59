// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace overtake::command {

/// Memory of this process that is in RAM.
struct ResidentMemory {
    std::size_t anonymous_bytes = 0;
    std::size_t file_bytes = 0;   ///< of mapped files: programs, models
    std::size_t shared_bytes = 0; ///< of memfd, tmpfs and shared anonymous mappings

    std::size_t all_bytes() const { return anonymous_bytes + file_bytes + shared_bytes; }
};

/// Returns the memory at this moment, from Linux; zeros if it cannot be read.
ResidentMemory resident_memory();

} // namespace overtake::command
