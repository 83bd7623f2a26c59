// SPDX-License-Identifier: MIT
//
// The bounds of a device's buffers and scratch regions together.
#include <barrier>
#include <cstddef>
#include <sched.h>
#include <thread>

#include <gtest/gtest.h>

#include "embedded/memory.hpp"
#include "overtake/device.hpp"

namespace overtake::test {
namespace {

/// Keeps the calling thread on the first or on the last CPU that the process may use.
void stay_on_cpu(bool last) {
    cpu_set_t allowed;
    ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    int cpu = last ? CPU_SETSIZE - 1 : 0;
    while (!CPU_ISSET(cpu, &allowed))
        cpu += last ? -1 : 1;
    CPU_ZERO(&allowed);
    CPU_SET(cpu, &allowed);
    ASSERT_EQ(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
}

TEST(MemoryAccount, EveryChargeCountsWhateverAnotherThreadCharges) {
    constexpr std::size_t charges = 1 << 21; // enough for threads to collide
    constexpr std::size_t bytes = OVERTAKE_MAX_CLIENT_BYTES / charges / 2;
    MemoryAccount account;
    std::barrier both(2);
    const auto charge_half = [&](bool last) {
        stay_on_cpu(last);
        both.arrive_and_wait();
        for (std::size_t i = 0; i < charges; i++)
            account.charge(bytes);
    };
    std::thread one(charge_half, false);
    std::thread other(charge_half, true);
    one.join();
    other.join();
    EXPECT_THROW(account.charge(1), Error) << "it is full";
    account.release(bytes);
    EXPECT_THROW(account.charge(bytes + 1), Error);
    EXPECT_NO_THROW(account.charge(bytes));
}

} // namespace
} // namespace overtake::test
