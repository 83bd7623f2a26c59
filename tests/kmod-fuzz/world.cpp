// SPDX-License-Identifier: MIT
#include "world.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

namespace overtake::fuzz {

namespace {

constexpr uint64_t arenas_at = 0x100000000000;
constexpr uint64_t windows_at = 0x110000000000;

void* reserve(uint64_t address, uint64_t bytes) {
    void* memory = mmap(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory == MAP_FAILED) {
        std::perror("fuzzer's own memory");
        std::exit(1);
    }
    return memory;
}

} // namespace

uint8_t* window(const File& file, uint32_t slot) {
    return reinterpret_cast<uint8_t*>(windows_at +
                                      (file.index * buffer_count + slot) * window_bytes);
}

int show_memory(const File& file, uint32_t slot) {
    void* memory = mmap(window(file, slot), window_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    return memory == MAP_FAILED ? errno : 0;
}

int show_buffer(const File& file, uint32_t slot, uint64_t bytes, uint64_t offset, int flags) {
    // Maps elsewhere first: a MAP_FIXED that fails would leave a hole in memory that threads use.
    void* memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file.fd(), static_cast<off_t>(offset));
    if (memory == MAP_FAILED)
        return errno;
    if (mremap(memory, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, window(file, slot)) ==
        MAP_FAILED)
        munmap(memory, bytes);
    return 0;
}

uint8_t* arena(uint32_t thread) {
    return reinterpret_cast<uint8_t*>(arenas_at + thread * arena_bytes);
}

World* make_world(uint32_t threads) {
    auto* world = new World{};
    for (uint32_t i = 0; i < file_count; i++)
        world->files[i].index = i;
    reserve(windows_at, file_count * buffer_count * window_bytes);
    reserve(arenas_at, threads * arena_bytes);
    for (uint32_t thread = 0; thread < threads; thread++) {
        munmap(missing_page(thread), page_bytes);
        mprotect(read_only_page(thread), page_bytes, PROT_READ);
    }
    return world;
}

} // namespace overtake::fuzz
