// SPDX-License-Identifier: MIT
// The kinds of calls of the fuzzer: their names, and the errors that the interface documents for
// each.
#pragma once

#include <cstddef>
#include <cstdint>

namespace overtake::fuzz {

enum class Kind : uint32_t {
    open,
    close,
    dup,
    query,
    bo_create,
    bo_mmap_offset,
    bo_map,
    bo_unmap,
    bo_wait,
    context_create,
    context_destroy,
    submit,
    cancel,
    wait,
    task_submit,
    task_events,
    task_cpu_done,
    task_cancel,
    record,
    replay,
    forget,
    gem_close,
    prime_export,
    prime_import,
    dma_buf,
    syncobj_create,
    syncobj_destroy,
    syncobj_export,
    syncobj_import,
    syncobj_wait,
    syncobj_reset,
    syncobj_signal,
    syncobj_timeline_wait,
    syncobj_query,
    syncobj_transfer,
    syncobj_timeline_signal,
    mmap,
    munmap,
    poll,
    ring_open,
    uring_submit,
    uring_cancel,
    uring_task,
    uring_replay,
    uring_async_cancel,
    uring_reap,
    fdinfo,
    garbage,
    scribble,
    fork,
    kill,
    signal,
    inject,
    count
};

constexpr std::size_t kind_count = static_cast<std::size_t>(Kind::count);

struct KindInfo {
    const char* name;
    bool main;          // a run fails in which most calls of this kind are refused
    const char* errors; // names of the documented errors, separated by blanks; "*": any
};

const KindInfo& info(Kind kind);

// Whether @error (positive) is one that @kind is documented to answer with.
bool is_documented(Kind kind, int error);

} // namespace overtake::fuzz
