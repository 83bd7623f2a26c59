// SPDX-License-Identifier: MIT
//
// The profiles of an embedded device's cores.
#pragma once

#include <string>
#include <vector>

#include "overtake/device.hpp"

#include <ovt_port.h>

extern "C" {
#include "hw/profile.h"
}

namespace overtake {

/// Returns the profile of each core that `profiles` or `profile` names.  Throws Error EINVAL,
/// naming the remedy.
std::vector<ovt_profile> core_profiles_of(const EmbeddedOptions& options);

} // namespace overtake
