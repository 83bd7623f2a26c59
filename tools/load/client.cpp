// SPDX-License-Identifier: MIT
//
// Requests are numbered across the clients of a load. In an open loop, request i is due at begin +
// i * period, and its latency begins there. So if a client is late, because it has as many requests
// on the device as it may, the latencies of the later requests include their wait.
#include "load/client.hpp"

#include <ctime>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "job_failure.hpp"

namespace overtake::load {
namespace {

/// The longest time that a wait may delay the reaction to `stop`.
constexpr std::int64_t patience_ns = 100'000'000;

void sleep_until(std::int64_t deadline_ns) {
    const timespec until{deadline_ns / 1'000'000'000, deadline_ns % 1'000'000'000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
}

void raise(std::atomic<std::uint64_t>& most, std::uint64_t value) {
    std::uint64_t known = most;
    while (known < value && !most.compare_exchange_weak(known, value)) {
    }
}

} // namespace

std::int64_t monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void Shared::begin_now() {
    done = 0;
    begin_ns = monotonic_ns();
}

bool Shared::is_over() {
    if (over_ns != 0)
        return true;
    const std::int64_t now = monotonic_ns();
    const std::int64_t latest = options.longest_ns == 0
                                    ? INT64_MAX
                                    : begin_ns + static_cast<std::int64_t>(options.longest_ns);
    if (now < latest && !stop && !failed)
        return false;
    std::int64_t unset = 0;
    over_ns.compare_exchange_strong(unset, std::min(now, latest));
    return true;
}

double Shared::fraction() const {
    if (begin_ns == 0)
        return 0;
    double part = 0;
    if (options.requests != 0)
        part = static_cast<double>(done) / static_cast<double>(options.requests);
    if (options.longest_ns != 0)
        part = std::max(part, static_cast<double>(monotonic_ns() - begin_ns) /
                                  static_cast<double>(options.longest_ns));
    return std::min(part, 1.0);
}

std::uint64_t Shared::due_until(std::int64_t time_ns) const {
    if (options.period_us == 0 || time_ns < begin_ns)
        return 0;
    const std::uint64_t due =
        static_cast<std::uint64_t>(time_ns - begin_ns) / (options.period_us * 1000) + 1;
    return options.requests == 0 ? due : std::min(due, options.requests);
}

std::uint64_t Client::warm_up() {
    const Options& options = shared_.options;
    const std::size_t in_flight = options.period_us == 0 ? options.in_flight : 1;
    const std::int64_t begin_ns = monotonic_ns();
    const auto wants_more = [&] {
        const bool is_late =
            options.warm_up_longest_ns != 0 &&
            monotonic_ns() - begin_ns >= static_cast<std::int64_t>(options.warm_up_longest_ns);
        return !is_late && !shared_.stop && !shared_.failed &&
               shared_.warm_ups.fetch_add(1) < options.warm_up;
    };
    while (true) {
        while (busy_.size() < in_flight && wants_more())
            begin(monotonic_ns());
        if (busy_.empty())
            break;
        collect(monotonic_ns() + patience_ns);
    }
    for (const Request& request : done_)
        if (request.status != 0 && !is_dropped(options, request))
            throw Error(-request.status,
                        fmt::format("{}: a request failed while warming up: {}",
                                    source_.model().name(), why_it_failed(request)));
    const std::uint64_t count = done_.size();
    done_.clear();
    return count;
}

void Client::measure() {
    if (shared_.options.period_us != 0)
        open_loop();
    else
        closed_loop();
    drain();
}

void Client::open_loop() {
    const std::uint64_t requests = shared_.options.requests;
    while (!shared_.is_over()) {
        if (busy_.size() >= shared_.open_limit) {
            collect(monotonic_ns() + patience_ns);
            continue;
        }
        const std::uint64_t index = shared_.taken.fetch_add(1);
        if ((requests != 0 && index >= requests) || !wait_until(shared_.due_ns(index)))
            return;
        begin(shared_.due_ns(index));
        const std::uint64_t begun = shared_.begun.fetch_add(1) + 1;
        const std::uint64_t due = shared_.due_until(monotonic_ns());
        raise(shared_.most_waiting, due - std::min(due, begun));
        // Even if late: ended requests free their buffers, and the requests after them continue.
        collect(0);
    }
}

/// Waits until `due_ns` and takes requests that end meanwhile. Returns false if the load is over
/// before that.
bool Client::wait_until(std::int64_t due_ns) {
    for (std::int64_t now = monotonic_ns(); now < due_ns; now = monotonic_ns()) {
        if (shared_.is_over())
            return false;
        const std::int64_t until = std::min(due_ns, now + patience_ns);
        if (busy_.empty())
            sleep_until(until);
        else
            collect(until);
    }
    return !shared_.is_over();
}

void Client::closed_loop() {
    const Options& options = shared_.options;
    const auto wants_more = [&] {
        return !shared_.is_over() &&
               (shared_.taken.fetch_add(1) < options.requests || options.requests == 0);
    };
    while (true) {
        while (busy_.size() < options.in_flight && wants_more()) {
            begin(monotonic_ns());
            shared_.begun.fetch_add(1);
        }
        if (busy_.empty())
            return;
        collect(monotonic_ns() + patience_ns);
    }
}

void Client::begin(std::int64_t due_ns) {
    if (idle_.empty()) {
        idle_.push_back(source_.make());
        tasks_++;
    }
    busy_.push_back({std::move(idle_.back()), due_ns});
    idle_.pop_back();
    busy_.back().inference->start(shared_.options.task);
}

/// Waits until a request has ended or the deadline has come, and takes all requests that have
/// ended.
void Client::collect(std::int64_t deadline_ns) {
    const auto is_running = [](const Flight& flight) {
        return flight.inference->status() == -EINPROGRESS;
    };
    running_.clear();
    for (const Flight& flight : busy_)
        if (is_running(flight))
            running_.push_back(flight.inference.get());
    if (!running_.empty())
        first_end_->wait(running_, running_.size() == busy_.size() ? deadline_ns : 0);
    const auto ended = std::stable_partition(busy_.begin(), busy_.end(), is_running);
    for (auto flight = ended; flight != busy_.end(); ++flight) {
        done_.push_back(summarise(*flight));
        if (done_.back().status == -ENODEV)
            shared_.failed = true; // the device is gone for all later requests, too
        idle_.push_back(std::move(flight->inference));
        shared_.done.fetch_add(1);
    }
    busy_.erase(ended, busy_.end());
}

void Client::drain() {
    while (!busy_.empty())
        collect(deadline_never);
}

Request Client::summarise(const Flight& flight) const {
    Request request{};
    request.status = flight.inference->status();
    request.due_ns = static_cast<std::uint64_t>(flight.due_ns);
    for (const Completion& job : flight.inference->completions()) {
        if (request.queued_ns == 0)
            request.queued_ns = job.queued_ns;
        if (request.start_ns == 0)
            request.start_ns = job.start_ns;
        request.end_ns = job.end_ns;
        request.executed_ns += job.executed_ns;
        request.preemptions += job.preemptions;
        if (job.status != 0)
            request.fault = job.fault;
    }
    const bool has_device_end = ends_on_bpu_ && request.status == 0;
    request.done_ns = has_device_end ? request.end_ns : flight.inference->ended_ns();
    return request;
}

bool is_dropped(const Options& options, const Request& request) {
    return options.task.slo_ns != 0 && request.status == -ETIME;
}

std::string why_it_failed(const Request& request) {
    const std::string remedy = limit_remedy(request.status, request.fault);
    return remedy.empty() ? std::strerror(-request.status) : remedy;
}

} // namespace overtake::load
