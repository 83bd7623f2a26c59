// SPDX-License-Identifier: MIT
//
// Memory of an embedded device: allocations, and the device addresses that name them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "overtake_accel.h"

namespace overtake {

class Allocation;

/// Memory that is kept for later, and that an account takes back when it has no room.
class Reserve {
public:
    /// Returns a piece of memory that nothing uses; null: there is none.  Called from any thread,
    /// with a lock of the account held: it is quick.
    virtual std::unique_ptr<Allocation> give_back() noexcept = 0;

protected:
    ~Reserve() = default;
};

/// Counts the memory that is kept for a client, and the mappings that it takes: the system has a
/// limited number of mappings for a process.  Thread safe.
class MemoryAccount {
public:
    /// `all`: an account of all clients together, which is charged as well; null: there is none.
    explicit MemoryAccount(std::size_t most = OVERTAKE_MAX_CLIENT_BYTES,
                           std::shared_ptr<MemoryAccount> all = nullptr,
                           std::size_t most_mappings = SIZE_MAX)
        : most_(most), most_mappings_(most_mappings), all_(std::move(all)) {}
    /// charge() and add_mapping() free memory of the account's reserves, piece by piece until there
    /// is room, before they refuse.  Throws Error ENOSPC above the most bytes.
    void charge(std::size_t bytes);
    void release(std::size_t bytes) noexcept;
    /// Adds a mapping, whose bytes were charged before.  Throws Error ENOSPC above the most
    /// mappings.
    void add_mapping();
    void remove_mapping() noexcept;
    /// `reserve` is charged to this account, and lives until it is removed.
    void add_reserve(Reserve& reserve);
    void remove_reserve(Reserve& reserve) noexcept;
    /// Frees a piece of memory of this account's reserves, or of those of all accounts together;
    /// returns false if there is none.
    bool free_reserve() noexcept;
    std::size_t bytes() const noexcept { return bytes_.load(); }
    std::size_t most() const noexcept { return most_; }

private:
    bool take_bytes(std::size_t bytes, std::size_t& held) noexcept;
    bool take_mapping() noexcept;
    bool take_own_mapping() noexcept;
    bool free_own_reserve() noexcept;

    const std::size_t most_;
    const std::size_t most_mappings_;
    const std::shared_ptr<MemoryAccount> all_;
    std::atomic<std::size_t> bytes_{0};
    std::atomic<std::size_t> mappings_{0};
    std::mutex reserves_mutex_;
    std::vector<Reserve*> reserves_; ///< of this account, and of those that charge it as well
};

/// Bytes that are charged to an account while this object lives.
class MemoryCharge {
public:
    /// Throws Error ENOSPC.
    MemoryCharge(std::shared_ptr<MemoryAccount> account, std::size_t bytes)
        : account_(std::move(account)), bytes_(bytes) {
        account_->charge(bytes_);
    }
    MemoryCharge(MemoryCharge&& other) noexcept = default;
    ~MemoryCharge() {
        if (account_)
            account_->release(bytes_);
    }
    MemoryCharge& operator=(const MemoryCharge&) = delete;

private:
    std::shared_ptr<MemoryAccount> account_;
    std::size_t bytes_;
};

/// Bytes and a mapping that are charged to an account while this object lives.
class MappingCharge {
public:
    /// Throws Error ENOSPC.
    MappingCharge(std::shared_ptr<MemoryAccount> account, std::size_t bytes)
        : bytes_(account, bytes), account_(std::move(account)) {
        account_->add_mapping();
    }
    ~MappingCharge() { account_->remove_mapping(); }
    MappingCharge(const MappingCharge&) = delete;
    MappingCharge& operator=(const MappingCharge&) = delete;

private:
    const MemoryCharge bytes_;
    const std::shared_ptr<MemoryAccount> account_;
};

/// Calls `give_back` for slices of a mapping, one after the other: each slice is one system call,
/// so that threads which wait for the address space do not wait long.
template <class GiveBack>
void in_slices(std::byte* data, std::size_t bytes, GiveBack give_back) {
    constexpr std::size_t slice_bytes = std::size_t{2} << 20;
    for (std::size_t at = 0; at < bytes; at += slice_bytes)
        give_back(data + at, std::min(slice_bytes, bytes - at));
}

/// Rounds the bytes up to whole pages.
std::size_t round_to_pages(std::size_t bytes);

/// Page-aligned memory, charged to an account while it lives.
class Allocation {
public:
    virtual ~Allocation() = default;
    Allocation(const Allocation&) = delete;
    Allocation& operator=(const Allocation&) = delete;

    std::byte* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    /// Whether freeing it takes no system call.
    virtual bool is_quick_to_free() const noexcept { return false; }

protected:
    Allocation() = default;
    std::size_t size_ = 0;
    std::byte* data_ = nullptr;
};

/// Zeroed memory that only this process has.
class PrivateAllocation final : public Allocation {
public:
    /// `bytes` is rounded up to pages.  Throws Error ENOSPC or ENOMEM.
    PrivateAllocation(const std::shared_ptr<MemoryAccount>& account, std::size_t bytes);
    ~PrivateAllocation() override;

private:
    const MappingCharge charge_;
};

/// Device addresses of an embedded device.  Thread safe.
///
/// A job that resolves an address shares the memory, so it keeps the memory even if the buffer is
/// destroyed while it runs.
class AddressSpace {
public:
    /// Returns the address of byte 0; never 0, never used again.  Throws Error ENOSPC.
    std::uint64_t map(std::shared_ptr<Allocation> allocation);
    /// Returns false if nothing is mapped there.
    bool unmap(std::uint64_t address) noexcept;

    struct Range {
        std::shared_ptr<Allocation> allocation; ///< null: there is none
        std::byte* data = nullptr;
    };
    /// Returns the mapping in which all of [address, address + length) lies.
    Range find(std::uint64_t address, std::uint64_t length) const;

private:
    mutable std::mutex mutex_;
    std::map<std::uint64_t, std::shared_ptr<Allocation>> mappings_;
    std::uint64_t next_address_ = 1u << 16;
};

} // namespace overtake
