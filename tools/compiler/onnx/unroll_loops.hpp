// SPDX-License-Identifier: MIT
//
// A Loop whose number of trips is known, written as its body once for each trip.
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

/// Of the graph around a loop.
using ConstantsByName = std::map<std::string, const onnx::TensorProto*>;

/// How often a Loop runs its body.
struct Trips {
    std::optional<std::int64_t> count; ///< nothing where it does not follow from constants
    std::string refusal;               ///< why a loop of that many is not unrolled, or nothing
};

/// Bounds what unroll() writes, and what is computed of conditions, in all loops together.
class LoopUnroller {
public:
    LoopUnroller(int opset, Libonnx& libonnx, const Evaluate& evaluate)
        : opset_(opset), libonnx_(libonnx), evaluate_(evaluate) {}

    /// `evaluate` is asked for a condition that changes from trip to trip.  A loop whose condition
    /// it could not compute is not tried again.
    Trips trips_of(const onnx::NodeProto& loop, const ConstantsByName& constants);

    /// The nodes of so many trips.  Their names are not in `names`, which grows by them; constants
    /// of the body become ones of `graph`.
    std::vector<onnx::NodeProto> unroll(const onnx::NodeProto& loop, std::int64_t trips,
                                        onnx::GraphProto& graph, std::set<std::string>& names);

private:
    /// At most `most`, which is at least 1.
    Trips count_trips(const onnx::NodeProto& loop, const ConstantsByName& constants,
                      std::int64_t most);

    const int opset_;
    Libonnx& libonnx_;
    const Evaluate& evaluate_;
    std::int64_t nodes_ = 0, bytes_ = 0;          // written
    std::int64_t evaluations_ = 0, elements_ = 0; // of conditions
    std::set<std::string> failed_;                // first outputs of loops
};

} // namespace overtake::compiler
