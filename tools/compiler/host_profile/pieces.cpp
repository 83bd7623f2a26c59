// SPDX-License-Identifier: MIT
#include "compiler/host_profile/pieces.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <tuple>
#include <utility>

#include "compiler/cores/features.hpp"
#include "compiler/import/import.hpp"
#include "compiler/passes/fold.hpp"
#include "compiler/passes/order_segments.hpp"
#include "compiler/passes/widen_weights.hpp"
#include "compiler/quantise/given_scales.hpp"

namespace overtake::host_profile {
namespace {

using namespace compiler;

constexpr Scheme cutting_schemes[] = {Scheme::row, Scheme::column, Scheme::grid, Scheme::channel,
                                      Scheme::balanced};
constexpr std::size_t most_piece_cores = 8;

// The key of a layer: its sizes, not the places of its tensors.
using ShapeKey = std::array<std::uint32_t, 18>;

ShapeKey shape_of(const overtake_insn& insn) {
    return {insn.opcode,         insn.out.height,      insn.out.width,
            insn.out.channels,   insn.in[0].height,    insn.in[0].width,
            insn.in[0].channels, insn.in[1].height,    insn.in[1].width,
            insn.in[1].channels, insn.groups,          insn.kernel_height,
            insn.kernel_width,   insn.stride_height,   insn.stride_width,
            insn.dilation_width, insn.dilation_height, insn.axes};
}

// Returns speeds: all the same, a first core of half the speed, and speeds that fall to a quarter.
std::vector<std::vector<double>> speeds_of_cores(std::size_t cores) {
    std::vector<std::vector<double>> speeds(3, std::vector<double>(cores, 1));
    speeds[1][0] = 0.5;
    for (std::size_t core = 0; core < cores; ++core)
        speeds[2][core] = 1 - 0.75 * static_cast<double>(core) / static_cast<double>(cores - 1);
    return speeds;
}

std::vector<Box> boxes_of(const overtake_insn& insn) {
    std::vector<Box> boxes{compiler::whole(insn)};
    for (const Scheme scheme : cutting_schemes)
        for (std::size_t cores = 2; cores <= most_piece_cores; ++cores)
            for (const std::vector<double>& speeds : speeds_of_cores(cores))
                if (const auto found = shares(insn, scheme, speeds))
                    for (const std::vector<Box>& of : *found)
                        for (const Box& box : of)
                            if (std::ranges::find(boxes, box) == boxes.end())
                                boxes.push_back(box);
    return boxes;
}

} // namespace

PieceNetwork piece_network(Graph graph) {
    std::vector<Range> ranges(graph.values.size(), Range{-4.0f, 4.0f});
    for (const Node& node : graph.nodes)
        if (node.clamp_low == 0)
            ranges[node.output].low = 0;
    return layered_network(std::move(graph), ranges);
}

PieceNetwork read_piece_network(const std::string& path) {
    Graph graph = import_onnx(path);
    std::vector<InputOptions> inputs;
    apply_input_options(graph, inputs);
    fold(graph);
    if (graph.comes_quantised) {
        widen_weights(graph);
        spread_given_scales(graph);
    }
    order_segments(graph);
    return piece_network(std::move(graph));
}

std::vector<Piece> pieces_of(const std::vector<PieceNetwork>& networks, std::size_t most) {
    std::map<ShapeKey, std::size_t> shapes;
    std::vector<std::vector<Piece>> by_shape;
    std::mt19937 generator(1);
    for (std::size_t network = 0; network < networks.size(); ++network)
        for (std::size_t segment = 0; segment < networks[network].segments.size(); ++segment) {
            const std::vector<Layer>& layers = networks[network].segments[segment].layers;
            for (std::size_t layer = 0; layer < layers.size(); ++layer) {
                const overtake_insn& insn = layers[layer].step.insn;
                if (!can_cut(insn) || !shapes.try_emplace(shape_of(insn), shapes.size()).second)
                    continue;
                std::vector<Piece>& pieces = by_shape.emplace_back();
                for (const Box& box : boxes_of(insn))
                    pieces.push_back({network, segment, layer, by_shape.size() - 1, box});
                std::shuffle(pieces.begin() + 1, pieces.end(), generator);
            }
        }
    std::vector<Piece> taken;
    for (std::size_t round = 0, before = taken.size() + 1; before != taken.size(); ++round) {
        before = taken.size();
        for (const std::vector<Piece>& pieces : by_shape)
            if (round < pieces.size() && taken.size() < most)
                taken.push_back(pieces[round]);
    }
    // The pieces of a layer are one behind the other.
    std::ranges::stable_sort(taken, {}, [](const Piece& piece) {
        return std::tuple(piece.network, piece.segment, piece.layer);
    });
    return taken;
}

std::vector<CostSample> model_pieces(const std::vector<PieceNetwork>& networks,
                                     const std::vector<Piece>& pieces, const ovt_profile& profile) {
    std::vector<CostSample> samples;
    for (const Piece& of : pieces) {
        const overtake_insn& insn =
            networks[of.network].segments[of.segment].layers[of.layer].step.insn;
        const overtake_insn part = piece_shape(insn, of.box);
        const PieceFeatures features = compiler::features_of(part);
        samples.push_back(
            {part.opcode,
             {features.begin(), features.end()},
             static_cast<double>(ovt_insn_cycles(&profile, &part)) * 1e6 / profile.clock_khz,
             of.shape});
    }
    return samples;
}

} // namespace overtake::host_profile
