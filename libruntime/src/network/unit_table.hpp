// SPDX-License-Identifier: MIT
//
// UnitTable: a model's units, each with its segments on each class of processors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "overtake/model_contents.hpp"

namespace overtake {

/// Constant once made.  Points into the model.
struct UnitTable {
    struct Class {
        std::string name;
        std::string profile_name; ///< profile of its cores; empty: CPU workers
        bool is_cores() const noexcept { return !profile_name.empty(); }
    };
    /// A unit on one class.
    struct Work {
        bool is_supported() const noexcept { return expected_ns != 0; }
        std::size_t segment = 0;       ///< index of its first segment in `segments`
        std::size_t count = 1;         ///< of its segments, one after another; 1 for cores
        std::uint64_t expected_ns = 0; ///< 0: the class does not support the unit
    };
    struct Unit {
        std::uint64_t after = 0;
        std::uint64_t operations = 0;
        std::uint64_t output_bytes = 0;
        std::vector<Work> work;            ///< by class
        std::vector<std::uint32_t> reads;  ///< tensor numbers, each once
        std::vector<std::uint32_t> writes; ///< the same
    };

    std::vector<Class> classes;
    std::vector<Unit> units;
    std::vector<const Segment*> segments;
    std::uint64_t input_bytes = 0; ///< bytes of the model's inputs
};

/// Returns the units of the model's file.  In a file without units each segment is a unit, behind
/// the segment before it; then a BPU segment can also run on CPU workers, with an estimated time.
/// Throws Error EINVAL if there are too many for a coordinator.
UnitTable make_unit_table(const Model& model);

} // namespace overtake
