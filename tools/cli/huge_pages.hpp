// SPDX-License-Identifier: MIT
#pragma once

namespace overtake::command {

/// Lets the first GiB of the main thread's heap lie in huge pages, if the system offers them
/// (`madvise` or `always` in /sys/kernel/mm/transparent_hugepage/enabled), and keeps freed memory.
/// A compilation touches hundreds of megabytes again and again, and the cost of page faults is
/// mostly a cost for each fault. For commands that compute and end. Call it before there are other
/// threads, whose heaps stay as they are.
///
/// Returns whether the kernel was asked for huge pages. malloc keeps its settings if the kernel
/// counts addresses (RLIMIT_AS, RLIMIT_DATA, vm.overcommit_memory 2) or has no huge pages. If the
/// heap does not grow, malloc gets settings like those that it finds by itself. A second call
/// changes nothing.
bool use_huge_pages();

} // namespace overtake::command
