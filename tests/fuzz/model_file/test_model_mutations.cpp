// SPDX-License-Identifier: MIT
//
// The fuzzer of model files without its engine: seeds, their mutations, and the inputs that it once
// found.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "run_model.hpp"

/// Replaces the mutations of the engine.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t) {
    static std::mt19937 random(1);
    for (std::size_t change = 1 + random() % 4; size > 0 && change > 0; change--)
        data[random() % size] = static_cast<std::uint8_t>(random());
    return size;
}

namespace overtake::fuzz {
namespace {

constexpr std::size_t largest = 1u << 16;

Outcome run(const std::vector<std::uint8_t>& bytes) {
    return run_model(std::as_bytes(std::span(bytes)));
}

TEST(ModelFile, EverySeedRuns) {
    for (const fbs::ModelT& model : seed_models()) {
        const Outcome outcome = run(pack(model));
        EXPECT_TRUE(outcome == Outcome::finished || outcome == Outcome::impossible)
            << model.segments.back()->cpu->ops.back()->name << ": " << static_cast<int>(outcome);
    }
    EXPECT_EQ(run(seed_pack()), Outcome::finished);
}

TEST(ModelFile, EveryMutationIsRefusedOrRuns) {
    std::size_t counts[5] = {};
    std::vector<std::vector<std::uint8_t>> seeds{seed_pack()};
    for (const fbs::ModelT& model : seed_models())
        seeds.push_back(pack(model));
    for (const auto& seed : seeds)
        for (std::uint32_t number = 0; number < 150; number++) {
            std::vector<std::uint8_t> bytes = seed;
            mutate_model(bytes, largest, number);
            counts[static_cast<std::size_t>(run(bytes))]++;
        }
    EXPECT_GT(counts[static_cast<std::size_t>(Outcome::refused)], 1000u);
    EXPECT_GT(counts[static_cast<std::size_t>(Outcome::finished)], 500u);
}

} // namespace
} // namespace overtake::fuzz
