// SPDX-License-Identifier: MIT
#include "allocator_settings.hpp"

#include <malloc.h>

namespace overtake::command {

namespace {

/// The same as in libruntime/src/embedded/job.cpp: larger blocks are charged in whole pages.
constexpr int mapped_from_bytes = 65'536;

} // namespace

/// Sets one heap for all threads: with a heap for each thread, other threads could not use the
/// memory that a client has freed. Sets thresholds, which then do not grow with freed blocks.
void keep_little_memory() {
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, mapped_from_bytes);
    mallopt(M_TRIM_THRESHOLD, mapped_from_bytes);
}

} // namespace overtake::command
