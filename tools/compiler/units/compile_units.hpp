// SPDX-License-Identifier: MIT
//
// Compiles the network once more, in units for several processors (partition.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/cpu_rates.hpp"
#include "compiler/ir/program.hpp"
#include "compiler/quantise/quantise.hpp"

namespace overtake::compiler {

/// A class of processors: cores of a profile, or CPU workers.
struct ProcessorClass {
    std::string name;
    std::shared_ptr<const ovt_profile> profile; ///< null: CPU workers
    CpuRates cpu = {};                          ///< beside the profile in its file
};

struct UnitOptions {
    std::vector<ProcessorClass> classes;
    std::size_t least_operators = 7;
    std::uint32_t max_time_per_fc_us = 0;
    CpuRates cpu; ///< of CPU workers
};

/// Nodes of a unit that are of one kind; on the BPU they are one job.
struct UnitSegment {
    bool on_bpu = false;
    std::vector<std::size_t> nodes; ///< in Graph::nodes, in the order of execution
    std::vector<IoRegion> io;
    std::uint64_t scratch_bytes = 0;
};

/// The work of a unit on processors of one class.
struct CompiledWork {
    std::size_t class_index;
    /// The FCs of each segment, with first_step in CompiledUnits::instructions; none for CPU
    /// operators.  Cycles of CPU workers are nanoseconds.
    std::vector<std::vector<FunctionCall>> fcs;
};

struct CompiledUnit {
    std::uint64_t after = 0; ///< bit k: unit k is a predecessor
    std::uint64_t operations = 0;
    std::vector<UnitSegment> segments;
    std::vector<CompiledWork> work; ///< by class, ascending
};

struct CompiledUnits {
    std::vector<ProcessorClass> classes;
    std::vector<CompiledUnit> units;
    std::vector<overtake_insn> instructions; ///< those of the program first
    std::size_t joined_fronts = 0;           ///< number of units before, if some were joined
};

/// Compiles the units.  `program` is the split program of the same graph; adds constants to it.
/// Reorders graph and quantised graph, and restores their order at the end.  Throws CompileError if
/// the network cannot have units.
CompiledUnits compile_units(Graph& graph, QuantisedGraph& quantised, Program& program,
                            const UnitOptions& options);

} // namespace overtake::compiler
