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

/// Returns the reason why the heap of this process cannot lie in huge pages; empty if it can.
std::string reason_against() {
    std::string modes, overcommit;
    std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"), modes);
    std::getline(std::ifstream("/proc/sys/vm/overcommit_memory"), overcommit);
    if (modes.empty() || modes.find("[never]") != std::string::npos)
        return "this kernel has no huge pages";
    if (overcommit == "2")
        return "this kernel counts addresses (vm.overcommit_memory is 2)";
    for (const auto resource : {RLIMIT_AS, RLIMIT_DATA})
        if (rlimit limit{}; getrlimit(resource, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY)
            return "the addresses of this process are limited";
    return "";
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

/// Returns the middle of a new block whose pages are all written; null without memory for it.
const void* middle_of_block(std::size_t bytes) {
    auto* block = static_cast<volatile char*>(std::malloc(bytes));
    for (std::size_t i = 0; block && i < bytes; i += 4096)
        block[i] = 1;
    return block ? const_cast<const char*>(block) + bytes / 2 : nullptr;
}

/// Leaves free memory in the heap, below a block that stays in use.
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
    if (const std::string reason = reason_against(); !reason.empty())
        GTEST_SKIP() << "SKIPPED: " << reason;
    EXPECT_EXIT(_exit(is_advised(middle_of_block(64 * mebibyte))), testing::ExitedWithCode(0), "");
    const auto advise = [] {
        leave_a_hole(8 * mebibyte);
        const bool is_used = use_huge_pages() && use_huge_pages();
        _exit(is_used && is_advised(middle_of_block(64 * mebibyte)) ? 1 : 2);
    };
    EXPECT_EXIT(advise(), testing::ExitedWithCode(1), "");
}

/// Returns the number of bytes of addresses that this process has.
std::size_t address_bytes() {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// Exits with 0 if use_huge_pages() leaves the heap alone, so that addresses for others remain.
[[noreturn]] void use_under_limit(__rlimit_resource_t resource) {
    const std::size_t bytes = address_bytes() + 1200 * mebibyte;
    const rlimit limit{bytes, bytes};
    if (setrlimit(resource, &limit) != 0)
        _exit(2);
    if (use_huge_pages())
        _exit(3);
    const void* const others =
        mmap(nullptr, 700 * mebibyte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    _exit(others != MAP_FAILED && middle_of_block(100 * mebibyte) ? 0 : 1);
}

TEST(HugePages, TakeNoAddressesWhereTheseAreLimited) {
    EXPECT_EXIT(use_under_limit(RLIMIT_DATA), testing::ExitedWithCode(0), "");
    EXPECT_EXIT(use_under_limit(RLIMIT_AS), testing::ExitedWithCode(0), "");
}

/// Exits with 0 if a freed block of more than 2 GiB stays in the heap, or was never in the heap.
[[noreturn]] void free_a_large_block() {
    constexpr std::size_t bytes =
        2500 * mebibyte; // takes only addresses: the test never writes to it
    use_huge_pages();
    char* volatile block = static_cast<char*>(std::malloc(bytes));
    std::free(block);
    const std::ptrdiff_t kept = static_cast<char*>(sbrk(0)) - block;
    _exit(!block || kept < 0 || kept >= static_cast<std::ptrdiff_t>(bytes) ? 0 : 1);
}

TEST(HugePages, StayWhenBlocksAreFreed) {
    if (const std::string reason = reason_against(); !reason.empty())
        GTEST_SKIP() << "SKIPPED: " << reason;
    EXPECT_EXIT(free_a_large_block(), testing::ExitedWithCode(0), "");
}

TEST(HugePages, GrowTheHeapByAsMuchOnlyOnce) {
    if (const std::string reason = reason_against(); !reason.empty())
        GTEST_SKIP() << "SKIPPED: " << reason;
    const auto large = [] {
        if (!use_huge_pages())
            _exit(2);
        const auto* const first = static_cast<const char*>(std::malloc(700 * mebibyte));
        const void* const second = std::malloc(700 * mebibyte);
        const auto* const end = static_cast<const char*>(sbrk(0));
        // The second block lies elsewhere if something lies behind the heap.
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
