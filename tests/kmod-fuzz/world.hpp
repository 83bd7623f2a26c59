// SPDX-License-Identifier: MIT
// The objects of a client process: open files, buffers, contexts, and the memory of calls.
//
// Threads of a process share these without locks, on purpose: they remove objects during the calls
// of other threads. So all members are atomic, and each value may be stale when it is used.
//
// Descriptors and addresses are fixed numbers, so that a seed determines them too.
#pragma once

#include <atomic>
#include <cstdint>

namespace overtake::fuzz {

constexpr uint32_t file_count = 3;    // open files of a process
constexpr uint32_t buffer_count = 12; // slots of a file, with these uses:
constexpr uint32_t program_slots = 4; // 0..3 programs
constexpr uint32_t data_slots = 4;    // 4..7 data, the rest anything
constexpr uint32_t context_slots = 4;
constexpr uint32_t recording_slots = 4;
constexpr uint32_t syncobj_slots = 4;
constexpr uint32_t dma_buf_slots = 6; // of the process

constexpr int first_file_fd = 100;
constexpr int first_dma_buf_fd = 120;
constexpr int first_ring_fd = 140;

constexpr uint64_t page_bytes = 4096;
constexpr uint64_t window_bytes = 1 << 20; // size of a buffer slot's window in the process
constexpr uint64_t result_bytes = 64;

struct Buffer {
    std::atomic<uint32_t> handle; // 0: none
    std::atomic<uint64_t> size;
    std::atomic<uint64_t> address; // device address, 0: not mapped
    std::atomic<uint32_t> flags;   // OVERTAKE_MAP_* of the mapping
    std::atomic<uint64_t> visible; // bytes of the window that show the buffer
    std::atomic<uint32_t> insns;   // of the program that was written to it
};

struct File {
    uint32_t index;
    std::atomic<bool> open;
    Buffer buffers[buffer_count];
    std::atomic<uint32_t> contexts[context_slots];
    std::atomic<uint32_t> priorities[context_slots]; // the greatest allowed
    std::atomic<uint32_t> syncobjs[syncobj_slots];
    std::atomic<uint32_t> recordings[recording_slots];
    std::atomic<uint32_t> recording_contexts[recording_slots];
    std::atomic<uint32_t> tasks; // the context that takes tasks, 0: none
    std::atomic<uint64_t> next_tag;

    int fd() const { return first_file_fd + static_cast<int>(index); }
};

struct World {
    File files[file_count];
};

// Returns the window of buffer @slot: memory of the process or of the buffer, always readable and
// writable.
uint8_t* window(const File& file, uint32_t slot);
// Map memory of the process into the window, or the buffer at this file offset.  Return 0 or errno.
int show_memory(const File& file, uint32_t slot);
int show_buffer(const File& file, uint32_t slot, uint64_t bytes, uint64_t offset, int flags);

// Memory of a thread for the pointers of calls, at the same address in every run.
//
//     0       arguments end at the end of this page; the next page is not mapped
//     64 KiB  FC table, 512 KiB
//     768 KiB bindings; 772 KiB a page for answers; 776 KiB a page that can only be read
//     800 KiB segments of tasks; 816 KiB their events; 832 KiB their results, 72 KiB
//     904 KiB the parts of a group, 906 KiB those of a task; 908 KiB the stages of its FCs
constexpr uint64_t arena_bytes = 1 << 20;
uint8_t* arena(uint32_t thread);
inline uint8_t* arguments_end(uint32_t thread) {
    return arena(thread) + page_bytes;
}
inline uint8_t* fc_table(uint32_t thread) {
    return arena(thread) + (64 << 10);
}
inline uint8_t* binding_table(uint32_t thread) {
    return arena(thread) + (768 << 10);
}
inline uint8_t* segment_table(uint32_t thread) {
    return arena(thread) + (800 << 10);
}
inline uint8_t* event_table(uint32_t thread) {
    return arena(thread) + (816 << 10);
}
inline uint8_t* task_result_table(uint32_t thread) {
    return arena(thread) + (832 << 10);
}
inline uint8_t* group_table(uint32_t thread) {
    return arena(thread) + (904 << 10);
}
inline uint8_t* task_group_table(uint32_t thread) {
    return arena(thread) + (906 << 10);
}
inline uint8_t* stage_table(uint32_t thread) {
    return arena(thread) + (908 << 10);
}
inline uint8_t* answers(uint32_t thread) {
    return arena(thread) + (772 << 10);
}
inline uint8_t* read_only_page(uint32_t thread) {
    return arena(thread) + (776 << 10);
}
inline uint8_t* missing_page(uint32_t thread) {
    return arena(thread) + page_bytes;
}

// Makes windows and arenas, once in a process. Ends the process when that fails.
World* make_world(uint32_t threads);

} // namespace overtake::fuzz
