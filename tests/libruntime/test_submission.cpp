// SPDX-License-Identifier: MIT
//
// A job in the form of the device's interface.
#include <array>
#include <cstdint>

#include <gtest/gtest.h>

#include "overtake/device.hpp"
#include "refusal.hpp"

namespace overtake::test {
namespace {

std::uint64_t address_of(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

TEST(Submission, HasTheFieldsOfTheJob) {
    const std::array<overtake_fc, 2> fcs{};
    const std::array<overtake_binding, 3> bindings{};
    Job job;
    job.tag = 0x1122334455667788;
    job.fcs = fcs;
    job.bindings = bindings;
    job.scratch_bytes = 4097;
    job.priority = 254;
    job.custom_id = -5;
    job.core = 64;
    job.deadline_ns = 1ll << 40;
    const drm_overtake_submit submit = submission(job);
    EXPECT_EQ(submit.tag, 0x1122334455667788u);
    EXPECT_EQ(submit.fcs, address_of(fcs.data()));
    EXPECT_EQ(submit.fc_count, 2u);
    EXPECT_EQ(submit.bindings, address_of(bindings.data()));
    EXPECT_EQ(submit.binding_count, 3u);
    EXPECT_EQ(submit.scratch_bytes, 4097u);
    EXPECT_EQ(submit.priority, 254u);
    EXPECT_EQ(submit.custom_id, -5);
    EXPECT_EQ(submit.core, 64u);
    EXPECT_EQ(submit.deadline_ns, 1ll << 40);
}

TEST(Submission, APriorityThatDoesNotFitBecomesAnInvalidOne) {
    Job job;
    job.priority = (1u << 16) + 7;
    EXPECT_EQ(submission(job).priority, 0xffffu);
}

} // namespace
} // namespace overtake::test
