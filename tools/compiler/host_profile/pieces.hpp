// SPDX-License-Identifier: MIT
//
// Pieces of layers from which costs are learned, and their times on this host.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/cores/geometry.hpp"
#include "compiler/cores/layered_network.hpp"
#include "compiler/host_profile/train.hpp"

namespace overtake::host_profile {

/// A network that is never calibrated: only its shapes and weights matter.
using PieceNetwork = compiler::LayeredNetwork;

PieceNetwork piece_network(compiler::Graph graph);

/// Reads an ONNX file.  Throws CompileError.
PieceNetwork read_piece_network(const std::string& path);

struct Piece {
    std::size_t network = 0, segment = 0, layer = 0; ///< of PieceNetwork::segments, its layers
    std::size_t shape = 0;                           ///< the same for layers of one shape
    compiler::Box box;
};

/// Returns at most `most` pieces of the layers that can be cut.  For each shape of a layer there
/// are the layer itself and its shares by each scheme that cuts it, for 2 to 8 cores, alike and
/// unlike.  The shapes take turns.
std::vector<Piece> pieces_of(const std::vector<PieceNetwork>& networks, std::size_t most);

using PieceProgress = std::function<void(double)>;

/// Returns the times of pieces by the cycle model.
std::vector<CostSample> model_pieces(const std::vector<PieceNetwork>& networks,
                                     const std::vector<Piece>& pieces, const ovt_profile& profile);

/// Returns the times of pieces on one embedded core in functional mode, without `fc_ns` for each
/// FC: the fastest of `runs` runs.  Throws Error.
std::vector<CostSample> measure_pieces(std::vector<PieceNetwork>& networks,
                                       const std::vector<Piece>& pieces, unsigned runs,
                                       double fc_ns, const PieceProgress& progress);

/// Returns the times of stages in which 2 to `cores` embedded cores have next to nothing to do,
/// without `fc_ns` for each FC: the fastest of `runs` runs.  The networks' layers are tiny.  Throws
/// Error.
std::vector<CostSample> measure_meetings(std::vector<PieceNetwork>& networks, unsigned cores,
                                         unsigned runs, double fc_ns,
                                         const PieceProgress& progress);

} // namespace overtake::host_profile
