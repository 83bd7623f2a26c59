// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "compiler/cores/generate.hpp"
#include "compiler/cores/growth.hpp"
#include "compiler/file/write.hpp"
#include "compiler/host_profile/measure.hpp"
#include "compiler/host_profile/pieces.hpp"
#include "compiler/units/shared_program.hpp"
#include "overtake/device.hpp"
#include "overtake/model.hpp"

namespace overtake::host_profile {
namespace {

using namespace compiler;

// Limits of one model's pieces: each is an FC, and weights of cut channels are copied.
constexpr std::size_t most_model_pieces = 1000;
constexpr std::size_t most_model_bytes = std::size_t{128} << 20;

std::shared_ptr<const Model> model_of(const PieceNetwork& network, const Program& program,
                                      const compiler::CorePlan* plan = nullptr,
                                      std::vector<overtake_insn> instructions = {}) {
    ModelFacts facts{ovt_profile_find("default"), 0,
                     std::vector<NodeSimilarity>(network.graph.nodes.size())};
    facts.core_plan = plan;
    facts.instructions = std::move(instructions);
    const std::vector<std::uint8_t> bytes =
        serialise(network.graph, network.quantised, program, facts);
    return Model::from_bytes(std::as_bytes(std::span(bytes)), network.graph.name);
}

// A program of pieces, an FC each, in the network's segments.
class PieceProgram {
public:
    explicit PieceProgram(PieceNetwork& network)
        : network_(network), bytes_(network.program.constants.bytes().size()),
          steps_(network.segments.size()), parts_(network.segments.size()) {}

    ~PieceProgram() { network_.program.constants.shrink(bytes_); }

    PieceProgram(const PieceProgram&) = delete;
    PieceProgram& operator=(const PieceProgram&) = delete;

    bool is_full() const {
        return count_ >= most_model_pieces ||
               network_.program.constants.bytes().size() - bytes_ >= most_model_bytes;
    }

    void add(std::size_t index, const Piece& of) {
        const Step& step = network_.segments[of.segment].layers[of.layer].step;
        overtake_insn part = piece(step.insn, of.box, network_.program.constants);
        steps_[of.segment].push_back({part, step.node});
        parts_[of.segment].push_back(index);
        ++count_;
    }

    // Measures the pieces: times by index, without `fc_ns`.
    void measure(unsigned runs, double fc_ns, std::vector<double>& ns) {
        Program program = network_.program;
        program.steps.clear();
        program.fcs.clear();
        for (std::size_t segment = 0; segment < steps_.size(); ++segment) {
            // Each segment has an FC.
            if (steps_[segment].empty())
                steps_[segment].push_back(network_.segments[segment].layers.at(0).step);
            ProgramSegment& of = program.segments[network_.segments[segment].segment];
            of = network_.segments[segment].memory;
            of.first_step = program.steps.size();
            of.first_fc = program.fcs.size();
            of.step_count = of.fc_count = steps_[segment].size();
            for (const Step& step : steps_[segment]) {
                program.fcs.push_back({static_cast<std::uint32_t>(program.steps.size()), 1, 1});
                program.steps.push_back(step);
            }
        }
        const FcTimes times = host_profile::measure(model_of(network_, program), runs);
        std::size_t first = 0;
        for (std::size_t segment = 0; segment < steps_.size(); ++segment) {
            for (std::size_t index = 0; index < parts_[segment].size(); ++index)
                ns[parts_[segment][index]] = std::max(1.0, times.fcs_ns[first + index] - fc_ns);
            first += steps_[segment].size();
        }
    }

private:
    PieceNetwork& network_;
    const std::size_t bytes_;
    std::vector<std::vector<Step>> steps_;        // by segment
    std::vector<std::vector<std::size_t>> parts_; // indices of pieces
    std::size_t count_ = 0;
};

// Returns all layers cut into rows, each a stage.
std::vector<Block> rows_of(const SegmentLayers& segment, unsigned cores) {
    std::vector<Block> blocks;
    const std::vector<double> speeds(cores, 1);
    for (std::size_t layer = 0; layer < segment.layers.size(); ++layer) {
        const overtake_insn& insn = segment.layers[layer].step.insn;
        auto found = shares(insn, Scheme::row, speeds);
        blocks.push_back({layer, 1, found ? Scheme::row : Scheme::single,
                          found ? std::move(*found) : single_share(insn, layer % cores, cores)});
    }
    return blocks;
}

class MeetingRuns {
public:
    MeetingRuns(const compiler::CorePlan& plan) : plan_(plan) {
        for (const compiler::CoreSegment& segment : plan.segments)
            gaps_.emplace_back(segment.stage_count, INFINITY);
    }

    void add(const std::vector<FcRecord>& records) {
        std::map<std::uint64_t, std::vector<const FcRecord*>> jobs;
        std::vector<std::uint64_t> order;
        for (const FcRecord& record : records) {
            if (!jobs.contains(record.tag))
                order.push_back(record.tag);
            jobs[record.tag].push_back(&record);
        }
        for (std::size_t index = 0; index < std::min(order.size(), gaps_.size()); ++index)
            add_job(plan_.segments[index], jobs[order[index]], gaps_[index]);
    }

    // Times from the end of a stage to the end of the next, by segment and stage; the first stage
    // has none.
    const std::vector<std::vector<double>>& gaps() const { return gaps_; }

private:
    static void add_job(const compiler::CoreSegment& segment,
                        const std::vector<const FcRecord*>& records, std::vector<double>& gaps) {
        // A device that does not use the plan has one part.
        if (std::ranges::all_of(records, [](const FcRecord* of) { return of->part == 0; }))
            return;
        std::vector<std::uint64_t> ends(segment.stage_count);
        for (const FcRecord* record : records) {
            const std::vector<std::uint32_t>& of = segment.parts.at(record->part).stages;
            if (record->index < of.size())
                ends[of[record->index]] = std::max(ends[of[record->index]], record->end_ns);
        }
        for (std::size_t stage = 1; stage < ends.size(); ++stage)
            if (ends[stage] > ends[stage - 1])
                gaps[stage] =
                    std::min(gaps[stage], static_cast<double>(ends[stage] - ends[stage - 1]));
    }

    const compiler::CorePlan& plan_;
    std::vector<std::vector<double>> gaps_;
};

// Measures the gaps of one network on `cores` cores.
void measure_network(PieceNetwork& network, unsigned cores, unsigned runs, double fc_ns,
                     std::size_t first_layer, std::vector<CostSample>& samples) {
    const std::size_t bytes = network.program.constants.bytes().size();
    const std::shared_ptr<const ovt_profile> core(ovt_profile_find("default"),
                                                  [](const ovt_profile*) {});
    const std::vector<std::shared_ptr<const ovt_profile>> all(cores, core);
    std::vector<std::vector<Block>> blocks;
    for (const SegmentLayers& segment : network.segments)
        blocks.push_back(rows_of(segment, cores));
    compiler::CorePlan plan =
        generate(network.graph, network.program, network.segments, {all, 0, 0}, blocks);
    Program program = network.program;
    program.fcs.clear();
    for (ProgramSegment& segment : program.segments) {
        segment.first_fc = program.fcs.size();
        segment.fc_count = segment.on_bpu ? 1 : 0;
        if (segment.on_bpu)
            program.fcs.push_back({static_cast<std::uint32_t>(segment.first_step),
                                   static_cast<std::uint32_t>(segment.step_count), 1});
    }
    std::vector<overtake_insn> instructions = instructions_of(program);
    {
        SharedProgram shared(instructions);
        for (compiler::CoreSegment& segment : plan.segments)
            for (compiler::CorePart& part : segment.parts)
                for (FunctionCall& fc : part.fcs)
                    fc.first_step = shared.place(
                        std::span<const Step>(plan.steps).subspan(fc.first_step, fc.step_count));
        instructions = shared.take();
    }
    MeetingRuns meetings(plan);
    run_on_noise(model_of(network, program, &plan, std::move(instructions)), cores, runs,
                 [&](unsigned run, const std::vector<FcRecord>& records) {
                     if (run > 0)
                         meetings.add(records);
                 });
    network.program.constants.shrink(bytes);
    for (std::size_t segment = 0; segment < blocks.size(); ++segment) {
        const std::vector<double>& gaps = meetings.gaps()[segment];
        // Layers on one core share stages, so the layer of a stage is not known then.
        if (gaps.size() != blocks[segment].size())
            continue;
        for (std::size_t layer = 1; layer < blocks[segment].size(); ++layer) {
            const Growth growth(network.segments[segment], layer, blocks[segment][layer].shares);
            const auto busy = static_cast<std::size_t>(std::ranges::count_if(
                blocks[segment][layer].shares, [](const auto& boxes) { return !boxes.empty(); }));
            const MeetingFeatures features = features_of(Meeting{busy, growth.bytes_read()});
            if (gaps[layer] < INFINITY)
                samples.push_back({0,
                                   {features.begin(), features.end()},
                                   std::max(1.0, gaps[layer] - fc_ns),
                                   first_layer + layer});
        }
    }
}

} // namespace

std::vector<CostSample> measure_pieces(std::vector<PieceNetwork>& networks,
                                       const std::vector<Piece>& pieces, unsigned runs,
                                       double fc_ns, const PieceProgress& progress) {
    std::vector<CostSample> samples = model_pieces(networks, pieces, *ovt_profile_find("default"));
    std::vector<double> ns(pieces.size());
    for (std::size_t first = 0; first < pieces.size();) {
        PieceNetwork& network = networks[pieces[first].network];
        PieceProgram program(network);
        std::size_t end = first;
        while (end < pieces.size() && pieces[end].network == pieces[first].network &&
               !program.is_full()) {
            program.add(end, pieces[end]);
            ++end;
        }
        program.measure(runs, fc_ns, ns);
        first = end;
        if (progress)
            progress(static_cast<double>(end) / static_cast<double>(pieces.size()));
    }
    for (std::size_t index = 0; index < pieces.size(); ++index)
        samples[index].ns = ns[index];
    return samples;
}

std::vector<CostSample> measure_meetings(std::vector<PieceNetwork>& networks, unsigned cores,
                                         unsigned runs, double fc_ns,
                                         const PieceProgress& progress) {
    std::vector<CostSample> samples;
    std::size_t first_layer = 0, done = 0;
    for (PieceNetwork& network : networks) {
        for (unsigned count = 2; count <= cores; ++count)
            measure_network(network, count, runs, fc_ns, first_layer, samples);
        for (const SegmentLayers& segment : network.segments)
            first_layer += segment.layers.size();
        if (progress)
            progress(static_cast<double>(++done) / static_cast<double>(networks.size()));
    }
    return samples;
}

} // namespace overtake::host_profile
