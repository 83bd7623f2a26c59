// SPDX-License-Identifier: MIT
#include "compiler/cores/generate.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "compiler/cores/growth.hpp"
#include "compiler/cores/verify_blocks.hpp"
#include "compiler/ir/error.hpp"
#include "compiler/ir/limits.hpp"
#include "compiler/lower/cost.hpp"
#include "compiler/lower/lifetimes.hpp"
#include "compiler/lower/lower.hpp"
#include "compiler/lower/split.hpp"
#include "overtake_accel.h"
#include "overtake_accel_groups.h"

namespace overtake::compiler {
namespace {

constexpr std::uint64_t copy_alignment = 64;

// A core's own copy of a box of a layer's output, without gaps.  Its offset counts from the start
// of the memory for the core's copies in that block.
struct OwnCopy {
    Box box;
    std::uint64_t offset = 0;
    std::uint32_t row_stride = 0, pixel_stride = 0;
    std::uint32_t element_bytes = 1;

    OwnCopy(const Box& of, std::uint32_t bytes)
        : box(of), row_stride(of.columns * whole_pixel(of.channels) * bytes),
          pixel_stride(whole_pixel(of.channels) * bytes), element_bytes(bytes) {}

    std::uint64_t bytes() const { return std::uint64_t{box.rows} * row_stride; }

    // Moves an operand into the copy.  `from` is the layer's whole output.
    void move_in(overtake_operand& operand, const overtake_operand& from,
                 std::uint64_t start) const {
        const Box at = seen_from(from, operand, {});
        operand.offset = start + offset + std::uint64_t{at.row - box.row} * row_stride +
                         std::uint64_t{at.column - box.column} * pixel_stride +
                         std::uint64_t{at.channel - box.channel} * element_bytes;
        operand.row_stride = row_stride;
        operand.pixel_stride = pixel_stride;
    }
};

// The work of one core in one block.
struct Work {
    std::vector<std::vector<Box>> boxes; // by layer of the block
    std::vector<OwnCopy> copies;         // by layer except the last; empty if there is none
    std::uint64_t copy_bytes = 0;        // all of them
    std::size_t copies_use = 0;          // index into the segment's lifetimes

    bool is_idle() const {
        return std::ranges::all_of(boxes, [](const auto& of) { return of.empty(); });
    }
};

// The steps of each core, by stage.
using Stages = std::vector<std::vector<std::vector<Step>>>;

class SegmentGenerator {
public:
    SegmentGenerator(const Graph& graph, Constants& constants, const SegmentLayers& segment,
                     const CoreGroup& group, std::span<const Block> blocks,
                     std::span<const std::size_t> stages)
        : graph_(graph), constants_(constants), segment_(segment), group_(group), blocks_(blocks),
          stage_of_(stages), order_(blocks.size()), uses_(segment.buffers.size()) {}

    CoreSegment run(CorePlan& plan) {
        verify_blocks(graph_, segment_, blocks_, stage_of_, group_.cores.size());
        times_ = times_of(blocks_, stage_of_);
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::ranges::stable_sort(order_, {}, [&](std::size_t block) { return stage_of_[block]; });
        for (const Block& block : blocks_)
            plan_block(block);
        place_scratch();
        make_steps();
        result_.segment = segment_.segment;
        result_.stage_count = stages_.size();
        make_parts(plan);
        check_limits();
        result_.ns = time_alone(plan);
        report(plan);
        return std::move(result_);
    }

private:
    // The times of blocks in which a buffer is in use; 0 bytes: none.
    using Use = Lifetime;

    std::size_t core_count() const { return group_.cores.size(); }

    void plan_block(const Block& block) {
        const std::size_t number = works_.size();
        std::vector<Work> works(core_count());
        const std::vector<Shares> boxes =
            grow(segment_, block.first_layer, block.layer_count, block.shares);
        for (std::size_t core = 0; core < works.size(); ++core) {
            for (const Shares& of : boxes)
                works[core].boxes.push_back(of[core]);
            place_copies(block, works[core]);
        }
        works_.push_back(std::move(works));
        for (std::size_t layer = 0; layer < block.layer_count; ++layer) {
            const overtake_insn& insn = segment_.layers[block.first_layer + layer].step.insn;
            for (const overtake_operand* operand : {&insn.in[0], &insn.in[1], &insn.out})
                if (operand->channels > 0)
                    use(*operand, times_[number]);
        }
    }

    void use(const overtake_operand& operand, std::size_t time) {
        const Buffer* buffer = buffer_of(segment_, operand);
        if (!buffer || buffer->region != OVERTAKE_REGION_SCRATCH)
            return;
        Use& use = uses_[static_cast<std::size_t>(buffer - segment_.buffers.data())];
        if (use.bytes == 0)
            use = {buffer->bytes, time, time};
        use.first = std::min(use.first, time);
        use.last = std::max(use.last, time);
    }

    // A core runs its layers in order, so their copies can share memory.
    void place_copies(const Block& block, Work& work) const {
        std::vector<Lifetime> lives;
        for (std::size_t layer = 0; layer + 1 < block.layer_count; ++layer) {
            const Layer& of = segment_.layers[block.first_layer + layer];
            work.copies.emplace_back(work.boxes[layer].empty() ? Box{} : work.boxes[layer][0],
                                     ovt_element_bytes(&of.step.insn.out));
            lives.push_back(
                {work.copies.back().bytes(), layer, of.readers.back() - block.first_layer});
        }
        const MemoryPlan plan = plan_memory(lives, copy_alignment);
        for (std::size_t layer = 0; layer < work.copies.size(); ++layer)
            work.copies[layer].offset = plan.offsets[layer];
        work.copy_bytes = plan.bytes;
    }

    // Removes private values from the shared memory.
    void forget_private() {
        for (const Block& block : blocks_)
            for (std::size_t layer = 0; layer + 1 < block.layer_count; ++layer) {
                const Buffer* buffer =
                    buffer_of(segment_, segment_.layers[block.first_layer + layer].step.insn.out);
                uses_[static_cast<std::size_t>(buffer - segment_.buffers.data())] = {};
            }
    }

    void place_scratch() {
        forget_private();
        for (std::size_t block = 0; block < works_.size(); ++block)
            for (Work& work : works_[block]) {
                work.copies_use = uses_.size();
                uses_.push_back({work.copy_bytes, times_[block], times_[block]});
            }
        std::vector<std::size_t> numbers;
        std::vector<Lifetime> lives;
        for (std::size_t index = 0; index < uses_.size(); ++index)
            if (uses_[index].bytes > 0) {
                numbers.push_back(index);
                lives.push_back(uses_[index]);
            }
        const MemoryPlan plan = plan_memory(lives, copy_alignment);
        offsets_.resize(uses_.size());
        for (std::size_t index = 0; index < numbers.size(); ++index)
            offsets_[numbers[index]] = plan.offsets[index];
        result_.scratch_bytes = plan.bytes;
        if (plan.bytes > OVERTAKE_MAX_SCRATCH_BYTES)
            throw LimitError(graph_.name, "needs " + std::to_string(plan.bytes) +
                                              " bytes of scratch on " +
                                              std::to_string(core_count()) + " cores, more than " +
                                              std::to_string(OVERTAKE_MAX_SCRATCH_BYTES) +
                                              "; compile it for fewer cores or a smaller input");
    }

    // Moves an operand to its place in the shared memory.
    void move_shared(overtake_operand& operand) const {
        const Buffer* buffer =
            operand.region == OVERTAKE_REGION_SCRATCH ? buffer_of(segment_, operand) : nullptr;
        if (buffer)
            operand.offset += offsets_[static_cast<std::size_t>(buffer - segment_.buffers.data())] -
                              buffer->offset;
    }

    void make_steps() {
        stages_.resize(stage_of_.empty() ? 0 : std::ranges::max(stage_of_) + 1,
                       std::vector<std::vector<Step>>(core_count()));
        for (const std::size_t block : order_)
            for (std::size_t core = 0; core < core_count(); ++core)
                make_steps(blocks_[block], works_[block][core], stages_[stage_of_[block]][core]);
    }

    void make_steps(const Block& block, const Work& work, std::vector<Step>& steps) {
        for (std::size_t layer = 0; layer < block.layer_count; ++layer) {
            const Layer& of = segment_.layers[block.first_layer + layer];
            for (const Box& box : work.boxes[layer]) {
                overtake_insn insn = piece(of.step.insn, box, constants_);
                for (std::size_t input : {0, 1})
                    if (insn.in[input].channels > 0)
                        move_input(block, work, of, input, insn.in[input]);
                if (layer + 1 < block.layer_count)
                    work.copies[layer].move_in(insn.out, of.step.insn.out,
                                               offsets_[work.copies_use]);
                else
                    move_shared(insn.out);
                steps.push_back({insn, of.step.node});
            }
        }
    }

    void move_input(const Block& block, const Work& work, const Layer& layer, std::size_t input,
                    overtake_operand& operand) const {
        if (operand.region != OVERTAKE_REGION_SCRATCH)
            return;
        const std::vector<std::size_t>& writers = layer.writers[input];
        if (writers.size() != 1 || writers[0] < block.first_layer)
            return move_shared(operand);
        work.copies[writers[0] - block.first_layer].move_in(
            operand, segment_.layers[writers[0]].step.insn.out, offsets_[work.copies_use]);
    }

    void make_parts(CorePlan& plan) {
        for (std::size_t core = 0; core < core_count(); ++core) {
            CorePart part{core, {}, {}};
            const std::size_t first = plan.steps.size();
            for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
                if (stages_[stage][core].empty())
                    continue;
                split_stage(stages_[stage][core], core, plan.steps, part.fcs);
                part.stages.resize(part.fcs.size(), static_cast<std::uint32_t>(stage));
            }
            check(std::span(plan.steps).subspan(first), core);
            if (!part.fcs.empty())
                result_.parts.push_back(std::move(part));
        }
    }

    void split_stage(std::span<const Step> steps, std::size_t core, std::vector<Step>& pieces,
                     std::vector<FunctionCall>& fcs) {
        const ovt_profile& profile = *group_.cores[core];
        const std::uint64_t most =
            group_.max_time_per_fc_us == 0
                ? std::numeric_limits<std::uint64_t>::max()
                : std::uint64_t{group_.max_time_per_fc_us} * profile.clock_khz / 1000;
        const std::uint64_t smallest =
            group_.max_time_per_fc_us == 0 ? 0 : smallest_max_cycles(steps, profile);
        if (most >= smallest && split_steps(steps, constants_, profile, most, pieces, fcs))
            return;
        throw LimitError(
            "--max-time-per-fc",
            "is below the smallest piece of '" + graph_.name + "' on core " +
                std::to_string(core + 1) + "; it needs " +
                std::to_string((smallest * 1000 + profile.clock_khz - 1) / profile.clock_khz) +
                " or more");
    }

    void check(std::span<const Step> steps, std::size_t core) const {
        check_steps(graph_, steps, segment_.memory, result_.scratch_bytes, constants_);
        for (const Step& step : steps)
            if (ovt_profile_lacks(group_.cores[core].get(), step.insn.opcode))
                throw CompileError(describe(graph_.nodes[step.node]),
                                   "needs an instruction that core " + std::to_string(core + 1) +
                                       " lacks");
    }

    void check_limits() const {
        std::size_t fcs = 0;
        for (const CorePart& part : result_.parts)
            fcs += part.fcs.size();
        if (fcs > OVERTAKE_MAX_FCS)
            throw LimitError("--max-time-per-fc", "gives " + std::to_string(fcs) +
                                                      " FCs on all cores, more than a job may "
                                                      "have (" +
                                                      std::to_string(OVERTAKE_MAX_FCS) +
                                                      "); choose a greater value");
        // The error is no LimitError, after which the plan would be made without joined stages:
        // that plan has more stages.
        if (stages_.size() > OVERTAKE_MAX_STAGES)
            throw CompileError(
                "--cores", "gives '" + graph_.name + "' " + std::to_string(stages_.size()) +
                               " stages, more than a job may have (" +
                               std::to_string(OVERTAKE_MAX_STAGES) + "); compile it for one core");
    }

    // Returns the sum of the longest part of each stage, with the sync before it if the part has to
    // wait.
    std::uint64_t time_alone(const CorePlan& plan) const {
        const std::uint64_t sync = ovt_cycles_to_ns(group_.cores[0].get(), plan.sync_cycles);
        std::vector<std::vector<std::uint64_t>> times(stages_.size(),
                                                      std::vector<std::uint64_t>(core_count()));
        for (const CorePart& part : result_.parts)
            for (std::size_t fc = 0; fc < part.fcs.size(); ++fc)
                times[part.stages[fc]][part.core] +=
                    ovt_cycles_to_ns(group_.cores[part.core].get(), part.fcs[fc].cycles);
        std::uint64_t all = 0;
        for (std::size_t stage = 0; stage < times.size(); ++stage) {
            std::uint64_t longest = 0;
            for (std::size_t core = 0; core < core_count(); ++core)
                if (times[stage][core] > 0)
                    longest = std::max(longest,
                                       times[stage][core] + (waits(times, stage, core) ? sync : 0));
            all += longest;
        }
        return all;
    }

    // Whether the core waits before the stage.  A core that alone was busy in the previous stage
    // has the results of that stage, and does not wait.
    static bool waits(const std::vector<std::vector<std::uint64_t>>& times, std::size_t stage,
                      std::size_t core) {
        if (stage == 0)
            return false;
        const std::vector<std::uint64_t>& before = times[stage - 1];
        return before[core] == 0 ||
               std::ranges::count(before, 0u) + 1 != static_cast<std::ptrdiff_t>(before.size());
    }

    // Reports layers in the order in which they run.
    void report(CorePlan& plan) const {
        for (std::size_t place = 0; place < order_.size(); ++place) {
            const std::size_t block = order_[place];
            for (std::size_t layer = 0; layer < blocks_[block].layer_count; ++layer)
                report(plan, block, layer);
            plan.layers.back().transmits =
                place + 1 == order_.size() || times_[order_[place + 1]] != times_[block];
        }
    }

    void report(CorePlan& plan, std::size_t index, std::size_t layer) const {
        const Block& block = blocks_[index];
        const Step& step = segment_.layers[block.first_layer + layer].step;
        LayerReport& of = plan.layers.emplace_back();
        of.segment = segment_.segment;
        of.node = step.node;
        of.scheme = block.scheme;
        of.operations = operations(step.insn);
        std::uint64_t all = 0;
        for (std::size_t core = 0; core < core_count(); ++core) {
            std::uint64_t outputs = 0, cycles = 0;
            for (const Box& box : works_[index][core].boxes[layer]) {
                const overtake_insn part = piece_shape(step.insn, box);
                outputs += elements(box);
                cycles += cost(part, *group_.cores[core]);
                all += operations(part);
            }
            of.outputs.push_back(outputs);
            of.cycles.push_back(cycles);
        }
        of.halo_operations = all - std::min(all, of.operations);
    }

    const Graph& graph_;
    Constants& constants_;
    const SegmentLayers& segment_;
    const CoreGroup& group_;
    const std::span<const Block> blocks_;
    const std::span<const std::size_t> stage_of_; // by block
    std::vector<std::size_t> times_;              // by block
    std::vector<std::size_t> order_;              // blocks by stage
    std::vector<std::vector<Work>> works_;        // by block, by core
    std::vector<Use> uses_;                       // of each buffer, then of copies
    std::vector<std::uint64_t> offsets_;          // by index of uses_
    Stages stages_;
    CoreSegment result_;
};

std::uint64_t one_core_ns(const Program& program, const ovt_profile& profile) {
    std::uint64_t ns = 0;
    for (const ProgramSegment& segment : program.segments)
        for (std::size_t fc = 0; segment.on_bpu && fc < segment.fc_count; ++fc)
            ns += ovt_cycles_to_ns(&profile, program.fcs[segment.first_fc + fc].cycles);
    return ns;
}

} // namespace

CorePlan generate(const Graph& graph, Program& program, std::span<const SegmentLayers> segments,
                  const CoreGroup& group, const std::vector<std::vector<Block>>& blocks,
                  const std::vector<std::vector<std::size_t>>& stages) {
    if (group.cores.size() > OVERTAKE_MAX_CORES)
        throw CompileError("--cores",
                           "is more than " + std::to_string(OVERTAKE_MAX_CORES) + "; choose fewer");
    CorePlan plan;
    plan.cores = group.cores;
    plan.sync_cycles = group.sync_cycles;
    for (std::size_t index = 0; index < segments.size(); ++index) {
        const std::vector<std::size_t> numbers =
            stages.empty() ? stages_in_order(blocks[index]) : stages.at(index);
        plan.segments.push_back(SegmentGenerator(graph, program.constants, segments[index], group,
                                                 blocks[index], numbers)
                                    .run(plan));
    }
    plan.one_core_ns = one_core_ns(program, *group.cores[0]);
    plan.bound_ns = bound_ns(segments, group.cores);
    return plan;
}

} // namespace overtake::compiler
