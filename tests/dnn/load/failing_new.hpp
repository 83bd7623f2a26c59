// SPDX-License-Identifier: MIT
//
// Memory that is refused now and then: this program's operator new.
#pragma once

#include <cstdint>

namespace overtake::test {

/// From now on `per_mille` of all allocations by new throw std::bad_alloc, on every thread; 0 none.
void refuse_memory(unsigned per_mille);

/// Of all threads that are not exempt, the `number`th allocation from now on is refused, from 1 on;
/// 0: none.
void refuse_allocation(std::uint64_t number);

/// How many were refused.
std::uint64_t refused_allocations();

/// On this thread nothing is refused while one lives: for what a test does itself.
class MemoryForTests {
public:
    MemoryForTests();
    ~MemoryForTests();
    MemoryForTests(const MemoryForTests&) = delete;
    MemoryForTests& operator=(const MemoryForTests&) = delete;
};

/// ... and within that, where it may be refused after all.
class MemoryForLibrary {
public:
    MemoryForLibrary();
    ~MemoryForLibrary();
    MemoryForLibrary(const MemoryForLibrary&) = delete;
    MemoryForLibrary& operator=(const MemoryForLibrary&) = delete;

private:
    const unsigned exempt_;
};

} // namespace overtake::test
