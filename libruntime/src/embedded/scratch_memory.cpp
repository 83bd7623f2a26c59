// SPDX-License-Identifier: MIT
#include "embedded/scratch_memory.hpp"

#include <cstring>
#include <utility>

namespace overtake {

/// Memory that a job has until it is freed.
class ScratchMemory::Lent final : public Allocation {
public:
    Lent(std::shared_ptr<ScratchMemory> owner, std::unique_ptr<PrivateAllocation> memory)
        : owner_(std::move(owner)), memory_(std::move(memory)) {
        data_ = memory_->data();
        size_ = memory_->size();
    }
    ~Lent() override { owner_->keep(std::move(memory_)); }
    bool is_quick_to_free() const noexcept override { return true; }

private:
    const std::shared_ptr<ScratchMemory> owner_;
    std::unique_ptr<PrivateAllocation> memory_;
};

ScratchMemory::ScratchMemory(std::shared_ptr<MemoryAccount> account, bool is_written)
    : account_(std::move(account)), is_written_(is_written) {
    kept_.reserve(most_kept);
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
    if (round_to_pages(bytes) > most_kept_bytes)
        return std::make_shared<PrivateAllocation>(account_, bytes);
    std::unique_ptr<PrivateAllocation> memory = take_kept(bytes);
    if (memory && is_written_)
        std::memset(memory->data(), 0, bytes);
    if (!memory)
        memory = std::make_unique<PrivateAllocation>(account_, bytes);
    return std::make_shared<Lent>(shared_from_this(), std::move(memory));
}

/// Takes the smallest that has room.  A job does not get memory that is
/// more than an eighth larger: all of the memory stays charged while the job has it.
std::unique_ptr<PrivateAllocation> ScratchMemory::take_kept(std::size_t bytes) noexcept {
    const std::size_t wanted = round_to_pages(bytes);
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

void ScratchMemory::keep(std::unique_ptr<PrivateAllocation> memory) noexcept {
    while (true) {
        std::unique_ptr<PrivateAllocation> oldest; // is freed without the lock
        const std::lock_guard lock(mutex_);
        if (kept_.size() < most_kept && kept_bytes_ + memory->size() <= most_kept_bytes) {
            kept_bytes_ += memory->size();
            kept_.push_back(std::move(memory)); // the vector has room
            return;
        }
        oldest = take_oldest();
    }
}

void ScratchMemory::give_back() noexcept {
    for (bool is_empty = false; !is_empty;) {
        std::unique_ptr<PrivateAllocation> oldest; // is freed without the lock
        const std::lock_guard lock(mutex_);
        is_empty = kept_.empty();
        if (!is_empty)
            oldest = take_oldest();
    }
}

/// Called with the lock held; something is kept.
std::unique_ptr<PrivateAllocation> ScratchMemory::take_oldest() noexcept {
    std::unique_ptr<PrivateAllocation> oldest = std::move(kept_.front());
    kept_.erase(kept_.begin());
    kept_bytes_ -= oldest->size();
    return oldest;
}

std::size_t ScratchMemory::kept_bytes() const noexcept {
    const std::lock_guard lock(mutex_);
    return kept_bytes_;
}

} // namespace overtake
