// SPDX-License-Identifier: MIT
#include "allocator_settings.hpp"

#include <malloc.h>

namespace overtake::command {

namespace {

/// As in libruntime/src/embedded/job.cpp: what is larger is charged in whole pages.
constexpr int mapped_from_bytes = 65'536;

} // namespace

/// Each thread's own heap would keep what its client has freed, where other threads do not find it.
/// A threshold that is set does not grow with what is freed.
void keep_little_memory() {
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, mapped_from_bytes);
    mallopt(M_TRIM_THRESHOLD, mapped_from_bytes);
}

} // namespace overtake::command
