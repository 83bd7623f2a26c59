// SPDX-License-Identifier: MIT
//
// Delivers completions and wake-ups to a client, in a thread of its own.
//
// A wake-up walks everything that polls the client's descriptor, and a page of the client's memory
// comes when the kernel has it: both last as long as the client likes.  Only its own thread does
// either.  The threads that end jobs post, which never waits.
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
        Source(Delivery& delivery, std::function<void()> deliver);
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
        std::atomic<bool> due_ = false;
    };

    /// Delivers what is due, in the calling thread.
    void flush() noexcept;
    /// Its sources are gone.
    void stop() noexcept;

private:
    void run() noexcept;

    std::mutex mutex_; ///< of the list; held during deliveries
    std::vector<Source*> sources_;
    std::atomic<bool> stopping_ = false;
    WakeFlag wake_;
    std::thread thread_;
};

} // namespace overtake::server
