// SPDX-License-Identifier: MIT
//
// Scratch memory of a client's jobs, which later jobs of the same client use again.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "embedded/memory.hpp"

namespace overtake {

/// Gives jobs scratch memory, and keeps the memory of ended jobs for the next ones.
///
/// A fresh mapping has a page fault for each page that a job touches, and on many machines these
/// faults take longer than the job.  Kept memory has its pages.  It is charged to the client's
/// account, only jobs of the same client get it, and take() zeroes it first.  Thread safe.
class ScratchMemory final : public Reserve, public std::enable_shared_from_this<ScratchMemory> {
public:
    /// Bounds of the memory that is kept, or that will be when its job is freed.  Other jobs have
    /// memory of their own.
    static constexpr std::size_t most_bytes = std::size_t{8} << 20;
    static constexpr std::size_t most_pieces = 16;

    /// `is_written`: jobs compute, so that memory which is used again must be zeroed.
    static std::shared_ptr<ScratchMemory> make(std::shared_ptr<MemoryAccount> account,
                                               bool is_written);
    ~ScratchMemory();

    /// Returns at least `bytes` bytes that are 0.  Throws Error ENOSPC or ENOMEM.
    std::shared_ptr<Allocation> take(std::size_t bytes);
    std::unique_ptr<Allocation> give_back() noexcept override;

    const std::shared_ptr<MemoryAccount>& account() const noexcept { return account_; }
    /// Returns the bytes that are kept and that no job uses.
    std::size_t kept_bytes() const noexcept;

private:
    class Lent;
    using Kept = std::vector<std::unique_ptr<PrivateAllocation>>;

    ScratchMemory(std::shared_ptr<MemoryAccount> account, bool is_written);
    std::unique_ptr<PrivateAllocation> take_kept(std::size_t wanted) noexcept;
    bool has_room_for(std::size_t bytes) noexcept;
    void keep(std::unique_ptr<PrivateAllocation> memory) noexcept;
    std::unique_ptr<PrivateAllocation> take_oldest() noexcept;

    const std::shared_ptr<MemoryAccount> account_;
    const bool is_written_;
    mutable std::mutex mutex_;
    Kept kept_; ///< the oldest first
    std::size_t kept_bytes_ = 0;
    std::size_t bytes_ = 0;  ///< of kept memory, and of lent memory that comes back
    std::size_t pieces_ = 0; ///< of this memory
};

} // namespace overtake
