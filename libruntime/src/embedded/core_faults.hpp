// SPDX-License-Identifier: MIT
//
// Cores of an embedded device that fail and throttle on request, for tests: not installed.
#pragma once

#include <memory>
#include <vector>

#include "embedded/profiles.hpp"
#include "overtake/device.hpp"

namespace overtake {

/// Cores count from 1; throws Error EINVAL for a core that does not exist.  Thread safe.  Keeps the
/// device.
class CoreFaults {
public:
    virtual ~CoreFaults() = default;
    /// Ends the job that the core executes now, and every later job of the core at its first FC.
    /// Both end with -EIO and fault OVERTAKE_FAULT_RESET.
    virtual void fail(unsigned core) = 0;
    /// Lets the core work again.
    virtual void recover(unsigned core) = 0;
    /// FCs that start later take `percent` (from 1) of their modelled time, rounded up to whole
    /// nanoseconds; 100: as modelled.  Modes timed and both.
    virtual void throttle(unsigned core, unsigned percent) = 0;
};

struct FaultyDevice {
    std::shared_ptr<Device> device;
    std::shared_ptr<CoreFaults> faults;
};

/// Opens a device as open_embedded() does.  `profiles`: of each core, in place of the built-in
/// profiles that the options name; their names outlive the device.
FaultyDevice open_faulty(const EmbeddedOptions& options, std::vector<ovt_profile> profiles = {});

} // namespace overtake
