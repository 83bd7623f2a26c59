// SPDX-License-Identifier: MIT
//
// What the queues and buffers of a served client have in common.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "embedded/disposal.hpp"
#include "embedded/job.hpp"
#include "embedded/memory.hpp"
#include "server/delivery.hpp"

namespace overtake::server {

/// Memory for one call or one answer at a time, charged to the client from its first use on.
class CallBuffer {
public:
    /// Of at least so many bytes; what was in it is lost.  Throws Error ENOSPC or std::bad_alloc.
    std::span<std::byte> take(const std::shared_ptr<MemoryAccount>& account, std::size_t bytes);

private:
    std::optional<MemoryCharge> charge_;
    std::unique_ptr<std::byte[]> memory_;
    std::size_t bytes_ = 0;
};

/// Wake-ups of a client, by its own threads.  One that takes long, because much polls the client's
/// descriptor, is followed by a rest: interrupts are off meanwhile.
///
/// How long is a question of CPU time, which takes two system calls: it is measured in the ten
/// seconds after a wake-up that took long, by the clock at first, which costs none.  So one in ten
/// seconds at most is followed by no rest.
class WakeUps {
public:
    void send(int socket) noexcept;

private:
    std::atomic<std::uint64_t> measured_until_ns_ = 0;
};

/// Everything that the server keeps for it is charged to `memory`, before it is allocated.
struct Client {
    /// Throws std::system_error if there are no threads for it.
    Client()
        : freeing(
              delivery, [this] { disposal.free_small(); }, false),
          disposal([this] { freeing.post(); }) {
        counts.disposal = &disposal;
    }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    std::shared_ptr<MemoryAccount> memory;
    /// The server ends: what the client holds together with it stays as it is.
    std::shared_ptr<const std::atomic<bool>> server_ends;
    std::shared_ptr<AddressSpace> addresses = std::make_shared<AddressSpace>();
    EmbeddedClient counts;
    WakeUps wake_ups;
    Delivery delivery;        ///< of its completions and wake-ups
    Delivery::Source freeing; ///< of small jobs, when all else is delivered
    Disposal disposal;        ///< of its ended jobs
    // Of its own thread, which answers one call at a time, of whichever queue.
    CallBuffer call;
    CallBuffer answer;
};

/// What `make` makes.  If there is no room for it, once more when ended jobs have been freed.
template <class Make>
auto make_with_room(Client& client, Make make) {
    try {
        return make();
    } catch (const Error& refused) {
        if (refused.code() != ENOSPC)
            throw;
    }
    client.disposal.drain();
    return make();
}

/// Throws Error, as make_job().
std::shared_ptr<EmbeddedJob> make_job_of(Client& client, const Job& job, const JobBounds& bounds);

} // namespace overtake::server
