// SPDX-License-Identifier: MIT
//
// The contents of a model, for Overtake's own tools and tests.  Not installed: this header may
// change with every version, and the library exports it only for tools of its own version
// (docs/reference/library.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "overtake/custom_operator.hpp"
#include "overtake/export.hpp"
#include "overtake/model.hpp"
#include "overtake_accel.h"

namespace overtake {

namespace fbs {
struct Model; // of model.fbs
}

/// Region `region` of the segment's job is tensor number `tensor`.
struct TensorBinding {
    std::uint32_t region;
    std::uint32_t tensor;
    bool writable;
};

enum class CpuOpType : std::uint8_t {
    softmax = 1,
    dequantize = 2, ///< a copy
    unary = 3,
    binary = 4,
    select = 5,
    view = 6,
    gather = 7,
    gather_elements = 8,
    concat = 9,
    pad = 10,
    interpolate = 11,
    log_softmax = 12,
    normalize = 13,
    reduce = 14,
    top_k = 15,
    non_max_suppression = 16,
    matrix_product = 17,
    convolution = 18,
    pool = 19,
    custom = 20, ///< a custom operator of the program: overtake/custom_operator.hpp
    scatter_elements = 21,
    cumulative_sum = 22,
    grid_sample = 23,
    recurrence = 24,
    roi_align = 25,
};

/// One operator that runs on the CPU, in float32.  Inputs and output are tensor numbers.
struct CpuOp {
    CpuOpType type;
    std::string_view name;
    std::vector<std::uint32_t> inputs;
    std::uint32_t output;
    std::vector<std::int64_t> integers; ///< the operator's own parameters
    std::vector<float> reals;
    /// Custom operator: its description without shapes; else null.
    std::shared_ptr<const OperatorDescription> custom = nullptr;
    /// The layouts that the compiler chose: for each input, then the output, 1 where it is in
    /// blocks of channels.  Empty: the compiler chose none.
    std::vector<std::uint8_t> layouts = {};
    /// Convolution: its weights once more, as oneDNN reads them on the machine that compiled the
    /// file, and their format.  Empty: the file has none.
    std::string_view weights_format = {};
    std::span<const float> weights = {};
};

/// A maximal run of operators on one kind of processor: either fcs or cpu_ops is empty.
struct Segment {
    bool on_bpu() const noexcept { return !fcs.empty(); }

    std::vector<overtake_fc> fcs;         ///< BPU
    std::vector<std::uint64_t> fc_cycles; ///< modelled cost of each FC
    std::vector<TensorBinding> bindings;
    std::uint32_t scratch_bytes = 0;

    std::vector<CpuOp> cpu_ops; ///< CPU

    /// The compiler's estimate of its time, in nanoseconds of the device, at most INT64_MAX: FCs by
    /// their cost, rounded up; CPU segments by the rates of the profile's CPU, 0 = unknown.
    std::uint64_t expected_ns = 0;
};

/// A class of processors for which a model's units were compiled.
struct UnitClass {
    std::string_view name;         ///< as given to `overtake compile --class`
    std::string_view profile_name; ///< profile of its cores; empty: CPU workers
    std::uint32_t clock_khz = 0;   ///< clock of that profile; 0: CPU workers

    bool is_cores() const noexcept { return clock_khz != 0; }
};

/// A unit on processors of one class.
struct UnitWork {
    /// The segments, in the order in which they run.  For cores it is one segment, of FCs that are
    /// cut for the class.  CPU workers run FCs with the device's operators and compute CPU
    /// operators; a unit with both has a segment for each run of one kind.  Values that cross the
    /// border of a segment are in tensors of the model, never in scratch.
    std::vector<Segment> segments;
    /// The compiler's estimate of its time, in nanoseconds, at least 1: the sum over the segments.
    std::uint64_t expected_ns = 0;
};

/// A part of the network that the same classes support.  No path leaves it and enters it again.
struct Unit {
    std::uint64_t after = 0;        ///< bit k: unit k, a lower one, is a predecessor
    std::uint64_t operations = 0;   ///< multiply-accumulates, and elements of other operators
    std::uint64_t output_bytes = 0; ///< bytes of tensors that later units or the caller read
    /// One for each class; null where the class does not support the unit.  At least one is not
    /// null.
    std::vector<std::shared_ptr<const UnitWork>> work;
};

/// A segment of the BPU in parts for several cores: its job is a group (Job::parts), with the
/// bindings of the segment.
struct CoreSegment {
    std::vector<overtake_fc> fcs; ///< part by part; a CPU segment has none
    std::vector<std::uint64_t> fc_cycles;
    std::vector<overtake_part> parts;  ///< `core`: core of the plan, from 1, ascending
    std::vector<std::uint32_t> stages; ///< for each FC its stage; each stage has an FC
    std::uint32_t stage_count = 0;
    std::uint32_t scratch_bytes = 0; ///< shared by the parts
    std::uint64_t expected_ns = 0;   ///< stage by stage, on cores without other work
};

/// The network cut for several cores.
struct CorePlan {
    bool are_alike = true;                  ///< profiles; any core may then run any part
    std::vector<std::string_view> profiles; ///< one for each core; at least two
    std::vector<std::uint32_t> clocks_khz;  ///< the same
    std::vector<CoreSegment> segments;      ///< one for each segment of the model
    std::size_t width = 0;                  ///< most parts of a segment
    std::uint64_t one_core_ns = 0;          ///< estimate for the model's segments on the BPU
    std::uint64_t expected_ns = 0;          ///< estimate for the segments of the plan
    std::uint64_t bound_ns = 0; ///< lower bound: cores that share without loss, or the longest path
};

/// Returns a version of the instruction set as people write it: "1.2".
inline std::string isa_version_text(std::uint32_t version) {
    return std::to_string(version >> 16) + "." + std::to_string(version & 0xffff);
}

/// A model file that has been read and verified.  Views point into the file.
struct ModelContents {
    /// The contents of a loaded model; they live as long as the model.  Thread safe.
    OVERTAKE_API static const ModelContents& of(const Model& model) noexcept;
    /// Makes a model without a file.  `owner` keeps the memory of the views in `contents`.
    static std::shared_ptr<const Model> make(ModelContents contents,
                                             std::shared_ptr<const void> owner);

    std::uint64_t number = 0;      ///< of the model: a process uses each number once
    std::uint64_t file_number = 0; ///< likewise of the file; models of a pack share it
    std::uint32_t isa_version = 0; ///< version that the programs need: major << 16 | minor
    std::string_view name;
    std::string_view profile_name;
    std::uint32_t clock_khz = 0;
    std::uint32_t max_time_per_fc_us = 0;
    /// The tensors of the segments (Model::tensors()) and, behind them, those that only units use.
    std::vector<Tensor> tensors;
    std::size_t segment_tensors = 0;    ///< how many of them the segments need
    std::vector<std::uint32_t> inputs;  ///< tensor numbers
    std::vector<std::uint32_t> outputs; ///< tensor numbers
    std::vector<Segment> segments;      ///< in the order in which they run
    /// The same network in parts for several processors; at most 64 units, in an order in which
    /// they can run.  `classes` and `units` are empty in a file that has no units.
    std::vector<UnitClass> classes;
    std::vector<Unit> units;
    std::optional<CorePlan> core_plan; ///< the same network, for one request on several cores
    std::span<const std::byte> program;
    std::span<const std::byte> weights;
    /// The model's own table in the file, for readers of fields that are not above (reports).
    const fbs::Model* table = nullptr;
};

} // namespace overtake
