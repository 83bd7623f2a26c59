// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "embedded/firmware_host.hpp"
#include "overtake/event_source.hpp"

namespace overtake {

/// Returns the events of `host`, which `device` keeps.  Throws Error, as Device::events().
std::unique_ptr<EventSource> make_embedded_events(std::shared_ptr<Device> device,
                                                  FirmwareHost& host, const EventOptions& options);

} // namespace overtake
