// SPDX-License-Identifier: MIT
//
// The heap in huge pages, each time in a process of its own.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "huge_pages.hpp"

namespace overtake::command {
namespace {

constexpr std::size_t mebibyte = 1u << 20;

bool has_huge_pages() {
    return access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) == 0;
}

/// Whether the kernel was asked for huge pages where `address` lies (`hg` in smaps).
bool is_advised(const void* address) {
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    std::ifstream maps("/proc/self/smaps");
    bool is_inside = false;
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t begin = 0, end = 0;
        char dash = 0;
        std::istringstream fields(line);
        if (fields >> std::hex >> begin >> dash >> end && dash == '-')
            is_inside = begin <= wanted && wanted < end;
        if (is_inside && line.starts_with("VmFlags:"))
            return line.find(" hg") != std::string::npos;
    }
    return false;
}

/// The middle of a new block, all of whose pages are written; null without memory for it.
const void* middle_of_block(std::size_t bytes) {
    auto* block = static_cast<volatile char*>(std::malloc(bytes));
    for (std::size_t i = 0; block && i < bytes; i += 4096)
        block[i] = 1;
    return block ? const_cast<const char*>(block) + bytes / 2 : nullptr;
}

/// Free memory in the heap, below a block that stays in use.
void leave_a_hole(std::size_t bytes) {
    constexpr std::size_t each = 65536; // too small for a mapping of its own
    std::vector<void*> blocks(bytes / each + 1);
    for (void*& block : blocks)
        block = std::malloc(each);
    blocks.pop_back();
    for (void* block : blocks)
        std::free(block);
}

TEST(HugePages, AreAskedForWhereBlocksLie) {
    if (!has_huge_pages())
        GTEST_SKIP() << "SKIPPED: this kernel has no huge pages";
    EXPECT_EXIT(_exit(is_advised(middle_of_block(64 * mebibyte))), testing::ExitedWithCode(0), "");
    const auto advise = [] {
        leave_a_hole(8 * mebibyte);
        use_huge_pages();
        use_huge_pages();
        _exit(is_advised(middle_of_block(64 * mebibyte)));
    };
    EXPECT_EXIT(advise(), testing::ExitedWithCode(1), "");
}

TEST(HugePages, TakeNoAddressesWhereTheseAreLimited) {
    const auto limited = [] {
        rlimit limit{1200 * mebibyte, 1200 * mebibyte};
        if (setrlimit(RLIMIT_DATA, &limit) != 0)
            _exit(2);
        use_huge_pages();
        const void* const others = mmap(nullptr, 700 * mebibyte, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        _exit(others != MAP_FAILED && middle_of_block(100 * mebibyte) ? 0 : 1);
    };
    EXPECT_EXIT(limited(), testing::ExitedWithCode(0), "");
}

TEST(HugePages, GrowTheHeapByAsMuchOnlyOnce) {
    const auto large = [] {
        use_huge_pages();
        const auto* const first = static_cast<const char*>(std::malloc(700 * mebibyte));
        const void* const second = std::malloc(700 * mebibyte);
        const auto* const end = static_cast<const char*>(sbrk(0));
        // Elsewhere if something lies behind the heap.
        const bool is_one_heap = first < second && second < end;
        _exit(first && second &&
                      (!is_one_heap || end - first < static_cast<std::ptrdiff_t>(1500 * mebibyte))
                  ? 0
                  : 1);
    };
    EXPECT_EXIT(large(), testing::ExitedWithCode(0), "");
}

} // namespace
} // namespace overtake::command
