// SPDX-License-Identifier: MIT
//
// Scratch memory that later jobs of a client use again: its bytes, its bounds, and its account.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "embedded/scratch_memory.hpp"
#include "overtake/device.hpp"

namespace overtake::test {
namespace {

constexpr std::size_t kibibyte = 1024;
constexpr std::size_t mebibyte = 1024 * kibibyte;

struct ScratchMemoryTest : testing::Test {
    std::shared_ptr<MemoryAccount> account = std::make_shared<MemoryAccount>();
    std::shared_ptr<ScratchMemory> scratch = ScratchMemory::make(account, true);

    /// Takes memory, writes all of it, and returns the address after it is free again.
    std::byte* use(std::size_t bytes, int value = 0x5a) {
        const auto memory = scratch->take(bytes);
        std::memset(memory->data(), value, memory->size());
        return memory->data();
    }
};

bool holds(const Allocation& memory, std::size_t bytes, int value) {
    return std::all_of(memory.data(), memory.data() + bytes,
                       [&](std::byte of) { return of == static_cast<std::byte>(value); });
}

TEST_F(ScratchMemoryTest, TheNextJobHasTheMemoryOfAnEndedOneZeroed) {
    std::byte* const first = use(100 * kibibyte);
    EXPECT_EQ(scratch->kept_bytes(), 100 * kibibyte);
    const auto next = scratch->take(90 * kibibyte);
    EXPECT_EQ(next->data(), first);
    EXPECT_TRUE(holds(*next, 90 * kibibyte, 0));
    EXPECT_EQ(scratch->kept_bytes(), 0u);
    EXPECT_EQ(account->bytes(), 100 * kibibyte);
}

TEST_F(ScratchMemoryTest, ALargerJobFindsZerosBehindTheRegionOfASmallerOne) {
    use(100 * kibibyte);
    scratch->take(60 * kibibyte).reset();
    EXPECT_TRUE(holds(*scratch->take(100 * kibibyte), 100 * kibibyte, 0));
}

TEST_F(ScratchMemoryTest, MemoryThatNoJobWritesIsNotZeroedAgain) {
    scratch = ScratchMemory::make(account, false);
    EXPECT_TRUE(holds(*scratch->take(4096), 4096, 0));
    use(4096, 7);
    EXPECT_TRUE(holds(*scratch->take(4096), 4096, 7));
}

TEST_F(ScratchMemoryTest, JobsAtTheSameTimeHaveMemoryOfTheirOwn) {
    use(4096);
    const auto one = scratch->take(4096);
    const auto two = scratch->take(4096);
    EXPECT_NE(one->data(), two->data());
    EXPECT_EQ(account->bytes(), 2 * round_to_pages(4096));
}

TEST_F(ScratchMemoryTest, AJobTakesTheSmallestMemoryThatFits) {
    auto large = scratch->take(60 * kibibyte);
    auto small = scratch->take(40 * kibibyte);
    std::byte* const of_small = small->data();
    std::byte* const of_large = large->data();
    small.reset();
    large.reset();
    EXPECT_EQ(scratch->take(40 * kibibyte)->data(), of_small);
    EXPECT_EQ(scratch->take(36 * kibibyte)->data(), of_small);
    EXPECT_EQ(scratch->take(56 * kibibyte)->data(), of_large);
    EXPECT_EQ(scratch->kept_bytes(), 100 * kibibyte);
}

TEST_F(ScratchMemoryTest, AJobTakesNoMemoryOfMuchMoreThanItsSize) {
    use(100 * kibibyte);
    EXPECT_EQ(scratch->take(88 * kibibyte)->size(), 88 * kibibyte);
    EXPECT_EQ(scratch->kept_bytes(), 188 * kibibyte);
}

TEST_F(ScratchMemoryTest, AtMostSomePiecesAreKept) {
    std::vector<std::shared_ptr<Allocation>> jobs;
    for (std::size_t i = 0; i < ScratchMemory::most_pieces + 5; i++) {
        jobs.push_back(scratch->take(4096));
        EXPECT_EQ(jobs.back()->is_quick_to_free(), i < ScratchMemory::most_pieces);
    }
    jobs.clear();
    EXPECT_EQ(scratch->kept_bytes(), ScratchMemory::most_pieces * round_to_pages(4096));
    EXPECT_EQ(account->bytes(), scratch->kept_bytes());
}

TEST_F(ScratchMemoryTest, NewSizesReplaceTheOldest) {
    std::vector<std::shared_ptr<Allocation>> jobs;
    for (std::size_t i = 0; i < ScratchMemory::most_pieces; i++)
        jobs.push_back(scratch->take(4096));
    jobs.clear();
    for (int i = 0; i < 3; i++) // the third one would make it 9 MiB
        jobs.push_back(scratch->take(3 * mebibyte));
    EXPECT_TRUE(jobs[1]->is_quick_to_free());
    EXPECT_FALSE(jobs[2]->is_quick_to_free());
    jobs.clear();
    EXPECT_EQ(scratch->kept_bytes(),
              6 * mebibyte + (ScratchMemory::most_pieces - 2) * round_to_pages(4096));
    use(5 * mebibyte); // all that is older goes, but for the last 3 MiB
    EXPECT_EQ(scratch->kept_bytes(), 8 * mebibyte);
    EXPECT_EQ(account->bytes(), scratch->kept_bytes());
}

TEST_F(ScratchMemoryTest, LargeMemoryIsNotKept) {
    EXPECT_FALSE(scratch->take(ScratchMemory::most_bytes + 1)->is_quick_to_free());
    EXPECT_EQ(account->bytes(), 0u);
    EXPECT_TRUE(scratch->take(ScratchMemory::most_bytes)->is_quick_to_free());
    EXPECT_EQ(account->bytes(), ScratchMemory::most_bytes);
    scratch.reset();
    EXPECT_EQ(account->bytes(), 0u);
}

TEST(ScratchMemory, JobsThatFitTheLimitFitInAnyOrder) {
    auto account = std::make_shared<MemoryAccount>(12 * mebibyte);
    const auto scratch = ScratchMemory::make(account, true);
    scratch->take(8 * mebibyte).reset();
    const auto small = scratch->take(4 * mebibyte);
    const auto large = scratch->take(8 * mebibyte);
    EXPECT_EQ(account->bytes(), 12 * mebibyte);
}

TEST(ScratchMemory, IsGivenBackPieceByPiece) {
    auto account = std::make_shared<MemoryAccount>(mebibyte);
    const auto scratch = ScratchMemory::make(account, true);
    {
        const auto one = scratch->take(300 * kibibyte);
        const auto two = scratch->take(400 * kibibyte);
    }
    account->charge(500 * kibibyte); // needs one of them
    EXPECT_EQ(account->bytes() - 500 * kibibyte, scratch->kept_bytes());
    EXPECT_NE(scratch->kept_bytes(), 0u);
}

TEST_F(ScratchMemoryTest, AJobOutlivesItsClient) {
    auto job = scratch->take(4096);
    scratch.reset();
    std::memset(job->data(), 1, job->size());
    job.reset();
    EXPECT_EQ(account->bytes(), 0u);
}

TEST(ScratchMemory, IsGivenBackBeforeItsAccountRefuses) {
    auto account = std::make_shared<MemoryAccount>(mebibyte);
    const auto scratch = ScratchMemory::make(account, true);
    scratch->take(600 * kibibyte).reset();
    ASSERT_EQ(account->bytes(), 600 * kibibyte);
    account->charge(400 * kibibyte);
    EXPECT_EQ(scratch->kept_bytes(), 600 * kibibyte);
    account->charge(500 * kibibyte);
    EXPECT_EQ(scratch->kept_bytes(), 0u);
    EXPECT_EQ(account->bytes(), 900 * kibibyte);
    EXPECT_THROW(account->charge(200 * kibibyte), Error);
    EXPECT_EQ(account->bytes(), 900 * kibibyte);
}

TEST(ScratchMemory, IsGivenBackToAnotherClientOfTheSameUser) {
    auto user = std::make_shared<MemoryAccount>(mebibyte, nullptr, 2);
    auto one = std::make_shared<MemoryAccount>(mebibyte, user);
    auto other = std::make_shared<MemoryAccount>(mebibyte, user);
    const auto scratch = ScratchMemory::make(one, true);
    scratch->take(600 * kibibyte).reset();
    other->charge(500 * kibibyte);
    EXPECT_EQ(scratch->kept_bytes(), 0u);
    EXPECT_EQ(one->bytes(), 0u);
    other->release(500 * kibibyte);

    scratch->take(kibibyte).reset();
    other->add_mapping();
    EXPECT_NE(scratch->kept_bytes(), 0u);
    other->add_mapping();
    EXPECT_EQ(scratch->kept_bytes(), 0u);
    EXPECT_THROW(other->add_mapping(), Error);
}

TEST(ScratchMemory, OfAClientThatIsGoneIsNotAskedFor) {
    auto user = std::make_shared<MemoryAccount>(mebibyte);
    auto one = std::make_shared<MemoryAccount>(mebibyte, user);
    ScratchMemory::make(one, true)->take(kibibyte).reset();
    user->charge(mebibyte);
    EXPECT_THROW(user->charge(1), Error);
    EXPECT_THROW(one->charge(1), Error);
}

/// Clients of one user take, write and free memory while their share is nearly full.
TEST(ScratchMemory, ManyThreadsStayInsideTheirShare) {
    constexpr std::size_t share = 4 * mebibyte;
    auto user = std::make_shared<MemoryAccount>(share);
    std::vector<std::shared_ptr<ScratchMemory>> clients;
    for (int i = 0; i < 2; i++)
        clients.push_back(ScratchMemory::make(std::make_shared<MemoryAccount>(share, user), true));
    const auto work = [&](std::size_t thread) {
        for (std::size_t i = 0; i < 400; i++) {
            const std::size_t bytes = (1 + (i * 7 + thread * 3) % 40) * 16 * kibibyte;
            try {
                const auto memory = clients[thread % clients.size()]->take(bytes);
                ASSERT_TRUE(holds(*memory, 64, 0));
                ASSERT_TRUE(memory->data()[bytes - 1] == std::byte{0});
                std::memset(memory->data(), static_cast<int>(thread + 1), memory->size());
                ASSERT_TRUE(memory->data()[bytes - 1] == static_cast<std::byte>(thread + 1));
            } catch (const Error& refused) {
                ASSERT_EQ(refused.code(), ENOSPC);
            }
            ASSERT_LE(user->bytes(), share);
        }
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 4; i++)
        threads.emplace_back(work, i);
    for (std::thread& thread : threads)
        thread.join();
    clients.clear();
    EXPECT_EQ(user->bytes(), 0u);
}

} // namespace
} // namespace overtake::test
