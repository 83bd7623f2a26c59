// SPDX-License-Identifier: MIT
#pragma once

namespace overtake::command {

/// Lets the heap of this process lie in huge pages where the system offers them (`madvise` or
/// `always` in /sys/kernel/mm/transparent_hugepage/enabled), and keeps what is freed: a compilation
/// touches hundreds of megabytes again and again, and most of a page fault's cost is paid per
/// fault. For commands that compute and end. Does nothing where the address space is limited.
/// Before there are other threads; a second call does nothing.
void use_huge_pages();

} // namespace overtake::command
