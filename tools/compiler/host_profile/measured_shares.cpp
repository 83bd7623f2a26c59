// SPDX-License-Identifier: MIT
#include "compiler/host_profile/measured_shares.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/host_profile/host_profile.hpp"
#include "compiler/host_profile/pieces.hpp"
#include "compiler/ir/error.hpp"
#include "overtake/error.hpp"

namespace overtake::host_profile {
namespace {

using namespace compiler;

class MeasuredShares {
public:
    MeasuredShares(PieceNetwork network, unsigned runs, std::shared_ptr<std::size_t> count)
        : runs_(runs), fc_ns_(measure_boundary(runs * 4).inside_ns), count_(std::move(count)) {
        networks_.push_back(std::move(network));
    }

    double price(const overtake_insn& insn, std::span<const Box> boxes) {
        std::vector<Piece> unknown;
        std::vector<std::string> shapes; // of `unknown`
        for (const Box& box : boxes) {
            const std::string shape = shape_of(insn, box);
            if (known_.contains(shape) || std::ranges::count(shapes, shape) > 0)
                continue;
            unknown.push_back(piece_of(insn, box));
            shapes.push_back(shape);
        }
        if (!unknown.empty())
            measure(unknown, shapes);
        double ns = 0;
        for (const Box& box : boxes)
            ns += known_.at(shape_of(insn, box));
        return ns;
    }

private:
    // Returns the piece's bytes without the places of its tensors and constants and without its
    // scales.
    static std::string shape_of(const overtake_insn& insn, const Box& box) {
        overtake_insn part = piece_shape(insn, box);
        for (overtake_operand* operand : {&part.out, &part.in[0], &part.in[1]})
            operand->offset = operand->region = 0;
        part.weights_offset = part.params_offset = 0;
        std::memset(part.multiplier, 0, sizeof(part.multiplier));
        std::memset(part.shift, 0, sizeof(part.shift));
        part.start_y = part.start_x = 0;
        std::string bytes(sizeof(part), 0);
        std::memcpy(bytes.data(), &part, sizeof(part));
        return bytes;
    }

    Piece piece_of(const overtake_insn& insn, const Box& box) const {
        const std::vector<SegmentLayers>& segments = networks_[0].segments;
        for (std::size_t segment = 0; segment < segments.size(); ++segment)
            for (std::size_t layer = 0; layer < segments[segment].layers.size(); ++layer)
                if (std::memcmp(&segments[segment].layers[layer].step.insn, &insn, sizeof(insn)) ==
                    0)
                    return {0, segment, layer, 0, box};
        throw CompileError("--balance measured", "was asked for a layer of another network");
    }

    void measure(const std::vector<Piece>& pieces, const std::vector<std::string>& shapes) {
        std::vector<CostSample> samples;
        try {
            samples = measure_pieces(networks_, pieces, runs_, fc_ns_, {});
        } catch (const Error& error) {
            throw CompileError("--balance measured",
                               std::string("cannot run the network on this host: ") + error.what());
        }
        for (std::size_t index = 0; index < shapes.size(); ++index)
            known_[shapes[index]] = samples[index].ns;
        if (count_)
            *count_ += shapes.size();
    }

    std::vector<PieceNetwork> networks_; // one
    const unsigned runs_;
    const double fc_ns_;
    const std::shared_ptr<std::size_t> count_;
    std::map<std::string, double> known_; // by shape
};

} // namespace

SharePriceMaker measured_shares(unsigned runs, const std::shared_ptr<std::size_t>& pieces) {
    return [runs, pieces](const Graph& graph, const QuantisedGraph& quantised,
                          const Program& program, std::span<const SegmentLayers> segments) {
        const auto shares = std::make_shared<MeasuredShares>(
            PieceNetwork{graph, quantised, program, {segments.begin(), segments.end()}}, runs,
            pieces);
        return [shares](const overtake_insn& insn, std::span<const Box> boxes, std::size_t) {
            return shares->price(insn, boxes);
        };
    };
}

} // namespace overtake::host_profile
