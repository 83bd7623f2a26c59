// SPDX-License-Identifier: MIT
//
// Random numbers that are the same for a seed on every machine and with every standard library.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace overtake::simulator {

/// xoshiro256** (Blackman and Vigna, 2018), seeded by splitmix64.
class Random {
public:
    explicit Random(std::uint64_t seed) {
        for (std::uint64_t& word : state_) {
            seed += 0x9e3779b97f4a7c15;
            std::uint64_t mixed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9;
            mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
            word = mixed ^ (mixed >> 31);
        }
    }

    std::uint64_t next() {
        const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
        const std::uint64_t shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = std::rotl(state_[3], 45);
        return result;
    }

    /// Returns a number from 0 to bound - 1; bound is at least 1. The bias is below bound / 2^64.
    std::uint64_t below(std::uint64_t bound) {
        return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
    }

    std::uint64_t between(std::uint64_t from, std::uint64_t to) {
        return from + below(to - from + 1);
    }

    bool one_in(std::uint64_t n) { return below(n) == 0; }

    /// Returns a number in (0, 1].
    double unit() { return (static_cast<double>(next() >> 11) + 1) * 0x1p-53; }

    double exponential(double mean) { return -mean * std::log(unit()); }

    /// Returns a standard normal number, by Box and Muller's transform.
    double normal() {
        const double radius = std::sqrt(-2 * std::log(unit()));
        return radius * std::cos(2 * std::numbers::pi * unit());
    }

private:
    __extension__ using Wide = unsigned __int128;

    std::array<std::uint64_t, 4> state_{};
};

} // namespace overtake::simulator
