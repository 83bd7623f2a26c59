// SPDX-License-Identifier: MIT
//
// Cores of an embedded device that fail and throttle on request, for tests: not installed.
#pragma once

#include <memory>
#include <vector>

#include "embedded/profiles.hpp"
#include "overtake/device.hpp"

namespace overtake {

/// Cores are counted from 1; EINVAL for one that there is not.  Thread safe.  Keeps the device.
class CoreFaults {
public:
    virtual ~CoreFaults() = default;
    /// What the core executes ends now, and every job that comes to it ends at its first FC: with
    /// -EIO and fault OVERTAKE_FAULT_RESET.
    virtual void fail(unsigned core) = 0;
    /// It works again.
    virtual void recover(unsigned core) = 0;
    /// FCs that start later take `percent` (from 1) of their modelled time, rounded up to whole
    /// nanoseconds; 100: as modelled.  Modes timed and both.
    virtual void throttle(unsigned core, unsigned percent) = 0;
};

struct FaultyDevice {
    std::shared_ptr<Device> device;
    std::shared_ptr<CoreFaults> faults;
};

/// As open_embedded().  `profiles`: of each core, in place of the built-in ones that the options
/// name; their names outlive the device.
FaultyDevice open_faulty(const EmbeddedOptions& options, std::vector<ovt_profile> profiles = {});

} // namespace overtake
