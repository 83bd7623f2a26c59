// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "overtake/device.hpp"
#include "overtake/event_source.hpp"
#include "server/connection.hpp"

namespace overtake::server {

/// Makes a client's end of a source.  Throws Error, as Device::events().
std::unique_ptr<EventSource> make_server_events(std::shared_ptr<Device> device,
                                                std::shared_ptr<const Connection> connection,
                                                const EventOptions& options);

} // namespace overtake::server
