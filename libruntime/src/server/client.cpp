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

void WakeUpRests::lasted(std::uint64_t begin_ns, std::uint64_t end_ns) {
    if (end_ns - begin_ns > long_wake_up_ns)
        measured_until_ns_.store(end_ns + measured_after_a_long_one_ns);
}

std::uint64_t WakeUpRests::rest_after(std::uint64_t cpu_ns, std::uint64_t end_ns) {
    if (cpu_ns <= long_wake_up_ns)
        return 0;
    measured_until_ns_.store(end_ns + measured_after_a_long_one_ns);
    return std::min(rests * cpu_ns, longest_rest_ns);
}

void WakeUps::send(int socket) noexcept {
    const std::uint64_t begin_ns = monotonic_ns();
    if (!rests_.measures(begin_ns)) {
        send_wake_up(socket);
        rests_.lasted(begin_ns, monotonic_ns());
        return;
    }
    const std::uint64_t begin_cpu_ns = thread_cpu_ns();
    send_wake_up(socket);
    const std::uint64_t taken_ns = thread_cpu_ns() - begin_cpu_ns;
    const std::uint64_t rest_ns = rests_.rest_after(taken_ns, monotonic_ns());
    if (rest_ns != 0)
        std::this_thread::sleep_for(std::chrono::nanoseconds(rest_ns));
}

std::shared_ptr<EmbeddedJob> make_job_of(Client& client, const Job& job, const JobBounds& bounds) {
    return make_with_room(client, [&] {
        return make_job(job, bounds, *client.addresses, *client.scratch, JobCharge::all);
    });
}

} // namespace overtake::server
