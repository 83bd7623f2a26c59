// SPDX-License-Identifier: MIT
#include "core_checks.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <thread>

#include "compiler/lower/cut.hpp"

extern "C" {
#include "hw/simd/choose.h"
}

namespace overtake::test {

using namespace compiler;
// These are the compiler's types, not the library's.
using compiler::CorePlan;
using compiler::CoreSegment;
using compiler::LayerReport;

const ovt_profile& usual() {
    return *ovt_profile_find("default");
}

std::uint32_t pick(Random& random, std::uint32_t first, std::uint32_t last) {
    return std::uniform_int_distribution<std::uint32_t>(first, last)(random);
}

namespace {

std::size_t below(Random& random, std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
}

void fill(Random& random, std::vector<std::uint8_t>& bytes) {
    for (std::uint8_t& byte : bytes)
        byte = static_cast<std::uint8_t>(random());
}

std::vector<double> random_speeds(Random& random, std::size_t cores, bool equal) {
    std::vector<double> speeds(cores, 1);
    if (equal || below(random, 3) == 0)
        return speeds;
    for (double& speed : speeds)
        speed = below(random, 6) == 0 ? 0 : static_cast<double>(1 + below(random, 100)) / 50;
    speeds[below(random, cores)] = 1;
    return speeds;
}

// Cuts boxes at random until there are enough, and deals them out to the cores.
Shares random_boxes(Random& random, const overtake_insn& insn, std::size_t cores) {
    std::vector<Box> boxes{whole(insn)};
    const std::uint32_t steps[] = {row_step(insn), column_step(insn), channel_step(insn)};
    for (std::size_t left = below(random, 2 * cores + 1); left > 0 && can_cut(insn); --left) {
        Box& box = boxes[below(random, boxes.size())];
        Box first = box, second = box;
        const std::size_t axis = below(random, 3);
        const auto cut = [&](std::uint32_t Box::*from, std::uint32_t Box::*count) {
            const std::uint32_t blocks = steps[axis] == 0 ? 1 : (box.*count - 1) / steps[axis] + 1;
            if (blocks < 2)
                return;
            const auto at = static_cast<std::uint32_t>(1 + below(random, blocks - 1)) * steps[axis];
            first.*count = at;
            second.*from += at;
            second.*count -= at;
        };
        if (axis == 0)
            cut(&Box::row, &Box::rows);
        else if (axis == 1)
            cut(&Box::column, &Box::columns);
        else
            cut(&Box::channel, &Box::channels);
        if (first == box || aligned(insn, first) != first || aligned(insn, second) != second)
            continue;
        box = first;
        boxes.push_back(second);
    }
    Shares shares(cores);
    for (const Box& box : boxes)
        shares[below(random, cores)].push_back(box);
    return shares;
}

Block random_block(Random& random, const overtake_insn& insn, std::size_t cores,
                   const BlockChoice& choice) {
    constexpr Scheme schemes[] = {Scheme::single, Scheme::row,     Scheme::column,
                                  Scheme::grid,   Scheme::channel, Scheme::balanced};
    const Scheme scheme = choice.scheme.value_or(schemes[below(random, std::size(schemes))]);
    if (choice.any_boxes)
        return {0, 1, scheme, random_boxes(random, insn, cores)};
    const std::vector<double> speeds = random_speeds(random, cores, choice.equal_speeds);
    if (scheme != Scheme::single)
        if (auto found = shares(insn, scheme, speeds))
            return {0, 1, scheme, std::move(*found)};
    return {0, 1, Scheme::single, single_share(insn, below(random, cores), cores)};
}

// The regions of a job that runs one segment.
class Memory {
public:
    Memory(const CoreNetwork& network, const ProgramSegment& segment, std::uint64_t scratch_bytes,
           std::size_t parts)
        : segment_(segment), weights_(network.program.constants.bytes()), scratch_(scratch_bytes),
          io_(segment.io.size()), simd_(parts) {
        for (ovt_simd_scratch& scratch : simd_)
            scratch.level = ovt_simd_best();
        for (std::size_t index = 0; index < io_.size(); ++index)
            io_[index].resize(segment.places.at(segment.io[index].value).bytes);
    }

    void fill_all(Random& inputs, Random& rest) {
        fill(rest, scratch_);
        for (std::size_t index = 0; index < io_.size(); ++index)
            if (!segment_.io[index].writable)
                fill(inputs, io_[index]);
    }

    // Several parts may call this at the same time.
    void execute(std::size_t part, const overtake_insn& insn) {
        std::array<ovt_region, OVERTAKE_MAX_REGIONS> regions{};
        const auto bind = [&](std::size_t region, std::vector<std::uint8_t>& bytes) {
            regions[region] = {bytes.data(), bytes.size(), OVT_REGION_READ | OVT_REGION_WRITE, 0};
        };
        bind(OVERTAKE_REGION_WEIGHTS, weights_);
        bind(OVERTAKE_REGION_SCRATCH, scratch_);
        for (std::size_t index = 0; index < io_.size(); ++index)
            bind(OVERTAKE_REGION_IO + index, io_[index]);
        ovt_operands operands{};
        if (ovt_insn_check(&insn, regions.data(), &operands) != OVERTAKE_FAULT_NONE)
            throw std::logic_error("an instruction that the device refuses");
        ovt_cursor cursor{};
        s64 work = INT64_MAX;
        ovt_simd_section section;
        ovt_simd_begin(&section);
        const bool is_covered = ovt_simd_supported() && ovt_simd_covers(&insn);
        if (is_covered)
            while (!ovt_simd_run(&insn, &operands, &simd_[part], &cursor, &work))
                ;
        ovt_simd_end(&section);
        while (!is_covered && !ovt_operator_run(&insn, &operands, &cursor, &work))
            ;
    }

    const std::vector<std::vector<std::uint8_t>>& io() const { return io_; }

private:
    const ProgramSegment& segment_;
    std::vector<std::uint8_t> weights_, scratch_;
    std::vector<std::vector<std::uint8_t>> io_;
    std::vector<ovt_simd_scratch> simd_; // one for each part
};

// Records which part touches which byte in a stage.
class Touched {
public:
    Touched(const ProgramSegment& segment, std::uint64_t scratch_bytes) {
        bytes_[OVERTAKE_REGION_SCRATCH].resize(scratch_bytes);
        for (std::size_t index = 0; index < segment.io.size(); ++index)
            bytes_[OVERTAKE_REGION_IO + index].resize(
                segment.places.at(segment.io[index].value).bytes);
    }

    void begin_stage() { ++stage_; }

    // Returns false if one part of a stage writes a byte that another part touches.
    bool add(std::uint32_t part, const overtake_insn& insn) {
        const std::uint32_t mine = stage_ * 256 + part + 1;
        bool apart = true;
        const auto is_others = [&](std::uint32_t stamp) {
            return stamp / 256 == stage_ && stamp != mine;
        };
        visit(insn.out, [&](Byte& byte) {
            apart = apart && !is_others(byte.writer) && !is_others(byte.reader) &&
                    !is_others(byte.other_reader);
            byte.writer = mine;
        });
        for (const overtake_operand& in : insn.in)
            visit(in, [&](Byte& byte) {
                apart = apart && !is_others(byte.writer);
                if (byte.reader / 256 == stage_ && byte.reader != mine)
                    byte.other_reader = mine;
                else
                    byte.reader = mine;
            });
        return apart;
    }

private:
    struct Byte {
        std::uint32_t writer = 0, reader = 0, other_reader = 0;
    };

    template <typename Function>
    void visit(const overtake_operand& operand, const Function& function) {
        std::vector<Byte>& bytes = bytes_[operand.region];
        if (operand.region == OVERTAKE_REGION_WEIGHTS)
            return;
        for (std::uint64_t y = 0; y < operand.height; ++y)
            for (std::uint64_t x = 0; x < operand.width; ++x) {
                Byte* pixel =
                    &bytes[operand.offset + y * operand.row_stride + x * operand.pixel_stride];
                std::for_each(pixel, pixel + operand.channels, function);
            }
    }

    std::array<std::vector<Byte>, OVERTAKE_MAX_REGIONS> bytes_;
    std::uint32_t stage_ = 0;
};

// Returns the steps of each part in one stage.
std::vector<std::vector<const Step*>> steps_of(const CorePlan& plan, const CoreSegment& segment,
                                               std::uint64_t stage) {
    std::vector<std::vector<const Step*>> result;
    for (const CorePart& part : segment.parts) {
        std::vector<const Step*>& steps = result.emplace_back();
        for (std::size_t fc = 0; fc < part.fcs.size(); ++fc)
            for (std::uint32_t step = 0; part.stages[fc] == stage && step < part.fcs[fc].step_count;
                 ++step)
                steps.push_back(&plan.steps[part.fcs[fc].first_step + step]);
    }
    return result;
}

using Steps = std::vector<std::vector<const Step*>>; // by part

using RunStep = std::function<void(std::size_t part, const Step&)>;

void run_parts(Random& random, const Steps& steps, const RunStep& run) {
    std::vector<std::size_t> order(steps.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::shuffle(order, random);
    for (const std::size_t part : order)
        for (const Step* step : steps[part])
            run(part, *step);
}

void run_in_turns(Random& random, const Steps& steps, const RunStep& run) {
    std::vector<std::size_t> left, done(steps.size());
    for (std::size_t part = 0; part < steps.size(); ++part)
        left.insert(left.end(), steps[part].size(), part);
    std::ranges::shuffle(left, random);
    for (const std::size_t part : left)
        run(part, *steps[part][done[part]++]);
}

void run_at_once(const Steps& steps, const RunStep& run) {
    std::vector<std::thread> threads;
    for (std::size_t part = 0; part < steps.size(); ++part)
        threads.emplace_back([&, part] {
            for (const Step* step : steps[part])
                run(part, *step);
        });
    for (std::thread& thread : threads)
        thread.join();
}

void run_stage(Random& random, const Steps& steps, const RunStep& run) {
    switch (below(random, 3)) {
    case 0:
        return run_parts(random, steps, run);
    case 1:
        return run_in_turns(random, steps, run);
    default:
        return run_at_once(steps, run);
    }
}

std::string compare_segment(Random& random, const CoreNetwork& network, const CorePlan& plan,
                            const CoreSegment& cores) {
    const ProgramSegment& segment = network.program.segments[cores.segment];
    const auto seed = static_cast<unsigned>(random());
    Random inputs(seed), again(seed);
    Memory expected(network, segment, segment.scratch_bytes, 1);
    expected.fill_all(inputs, random);
    for (std::size_t step = 0; step < segment.step_count; ++step)
        expected.execute(0, network.program.steps[segment.first_step + step].insn);

    Memory memory(network, segment, cores.scratch_bytes, cores.parts.size());
    memory.fill_all(again, random);
    Touched touched(segment, cores.scratch_bytes);
    std::string wrong;
    std::uint64_t executed = 0;
    for (std::uint64_t stage = 0; stage < cores.stage_count; ++stage) {
        const Steps steps = steps_of(plan, cores, stage);
        touched.begin_stage();
        for (std::size_t part = 0; part < steps.size(); ++part)
            for (const Step* step : steps[part])
                if (!touched.add(static_cast<std::uint32_t>(part), step->insn) && wrong.empty())
                    wrong = "stage " + std::to_string(stage) + ": " +
                            describe(network.graph.nodes[step->node]) +
                            " touches what another part does";
        run_stage(random, steps,
                  [&](std::size_t part, const Step& step) { memory.execute(part, step.insn); });
        for (const auto& of : steps)
            executed += of.size();
    }
    std::uint64_t wanted = 0;
    for (const CorePart& part : cores.parts)
        for (const FunctionCall& fc : part.fcs)
            wanted += fc.step_count;
    if (executed != wanted)
        return "steps in no stage";
    for (std::size_t index = 0; index < segment.io.size(); ++index)
        if (memory.io()[index] != expected.io()[index])
            wrong += " output " + network.graph.values[segment.io[index].value].name + " differs";
    return wrong;
}

} // namespace

std::vector<Block> random_blocks(Random& random, const SegmentLayers& segment, std::size_t cores,
                                 const BlockChoice& choice) {
    std::vector<Block> blocks;
    for (std::size_t first = 0; first < segment.layers.size();) {
        std::size_t count =
            std::min(1 + below(random, choice.most_layers), segment.layers.size() - first);
        while (!can_be_block(segment, first, count))
            --count;
        const Layer& last = segment.layers[first + count - 1];
        blocks.push_back(random_block(random, last.step.insn, cores, choice));
        blocks.back().first_layer = first;
        blocks.back().layer_count = count;
        first += count;
    }
    return blocks;
}

std::vector<std::size_t> random_stages(Random& random, const SegmentLayers& segment,
                                       const std::vector<Block>& blocks) {
    const auto needs = needed_blocks(segment, blocks);
    std::vector<std::size_t> stages;
    for (const std::vector<std::size_t>& of : needs) {
        std::size_t stage = 0;
        const std::size_t core = only_core(blocks[stages.size()]);
        for (const std::size_t needed : of) {
            const bool may_share = core != no_core && core == only_core(blocks[needed]);
            stage = std::max(stage, stages[needed] + (may_share ? 0 : 1));
        }
        stages.push_back(stage + below(random, 3) / 2);
    }
    // No stage may be without blocks, so the stages are numbered anew.
    std::vector<std::size_t> used(stages);
    std::ranges::sort(used);
    const auto same = std::ranges::unique(used);
    used.erase(same.begin(), same.end());
    for (std::size_t& stage : stages)
        stage = static_cast<std::size_t>(std::ranges::lower_bound(used, stage) - used.begin());
    return stages;
}

std::string compare_plan(Random& random, const CoreNetwork& network, const CorePlan& plan) {
    for (const CoreSegment& segment : plan.segments) {
        const std::string wrong = compare_segment(random, network, plan, segment);
        if (!wrong.empty())
            return "segment " + std::to_string(segment.segment) + ": " + wrong;
    }
    return {};
}

} // namespace overtake::test
