// SPDX-License-Identifier: MIT
#include "kernel/uring.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "monotonic_clock.hpp"
#include "overtake/device.hpp"

// Flags of Linux 6.0 and 6.1 that older headers lack.
#ifndef IORING_SETUP_SINGLE_ISSUER
#define IORING_SETUP_SINGLE_ISSUER (1U << 12)
#endif
#ifndef IORING_SETUP_DEFER_TASKRUN
#define IORING_SETUP_DEFER_TASKRUN (1U << 13)
#endif

namespace overtake {

namespace {

static_assert(sizeof(drm_overtake_submit) == OVERTAKE_URING_PAYLOAD_BYTES);

constexpr unsigned wide_entries = IORING_SETUP_SQE128 | IORING_SETUP_CQE32;
/// Completions wait in the ring until this thread asks for them: without interrupts and wake-ups.
constexpr unsigned deferred =
    IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG;

int set_up(io_uring& ring, unsigned entries, unsigned flags) {
    io_uring_params params{};
    params.flags = flags | IORING_SETUP_CQSIZE;
    // A completion for every job that may be in flight, and a refusal for each in addition.
    params.cq_entries = 2 * OVERTAKE_MAX_JOBS;
    return -io_uring_queue_init_params(entries, &ring, &params);
}

} // namespace

std::optional<Uring> Uring::open(int device_fd, unsigned entries, int& refusal) {
    Uring made;
    refusal = set_up(made.ring_, entries, wide_entries | deferred);
    if (refusal == EINVAL)
        refusal = set_up(made.ring_, entries, wide_entries);
    if (refusal != 0)
        return std::nullopt;
    made.live_ = true;
    refusal = -io_uring_register_files(&made.ring_, &device_fd, 1);
    if (refusal != 0)
        return std::nullopt;
    return made;
}

Uring::Uring(Uring&& other) noexcept
    : ring_(other.ring_), live_(std::exchange(other.live_, false)) {}

Uring& Uring::operator=(Uring&& other) noexcept {
    std::swap(ring_, other.ring_);
    std::swap(live_, other.live_);
    return *this;
}

Uring::~Uring() {
    if (live_)
        io_uring_queue_exit(&ring_);
}

/// Returns a cleared entry; null if there is no room.
io_uring_sqe* Uring::take_entry() {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    // liburing clears neither half of a wide entry.
    if (sqe)
        std::memset(sqe, 0, 2 * sizeof(*sqe));
    return sqe;
}

bool Uring::add_read(int event_fd, std::uint64_t& value, std::uint64_t user_data) {
    io_uring_sqe* sqe = take_entry();
    if (!sqe)
        return false;
    sqe->opcode = IORING_OP_READ;
    sqe->fd = event_fd;
    sqe->addr = reinterpret_cast<std::uintptr_t>(&value);
    sqe->len = sizeof(value);
    sqe->user_data = user_data;
    return true;
}

bool Uring::add(const drm_overtake_submit& payload, std::uint64_t user_data) {
    return add_command(OVERTAKE_URING_SUBMIT, payload, user_data);
}

bool Uring::add(const drm_overtake_replay& payload, std::uint64_t user_data) {
    return add_command(OVERTAKE_URING_REPLAY, payload, user_data);
}

template <class Payload>
bool Uring::add_command(std::uint32_t command, const Payload& payload, std::uint64_t user_data) {
    static_assert(sizeof(payload) <= OVERTAKE_URING_PAYLOAD_BYTES);
    io_uring_sqe* sqe = take_entry();
    if (!sqe)
        return false;
    sqe->opcode = IORING_OP_URING_CMD;
    sqe->flags = IOSQE_FIXED_FILE;
    sqe->fd = 0; // the index of the registered file
    sqe->cmd_op = command;
    sqe->user_data = user_data;
    std::memcpy(sqe->cmd, &payload, sizeof(payload));
    return true;
}

int Uring::flush() {
    while (io_uring_sq_ready(&ring_) != 0) {
        const int submitted = io_uring_submit(&ring_);
        if (submitted < 0 && submitted != -EINTR && submitted != -EAGAIN)
            return -submitted;
    }
    return 0;
}

/// Returns 0 if there is a completion, or the errno.
int Uring::wait(std::int64_t deadline_ns) {
    io_uring_cqe* cqe = nullptr;
    if (deadline_ns == deadline_never)
        return -io_uring_wait_cqe(&ring_, &cqe);
    const std::int64_t left = deadline_ns - static_cast<std::int64_t>(monotonic_ns());
    const std::int64_t bounded = left > 0 ? left : 0;
    __kernel_timespec timeout{.tv_sec = bounded / 1'000'000'000,
                              .tv_nsec = bounded % 1'000'000'000};
    return -io_uring_wait_cqe_timeout(&ring_, &cqe, &timeout);
}

std::optional<Uring::Entry> Uring::peek() {
    io_uring_cqe* cqe = nullptr;
    if (io_uring_peek_cqe(&ring_, &cqe) != 0)
        return std::nullopt;
    const Entry entry{cqe->user_data, cqe->res, cqe->big_cqe[0]};
    io_uring_cqe_seen(&ring_, cqe);
    return entry;
}

std::optional<Uring::Entry> Uring::next(std::int64_t deadline_ns) {
    for (;;) {
        if (auto entry = peek())
            return entry;
        if (static_cast<std::int64_t>(monotonic_ns()) >= deadline_ns)
            return std::nullopt;
        const int code = wait(deadline_ns);
        if (code != 0 && code != ETIME && code != EINTR && code != EAGAIN)
            throw Error(code, fmt::format("io_uring: wait: {}", std::strerror(code)));
    }
}

} // namespace overtake
