// SPDX-License-Identifier: MIT
#include "failing_new.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace overtake::test {

namespace {

std::atomic<unsigned> refused_per_mille{0};
std::atomic<std::uint64_t> refusals{0};
std::atomic<std::uint64_t> until_refusal{0}; ///< allocations; 0: none is refused for its number
std::atomic<std::uint64_t> threads_seen{0};
thread_local unsigned exempt = 0;
thread_local std::uint64_t state = 0;

/// Counts an allocation; true if it is the one that is to be refused.
bool is_refused_by_number() {
    std::uint64_t left = until_refusal.load();
    while (left != 0 && !until_refusal.compare_exchange_weak(left, left - 1)) {
    }
    return left == 1;
}

bool refuses() {
    if (exempt == 0 && is_refused_by_number()) {
        refusals++;
        return true;
    }
    const unsigned per_mille = refused_per_mille.load(std::memory_order_relaxed);
    if (per_mille == 0 || exempt != 0)
        return false;
    if (state == 0)
        state = 0x9e3779b97f4a7c15 * ++threads_seen;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    if (state % 1000 >= per_mille)
        return false;
    refusals++;
    return true;
}

void* allocate(std::size_t size, std::size_t alignment) {
    if (refuses())
        return nullptr;
    if (alignment <= alignof(std::max_align_t))
        return std::malloc(size == 0 ? 1 : size);
    return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
    if (void* const memory = allocate(size, alignment))
        return memory;
    throw std::bad_alloc();
}

} // namespace

void refuse_memory(unsigned per_mille) {
    refused_per_mille = per_mille;
}

void refuse_allocation(std::uint64_t number) {
    until_refusal = number;
}

std::uint64_t refused_allocations() {
    return refusals;
}

MemoryForTests::MemoryForTests() {
    exempt++;
}

MemoryForTests::~MemoryForTests() {
    exempt--;
}

MemoryForLibrary::MemoryForLibrary() : exempt_(exempt) {
    exempt = 0;
}

MemoryForLibrary::~MemoryForLibrary() {
    exempt = exempt_;
}

} // namespace overtake::test

using overtake::test::allocate;
using overtake::test::allocate_or_throw;

void* operator new(std::size_t size) {
    return allocate_or_throw(size, 0);
}
void* operator new[](std::size_t size) {
    return allocate_or_throw(size, 0);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return allocate(size, 0);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
    return allocate(size, 0);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
    return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete[](void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
