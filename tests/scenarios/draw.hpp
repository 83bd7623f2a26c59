// SPDX-License-Identifier: MIT
//
// Random choices: a seed gives the same choices on every machine.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace overtake::test {

class Draw {
public:
    explicit Draw(std::uint64_t seed) : random_(seed) {}

    /// Returns 0..limit-1. The distributions of the standard library differ between
    /// implementations.
    std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
    bool one_in(std::uint64_t count) { return below(count) == 0; }

    template <typename Value>
    Value of(std::initializer_list<Value> values) {
        return values.begin()[below(values.size())];
    }
    template <typename Value>
    const Value& of(const std::vector<Value>& values) {
        return values[below(values.size())];
    }

private:
    std::mt19937_64 random_;
};

} // namespace overtake::test
