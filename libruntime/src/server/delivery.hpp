// SPDX-License-Identifier: MIT
//
// Delivers completions and wake-ups to a client, in a thread of its own.
//
// A wake-up walks through all pollers of the client's descriptor, and a page of the client's memory
// comes when the kernel has it: both may take as long as the client likes.  So only the client's
// own thread does either.  The threads that end jobs only post, which never waits.  The thread that
// answers the client may stand in for that thread, which saves waking one thread more.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "embedded/wake_flag.hpp"

namespace overtake::server {

class Delivery {
public:
    /// Throws std::system_error if no thread can be created.
    Delivery();
    ~Delivery() { stop(); }
    Delivery(const Delivery&) = delete;
    Delivery& operator=(const Delivery&) = delete;

    /// A source of deliveries, while the object lives.
    class Source {
    public:
        /// `deliver`: called in the thread after post(), once for all posts before it.
        /// `is_urgent`: the client waits for it; other sources have their turn afterwards.
        Source(Delivery& delivery, std::function<void()> deliver, bool is_urgent = true);
        /// Waits for a delivery that is under way.  Nothing is posted any more.
        ~Source();
        Source(const Source&) = delete;
        Source& operator=(const Source&) = delete;

        /// Any thread may call it, with or without the device's lock.
        void post() noexcept {
            if (!due_.exchange(true))
                delivery_.wake_.raise();
        }

    private:
        friend class Delivery;

        Delivery& delivery_;
        const std::function<void()> deliver_;
        const bool is_urgent_;
        std::atomic<bool> due_ = false;
    };

    /// While it lives, the calling thread delivers instead.  Only one thread may have a stand-in.
    class StandIn {
    public:
        explicit StandIn(Delivery& delivery) : delivery_(delivery) { delivery_.wake_.stand_in(); }
        ~StandIn() {
            delivery_.wake_.step_back();
            delivery_.flush();
        }
        StandIn(const StandIn&) = delete;
        StandIn& operator=(const StandIn&) = delete;

        /// Delivers from urgent sources until `is_enough`, but for no longer than some 50 us.
        template <class Condition>
        void deliver_briefly(Condition is_enough) {
            constexpr std::uint64_t awake_ns = 20'000;
            constexpr std::uint64_t longest_ns = 50'000;
            const std::uint64_t begin_ns = monotonic_ns();
            while (!is_enough() &&
                   delivery_.wake_.wait_until(begin_ns + awake_ns, begin_ns + longest_ns))
                delivery_.flush_those(true);
        }

    private:
        Delivery& delivery_;
    };

    /// Delivers everything that is due, in the calling thread.
    void flush() noexcept;
    /// Called when its sources are destroyed.
    void stop() noexcept;

private:
    void run() noexcept;
    void flush_those(bool are_urgent) noexcept;

    std::mutex mutex_; ///< protects the list; held during deliveries
    std::vector<Source*> sources_;
    std::atomic<bool> stopping_ = false;
    WakeFlag wake_;
    std::thread thread_;
};

} // namespace overtake::server
