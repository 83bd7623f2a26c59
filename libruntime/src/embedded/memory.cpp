// SPDX-License-Identifier: MIT
#include "embedded/memory.hpp"

#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include "overtake/device.hpp"
#include "refusal.hpp"

namespace overtake {

namespace {

std::size_t page_bytes() {
    static const std::size_t bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

} // namespace

std::size_t round_to_pages(std::size_t bytes) {
    return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
}

bool MemoryAccount::take_bytes(std::size_t bytes, std::size_t& held) noexcept {
    held = bytes_.load();
    do {
        if (bytes > most_ - held)
            return false;
    } while (!bytes_.compare_exchange_weak(held, held + bytes));
    return true;
}

void MemoryAccount::charge(std::size_t bytes) {
    std::size_t held = 0;
    while (!take_bytes(bytes, held)) {
        if (!free_own_reserve())
            throw Error(ENOSPC, fmt::format("device memory: {} bytes more; {}", bytes,
                                            limit_text(OVERTAKE_LIMIT_CLIENT_BYTES, most_, held)));
    }
    if (!all_)
        return;
    try {
        all_->charge(bytes);
    } catch (const Error&) {
        bytes_.fetch_sub(bytes);
        throw;
    }
}

void MemoryAccount::release(std::size_t bytes) noexcept {
    bytes_.fetch_sub(bytes);
    if (all_)
        all_->release(bytes);
}

bool MemoryAccount::take_own_mapping() noexcept {
    if (mappings_.fetch_add(1) < most_mappings_)
        return true;
    mappings_--;
    return false;
}

bool MemoryAccount::take_mapping() noexcept {
    while (!take_own_mapping())
        if (!free_own_reserve())
            return false;
    if (!all_ || all_->take_mapping())
        return true;
    mappings_--;
    return false;
}

void MemoryAccount::add_mapping() {
    if (!take_mapping())
        throw Error(ENOSPC, "device memory: there are as many buffers, and jobs with scratch, as "
                            "one user may have or as all may: free some, or make fewer and larger "
                            "ones");
}

void MemoryAccount::remove_mapping() noexcept {
    mappings_--;
    if (all_)
        all_->remove_mapping();
}

void MemoryAccount::add_reserve(Reserve& reserve) {
    {
        const std::lock_guard lock(reserves_mutex_);
        reserves_.push_back(&reserve);
    }
    if (all_)
        all_->add_reserve(reserve);
}

void MemoryAccount::remove_reserve(Reserve& reserve) noexcept {
    {
        const std::lock_guard lock(reserves_mutex_);
        std::erase(reserves_, &reserve);
    }
    if (all_)
        all_->remove_reserve(reserve);
}

bool MemoryAccount::free_own_reserve() noexcept {
    std::unique_ptr<Allocation> freed; // without the lock
    const std::lock_guard lock(reserves_mutex_);
    for (Reserve* const reserve : reserves_) {
        freed = reserve->give_back();
        if (freed)
            return true;
    }
    return false;
}

bool MemoryAccount::free_reserve() noexcept {
    return free_own_reserve() || (all_ && all_->free_reserve());
}

PrivateAllocation::PrivateAllocation(const std::shared_ptr<MemoryAccount>& account,
                                     std::size_t bytes)
    : charge_(account, round_to_pages(bytes)) {
    size_ = round_to_pages(bytes);
    void* memory = MAP_FAILED;
    do {
        memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    } while (memory == MAP_FAILED && account->free_reserve());
    if (memory == MAP_FAILED)
        throw Error(ENOMEM, fmt::format("device memory: no {} bytes left in this process", size_));
    data_ = static_cast<std::byte*>(memory);
}

PrivateAllocation::~PrivateAllocation() {
    in_slices(data_, size_,
              [](std::byte* at, std::size_t bytes) { madvise(at, bytes, MADV_DONTNEED); });
    munmap(data_, size_);
}

std::uint64_t AddressSpace::map(std::shared_ptr<Allocation> allocation) {
    const std::lock_guard lock(mutex_);
    if (mappings_.size() >= OVERTAKE_MAX_BUFFERS)
        throw Error(ENOSPC, "create buffer: " + limit_text(OVERTAKE_LIMIT_BUFFERS,
                                                           OVERTAKE_MAX_BUFFERS, mappings_.size()));
    const std::uint64_t address = next_address_;
    // An unmapped page follows every buffer: neighbours in the address space never touch.
    next_address_ += allocation->size() + page_bytes();
    mappings_.emplace(address, std::move(allocation));
    return address;
}

bool AddressSpace::unmap(std::uint64_t address) noexcept {
    std::shared_ptr<Allocation> last_reference; // is dropped without the lock
    const std::lock_guard lock(mutex_);
    const auto mapping = mappings_.find(address);
    if (mapping == mappings_.end())
        return false;
    last_reference = std::move(mapping->second);
    mappings_.erase(mapping);
    return true;
}

AddressSpace::Range AddressSpace::find(std::uint64_t address, std::uint64_t length) const {
    const std::lock_guard lock(mutex_);
    auto mapping = mappings_.upper_bound(address);
    if (mapping == mappings_.begin())
        return {};
    --mapping;
    const auto& [begin, allocation] = *mapping;
    if (!ovt_range_is_inside(address, length, begin, allocation->size()))
        return {};
    return {allocation, allocation->data() + (address - begin)};
}

} // namespace overtake
