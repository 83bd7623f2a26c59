// SPDX-License-Identifier: MIT
//
// The parts that the queues and buffers of a served client have in common.
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

/// Memory for one call or one answer at a time.  It is charged to the client from its first use on.
class CallBuffer {
public:
    /// Returns at least so many bytes; their former content is lost.  Throws Error ENOSPC or
    /// std::bad_alloc.
    std::span<std::byte> take(const std::shared_ptr<MemoryAccount>& account, std::size_t bytes);

private:
    std::optional<MemoryCharge> charge_;
    std::unique_ptr<std::byte[]> memory_;
    std::size_t bytes_ = 0;
};

/// The rest that a client's thread takes after a wake-up that took long, because many pollers wait
/// for the client's descriptor.  Interrupts are off during a wake-up, so others wait as well.
///
/// Wake-ups are measured in CPU time, which takes two system calls each, for ten seconds after a
/// long one.  At other times they are measured by the clock, which takes none.  So at most one long
/// wake-up in ten seconds is followed by no rest.  Any thread may call the functions; all times are
/// of one clock, in ns.
class WakeUpRests {
public:
    /// An ordinary wake-up takes some 10 us.
    static constexpr std::uint64_t long_wake_up_ns = 300'000;
    static constexpr std::uint64_t measured_after_a_long_one_ns = 10'000'000'000;
    /// Others get this many times the time of a long wake-up, but no more than longest_rest_ns.
    static constexpr std::uint64_t rests = 19;
    static constexpr std::uint64_t longest_rest_ns = 500'000'000;

    /// Whether to measure the CPU time of a wake-up that begins now.
    bool measures(std::uint64_t begin_ns) const { return begin_ns < measured_until_ns_.load(); }
    /// Notes a wake-up that was timed by the clock: something else may have run meanwhile.
    void lasted(std::uint64_t begin_ns, std::uint64_t end_ns);
    /// Returns the rest after a wake-up whose CPU time was measured.
    std::uint64_t rest_after(std::uint64_t cpu_ns, std::uint64_t end_ns);

private:
    std::atomic<std::uint64_t> measured_until_ns_ = 0;
};

/// Sends wake-ups to a client from its own threads, and takes the rests.
class WakeUps {
public:
    void send(int socket) noexcept;

private:
    WakeUpRests rests_;
};

/// Everything that the server keeps for a client is charged to `memory` before it is allocated.
struct Client {
    /// Throws std::system_error if no threads can be created.
    Client()
        : freeing(
              delivery, [this] { disposal.free_small(); }, false),
          disposal([this] { freeing.post(); }) {
        counts.disposal = &disposal;
    }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    std::shared_ptr<MemoryAccount> memory;
    std::shared_ptr<ScratchMemory> scratch; ///< is charged to `memory`
    /// Set when the server ends: memory that the client shares stays as it is.
    std::shared_ptr<const std::atomic<bool>> server_ends;
    std::shared_ptr<AddressSpace> addresses = std::make_shared<AddressSpace>();
    EmbeddedClient counts;
    WakeUps wake_ups;
    Delivery delivery;        ///< of completions and wake-ups
    Delivery::Source freeing; ///< frees small jobs after all else is delivered
    Disposal disposal;        ///< of the client's ended jobs
    // For the client's thread, which answers one call at a time, of whichever queue.
    CallBuffer call;
    CallBuffer answer;
};

/// Calls `make`.  If there is no room, calls it once more when ended jobs have been freed.
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
