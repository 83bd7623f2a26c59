// SPDX-License-Identifier: MIT
//
// The prices of pieces of layers, and of meetings of cores, in the search for plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "compiler/ir/firmware.hpp"

namespace overtake::compiler {

/// The cores' meeting before a stage.
struct Meeting {
    std::size_t cores = 0;   ///< cores with something to do in the stage
    std::uint64_t bytes = 0; ///< bytes that its blocks read of stages before, on all cores
};

/// Prices depend on the arguments alone: the same call returns the same number.
class CorePrices {
public:
    virtual ~CorePrices() = default;
    /// Returns the core's cycles for an instruction without the overhead of FCs, at least 1.
    virtual std::uint64_t cycles(const overtake_insn& insn, std::size_t core) const = 0;
    /// Returns the core's cycles that each FC takes beside its instructions.
    virtual std::uint64_t fc_cycles(std::size_t core) const = 0;
    /// Returns the time from the end of the stage before the meeting to the start of the next
    /// stage.
    virtual std::uint64_t meeting_ns(const Meeting& meeting) const = 0;
};

/// The prices of the cycle model; the profiles outlive it.
class ModelPrices final : public CorePrices {
public:
    ModelPrices(std::span<const std::shared_ptr<const ovt_profile>> cores,
                std::uint64_t sync_cycles)
        : cores_(cores), sync_ns_(ovt_cycles_to_ns(cores[0].get(), sync_cycles)) {}

    std::uint64_t cycles(const overtake_insn& insn, std::size_t core) const override {
        return ovt_insn_cycles(cores_[core].get(), &insn);
    }
    std::uint64_t fc_cycles(std::size_t core) const override {
        return cores_[core]->fc_overhead_cycles;
    }
    std::uint64_t meeting_ns(const Meeting&) const override { return sync_ns_; }

private:
    std::span<const std::shared_ptr<const ovt_profile>> cores_;
    std::uint64_t sync_ns_;
};

} // namespace overtake::compiler
