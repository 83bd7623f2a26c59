// SPDX-License-Identifier: MIT
#include "dnn/memory.hpp"

#include <bit>
#include <cerrno>

#include <fmt/format.h>

namespace overtake::dnn {

void Memory::charge(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (limit_ != 0 && bytes > limit_ - used_)
        throw Error(ENOSPC, fmt::format("{} bytes more than the {} that HB_DNN_SIM_BPU_MEM_SIZE "
                                        "allows, of which {} are in use",
                                        bytes, limit_, used_));
    used_ += bytes;
}

MemoryRange Memory::allocate(std::size_t bytes) {
    charge(bytes);
    try {
        const std::shared_ptr<Buffer> buffer = device_->create_buffer(bytes);
        const auto data = std::bit_cast<std::uintptr_t>(buffer->data());
        const std::lock_guard lock(mutex_);
        by_data_[data] = {buffer, bytes};
        try {
            by_address_[buffer->address()] = data;
        } catch (...) {
            by_data_.erase(data);
            throw;
        }
        return {buffer, buffer->data(), buffer->address()};
    } catch (...) {
        const std::lock_guard lock(mutex_);
        used_ -= bytes;
        throw;
    }
}

bool Memory::free(const void* data) {
    Allocation gone; // is destroyed without the lock
    const std::lock_guard lock(mutex_);
    const auto found = by_data_.find(std::bit_cast<std::uintptr_t>(data));
    if (found == by_data_.end())
        return false;
    gone = std::move(found->second);
    by_data_.erase(found);
    by_address_.erase(gone.buffer->address());
    used_ -= gone.bytes;
    return true;
}

MemoryRange Memory::find(const void* data, std::uint64_t bytes) const {
    const auto first = std::bit_cast<std::uintptr_t>(data);
    const std::lock_guard lock(mutex_);
    auto found = by_data_.upper_bound(first);
    if (found == by_data_.begin())
        return {};
    --found;
    const std::uint64_t offset = first - found->first;
    const Allocation& allocation = found->second;
    if (offset > allocation.bytes || bytes > allocation.bytes - offset)
        return {};
    return {allocation.buffer, allocation.buffer->data() + offset,
            allocation.buffer->address() + offset};
}

MemoryRange Memory::find_address(std::uint64_t address, std::uint64_t bytes) const {
    std::uintptr_t data;
    {
        const std::lock_guard lock(mutex_);
        auto found = by_address_.upper_bound(address);
        if (found == by_address_.begin())
            return {};
        --found;
        data = found->second + (address - found->first);
    }
    return find(std::bit_cast<const void*>(data), bytes);
}

void Memory::note_registered(std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    registered_[address]++;
}

bool Memory::forget_registered(std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    const auto found = registered_.find(address);
    if (found == registered_.end())
        return false;
    if (--found->second == 0)
        registered_.erase(found);
    return true;
}

} // namespace overtake::dnn
