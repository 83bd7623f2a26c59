// SPDX-License-Identifier: MIT
//
// What the queues and buffers of a served client have in common.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
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

/// The rest that a client's thread takes after a wake-up that took long, because much polls the
/// client's descriptor: interrupts are off during a wake-up, so others wait as well.
///
/// How long is a question of CPU time, which takes two system calls: it is measured in the ten
/// seconds after a wake-up that took long, by the clock at first, which costs none.  So one in ten
/// seconds at most is followed by no rest.  Any thread may call; all times are of one clock, in ns.
class WakeUpRests {
public:
    /// A wake-up takes some 10 us.
    static constexpr std::uint64_t long_wake_up_ns = 300'000;
    static constexpr std::uint64_t measured_after_a_long_one_ns = 10'000'000'000;
    /// Others get this many times what a long wake-up has taken.
    static constexpr std::uint64_t rests = 19;
    static constexpr std::uint64_t longest_rest_ns = 500'000'000;

    /// Whether the CPU time of a wake-up that begins now is to be measured.
    bool measures(std::uint64_t begin_ns) const { return begin_ns < measured_until_ns_.load(); }
    /// One that was not measured: it lasted so long, and something else may have run meanwhile.
    void lasted(std::uint64_t begin_ns, std::uint64_t end_ns);
    /// The rest after one that was measured.
    std::uint64_t rest_after(std::uint64_t cpu_ns, std::uint64_t end_ns);

private:
    std::atomic<std::uint64_t> measured_until_ns_ = 0;
};

/// Wake-ups of a client, by its own threads, with their rests.
class WakeUps {
public:
    void send(int socket) noexcept;

private:
    WakeUpRests rests_;
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
