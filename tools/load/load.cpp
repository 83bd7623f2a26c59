// SPDX-License-Identifier: MIT
#include "load/load.hpp"

#include <ctime>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <deque>

namespace overtake::load {
namespace {

constexpr std::int64_t ns_per_us = 1000;
/// How long a wait may keep us from seeing `stop`.
constexpr std::int64_t patience_ns = 200'000'000;

std::int64_t monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void sleep_until(std::int64_t deadline_ns) {
    timespec until{deadline_ns / 1'000'000'000, deadline_ns % 1'000'000'000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
}

Request summarise(const Task& task) {
    Request request{};
    request.status = task.status();
    for (const Completion& job : task.completions()) {
        if (request.queued_ns == 0)
            request.queued_ns = job.queued_ns;
        if (request.start_ns == 0)
            request.start_ns = job.start_ns;
        request.end_ns = job.end_ns;
        request.executed_ns += job.executed_ns;
        request.preemptions += job.preemptions;
    }
    return request;
}

/// Tasks with their buffers, used again and again; those in flight in order of submission.
class Pool {
public:
    Pool(Session& session, const Options& options) : session_(session), options_(options) {}

    void begin() {
        if (idle_.empty())
            idle_.push_back(session_.create_task());
        busy_.push_back(std::move(idle_.back()));
        idle_.pop_back();
        busy_.back().start(options_.task);
        begun_++;
    }

    /// Until the oldest has ended or the deadline; takes every one at the front that has.
    void collect(std::int64_t deadline_ns) {
        if (busy_.empty() || !busy_.front().wait(deadline_ns))
            return;
        while (!busy_.empty() && busy_.front().poll()) {
            done_.push_back(summarise(busy_.front()));
            idle_.push_back(std::move(busy_.front()));
            busy_.pop_front();
        }
    }

    std::size_t in_flight() const { return busy_.size(); }
    bool wants_more() const { return options_.requests == 0 || begun_ < options_.requests; }
    std::vector<Request> take() { return std::move(done_); }

private:
    Session& session_;
    const Options& options_;
    std::deque<Task> busy_;
    std::vector<Task> idle_;
    std::vector<Request> done_;
    std::uint64_t begun_ = 0;
};

void open_loop(Pool& pool, const Options& options, const std::atomic<bool>& stop) {
    std::int64_t next = monotonic_ns();
    while (pool.wants_more() && !stop) {
        pool.begin();
        next += static_cast<std::int64_t>(options.period_us) * ns_per_us;
        // Even when late, take what has ended: its buffers serve the next request.
        do
            pool.collect(next);
        while (pool.in_flight() != 0 && monotonic_ns() < next);
        sleep_until(next);
    }
}

void closed_loop(Pool& pool, const Options& options, const std::atomic<bool>& stop) {
    while (!stop) {
        while (pool.wants_more() && pool.in_flight() < options.in_flight)
            pool.begin();
        if (pool.in_flight() == 0)
            return;
        pool.collect(monotonic_ns() + patience_ns);
    }
}

} // namespace

std::vector<Request> run(Session& session, const Options& options, const std::atomic<bool>& stop) {
    Pool pool(session, options);
    if (options.period_us != 0)
        open_loop(pool, options, stop);
    else
        closed_loop(pool, options, stop);
    while (pool.in_flight() != 0)
        pool.collect(deadline_never);
    return pool.take();
}

std::uint64_t percentile(std::span<const std::uint64_t> sorted, double percent) {
    auto rank = static_cast<std::size_t>(
        std::ceil(percent / 100 * static_cast<double>(sorted.size()) - 1e-9));
    return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

std::vector<std::uint64_t> latencies(std::span<const Request> requests) {
    std::vector<std::uint64_t> out;
    for (const Request& request : requests)
        if (request.status == 0)
            out.push_back(request.end_ns - request.queued_ns);
    std::sort(out.begin(), out.end());
    return out;
}

} // namespace overtake::load
