// SPDX-License-Identifier: MIT
// Numbers that depend only on a seed. Not thread safe: each call of the fuzzer has its own object.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace overtake::fuzz {

class Random {
public:
    explicit Random(uint64_t seed) : state_(seed) {}

    // splitmix64
    uint64_t next() {
        uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }

    // 0..limit - 1; limit is at least 1.
    uint32_t below(uint32_t limit) { return static_cast<uint32_t>(((next() >> 32) * limit) >> 32); }

    bool one_in(uint32_t n) { return below(n) == 0; }

    template <typename T>
    T pick(std::initializer_list<T> values) {
        return values.begin()[below(static_cast<uint32_t>(values.size()))];
    }

    // Returns a number that may be the limit of a valid range.
    uint64_t boundary() {
        const uint64_t power = 1ull << below(64);
        return pick<uint64_t>({0,
                               1,
                               2,
                               7,
                               8,
                               4095,
                               4096,
                               65535,
                               65536,
                               65537,
                               0x7fffffff,
                               0x80000000,
                               0xffffffff,
                               0x7fffffffffffffff,
                               0x8000000000000000,
                               ~0ull,
                               power,
                               power - 1,
                               power + 1,
                               next()});
    }

private:
    uint64_t state_;
};

// Returns one seed from several numbers, for streams that are independent of each other.
inline uint64_t mix(std::initializer_list<uint64_t> numbers) {
    uint64_t seed = 0;
    for (uint64_t number : numbers)
        seed = Random(seed ^ number).next();
    return seed;
}

} // namespace overtake::fuzz
