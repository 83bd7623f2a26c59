// SPDX-License-Identifier: MIT
//
// A client's source of events, on the server's side.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "embedded/event_ring.hpp"
#include "server/served_queue.hpp"

namespace overtake::server {

/// The host writes into the ring, and reads only the ring's head of the client's data.  A client
/// that does not read loses events, and a client that writes nonsense there loses its own.
class ServedEvents {
public:
    /// `capacity`: a power of two.  Throws Error.
    ServedEvents(FirmwareHost& host, Client& client, std::uint32_t capacity);
    ~ServedEvents();
    ServedEvents(const ServedEvents&) = delete;
    ServedEvents& operator=(const ServedEvents&) = delete;

    /// Descriptors for the client: of the area and of the channel.
    std::array<int, 2> client_descriptors() const noexcept {
        return {memory_.get(), client_end_.get()};
    }
    /// Called once the client has them.
    void forget_client_descriptors();

private:
    FirmwareHost& host_;
    MemoryCharge charge_; ///< charged for the area
    Descriptor memory_;
    std::unique_ptr<GuardedMapping> mapping_;
    Descriptor channel_;
    Descriptor client_end_;
    std::optional<Delivery::Source> news_;
    std::unique_ptr<EventWriter> writer_;
};

} // namespace overtake::server
