// SPDX-License-Identifier: MIT
#pragma once

#include <array>

namespace overtake::metrics {

/// Returns the name of drm_overtake_device_info::mode: 0 functional, 1 timed, 2 both; empty for
/// others.
inline const char* name_of_mode(unsigned mode) {
    constexpr std::array names{"functional", "timed", "both"};
    return mode < names.size() ? names[mode] : "";
}

} // namespace overtake::metrics
