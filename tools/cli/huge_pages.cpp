// SPDX-License-Identifier: MIT
#include "huge_pages.hpp"

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace overtake::command {
namespace {

constexpr std::size_t huge_page = 2u << 20;
/// The heap grows once by this. These are only addresses: memory comes with the first access.
constexpr int heap_bytes = 1 << 30;

// malloc's defaults (mallopt(3)). The thresholds are those that malloc reaches by itself with large
// blocks.
constexpr int usual_top_pad = 128 << 10;
constexpr int usual_mappings = 65536;
constexpr int usual_mmap_threshold = 32 << 20;
constexpr int usual_trim_threshold = 64 << 20;

std::string first_line(const char* path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

bool has_limit(int resource) {
    rlimit limit{};
    return getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0 ||
           limit.rlim_cur != RLIM_INFINITY;
}

/// Returns whether the kernel counts addresses without memory.
bool counts_addresses() {
    return has_limit(RLIMIT_AS) || has_limit(RLIMIT_DATA) ||
           first_line("/proc/sys/vm/overcommit_memory") == "2";
}

bool has_huge_pages() {
    const std::string modes = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
    return modes.find("[madvise]") != std::string::npos ||
           modes.find("[always]") != std::string::npos;
}

/// Returns false if the heap does not grow, or the kernel does not take the advice.
bool grow_heap() {
    // The block is larger than all free memory and may have no mapping of its own, so the heap
    // grows.
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1); // never
    mallopt(M_TOP_PAD, heap_bytes);
    void* volatile block = std::malloc(mallinfo2().fordblks + huge_page);
    mallopt(M_TOP_PAD, usual_top_pad);
    const auto begin = reinterpret_cast<std::uintptr_t>(block);
    const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0));
    bool is_advised = false;
    if (block && begin < end && end - begin > huge_page) {
        const std::uintptr_t first = (begin + huge_page - 1) / huge_page * huge_page;
        is_advised = madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE) == 0;
    }
    std::free(block);
    return is_advised;
}

} // namespace

bool use_huge_pages() {
    static const bool is_used = [] {
        if (counts_addresses() || !has_huge_pages())
            return false;
        if (grow_heap())
            return true;
        mallopt(M_MMAP_MAX, usual_mappings);
        mallopt(M_MMAP_THRESHOLD, usual_mmap_threshold);
        mallopt(M_TRIM_THRESHOLD, usual_trim_threshold);
        return false;
    }();
    return is_used;
}

} // namespace overtake::command
