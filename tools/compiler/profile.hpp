// SPDX-License-Identifier: MIT
//
// Profiles: the device for which times are modelled, built in or described by a file.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/ir/cpu_rates.hpp"
#include "compiler/ir/firmware.hpp"

namespace overtake::compiler {

/// Owns the data to which its ovt_profile points.  Constant once made, so it may be shared between
/// threads.
struct DeviceProfile {
    DeviceProfile() = default;
    DeviceProfile(const DeviceProfile&) = delete;
    DeviceProfile& operator=(const DeviceProfile&) = delete;

    std::string name;
    std::string source;  ///< where the numbers come from, for people
    ovt_profile numbers; ///< its name and costs point into this
    std::array<ovt_insn_cost, OVERTAKE_OP_COUNT> costs{};
    CpuRates cpu;
};

/// Returns a built-in profile by its name, or else that of a profile file
/// (docs/design/profiles.md), YAML or JSON, by its path.  Throws CompileError: it names `option`
/// and the built-in profiles if there is no such profile, or else the line and the key that are
/// wrong.
std::shared_ptr<const DeviceProfile> find_profile(const std::string& name_or_path,
                                                  const char* option = "--profile");

/// Returns the text of a profile file that reads back as the same profile.
std::string profile_file(const DeviceProfile& profile);

/// Names of opcodes in profile files; DELAY has none.
std::string_view opcode_name(unsigned opcode);
std::optional<unsigned> opcode_of(std::string_view name);

} // namespace overtake::compiler
