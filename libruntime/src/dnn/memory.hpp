// SPDX-License-Identifier: MIT
//
// The allocations of hbSys*(), by address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "overtake/device.hpp"

namespace overtake::dnn {

/// A range inside an allocation; it keeps the allocation alive.
struct MemoryRange {
    std::shared_ptr<Buffer> buffer; ///< null: the range is in no allocation of hbSys*()
    std::byte* data = nullptr;
    std::uint64_t address = 0; ///< on the device
};

/// Thread safe.
class Memory {
public:
    /// Has allocations of at most `limit` bytes together; 0 = as many as the device has.
    Memory(std::shared_ptr<Device> device, std::uint64_t limit)
        : device_(std::move(device)), limit_(limit) {}

    const std::shared_ptr<Device>& device() const noexcept { return device_; }

    /// Returns zeroed memory.  Throws Error ENOSPC or ENOMEM.
    MemoryRange allocate(std::size_t bytes);
    /// Frees an allocation by its first byte.  False if there is none.  A MemoryRange keeps the
    /// memory.
    bool free(const void* data);

    /// Returns [data, data + bytes), if all of it lies in one allocation.
    MemoryRange find(const void* data, std::uint64_t bytes) const;
    /// Does the same by device address.
    MemoryRange find_address(std::uint64_t address, std::uint64_t bytes) const;

    /// Counts a registration of the range that begins at this device address.
    void note_registered(std::uint64_t address);
    /// Takes one registration back; false if there is none.
    bool forget_registered(std::uint64_t address);

private:
    struct Allocation {
        std::shared_ptr<Buffer> buffer;
        std::size_t bytes; ///< the size that was asked for
    };

    void charge(std::size_t bytes);

    const std::shared_ptr<Device> device_;
    const std::uint64_t limit_;
    mutable std::mutex mutex_;
    std::uint64_t used_ = 0;
    std::map<std::uintptr_t, Allocation> by_data_;
    std::map<std::uint64_t, std::uintptr_t> by_address_;
    std::map<std::uint64_t, std::size_t> registered_;
};

} // namespace overtake::dnn
