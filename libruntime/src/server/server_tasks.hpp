// SPDX-License-Identifier: MIT
//
// A queue of service mode, as a client of a server uses it.
#pragma once

#include <memory>

#include "overtake/service.hpp"
#include "server/connection.hpp"

namespace overtake::server {

/// Keeps `device`.  Throws Error, as Device::create_service_queue().
std::unique_ptr<ServiceQueue> make_server_tasks(std::shared_ptr<Device> device,
                                                std::shared_ptr<const Connection> connection,
                                                unsigned cores, const ServiceQueueOptions& options);

} // namespace overtake::server
