// SPDX-License-Identifier: MIT
//
// Delivers completions and wake-ups to a client, in a thread of its own.
//
// A wake-up walks everything that polls the client's descriptor, and a page of the client's memory
// comes when the kernel has it: both last as long as the client likes.  Only its own thread does
// either.  The threads that end jobs post, which never waits.  The thread that answers the client
// may stand in for it, which saves waking one thread more.
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
    /// Throws std::system_error if there is no thread for it.
    Delivery();
    ~Delivery() { stop(); }
    Delivery(const Delivery&) = delete;
    Delivery& operator=(const Delivery&) = delete;

    /// Something of which there may be news, while it lives.
    class Source {
    public:
        /// `deliver`: called in the thread after post(), once for all posts before it.
        /// `is_urgent`: the client waits for it; the others have their turn afterwards.
        Source(Delivery& delivery, std::function<void()> deliver, bool is_urgent = true);
        /// Waits for a delivery under way.  Nothing is posted any more.
        ~Source();
        Source(const Source&) = delete;
        Source& operator=(const Source&) = delete;

        /// From any thread, with the device's lock held or not.
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

    /// While it lives, the calling thread delivers instead.  Only one thread may have one.
    class StandIn {
    public:
        explicit StandIn(Delivery& delivery) : delivery_(delivery) { delivery_.wake_.stand_in(); }
        ~StandIn() {
            delivery_.wake_.step_back();
            delivery_.flush();
        }
        StandIn(const StandIn&) = delete;
        StandIn& operator=(const StandIn&) = delete;

        /// Delivers what is urgent until `is_enough`, but no longer than some 50 us.
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

    /// Delivers what is due, in the calling thread.
    void flush() noexcept;
    /// Its sources are gone.
    void stop() noexcept;

private:
    void run() noexcept;
    void flush_those(bool are_urgent) noexcept;

    std::mutex mutex_; ///< of the list; held during deliveries
    std::vector<Source*> sources_;
    std::atomic<bool> stopping_ = false;
    WakeFlag wake_;
    std::thread thread_;
};

} // namespace overtake::server
