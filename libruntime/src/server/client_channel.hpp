// SPDX-License-Identifier: MIT
//
// The waits of a client: for an answer to its call, or for news of its jobs or tasks.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "kernel/interrupt_event.hpp"
#include "server/connection.hpp"

namespace overtake::server {

/// The client's end of a queue's channel.  Thread safe as the queue is, except for interrupt(),
/// which any thread may call.
class ClientChannel {
public:
    ClientChannel(std::shared_ptr<const Connection> connection, Descriptor channel,
                  bool interruptible);

    /// Wakes the server for call `number`, and waits until `answers` says that it is answered.
    /// Throws Error ENODEV if the server has ended.
    void call(const std::atomic<std::uint32_t>& answers, std::uint32_t number) const;
    /// Throws Error ENODEV if the server has ended.
    void require_open() const;
    /// Waits until `has_news`, an interrupt or deadline_ns; it may return earlier.  Returns false
    /// at the deadline.  `client_waits` asks the server for a wake-up.  Throws Error ENODEV if the
    /// server has ended.
    bool wait(std::int64_t deadline_ns, std::atomic<std::uint32_t>& client_waits,
              const std::function<bool()>& has_news) const;

    /// Throws Error EINVAL unless the channel is interruptible.
    void interrupt();
    /// Returns whether it was interrupted since the last call.
    bool take_interrupt() noexcept { return interrupted_.exchange(false); }

private:
    const std::shared_ptr<const Connection> connection_;
    const Descriptor channel_;
    std::atomic<bool> interrupted_ = false;
    std::unique_ptr<InterruptEvent> interruption_; ///< null: not interruptible
};

} // namespace overtake::server
