// SPDX-License-Identifier: MIT
//
// FirmwareHost: cores that fail and throttle on request.
#include <cerrno>

#include <fmt/format.h>

#include "embedded/firmware_host.hpp"

namespace overtake {

void FirmwareHost::require_core(unsigned core) const {
    if (core < 1 || core > config_.core_count)
        throw Error(EINVAL, fmt::format("embedded device: no core {}, there are {}", core,
                                        config_.core_count));
}

/// Stops an executing FC by the core's register, since a command might wait for that FC.
void FirmwareHost::fail_core(unsigned core) {
    require_core(core);
    Lock lock(mutex_);
    failed_[core - 1] = true;
    if (ovt_fw_runnable(&firmware_, core))
        stop_by_register(core);
    else if (ovt_fw_reserve(&firmware_, 1))
        ovt_fw_reset(&firmware_, core, now());
    pump(lock);
}

void FirmwareHost::recover_core(unsigned core) {
    require_core(core);
    const Lock lock(mutex_);
    failed_[core - 1] = false;
}

void FirmwareHost::throttle_core(unsigned core, unsigned percent) {
    require_core(core);
    if (percent == 0)
        throw Error(EINVAL, "embedded device: FCs cannot take 0 percent of their time");
    const Lock lock(mutex_);
    ovt_core_set_time_factor(&silicon_[core - 1], percent);
}

void FirmwareHost::stop_by_register(unsigned core) {
    ovt_core_write(&silicon_[core - 1], OVT_REG_CONTROL, OVT_CONTROL_ABORT);
}

} // namespace overtake
