// SPDX-License-Identifier: MIT
//
// HostCore: executes FCs with the device's operators on the calling thread, so that a unit gives
// the same bytes on a CPU worker as on a core.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "overtake_accel.h"
#include "overtake_isa.h"

extern "C" {
#include "hw/core.h"
}

namespace overtake {

/// Regions by number; a region that is not bound is all zero.
using HostRegions = std::array<ovt_region, OVERTAKE_MAX_REGIONS>;

/// Executes FCs.  One thread at a time.
class HostCore {
public:
    HostCore();

    /// Executes the FCs in order.  `regions` are the job's without its scratch.  Returns 0;
    /// -ENOEXEC for a fault, -ETIMEDOUT for an FC that took too long: then fault() and fault_insn()
    /// say more.  Throws std::bad_alloc.
    std::int32_t execute(std::span<const overtake_fc> fcs, HostRegions regions,
                         std::size_t scratch_bytes);
    /// The fault of the last execute() that failed, and the index of its instruction.
    std::uint32_t fault() const noexcept { return core_.exec.fault; }
    std::uint32_t fault_insn() const noexcept { return core_.exec.fault_insn; }

private:
    std::uint32_t execute(const overtake_fc& fc, const HostRegions& regions);

    ovt_core core_{};
    std::unique_ptr<ovt_simd_scratch> simd_; ///< null: scalar operators
    std::vector<std::byte> scratch_;
};

} // namespace overtake
