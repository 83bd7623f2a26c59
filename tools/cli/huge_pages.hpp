// SPDX-License-Identifier: MIT
#pragma once

namespace overtake::command {

/// Lets the first GiB of the main thread's heap lie in huge pages, where the system offers them
/// (`madvise` or `always` in /sys/kernel/mm/transparent_hugepage/enabled), and keeps what is freed.
/// A compilation touches hundreds of megabytes again and again, and most of a page fault's cost is
/// paid per fault. For commands that compute and end; called before there are other threads, whose
/// heaps stay as they are.
///
/// Returns whether the kernel was asked for them. malloc keeps its settings where the kernel counts
/// addresses (RLIMIT_AS, RLIMIT_DATA, vm.overcommit_memory 2) or has no huge pages, and gets
/// settings like those that it finds by itself where the heap does not grow. A second call changes
/// nothing.
bool use_huge_pages();

} // namespace overtake::command
