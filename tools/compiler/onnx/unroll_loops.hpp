// SPDX-License-Identifier: MIT
//
// LoopUnroller: replaces a Loop whose number of trips is known by its body, once for each trip.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/onnx/file.hpp"
#include "compiler/onnx/libonnx.hpp"

namespace overtake::compiler {

/// The constants of the graph around a loop.
using ConstantsByName = std::map<std::string, const onnx::TensorProto*>;

/// The number of times that a Loop runs its body.
struct Trips {
    std::optional<std::int64_t> count; ///< nothing if it is not known, or with a refusal
    std::string refusal;               ///< why the loop is refused; empty: it is not
};

/// Bounds the nodes that unroll() writes and the computation of conditions, for all loops together.
class LoopUnroller {
public:
    LoopUnroller(int opset, Libonnx& libonnx, const Evaluate& evaluate)
        : opset_(opset), libonnx_(libonnx), evaluate_(evaluate) {}

    /// Counts the trips of a loop.  `evaluate` computes its condition for each trip, or once if the
    /// condition is the same in all of them.  A loop whose condition it could not compute is not
    /// tried again.
    Trips trips_of(const onnx::NodeProto& loop, const ConstantsByName& constants);

    /// Returns the nodes of `trips` trips.  Their names are not in `names`, and are added to it;
    /// constants of the body move to `graph`.
    std::vector<onnx::NodeProto> unroll(const onnx::NodeProto& loop, std::int64_t trips,
                                        onnx::GraphProto& graph, std::set<std::string>& names);

private:
    /// Counts at most `most` trips, which is at least 1.
    Trips count_trips(const onnx::NodeProto& loop, const ConstantsByName& constants,
                      std::int64_t most);

    const int opset_;
    Libonnx& libonnx_;
    const Evaluate& evaluate_;
    std::int64_t nodes_ = 0, bytes_ = 0;          // written so far
    std::int64_t evaluations_ = 0, elements_ = 0; // of conditions
    std::set<std::string> failed_;                // first outputs of loops not to try again
};

} // namespace overtake::compiler
