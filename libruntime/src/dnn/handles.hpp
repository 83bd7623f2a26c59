// SPDX-License-Identifier: MIT
//
// Handles of the C interface: numbers that are never used again, so that a stale handle, or one of
// another kind, is recognised.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace overtake::dnn {

/// The kind of object that a handle names; part of its number.
enum class HandleKind : std::uintptr_t { pack = 1, model = 2, task = 3 };

/// Thread safe.
template <class Object>
class HandleTable {
public:
    explicit HandleTable(HandleKind kind) : kind_(kind) {}

    /// Returns the handle; null if there are `limit` objects already.
    void* add(std::shared_ptr<Object> object, std::size_t limit = SIZE_MAX) {
        const std::lock_guard lock(mutex_);
        if (objects_.size() >= limit)
            return nullptr;
        // The number is no multiple of 16, so it is neither 0 nor an address of malloc().
        const std::uintptr_t number = ++last * 16 + static_cast<std::uintptr_t>(kind_);
        objects_.emplace(number, std::move(object));
        return std::bit_cast<void*>(number);
    }

    /// Returns the object; null if the handle names none.
    std::shared_ptr<Object> find(const void* handle) const {
        const std::lock_guard lock(mutex_);
        const auto found = objects_.find(std::bit_cast<std::uintptr_t>(handle));
        return found == objects_.end() ? nullptr : found->second;
    }

    /// Removes the object; its handle names no object from now on.  Null if it named none.
    std::shared_ptr<Object> take(const void* handle) {
        const std::lock_guard lock(mutex_);
        const auto found = objects_.find(std::bit_cast<std::uintptr_t>(handle));
        if (found == objects_.end())
            return nullptr;
        std::shared_ptr<Object> object = std::move(found->second);
        objects_.erase(found);
        return object;
    }

    std::size_t size() const {
        const std::lock_guard lock(mutex_);
        return objects_.size();
    }

private:
    const HandleKind kind_;
    mutable std::mutex mutex_;
    inline static std::atomic<std::uintptr_t> last = 0; ///< of all tables of the kind
    std::unordered_map<std::uintptr_t, std::shared_ptr<Object>> objects_;
};

} // namespace overtake::dnn
