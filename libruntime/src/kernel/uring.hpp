// SPDX-License-Identifier: MIT
//
// An io_uring with 128-byte submissions and 32-byte completions for one device file.
#pragma once

#include <cstdint>
#include <optional>

#include <liburing.h>

#include "overtake_accel.h"

namespace overtake {

/// Belongs to the thread that made it.
class Uring {
public:
    /// Returns nullopt, and the errno in `refusal`, where io_uring is forbidden or too old.
    static std::optional<Uring> open(int device_fd, unsigned entries, int& refusal);
    Uring(Uring&& other) noexcept;
    Uring& operator=(Uring&& other) noexcept;
    ~Uring();

    /// Adds a SUBMIT or REPLAY command; false if the submission queue is full.
    bool add(const drm_overtake_submit& payload, std::uint64_t user_data);
    bool add(const drm_overtake_replay& payload, std::uint64_t user_data);
    /// Adds a read of the 8 bytes of an eventfd; false if the submission queue is full.  `value`
    /// stays where it is until the read has completed, or until the ring is destroyed.
    bool add_read(int event_fd, std::uint64_t& value, std::uint64_t user_data);
    /// Passes all added entries to the kernel.  Returns 0 or the errno.
    int flush();

    struct Entry {
        std::uint64_t user_data;
        std::int32_t result;
        std::uint64_t executed_ns;
    };
    /// Returns a completion that has arrived already.
    std::optional<Entry> peek();
    /// Returns the next completion, waiting until deadline_ns (absolute CLOCK_MONOTONIC, 0 polls).
    /// Throws Error if the ring itself fails.
    std::optional<Entry> next(std::int64_t deadline_ns);

private:
    Uring() = default;
    int wait(std::int64_t deadline_ns);
    io_uring_sqe* take_entry();
    template <class Payload>
    bool add_command(std::uint32_t command, const Payload& payload, std::uint64_t user_data);

    io_uring ring_{};
    bool live_ = false;
};

} // namespace overtake
