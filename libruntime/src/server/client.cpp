// SPDX-License-Identifier: MIT
#include "server/client.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <thread>

#include "monotonic_clock.hpp"
#include "server/descriptor.hpp"
#include "thread_clock.hpp"

namespace overtake::server {

namespace {

constexpr std::size_t least_call_bytes = 4096;
/// A wake-up takes some 10 us.  Others get this many times what a longer one has taken.
constexpr std::uint64_t long_wake_up_ns = 300'000;
constexpr std::uint64_t measured_after_a_long_one_ns = 10'000'000'000;
constexpr std::uint64_t rests = 19;
constexpr std::uint64_t longest_rest_ns = 500'000'000;

} // namespace

std::span<std::byte> CallBuffer::take(const std::shared_ptr<MemoryAccount>& account,
                                      std::size_t bytes) {
    if (bytes > bytes_) {
        const std::size_t wanted = std::bit_ceil(std::max(bytes, least_call_bytes));
        memory_.reset();
        charge_.reset();
        bytes_ = 0;
        MemoryCharge charge(account, wanted);
        memory_ = std::make_unique_for_overwrite<std::byte[]>(wanted);
        charge_.emplace(std::move(charge));
        bytes_ = wanted;
    }
    return {memory_.get(), bytes};
}

void WakeUps::send(int socket) noexcept {
    const std::uint64_t begin_ns = monotonic_ns();
    if (begin_ns >= measured_until_ns_.load()) {
        send_wake_up(socket);
        // Or something else has run meanwhile.
        const std::uint64_t end_ns = monotonic_ns();
        if (end_ns - begin_ns > long_wake_up_ns)
            measured_until_ns_.store(end_ns + measured_after_a_long_one_ns);
        return;
    }
    const std::uint64_t begin_cpu_ns = thread_cpu_ns();
    send_wake_up(socket);
    const std::uint64_t taken_ns = thread_cpu_ns() - begin_cpu_ns;
    if (taken_ns <= long_wake_up_ns)
        return;
    measured_until_ns_.store(monotonic_ns() + measured_after_a_long_one_ns);
    std::this_thread::sleep_for(
        std::chrono::nanoseconds(std::min(rests * taken_ns, longest_rest_ns)));
}

std::shared_ptr<EmbeddedJob> make_job_of(Client& client, const Job& job, const JobBounds& bounds) {
    return make_with_room(client, [&] {
        return make_job(job, bounds, *client.addresses, client.memory, JobCharge::all);
    });
}

} // namespace overtake::server
