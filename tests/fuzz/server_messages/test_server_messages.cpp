// SPDX-License-Identifier: MIT
//
// Messages of a client to a device server: the server accepts valid messages, and some thousand
// changed messages do no harm.
#include <random>

#include <gtest/gtest.h>

#include "run_messages.hpp"

namespace overtake::fuzz {
namespace {

TEST(ServerMessages, EverySeedIsTaken) {
    std::vector<std::size_t> messages;
    for (const auto& seed : message_seeds())
        messages.push_back(run_messages(seed));
    // The last input overwrites the areas of its queues, calls included.
    EXPECT_EQ(messages, (std::vector<std::size_t>{4, 3, 9, 7, 6, 8, 3}));
}

TEST(ServerMessages, EveryChangeIsTakenOrRefused) {
    const auto seeds = message_seeds();
    std::mt19937 random(1);
    std::size_t messages = 0;
    constexpr std::size_t rounds = 1000; // make fuzz-server makes more
    for (std::size_t round = 0; round < rounds; round++) {
        std::vector<std::byte> input = seeds[random() % seeds.size()];
        for (unsigned changes = 1 + random() % 4; changes != 0; changes--) {
            const std::size_t at = random() % input.size();
            switch (random() % 4) {
            case 0:
                input[at] = static_cast<std::byte>(random());
                break;
            case 1:
                input[at] ^= static_cast<std::byte>(1u << random() % 8);
                break;
            case 2:
                input.erase(input.begin() + static_cast<std::ptrdiff_t>(at));
                break;
            default:
                input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), std::byte{0xff});
            }
        }
        messages += run_messages(input);
    }
    EXPECT_GT(messages, rounds);
}

} // namespace
} // namespace overtake::fuzz
