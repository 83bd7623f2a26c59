// SPDX-License-Identifier: MIT
//
// This program's operator new, which refuses memory now and then.
#pragma once

#include <cstdint>

namespace overtake::test {

/// From now on about `per_mille` of a thousand allocations by new fail, on each thread that is not
/// exempt; 0: none.
void refuse_memory(unsigned per_mille);

/// Refuses the `number`th allocation from now on, counted from 1 over all threads that are not
/// exempt; 0: none.
void refuse_allocation(std::uint64_t number);

/// Returns the number of allocations that were refused.
std::uint64_t refused_allocations();

/// Exempts this thread while the object lives: for allocations of the test itself.
class MemoryForTests {
public:
    MemoryForTests();
    ~MemoryForTests();
    MemoryForTests(const MemoryForTests&) = delete;
    MemoryForTests& operator=(const MemoryForTests&) = delete;
};

/// Ends the exemption of this thread while the object lives: for calls of the library.
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
