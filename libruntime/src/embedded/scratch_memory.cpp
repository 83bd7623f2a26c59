// SPDX-License-Identifier: MIT
#include "embedded/scratch_memory.hpp"

#include <cstring>
#include <utility>

namespace overtake {

/// Memory that a job has until it is freed.
class ScratchMemory::Lent final : public Allocation {
public:
    explicit Lent(std::shared_ptr<ScratchMemory> owner) : owner_(std::move(owner)) {}
    ~Lent() override {
        if (memory_)
            owner_->keep(std::move(memory_));
    }
    void hold(std::unique_ptr<PrivateAllocation> memory) noexcept {
        memory_ = std::move(memory);
        data_ = memory_->data();
        size_ = memory_->size();
    }
    bool is_quick_to_free() const noexcept override { return true; }

private:
    const std::shared_ptr<ScratchMemory> owner_;
    std::unique_ptr<PrivateAllocation> memory_;
};

ScratchMemory::ScratchMemory(std::shared_ptr<MemoryAccount> account, bool is_written)
    : account_(std::move(account)), is_written_(is_written) {
    kept_.reserve(most_pieces);
    try {
        account_->add_reserve(*this);
    } catch (...) {
        account_->remove_reserve(*this);
        throw;
    }
}

ScratchMemory::~ScratchMemory() {
    account_->remove_reserve(*this);
}

std::shared_ptr<ScratchMemory> ScratchMemory::make(std::shared_ptr<MemoryAccount> account,
                                                   bool is_written) {
    return std::shared_ptr<ScratchMemory>(new ScratchMemory(std::move(account), is_written));
}

std::shared_ptr<Allocation> ScratchMemory::take(std::size_t bytes) {
    const std::size_t wanted = round_to_pages(bytes);
    auto lent = std::make_shared<Lent>(shared_from_this()); // throws before memory is counted
    std::unique_ptr<PrivateAllocation> memory = take_kept(wanted);
    if (memory && is_written_)
        std::memset(memory->data(), 0, bytes);
    if (!memory) {
        memory = std::make_unique<PrivateAllocation>(account_, bytes);
        if (!has_room_for(wanted))
            return memory;
    }
    lent->hold(std::move(memory));
    return lent;
}

/// Takes the smallest that fits.  A job does not get memory that is more than an eighth larger: all
/// of the memory stays charged while the job has it.
std::unique_ptr<PrivateAllocation> ScratchMemory::take_kept(std::size_t wanted) noexcept {
    const std::lock_guard lock(mutex_);
    auto best = kept_.end();
    for (auto memory = kept_.begin(); memory != kept_.end(); ++memory) {
        const std::size_t size = (*memory)->size();
        if (size >= wanted && size <= wanted + wanted / 8 &&
            (best == kept_.end() || size <= (*best)->size()))
            best = memory;
    }
    if (best == kept_.end())
        return nullptr;
    std::unique_ptr<PrivateAllocation> taken = std::move(*best);
    kept_.erase(best);
    kept_bytes_ -= taken->size();
    return taken;
}

/// Counts memory that is about to be lent, if it can be kept later.  Frees the oldest kept memory
/// for it.
bool ScratchMemory::has_room_for(std::size_t bytes) noexcept {
    while (true) {
        std::unique_ptr<PrivateAllocation> oldest; // is freed without the lock
        const std::lock_guard lock(mutex_);
        if (pieces_ - kept_.size() >= most_pieces || bytes_ - kept_bytes_ + bytes > most_bytes)
            return false;
        if (pieces_ < most_pieces && bytes_ + bytes <= most_bytes) {
            pieces_++;
            bytes_ += bytes;
            return true;
        }
        oldest = take_oldest();
    }
}

void ScratchMemory::keep(std::unique_ptr<PrivateAllocation> memory) noexcept {
    const std::lock_guard lock(mutex_);
    kept_bytes_ += memory->size();
    kept_.push_back(std::move(memory)); // the vector has room for all pieces
}

std::unique_ptr<Allocation> ScratchMemory::give_back() noexcept {
    const std::lock_guard lock(mutex_);
    return kept_.empty() ? nullptr : take_oldest();
}

/// Called with the lock held; something is kept.
std::unique_ptr<PrivateAllocation> ScratchMemory::take_oldest() noexcept {
    std::unique_ptr<PrivateAllocation> oldest = std::move(kept_.front());
    kept_.erase(kept_.begin());
    kept_bytes_ -= oldest->size();
    bytes_ -= oldest->size();
    pieces_--;
    return oldest;
}

std::size_t ScratchMemory::kept_bytes() const noexcept {
    const std::lock_guard lock(mutex_);
    return kept_bytes_;
}

} // namespace overtake
