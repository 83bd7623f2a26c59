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

/// Counts the nodes of bodies that unroll() writes, of which there may be so many in all.
class LoopUnroller {
public:
    LoopUnroller(int opset, Libonnx& libonnx, const Evaluate& evaluate)
        : opset_(opset), libonnx_(libonnx), evaluate_(evaluate) {}

    /// `evaluate` is asked for a condition that changes from trip to trip.
    Trips trips_of(const onnx::NodeProto& loop, const ConstantsByName& constants) const;

    /// The nodes of so many trips.  Their names are not in `names`, which grows by them; constants
    /// of the body become ones of `graph`.
    std::vector<onnx::NodeProto> unroll(const onnx::NodeProto& loop, std::int64_t trips,
                                        onnx::GraphProto& graph, std::set<std::string>& names);

private:
    const int opset_;
    Libonnx& libonnx_;
    const Evaluate& evaluate_;
    std::int64_t written_ = 0;
};

} // namespace overtake::compiler
