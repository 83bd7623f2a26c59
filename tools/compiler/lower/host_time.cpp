// SPDX-License-Identifier: MIT
#include "compiler/lower/host_time.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "compiler/ir/error.hpp"
#include "compiler/lower/split.hpp"
#include "simd_choice.hpp"

extern "C" {
#include "host/limits.h"
}

namespace overtake::compiler {
namespace {

constexpr std::uint64_t clock_ns = OVT_FC_CLOCK_MS * 1'000'000ull;

/// Warns of an FC from this time on: a host may be half as fast as the estimate.
constexpr std::uint64_t near_ns = clock_ns / 2;
/// Warns of an inference from this time on, whose job may be in flight for at most twice as long.
constexpr std::uint64_t near_job_ns = OVT_QUEUE_TIMEOUT_MS * 1'000'000ull / 2;
/// The most time of FCs with the suggested value.
constexpr std::uint64_t wanted_ns = clock_ns / 4;
/// The least max_time_per_fc.
constexpr std::uint64_t least_us = 1000;

/// Returns nanoseconds in the unit of costs, with OVT_COST_BITS of fraction, at a clock of 1 GHz.
constexpr std::uint32_t rate(double ns) {
    return static_cast<std::uint32_t>(ns * (1u << OVT_COST_BITS) + 0.5);
}

using Costs = std::array<ovt_insn_cost, OVERTAKE_OP_COUNT>;

// The costs of products and windows are near the 3x3 rows of the table in
// docs/reference/operators.md (2.5 GMAC/s, 1.0 of DEPTHWISE).  The others are measurements of
// `OVERTAKE_SIMD=off overtake calibrate` on a server's CPU.  The rates of the profile below price
// all other instructions.
constexpr Costs scalar_costs = [] {
    Costs costs{};
    const auto set = [&](unsigned opcode, double per_operation, double per_output = 0,
                         double per_input_byte = 0, double per_constant_byte = 0) {
        costs[opcode] = {.fixed_cycles = 1,
                         .per_operation = rate(per_operation),
                         .per_output = rate(per_output),
                         .per_input_byte = rate(per_input_byte),
                         .per_constant_byte = rate(per_constant_byte)};
    };
    set(OVERTAKE_OP_CONV, 0.4, 5);
    set(OVERTAKE_OP_TRANSPOSED_CONV, 0.4, 11, 0, 0.4);
    set(OVERTAKE_OP_DEPTHWISE, 0.4, 5);
    set(OVERTAKE_OP_MATMUL, 0.4, 3, 0, 1.2);
    for (const unsigned opcode :
         {OVERTAKE_OP_ADD, OVERTAKE_OP_SUB, OVERTAKE_OP_MUL, OVERTAKE_OP_MAX, OVERTAKE_OP_MIN})
        set(opcode, 2.2);
    set(OVERTAKE_OP_MAX_POOL, 0.4, 0, 0.4);
    set(OVERTAKE_OP_AVERAGE_POOL, 0.2, 4.3, 0.2);
    set(OVERTAKE_OP_TABLE, 0.6);
    set(OVERTAKE_OP_COPY, 0.04);
    set(OVERTAKE_OP_PAD, 0, 0, 0.06);
    set(OVERTAKE_OP_PERMUTE, 0.32);
    set(OVERTAKE_OP_DEPTH_TO_SPACE, 0.09);
    set(OVERTAKE_OP_SPACE_TO_DEPTH, 0.04);
    set(OVERTAKE_OP_RESIZE_NEAREST, 0.04);
    set(OVERTAKE_OP_RESIZE_BILINEAR, 0.16);
    return costs;
}();

// The costs with AVX2 for instructions that have it: 62 GMAC/s, 12 of DEPTHWISE.
constexpr Costs avx2_costs = [] {
    Costs costs = scalar_costs;
    const auto set = [&](unsigned opcode, double per_operation, double per_output = 0) {
        costs[opcode] = {.fixed_cycles = 1,
                         .per_operation = rate(per_operation),
                         .per_output = rate(per_output),
                         .per_input_byte = 0,
                         .per_constant_byte = 0};
    };
    set(OVERTAKE_OP_CONV, 0.016, 0.2);
    set(OVERTAKE_OP_DEPTHWISE, 0.05, 0.3);
    set(OVERTAKE_OP_MATMUL, 0.02, 0.8);
    for (const unsigned opcode :
         {OVERTAKE_OP_ADD, OVERTAKE_OP_SUB, OVERTAKE_OP_MUL, OVERTAKE_OP_MAX, OVERTAKE_OP_MIN})
        set(opcode, 0.3);
    set(OVERTAKE_OP_MAX_POOL, 0.02, 0.3);
    set(OVERTAKE_OP_AVERAGE_POOL, 0.03, 0.9);
    set(OVERTAKE_OP_TABLE, 0.11);
    set(OVERTAKE_OP_RESIZE_BILINEAR, 0.05);
    return costs;
}();

/// A profile in which a cycle is a nanosecond.
ovt_profile host_profile(HostPath path) {
    return {.name = "host",
            .clock_khz = 1'000'000,
            .macs_per_cycle = 2,
            .vector_per_cycle = 1,
            .bytes_per_cycle = 2,
            .insn_overhead_cycles = 1,
            .fc_overhead_cycles = 1000,
            .sync_cycles = 0,
            .costs = path == HostPath::avx2 ? avx2_costs.data() : scalar_costs.data(),
            .without = 0};
}

// Whether operands of 16 bits have vector operators (firmware-sim/hw/simd).
bool has_wide_vectors(const overtake_insn& insn) {
    switch (insn.opcode) {
    case OVERTAKE_OP_CONV:
    case OVERTAKE_OP_DEPTHWISE:
    case OVERTAKE_OP_ADD:
    case OVERTAKE_OP_SUB:
    case OVERTAKE_OP_MAX:
    case OVERTAKE_OP_MIN:
    case OVERTAKE_OP_REQUANTISE:
        return true;
    case OVERTAKE_OP_MATMUL:
        return insn.in[0].type != 0 && insn.in[1].type != 0;
    default:
        return false;
    }
}

// Returns the estimate for an instruction.  An instruction of 16 bits takes twice the time of the
// costs above with vectors, or the time without vectors if it has no vector operator.
std::uint64_t host_ns_of(const overtake_insn& insn, HostPath path) {
    const ovt_profile host = host_profile(path);
    if (!ovt_insn_is_wide(&insn) || path == HostPath::scalar)
        return ovt_insn_cycles(&host, &insn);
    if (has_wide_vectors(insn))
        return 2 * ovt_insn_cycles(&host, &insn);
    const ovt_profile scalar = host_profile(HostPath::scalar);
    return ovt_insn_cycles(&scalar, &insn);
}

std::uint64_t host_ns_of(const FunctionCall& fc, const Program& program, HostPath path) {
    std::uint64_t ns = host_profile(path).fc_overhead_cycles;
    for (std::uint32_t step = fc.first_step; step < fc.first_step + fc.step_count; ++step)
        ns += host_ns_of(program.steps[step].insn, path);
    return ns;
}

std::uint64_t longest_modelled_us(const Program& program, const ovt_profile& profile) {
    std::uint64_t cycles = 0;
    for (const FunctionCall& fc : program.fcs)
        cycles = std::max(cycles, fc.cycles);
    return cycles * 1000 / profile.clock_khz;
}

/// Returns the greatest of 1, 2 or 5 times a power of ten, from least_us on, that is below `us`; 0
/// if there is none.
std::uint64_t round_below(std::uint64_t us) {
    std::uint64_t found = 0;
    for (std::uint64_t power = least_us; power < us; power *= 10)
        for (const std::uint64_t step : {1, 2, 5})
            if (step * power < us)
                found = step * power;
    return found;
}

/// Returns the greatest round max_time_per_fc with which FCs take at most a quarter of the clock.
/// If there is none, returns the least one with which FCs take less than half of it; 0 if none.
std::uint64_t limit_to_use(const Graph& graph, const Program& program, const ovt_profile& profile,
                           HostPath path) {
    std::uint64_t best = 0;
    for (std::uint64_t us = round_below(longest_modelled_us(program, profile)); us != 0;
         us = round_below(us)) {
        Program parts = program;
        try {
            split(graph, parts, profile, us * profile.clock_khz / 1000);
        } catch (const CompileError&) { // a smallest piece takes longer, or there are too many
            return best;
        }
        const std::uint64_t longest = longest_host_ns(parts, path);
        if (longest < near_ns)
            best = us;
        if (longest <= wanted_ns)
            return best;
    }
    return best;
}

} // namespace

HostPath host_path() {
    return chosen_simd() ? HostPath::avx2 : HostPath::scalar;
}

std::uint64_t longest_host_ns(const Program& program, HostPath path) {
    std::uint64_t longest = 0;
    for (const FunctionCall& fc : program.fcs)
        longest = std::max(longest, host_ns_of(fc, program, path));
    return longest;
}

std::string long_job_warning(const Program& program, HostPath path) {
    std::uint64_t all = 0;
    for (const FunctionCall& fc : program.fcs)
        all += host_ns_of(fc, program, path);
    if (all < near_job_ns)
        return "";
    return fmt::format("an inference takes this host about {:.0f} s to compute (an estimate, {} "
                       "AVX2; longer on a busy host), and the driver and overtake serve end a job "
                       "after {} s in flight: raise the limit (queue_timeout_ms, "
                       "--queue-timeout-ms)",
                       static_cast<double>(all) / 1e9, path == HostPath::avx2 ? "with" : "without",
                       OVT_QUEUE_TIMEOUT_MS / 1000);
}

std::string long_fc_warning(const Graph& graph, const Program& program, const ovt_profile& profile,
                            HostPath path) {
    const std::uint64_t longest = longest_host_ns(program, path);
    if (longest < near_ns)
        return "";
    const std::uint64_t us = limit_to_use(graph, program, profile, path);
    const std::string remedy =
        us == 0 ? "raise the limit"
                : fmt::format("compile with --max-time-per-fc {} (max_time_per_fc in a "
                              "configuration file), or raise the limit",
                              us);
    return fmt::format(
        "its longest FC takes this host about {:.1f} s to compute (an estimate, {} "
        "AVX2; longer on a busy host), and the driver and overtake serve end an FC after "
        "{} s: {} (fc_clock_ms, --fc-clock-ms)",
        static_cast<double>(longest) / 1e9, path == HostPath::avx2 ? "with" : "without",
        OVT_FC_CLOCK_MS / 1000, remedy);
}

} // namespace overtake::compiler
