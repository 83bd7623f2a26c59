// SPDX-License-Identifier: MIT
#include "simulator/shard.hpp"

#include <cerrno>
#include <charconv>
#include <unordered_set>

#include <fmt/format.h>

#include "overtake/device.hpp"
#include "simulator/scenario.hpp"

namespace overtake::simulator {
namespace {

/// The most parts of a sweep: as many as a sweep may have points.
constexpr unsigned shards_max = 100'000;

/// Adds each chain once; kinds share chains.
class ChainDigest {
public:
    explicit ChainDigest(Digest& digest) : digest_(digest) {}

    void add(const Chain& chain) {
        if (!seen_.insert(&chain).second)
            return;
        digest_.add(chain.segments.size());
        for (const Chain::Segment& segment : chain.segments) {
            digest_.add(segment.time);
            digest_.add(segment.fcs.size());
            for (const std::uint64_t fc : segment.fcs)
                digest_.add(fc);
            if (segment.parts)
                add(*segment.parts);
        }
    }

private:
    void add(const Parts& parts) {
        digest_.add(parts.list.size());
        for (const Parts::Part& part : parts.list) {
            digest_.add(part.core);
            for (const std::uint32_t stage : part.stages)
                digest_.add(stage);
        }
    }

    Digest& digest_;
    std::unordered_set<const Chain*> seen_;
};

} // namespace

std::vector<std::size_t> Shard::points(std::size_t count) const {
    std::vector<std::size_t> own;
    for (std::size_t i = number - 1; i < count; i += of)
        own.push_back(i);
    return own;
}

Shard parse_shard(const std::string& text) {
    Shard shard;
    const char* const end = text.data() + text.size();
    const auto number = std::from_chars(text.data(), end, shard.number);
    const bool has_slash = number.ec == std::errc() && number.ptr != end && *number.ptr == '/';
    const auto of = has_slash ? std::from_chars(number.ptr + 1, end, shard.of) : number;
    if (!has_slash || of.ec != std::errc() || of.ptr != end || shard.of > shards_max ||
        shard.number < 1 || shard.number > shard.of)
        throw Error(EINVAL, fmt::format("{}: I/N is needed, with I from 1 to N, and N up to {}",
                                        text, shards_max));
    return shard;
}

void Digest::add(std::uint64_t number) {
    for (int i = 0; i < 8; i++) {
        value_ ^= (number >> (8 * i)) & 0xff;
        value_ *= 0x100000001b3;
    }
}

std::uint64_t digest_of(const Scenario& scenario) {
    Digest digest;
    ChainDigest chains(digest);
    for (const Listed& listed : scenario.listed)
        chains.add(*listed.kind.chain);
    for (const Load& load : scenario.loads) {
        chains.add(*load.kind.chain);
        digest.add(load.trace.size());
        for (const std::uint64_t time : load.trace)
            digest.add(time);
    }
    return digest.value();
}

} // namespace overtake::simulator
