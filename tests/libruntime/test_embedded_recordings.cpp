// SPDX-License-Identifier: MIT
//
// Recordings of an embedded device and of a server: the memory that they keep, and for how long.
#include <cerrno>
#include <memory>

#include <gtest/gtest.h>

#include "embedded/recordings.hpp"
#include "overtake/error.hpp"

namespace overtake {
namespace {

class EmbeddedRecordings : public testing::Test {
protected:
    static constexpr JobBounds bounds{.cores = 2, .max_priority = 254};

    std::uint64_t map(std::size_t bytes) {
        return addresses->map(std::make_shared<PrivateAllocation>(account, bytes));
    }
    Job job(std::uint32_t scratch_bytes) {
        fixed = {{program, 4096, OVERTAKE_REGION_PROGRAM, OVERTAKE_MAP_READ}};
        Job job;
        job.fcs = fcs;
        job.bindings = fixed;
        job.scratch_bytes = scratch_bytes;
        return job;
    }
    std::shared_ptr<EmbeddedJob> replay(std::uint32_t recording, std::uint64_t address,
                                        std::uint64_t bytes) {
        data = {{address, bytes, OVERTAKE_REGION_IO, OVERTAKE_MAP_READ}};
        Replay replay;
        replay.recording = recording;
        replay.tag = 3;
        replay.bindings = data;
        return recordings.replay(replay, bounds, [] {});
    }

    std::shared_ptr<MemoryAccount> account = std::make_shared<MemoryAccount>();
    std::shared_ptr<AddressSpace> addresses = std::make_shared<AddressSpace>();
    Recordings recordings{addresses, account, JobCharge::all};
    std::vector<overtake_fc> fcs{{0, 1}, {1, 1}};
    std::vector<overtake_binding> fixed, data;
    std::uint64_t program = map(4096);
};

TEST_F(EmbeddedRecordings, AnIdleInstanceKeepsNoBufferOfItsLastTime) {
    const std::uint32_t recording = recordings.record(job(0), 1, bounds);
    const std::size_t before = account->bytes();
    const std::uint64_t address = map(1 << 20);
    auto in_flight = replay(recording, address, 1 << 20);
    EXPECT_TRUE(addresses->unmap(address));
    EXPECT_EQ(account->bytes(), before + (1 << 20));
    in_flight.reset();
    EXPECT_EQ(account->bytes(), before);
}

TEST_F(EmbeddedRecordings, InstancesAreChargedWithTheirScratchAndGoWithTheRecording) {
    const std::size_t before = account->bytes();
    const std::uint32_t recording = recordings.record(job(8192), 16, bounds);
    EXPECT_GE(account->bytes(), before + 16 * (8192 + sizeof(EmbeddedJob)));
    recordings.forget(recording);
    EXPECT_EQ(account->bytes(), before);
}

TEST_F(EmbeddedRecordings, AForgottenRecordingStaysUntilItsLastJobIsOver) {
    const std::size_t before = account->bytes();
    const std::uint32_t recording = recordings.record(job(8192), 2, bounds);
    const std::size_t recorded = account->bytes();
    auto one = replay(recording, program, 4096), other = replay(recording, program, 4096);
    EXPECT_NE(one->regions[OVERTAKE_REGION_SCRATCH].base,
              other->regions[OVERTAKE_REGION_SCRATCH].base);
    EXPECT_THROW(replay(recording, program, 4096), Error);
    recordings.forget(recording);
    EXPECT_THROW(replay(recording, program, 4096), Error);
    one.reset();
    EXPECT_EQ(account->bytes(), recorded);
    other.reset();
    EXPECT_EQ(account->bytes(), before);
}

TEST_F(EmbeddedRecordings, ARefusedReplayCostsNoInstance) {
    const std::uint32_t recording = recordings.record(job(0), 1, bounds);
    for (int i = 0; i < 3; i++)
        EXPECT_THROW(replay(recording, 8, 4096), Error);
    EXPECT_TRUE(replay(recording, program, 4096));
}

/// Another thread may drop the last reference, under any lock.
TEST_F(EmbeddedRecordings, ReferencesMayOutliveTheQueue) {
    std::shared_ptr<EmbeddedJob> last;
    {
        Recordings others(addresses, account, JobCharge::all);
        const std::uint32_t recording = others.record(job(4096), 1, bounds);
        Replay replay;
        replay.recording = recording;
        last = others.replay(replay, bounds, [] {});
    }
    last->regions[OVERTAKE_REGION_SCRATCH].base[4095] = 1;
    EXPECT_EQ(last.use_count(), 1);
    last.reset();
}

} // namespace
} // namespace overtake
