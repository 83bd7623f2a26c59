// SPDX-License-Identifier: MIT
//
// The greatest time that an FC may take on its host: for every opcode, the host's CPU seconds for a
// second of the cycle model, for the most expensive shapes, and the longest step. Beside these, the
// limits that the clock of an FC sets.
//
//     bench_clock [MIB]
//
// MIB: memory of the client's, 1024 by default, over which windows and rows are spread.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "hostile_shapes.h"

extern "C" {
#include "hw/core.h"
#include "hw/simd/choose.h"
}

namespace {

constexpr double clock_seconds = 2;         // fc_clock_ms
constexpr std::uint64_t watchdog_ms = 1000; // of the model
constexpr std::uint64_t step_macs = 65536;  // as the module's
constexpr double enough_seconds = 0.2;
constexpr std::size_t least_runs = 5;

double seconds_of(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Measured {
    double ratio = 0;   ///< CPU seconds for a second of the model
    double step_us = 0; ///< the longest step of a run, in CPU time: median of the runs
};

/// A core, whose thread is the calling thread.
class Bench {
public:
    Bench(std::uint64_t bytes, bool simd) : memory_(bytes, 1), simd_(simd) {
        if (simd)
            scratch_ = std::make_unique<ovt_simd_scratch>();
    }

    /// Program @insns once more and again, until that has taken long enough.
    Measured measure(const std::vector<overtake_insn>& insns, std::uint64_t cycle_limit) {
        Measured measured;
        double cpu = 0;
        double modelled = 0;
        std::vector<double> longest;
        while (cpu < enough_seconds || longest.size() < least_runs) {
            start(insns, cycle_limit);
            const double begin = seconds_of(CLOCK_THREAD_CPUTIME_ID);
            longest.push_back(run());
            cpu += seconds_of(CLOCK_THREAD_CPUTIME_ID) - begin;
            modelled +=
                1e-6 * static_cast<double>(core_.exec.retired - core_.profile->fc_overhead_cycles) /
                core_.profile->clock_khz * 1000;
        }
        std::sort(longest.begin(), longest.end());
        measured.step_us = longest[longest.size() / 2];
        measured.ratio = cpu / modelled;
        return measured;
    }

private:
    void start(const std::vector<overtake_insn>& insns, std::uint64_t cycle_limit) {
        ovt_core_init(&core_, 1, ovt_profile_find("default"), OVT_MODE_FUNCTIONAL);
        if (simd_)
            ovt_core_use_simd(&core_, scratch_.get(), ovt_simd_best());
        program_ = insns;
        regions_[OVERTAKE_REGION_PROGRAM] = {reinterpret_cast<std::uint8_t*>(program_.data()),
                                             program_.size() * sizeof(overtake_insn),
                                             OVT_REGION_READ, 0};
        regions_[OVERTAKE_REGION_IO] = {memory_.data(), memory_.size(),
                                        OVT_REGION_READ | OVT_REGION_WRITE, 0};
        ovt_descriptor& fc = core_.rings[OVT_RING_NORMAL].entries[0];
        fc.regions = regions_;
        fc.insn_count = static_cast<std::uint32_t>(program_.size());
        core_.rings[OVT_RING_NORMAL].tail = 1;
        ovt_core_start(&core_, OVT_RING_NORMAL, cycle_limit);
    }

    /// The longest step, us.
    double run() {
        double longest_us = 0;
        const std::uint64_t most = step_macs / core_.profile->macs_per_cycle;
        std::uint64_t budget = most;
        ovt_step step = OVT_STEP_MORE;
        while (step == OVT_STEP_MORE) {
            const double begin = seconds_of(CLOCK_THREAD_CPUTIME_ID);
            step = ovt_core_step(&core_, budget);
            const double us = 1e6 * (seconds_of(CLOCK_THREAD_CPUTIME_ID) - begin);
            budget = ovt_step_budget(budget, static_cast<std::uint64_t>(us * 1000), most);
            longest_us = std::max(longest_us, us);
        }
        if (core_.exec.fault && core_.exec.fault != OVERTAKE_FAULT_WATCHDOG)
            throw std::runtime_error(fmt::format("fault {}", core_.exec.fault));
        return longest_us;
    }

    std::vector<std::uint8_t> memory_;
    bool simd_;
    std::unique_ptr<ovt_simd_scratch> scratch_;
    std::vector<overtake_insn> program_;
    ovt_region regions_[OVERTAKE_MAX_REGIONS]{};
    ovt_core core_{};
};

/// One row of the table: the worst shape of an opcode.
struct Row {
    std::string name;
    std::uint16_t opcode = 0;
    Measured scalar, simd;

    double worst() const { return std::max(scalar.ratio, simd.ratio); }
};

void print(const Row& row, bool has_simd) {
    fmt::print("| {} | {:.1f} | {} | {:.0f} | {:.1f} | {:.1f} |\n", row.name, row.scalar.ratio,
               has_simd ? fmt::format("{:.1f}", row.simd.ratio) : std::string("-"),
               std::max(row.scalar.step_us, row.simd.step_us), row.worst() * watchdog_ms / 1000,
               std::min(row.worst() * watchdog_ms / 1000, clock_seconds));
    std::fflush(stdout);
}

/// Loops that compute nothing: the watchdog's limits of cycles and of fetches end them.
std::vector<Row> loops(Bench& bench) {
    overtake_insn jump{}, delay{};
    jump.opcode = OVERTAKE_OP_JUMP;
    delay.opcode = OVERTAKE_OP_DELAY;
    delay.delay_cycles = 1;
    const std::uint64_t limit = watchdog_ms * ovt_profile_find("default")->clock_khz;
    std::vector<overtake_insn> delays(64, delay);
    delays.push_back(jump);
    Row jumps{"JUMP to itself, hung", OVERTAKE_OP_JUMP, bench.measure({jump}, limit), {}};
    Row cheap{"DELAY of 1 cycle, hung", OVERTAKE_OP_DELAY, bench.measure(delays, limit), {}};
    return {jumps, cheap};
}

void run(std::uint64_t bytes) {
    const bool has_simd = ovt_simd_supported();
    const hostile_place place{OVERTAKE_REGION_IO, bytes, 8};
    Bench scalar(bytes, false);
    Bench simd(bytes, has_simd);
    Row worst;

    fmt::print(
        "| opcode, its worst shape | s/s scalar | s/s AVX2 | longest step, us | longest FC, s | "
        "by its clock, s |\n|---|--:|--:|--:|--:|--:|\n");
    for (const hostile_shape* shape = hostile_shapes; shape->name; shape++) {
        overtake_insn insn{};
        shape->build(&insn, &place);
        Row row{shape->name, shape->opcode, scalar.measure({insn}, ~0ull), {}};
        if (has_simd)
            row.simd = simd.measure({insn}, ~0ull);
        if (row.opcode != worst.opcode && worst.opcode)
            print(worst, has_simd);
        if (row.opcode != worst.opcode || row.worst() > worst.worst())
            worst = row;
    }
    print(worst, has_simd);
    for (const Row& row : loops(scalar))
        print(row, false);
}

} // namespace

int main(int argc, char** argv) {
    const std::uint64_t mib = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1024;
    if (argc > 2 || mib < 4 || mib > 1024 || (mib & (mib - 1))) {
        fmt::print(stderr, "usage: bench_clock [MIB], a power of two from 4 to 1024\n");
        return 2;
    }
    try {
        run(mib << 20);
    } catch (const std::exception& error) {
        fmt::print(stderr, "bench_clock: {}\n", error.what());
        return 1;
    }
    return 0;
}
