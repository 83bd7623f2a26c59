// SPDX-License-Identifier: MIT
//
// An embedded device reserves a slot of the command queue for each command that it may need later.
#include <gtest/gtest.h>

#include "embedded/firmware_host.hpp"

namespace overtake::test {
namespace {

TEST(FirmwareHost, EveryReservedCommandSlotComesBack) {
    EmbeddedOptions options;
    options.cores = 5;
    options.core_limits = {0, 1, 2, 0, 4};
    options.normal_floor = 3;
    FirmwareHost host(options);
    EmbeddedClient client;
    EXPECT_EQ(host.command_slots_reserved(), 0u) << "of the settings";

    auto plain = host.open_context({}, client);
    EXPECT_EQ(host.command_slots_reserved(), 1u) << "KILL_CONTEXT";
    auto limiting = host.open_context({.max_priority = 255, .core_limit = 3}, client);
    EXPECT_EQ(host.command_slots_reserved(), 1u + 1u + 5u) << "and a LIMIT for each core";
    host.close_context(*limiting);
    EXPECT_EQ(host.command_slots_reserved(), 1u);
    host.close_context(*plain);
    EXPECT_EQ(host.command_slots_reserved(), 0u);
}

} // namespace
} // namespace overtake::test
