// SPDX-License-Identifier: MIT
//
// Makes the processors of a coordinator from the options of an engine's owner.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coordination/coordinator.hpp"
#include "overtake/engine.hpp"

namespace overtake::coordination {

struct EngineSetup {
    CoordinatorSetup coordinator; ///< its runners are null
    Domains domains;
    /// By domain: whether the engine uses cores of the domain's device.
    std::vector<bool> has_cores;
};

/// Throws Error EINVAL, naming the entry and the remedy, for options that are impossible.
EngineSetup make_setup(const std::shared_ptr<Device>& device, const EngineOptions& options);

} // namespace overtake::coordination
