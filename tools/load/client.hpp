// SPDX-License-Identifier: MIT
//
// Client: one thread's part of a load.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "load/load.hpp"
#include "overtake/model_contents.hpp"

namespace overtake::load {

/// CLOCK_MONOTONIC
std::int64_t monotonic_ns();

/// The state that the clients of one load share.
struct Shared {
    Shared(const Options& options_, std::size_t limit, const std::atomic<bool>& stop_)
        : options(options_), open_limit(limit), stop(stop_) {}

    void begin_now();
    /// Returns whether the load is over: clients begin no more requests.
    bool is_over();
    std::int64_t due_ns(std::uint64_t index) const {
        return begin_ns + static_cast<std::int64_t>(index * options.period_us) * 1000;
    }
    /// Returns the part of the load that is done, 0..1; 0 if it has no end.
    double fraction() const;
    /// Returns how many requests of the open loop were due by a time.
    std::uint64_t due_until(std::int64_t time_ns) const;

    const Options& options;
    const std::size_t open_limit; ///< most requests of a client on the device
    const std::atomic<bool>& stop;
    std::atomic<bool> failed{false};        ///< a client cannot continue
    std::atomic<std::uint64_t> warm_ups{0}; ///< warm-up requests taken by clients
    std::atomic<std::uint64_t> taken{0};    ///< requests taken by clients
    std::atomic<std::uint64_t> begun{0};
    std::atomic<std::uint64_t> done{0};
    std::atomic<std::uint64_t> most_waiting{0};
    std::atomic<std::int64_t> over_ns{0};  ///< when the load was first seen to be over; 0 = not yet
    std::atomic<std::int64_t> begin_ns{0}; ///< 0 = the clients warm up
};

/// A client belongs to one thread at a time.
class Client {
public:
    Client(Source& source, Shared& shared)
        : source_(source), shared_(shared), first_end_(source.first_end()),
          ends_on_bpu_(source.has_one_place() &&
                       ModelContents::of(source.model()).segments.back().on_bpu()) {}

    /// Warms up and returns the number of requests. Throws Error if one fails.
    std::uint64_t warm_up();
    /// Begins requests until the load is over, and waits for the end of each.
    void measure();

    std::vector<Request> take() { return std::move(done_); }
    std::size_t tasks() const { return tasks_; }

private:
    struct Flight {
        std::unique_ptr<Inference> inference;
        std::int64_t due_ns;
    };

    void open_loop();
    void closed_loop();
    bool wait_until(std::int64_t due_ns);
    void begin(std::int64_t due_ns);
    void collect(std::int64_t deadline_ns);
    void drain();
    Request summarise(const Flight& flight) const;

    Source& source_;
    Shared& shared_;
    const std::unique_ptr<FirstEnd> first_end_;
    const bool ends_on_bpu_;
    std::deque<Flight> busy_; ///< in the order of submission
    std::vector<Inference*> running_;
    std::vector<std::unique_ptr<Inference>> idle_;
    std::vector<Request> done_;
    std::size_t tasks_ = 0;
};

} // namespace overtake::load
