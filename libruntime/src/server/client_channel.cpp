// SPDX-License-Identifier: MIT
#include "server/client_channel.hpp"

#include <array>
#include <poll.h>
#include <sys/eventfd.h>
#include <utility>

#include "monotonic_clock.hpp"
#include "refusal.hpp"

namespace overtake::server {

namespace {

constexpr std::uint64_t ns_per_s = 1'000'000'000;

} // namespace

ClientChannel::ClientChannel(std::shared_ptr<const Connection> connection, Descriptor channel,
                             bool interruptible)
    : connection_(std::move(connection)), channel_(std::move(channel)) {
    if (interruptible)
        interruption_ = std::make_unique<InterruptEvent>();
}

void ClientChannel::interrupt() {
    QueueOptions options;
    options.interruptible = interruption_ != nullptr;
    require_interruptible(options);
    interrupted_.store(true);
    interruption_->set();
}

void ClientChannel::call(const std::atomic<std::uint32_t>& answers, std::uint32_t number) const {
    send_wake_up(channel_.get());
    while (answers.load() != number) {
        if (!wait_for_wake_up(channel_.get()) && answers.load() != number)
            connection_->fail_gone();
    }
}

void ClientChannel::require_open() const {
    if (!take_wake_ups(channel_.get()))
        connection_->fail_gone();
}

bool ClientChannel::wait(std::int64_t deadline_ns, std::atomic<std::uint32_t>& client_waits,
                         const std::function<bool()>& has_news) const {
    const std::uint64_t now = monotonic_ns();
    if (now >= static_cast<std::uint64_t>(deadline_ns))
        return false;
    client_waits.store(1);
    if (has_news())
        return true;
    const std::uint64_t left = static_cast<std::uint64_t>(deadline_ns) - now;
    const timespec timeout{static_cast<time_t>(left / ns_per_s),
                           static_cast<long>(left % ns_per_s)};
    std::array<pollfd, 2> sources{
        {{channel_.get(), POLLIN, 0}, {interruption_ ? interruption_->fd() : -1, POLLIN, 0}}};
    if (ppoll(sources.data(), sources.size(), &timeout, nullptr) < 0)
        return true; // a signal came
    eventfd_t interruptions;
    if (sources[1].revents != 0)
        (void)!eventfd_read(interruption_->fd(), &interruptions);
    if (sources[0].revents != 0 && !take_wake_ups(channel_.get()) && !has_news())
        connection_->fail_gone();
    return true;
}

} // namespace overtake::server
