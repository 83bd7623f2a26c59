// SPDX-License-Identifier: MIT
//
// Memory of an embedded device: allocations, and the device addresses that name them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace overtake {

/// How much memory a device's buffers and scratch regions hold together.  Thread safe.
class MemoryAccount {
public:
    /// Throws Error ENOSPC above OVERTAKE_MAX_CLIENT_BYTES.
    void charge(std::size_t bytes);
    void release(std::size_t bytes) noexcept { bytes_.fetch_sub(bytes); }

private:
    std::atomic<std::size_t> bytes_{0};
};

/// Page-aligned zeroed memory, charged to an account while it lives.
class Allocation {
public:
    /// bytes is rounded up to pages.  Throws Error ENOSPC or ENOMEM.
    Allocation(std::shared_ptr<MemoryAccount> account, std::size_t bytes);
    ~Allocation();
    Allocation(const Allocation&) = delete;
    Allocation& operator=(const Allocation&) = delete;

    std::byte* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }

private:
    std::shared_ptr<MemoryAccount> account_;
    std::size_t size_;
    std::byte* data_;
};

/// Device addresses of an embedded device.  Thread safe.
///
/// Whoever resolves an address shares in the memory, so a job keeps what it was given even if
/// the buffer is destroyed while it runs.
class AddressSpace {
public:
    /// Returns the address of byte 0; never 0, never used again.  Throws Error ENOSPC.
    std::uint64_t map(std::shared_ptr<Allocation> allocation);
    void unmap(std::uint64_t address) noexcept;

    struct Range {
        std::shared_ptr<Allocation> allocation; ///< null: there is none
        std::byte* data = nullptr;
    };
    /// The mapping in which all of [address, address + length) lies.
    Range find(std::uint64_t address, std::uint64_t length) const;

private:
    mutable std::mutex mutex_;
    std::map<std::uint64_t, std::shared_ptr<Allocation>> mappings_;
    std::uint64_t next_address_ = 1u << 16;
};

} // namespace overtake
