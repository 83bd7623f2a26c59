// SPDX-License-Identifier: MIT
#include "huge_pages.hpp"

#include <cstdint>
#include <cstdlib>
#include <limits>

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace overtake::command {
namespace {

constexpr std::size_t huge_page = 2u << 20;
/// By which the heap grows once. Addresses alone: memory comes with the first access.
constexpr int heap_bytes = 1 << 30;
constexpr int usual_top_pad = 128 << 10; // M_TOP_PAD's default

bool has_limit(int resource) {
    rlimit limit{};
    return getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0 ||
           limit.rlim_cur != RLIM_INFINITY;
}

void grow_heap() {
    mallopt(M_MMAP_MAX, 0); // large blocks come from the heap, too
    mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
    mallopt(M_TOP_PAD, heap_bytes);
    // More than is free anywhere, so that the heap grows.
    void* volatile block = std::malloc(mallinfo2().fordblks + huge_page);
    mallopt(M_TOP_PAD, usual_top_pad);
    const auto begin = reinterpret_cast<std::uintptr_t>(block);
    const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0));
    if (block && begin < end && end - begin > huge_page) {
        const std::uintptr_t first = (begin + huge_page - 1) / huge_page * huge_page;
        // Without huge pages in the kernel it fails, and nothing changes.
        (void)madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
    }
    std::free(block);
}

} // namespace

void use_huge_pages() {
    static const bool is_done = [] {
        if (!has_limit(RLIMIT_AS) && !has_limit(RLIMIT_DATA))
            grow_heap();
        return true;
    }();
    (void)is_done;
}

} // namespace overtake::command
