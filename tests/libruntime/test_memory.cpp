// SPDX-License-Identifier: MIT
//
// What a device's buffers and scratch regions may hold together.
#include <array>
#include <barrier>
#include <cstddef>
#include <thread>

#include <gtest/gtest.h>

#include "embedded/memory.hpp"
#include "overtake/device.hpp"

namespace overtake::test {
namespace {

TEST(MemoryAccount, EveryChargeCountsWhateverOthersChargeMeanwhile) {
    constexpr std::size_t charges = 1 << 22; // enough for threads to meet
    constexpr std::size_t bytes = OVERTAKE_MAX_CLIENT_BYTES / charges / 2;
    MemoryAccount account;
    std::barrier both(2);
    const auto charge_half = [&] {
        both.arrive_and_wait();
        for (std::size_t i = 0; i < charges; i++)
            account.charge(bytes);
    };
    std::array threads{std::thread(charge_half), std::thread(charge_half)};
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_THROW(account.charge(1), Error) << "it is full";
    account.release(bytes);
    EXPECT_THROW(account.charge(bytes + 1), Error);
    account.charge(bytes);
}

} // namespace
} // namespace overtake::test
