// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>

#include "compiler/cores/generate.hpp"
#include "compiler/cores/geometry.hpp"
#include "compiler/lower/cost.hpp"

namespace overtake::compiler {
namespace {

using Profiles = std::span<const std::shared_ptr<const ovt_profile>>;

double real_ns(std::uint64_t cycles, const ovt_profile& profile) {
    return static_cast<double>(cycles) * 1e6 / profile.clock_khz;
}

double slowest_part_ns(const overtake_insn& insn, const Shares& shares, Profiles cores) {
    double longest = 0;
    for (std::size_t core = 0; core < shares.size(); ++core) {
        std::uint64_t cycles = 0;
        for (const Box& box : shares[core])
            cycles += piece_cost(insn, box, *cores[core]);
        longest = std::max(longest, real_ns(cycles, *cores[core]));
    }
    return longest;
}

double fastest_ns(const overtake_insn& insn, Profiles cores) {
    std::vector<double> speeds;
    for (const auto& core : cores)
        speeds.push_back(
            ovt_profile_lacks(core.get(), insn.opcode) ? 0 : 1 / real_ns(cost(insn, *core), *core));
    double best = std::numeric_limits<double>::infinity();
    for (const Scheme scheme : {Scheme::single, Scheme::row, Scheme::column, Scheme::grid,
                                Scheme::channel, Scheme::balanced})
        if (const auto found = shares(insn, scheme, speeds))
            best = std::min(best, slowest_part_ns(insn, *found, cores));
    return best;
}

double longest_chain_ns(const SegmentLayers& segment, Profiles cores) {
    std::vector<double> ends;
    double longest = 0;
    for (const Layer& layer : segment.layers) {
        double start = 0;
        for (const std::vector<std::size_t>& writers : layer.writers)
            for (const std::size_t writer : writers)
                start = std::max(start, ends[writer]);
        ends.push_back(start + fastest_ns(layer.step.insn, cores));
        longest = std::max(longest, ends.back());
    }
    return longest;
}

} // namespace

std::uint64_t bound_ns(std::span<const SegmentLayers> segments, Profiles cores) {
    double shared = 0, chains = 0;
    for (const SegmentLayers& segment : segments) {
        for (const Layer& layer : segment.layers) {
            double speed = 0;
            for (const auto& core : cores)
                if (!ovt_profile_lacks(core.get(), layer.step.insn.opcode))
                    speed += 1 / real_ns(cost(layer.step.insn, *core), *core);
            shared += 1 / speed;
        }
        chains += longest_chain_ns(segment, cores);
    }
    return static_cast<std::uint64_t>(std::max(shared, chains));
}

} // namespace overtake::compiler
