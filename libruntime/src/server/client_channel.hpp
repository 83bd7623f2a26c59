// SPDX-License-Identifier: MIT
//
// How a client waits: for an answer to its call, or for news of what it has in flight.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "kernel/interrupt_event.hpp"
#include "server/connection.hpp"

namespace overtake::server {

/// The client's end of a queue's channel.  Thread safety: as the queue, but for interrupt().
class ClientChannel {
public:
    ClientChannel(std::shared_ptr<const Connection> connection, Descriptor channel,
                  bool interruptible);

    /// Tells the server of call `number`, and waits until `answers` says that it is answered.
    /// Throws Error ENODEV if the server is gone.
    void call(const std::atomic<std::uint32_t>& answers, std::uint32_t number) const;
    /// Throws Error ENODEV if the server is gone.
    void require_open() const;
    /// Until `has_news`, an interrupt or deadline_ns; it may return earlier.  False at the
    /// deadline. `client_waits` asks the server for a wake-up.  Throws Error ENODEV if the server
    /// is gone.
    bool wait(std::int64_t deadline_ns, std::atomic<std::uint32_t>& client_waits,
              const std::function<bool()>& has_news) const;

    /// Throws Error EINVAL unless it is interruptible.
    void interrupt();
    /// Whether it was interrupted since the last call.
    bool take_interrupt() noexcept { return interrupted_.exchange(false); }

private:
    const std::shared_ptr<const Connection> connection_;
    const Descriptor channel_;
    std::atomic<bool> interrupted_ = false;
    std::unique_ptr<InterruptEvent> interruption_; ///< null: not interruptible
};

} // namespace overtake::server
