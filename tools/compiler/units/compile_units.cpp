// SPDX-License-Identifier: MIT
#include "compiler/units/compile_units.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "compiler/ir/error.hpp"
#include "compiler/lower/lower.hpp"
#include "compiler/lower/memory_plan.hpp"
#include "compiler/lower/opcodes.hpp"
#include "compiler/lower/split.hpp"
#include "compiler/units/partition.hpp"
#include "compiler/units/shared_program.hpp"
#include "overtake_accel.h"

namespace overtake::compiler {
namespace {

constexpr std::size_t most_units = 64;
constexpr std::size_t most_crossing = OVERTAKE_MAX_REGIONS - OVERTAKE_REGION_IO;
constexpr std::size_t most_fcs = 1 << 20; // of all units and classes; the limit of readers
constexpr std::uint64_t most_file_bytes = 3ull << 29; // a file of 2 GiB holds more than this
constexpr std::size_t no_unit = std::numeric_limits<std::size_t>::max();

// Gives the graph and the quantised graph another order of nodes, for the life of this object.
class Reordered {
public:
    Reordered(Graph& graph, QuantisedGraph& quantised, std::vector<std::size_t> order)
        : graph_(graph), quantised_(quantised), order_(std::move(order)) {
        graph_.nodes = sorted(graph_.nodes);
        quantised_.nodes = sorted(quantised_.nodes);
    }
    ~Reordered() {
        graph_.nodes = restored(graph_.nodes);
        quantised_.nodes = restored(quantised_.nodes);
    }
    Reordered(const Reordered&) = delete;
    Reordered& operator=(const Reordered&) = delete;

private:
    template <typename Element>
    std::vector<Element> sorted(std::vector<Element>& from) const {
        std::vector<Element> to;
        to.reserve(from.size());
        for (const std::size_t index : order_)
            to.push_back(std::move(from[index]));
        return to;
    }

    template <typename Element>
    std::vector<Element> restored(std::vector<Element>& from) const {
        std::vector<Element> to(from.size());
        for (std::size_t place = 0; place < order_.size(); ++place)
            to[order_[place]] = std::move(from[place]);
        return to;
    }

    Graph& graph_;
    QuantisedGraph& quantised_;
    const std::vector<std::size_t> order_; // the number of the first node, and so on
};

// Returns, by value, the node that writes it; no_unit: none.
std::vector<std::size_t> writers(const Graph& graph) {
    std::vector<std::size_t> result(graph.values.size(), no_unit);
    for (std::size_t index = 0; index < graph.nodes.size(); ++index)
        result[graph.nodes[index].output] = index;
    return result;
}

// Returns the nodes (ascending) in turns of one kind each; the turn of the BPU or the other one
// comes first.
std::vector<std::vector<std::size_t>> turns(const Graph& graph,
                                            const std::vector<std::size_t>& nodes, bool bpu_begins,
                                            const std::vector<std::size_t>& writer) {
    std::vector<std::size_t> left = nodes;
    std::vector<std::vector<std::size_t>> result;
    for (bool on_bpu = bpu_begins; !left.empty(); on_bpu = !on_bpu) {
        std::vector<std::size_t> turn, later;
        for (const std::size_t index : left) { // topological, so one pass finds all that can run
            const Node& node = graph.nodes[index];
            const bool waits = std::ranges::any_of(node.inputs, [&](ValueId input) {
                return writer[input] != no_unit && std::ranges::binary_search(later, writer[input]);
            });
            (node.on_bpu() == on_bpu && !waits ? turn : later).push_back(index);
        }
        if (!turn.empty())
            result.push_back(std::move(turn));
        left = std::move(later);
    }
    return result;
}

// Returns the time of host workers for a node: a node of the device reads and writes bytes, or 16
// bits.
double host_us(const Graph& graph, const Node& node, const CpuRates& rates) {
    std::uint64_t bytes = 0;
    const auto add = [&](ValueId id) {
        const Value& value = graph.values[id];
        bytes += value.elements() * (node.on_bpu() ? value.element_bytes() : sizeof(float));
    };
    add(node.output);
    for (const ValueId input : node.inputs)
        add(input);
    return rates.microseconds(multiply_accumulates(graph, node), bytes / sizeof(float));
}

class UnitCompiler {
public:
    UnitCompiler(Graph& graph, QuantisedGraph& quantised, Program& program,
                 const UnitOptions& options)
        : graph_(graph), quantised_(quantised), program_(program), options_(options),
          writer_(writers(graph)), shared_(program.steps) {}

    CompiledUnits run() {
        group();
        std::vector<std::size_t> order;
        for (const Draft& unit : units_)
            for (const std::vector<std::size_t>& turn : unit.turns)
                order.insert(order.end(), turn.begin(), turn.end());
        Program lowered;
        {
            const Reordered guard(graph_, quantised_, order);
            limit_crossing();
            std::vector<NodeRange> ranges;
            for (const Draft& unit : units_)
                for (const std::vector<std::size_t>& turn : unit.turns)
                    ranges.push_back(
                        {graph_.nodes[next_node(ranges)].on_bpu(), next_node(ranges), turn.size()});
            lowered = lower(graph_, quantised_, ranges, program_.constants);
            check_steps(graph_, lowered);
            take_segments(lowered);
            for (std::size_t index = 0; index < options_.classes.size(); ++index)
                if (options_.classes[index].profile)
                    compile_for_cores(index, lowered);
        }
        for (std::size_t index = 0; index < options_.classes.size(); ++index)
            if (!options_.classes[index].profile)
                compile_for_workers(index, lowered);
        finish();
        check_memory(lowered);
        program_.constants = std::move(lowered.constants);
        return std::move(result_);
    }

private:
    // A unit that is being made, with its nodes in turns of one kind.
    struct Draft {
        std::uint64_t support;
        std::vector<std::vector<std::size_t>> turns;
    };

    // A segment of a unit, and its number in the lowered program.
    struct Lowered {
        std::size_t unit, segment, of_program;
    };

    static std::size_t next_node(const std::vector<NodeRange>& ranges) {
        return ranges.empty() ? 0 : ranges.back().first + ranges.back().count;
    }

    std::uint64_t core_classes() const {
        std::uint64_t bits = 0;
        for (std::size_t index = 0; index < options_.classes.size(); ++index)
            if (options_.classes[index].profile)
                bits |= std::uint64_t{1} << index;
        return bits;
    }

    std::uint64_t support_of(const Node& node) const {
        const std::uint64_t opcodes = opcodes_of(graph_, node);
        std::uint64_t bits = 0;
        for (std::size_t index = 0; index < options_.classes.size(); ++index) {
            const ovt_profile* profile = options_.classes[index].profile.get();
            if (!profile || (node.on_bpu() && (profile->without & opcodes) == 0))
                bits |= std::uint64_t{1} << index;
        }
        if (bits == 0)
            throw CompileError(describe(node), "runs on none of the classes of processors; add "
                                               "--class cpu");
        return bits;
    }

    void group() {
        OperatorGraph operators;
        for (const Node& node : graph_.nodes) {
            operators.support.push_back(support_of(node));
            std::vector<std::size_t>& predecessors = operators.predecessors.emplace_back();
            for (const ValueId input : node.inputs)
                if (writer_[input] != no_unit)
                    predecessors.push_back(writer_[input]);
        }
        const Partition found =
            partition(operators, {core_classes(), options_.least_operators, most_units});
        if (!is_sound(operators, found.units)) // a bug here, never a mistake of the user
            throw CompileError(graph_.name, "has been cut into units that are not convex");
        if (found.fronts > found.units.size())
            result_.joined_fronts = found.fronts;
        for (const OperatorGroup& unit : found.units) {
            const auto with_bpu = turns(graph_, unit.operators, true, writer_),
                       with_cpu = turns(graph_, unit.operators, false, writer_);
            units_.push_back(
                {unit.support, with_cpu.size() < with_bpu.size() ? with_cpu : with_bpu});
        }
    }

    // Halves turns with more inputs and outputs than a job can name, until each part has few
    // enough.  If cores support the unit, each part is a unit, or else a turn of the same unit.
    void limit_crossing() {
        const std::vector<std::size_t> readers = last_readers(graph_);
        const std::uint64_t cores = core_classes();
        std::vector<Draft> units;
        std::size_t first = 0; // node
        for (const Draft& unit : units_) {
            units.push_back({unit.support, {}});
            for (const std::vector<std::size_t>& turn : unit.turns) {
                auto next = turn.begin();
                for (const std::size_t size : parts(first, turn.size(), readers)) {
                    if ((unit.support & cores) != 0 && next != turn.begin())
                        units.push_back({unit.support, {}});
                    const auto end = next + static_cast<std::ptrdiff_t>(size);
                    units.back().turns.emplace_back(next, end);
                    next = end;
                    first += size;
                }
            }
        }
        units_ = std::move(units);
        if (units_.size() > most_units)
            throw CompileError(graph_.name, "would have " + std::to_string(units_.size()) +
                                                " units, of " + std::to_string(most_units) +
                                                " that are possible");
    }

    // Returns the numbers of nodes of the parts into which a run of nodes has to be divided.
    std::vector<std::size_t> parts(std::size_t first, std::size_t count,
                                   const std::vector<std::size_t>& readers) const {
        if (!graph_.nodes[first].on_bpu() ||
            count_crossing(graph_, first, count, readers) <= most_crossing)
            return {count};
        if (count == 1)
            throw CompileError(describe(graph_.nodes[first]),
                               "has more inputs and outputs than the " +
                                   std::to_string(most_crossing) + " that a job can name");
        std::vector<std::size_t> sizes = parts(first, count / 2, readers);
        const auto rest = parts(first + count / 2, count - count / 2, readers);
        sizes.insert(sizes.end(), rest.begin(), rest.end());
        return sizes;
    }

    // Takes units and their segments, except those without work: values that nothing reads, or
    // views.
    void take_segments(const Program& lowered) {
        std::size_t of_program = 0;
        for (const Draft& draft : units_) {
            CompiledUnit unit;
            for (const std::vector<std::size_t>& turn : draft.turns) {
                const ProgramSegment& segment = lowered.segments[of_program];
                if (!segment.on_bpu || segment.step_count > 0) {
                    segments_.push_back({result_.units.size(), unit.segments.size(), of_program});
                    unit.segments.push_back(
                        {segment.on_bpu, turn, segment.io, segment.scratch_bytes});
                }
                ++of_program;
            }
            if (unit.segments.empty())
                continue;
            result_.units.push_back(std::move(unit));
            support_.push_back(draft.support);
        }
    }

    bool supports(std::size_t unit, std::size_t index) const {
        return (support_[unit] >> index & 1) != 0;
    }

    CompiledWork& work_of(std::size_t unit, std::size_t index) {
        CompiledUnit& of = result_.units[unit];
        if (of.work.empty() || of.work.back().class_index != index)
            of.work.push_back({index, std::vector<std::vector<FunctionCall>>(of.segments.size())});
        return of.work.back();
    }

    void compile_for_cores(std::size_t index, Program& lowered) {
        const ProcessorClass& of = options_.classes[index];
        Program program;
        std::vector<std::size_t> numbers; // of the units
        for (const Lowered& from : segments_) {
            if (!supports(from.unit, index))
                continue;
            ProgramSegment segment = lowered.segments[from.of_program];
            const auto steps =
                std::span(lowered.steps).subspan(segment.first_step, segment.step_count);
            segment.first_step = program.steps.size();
            program.steps.insert(program.steps.end(), steps.begin(), steps.end());
            program.segments.push_back(std::move(segment));
            numbers.push_back(from.unit);
        }
        std::swap(program.constants, lowered.constants);
        try {
            split(graph_, program, *of.profile,
                  std::uint64_t{options_.max_time_per_fc_us} * of.profile->clock_khz / 1000);
        } catch (const CompileError& error) {
            throw CompileError("class " + of.name, error.what());
        }
        check_steps(graph_, program);
        check_opcodes(program, of);
        for (std::size_t segment = 0; segment < numbers.size(); ++segment) {
            std::vector<FunctionCall>& fcs = work_of(numbers[segment], index).fcs[0];
            for (std::size_t fc = 0; fc < program.segments[segment].fc_count; ++fc)
                fcs.push_back(
                    placed(program, program.fcs[program.segments[segment].first_fc + fc]));
        }
        std::swap(program.constants, lowered.constants);
    }

    FunctionCall placed(const Program& program, const FunctionCall& fc) {
        if (++fcs_ > most_fcs)
            throw CompileError("units", "have more than " + std::to_string(most_fcs) + " FCs");
        return {shared_.place(std::span(program.steps).subspan(fc.first_step, fc.step_count)),
                fc.step_count, fc.cycles};
    }

    void check_opcodes(const Program& program, const ProcessorClass& of) const {
        for (const Step& step : program.steps)
            if (of.profile->without >> step.insn.opcode & 1)
                throw CompileError(describe(graph_.nodes[step.node]),
                                   "needs an instruction that class " + of.name + " lacks");
    }

    void compile_for_workers(std::size_t index, const Program& lowered) {
        for (const Lowered& from : segments_) {
            if (!supports(from.unit, index))
                continue;
            const UnitSegment& segment = result_.units[from.unit].segments[from.segment];
            CompiledWork& work = work_of(from.unit, index);
            if (!segment.on_bpu)
                continue;
            double us = 0;
            for (const std::size_t node : segment.nodes)
                us += host_us(graph_, graph_.nodes[node], options_.cpu);
            const ProgramSegment& whole = lowered.segments[from.of_program];
            work.fcs[from.segment] = {
                placed(lowered, {static_cast<std::uint32_t>(whole.first_step),
                                 static_cast<std::uint32_t>(whole.step_count),
                                 std::max<std::uint64_t>(CpuRates::nanoseconds(us), 1)})};
        }
    }

    // Derives the rest from the assignment of nodes.
    void finish() {
        std::vector<std::size_t> unit_of(graph_.nodes.size(), no_unit);
        for (std::size_t unit = 0; unit < result_.units.size(); ++unit)
            for (const UnitSegment& segment : result_.units[unit].segments)
                for (const std::size_t node : segment.nodes)
                    unit_of[node] = unit;
        for (std::size_t index = 0; index < graph_.nodes.size(); ++index) {
            if (unit_of[index] == no_unit)
                continue;
            const Node& node = graph_.nodes[index];
            CompiledUnit& unit = result_.units[unit_of[index]];
            const std::uint64_t macs = multiply_accumulates(graph_, node);
            unit.operations += macs > 0 ? macs : graph_.values[node.output].elements();
            for (const ValueId input : node.inputs)
                if (writer_[input] != no_unit && unit_of[writer_[input]] != no_unit &&
                    unit_of[writer_[input]] != unit_of[index])
                    unit.after |= std::uint64_t{1} << unit_of[writer_[input]];
        }
        for (CompiledUnit& unit : result_.units)
            std::ranges::sort(unit.work, {}, &CompiledWork::class_index);
        result_.classes = options_.classes;
        result_.instructions = shared_.take();
    }

    // Checks the memory of a request that may run segments as well as units, since readers require
    // all of it.
    void check_memory(const Program& lowered) const {
        std::vector<bool> in_memory(graph_.values.size());
        const auto add = [&](ValueId id) { in_memory[id] = true; };
        for (const auto* ids : {&graph_.inputs, &graph_.outputs})
            std::ranges::for_each(*ids, add);
        for (const Node& node : graph_.nodes)
            if (!node.on_bpu()) {
                add(node.output);
                std::ranges::for_each(node.inputs, add);
            }
        for (const Program* program : {&std::as_const(program_), &lowered})
            for (const ProgramSegment& segment : program->segments)
                for (const IoRegion& io : segment.io)
                    add(io.value);
        const std::vector<bool> on_device = device_values(graph_);
        std::uint64_t total =
            lowered.constants.bytes().size() + result_.instructions.size() * sizeof(overtake_insn);
        bool fits = total <= most_file_bytes;
        for (ValueId id = 0; id < graph_.values.size(); ++id) {
            if (!in_memory[id])
                continue;
            const std::uint64_t bytes = tensor_bytes(graph_.values[id], on_device[id]);
            fits = fits && bytes <= OVERTAKE_MAX_BUFFER_BYTES;
            total += bytes;
        }
        if (!fits || total > OVERTAKE_MAX_CLIENT_BYTES)
            throw CompileError(graph_.name, "is too large: with them, a tensor, the file or the "
                                            "memory of a request would exceed its limit");
    }

    Graph& graph_;
    QuantisedGraph& quantised_;
    Program& program_;
    const UnitOptions& options_;
    const std::vector<std::size_t> writer_; // by value, in the graph's own order
    SharedProgram shared_;
    CompiledUnits result_;
    std::vector<Draft> units_;
    std::vector<Lowered> segments_;
    std::vector<std::uint64_t> support_; // of each unit of the result
    std::size_t fcs_ = 0;
};

} // namespace

CompiledUnits compile_units(Graph& graph, QuantisedGraph& quantised, Program& program,
                            const UnitOptions& options) {
    return UnitCompiler(graph, quantised, program, options).run();
}

} // namespace overtake::compiler
