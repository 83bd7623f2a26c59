// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/file/compare.hpp"
#include "compiler/ir/cpu_rates.hpp"
#include "compiler/ir/program.hpp"
#include "compiler/quantise/quantise.hpp"

namespace overtake::compiler {

struct CompiledUnits;
struct CorePlan;

/// The contents of a model file beside graph and program.
struct ModelFacts {
    const ovt_profile* profile;
    std::uint32_t max_time_per_fc_us;
    std::vector<NodeSimilarity> similarities; // by node
    std::uint32_t samples = 0;                // samples of the calibration
    std::uint32_t compared = 0;               // of them
    bool noise = false;                       // the samples are random
    CpuRates cpu = {};                        // for estimates
    const CompiledUnits* units = nullptr;     // of the same graph and program; null: none
    const CorePlan* core_plan = nullptr;      // the same; first_step of FCs is in `instructions`
    // Instructions of the program first, then those of units and plan; empty: the program's alone.
    std::vector<overtake_insn> instructions = {};
    Normalisation normalisation = {}; // of pictures, where inputs are plain tensors
};

std::vector<overtake_insn> instructions_of(const Program& program);

/// Refuses a buffer, called `what`, that is larger than devices take.  Throws CompileError.
void check_buffer(const std::string& what, std::uint64_t bytes);

/// Throws CompileError if the contents of a model file alone take too many bytes.
void check_file_bytes(const std::string& what, std::uint64_t bytes);

/// Refuses a tensor that is larger than a device or a model file can have, before anything is
/// computed with it.  Throws CompileError naming the tensor.
void check_sizes(const Graph& graph);

/// Returns the bytes of a model file (libruntime/model.fbs).  Throws CompileError if it would be
/// too large.
std::vector<std::uint8_t> serialise(const Graph& graph, const QuantisedGraph& quantised,
                                    const Program& program, const ModelFacts& facts);

} // namespace overtake::compiler
