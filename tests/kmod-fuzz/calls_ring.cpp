// SPDX-License-Identifier: MIT
// Commands and completions through io_uring. Each thread has a ring, and may close it with commands
// in flight.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "worker.hpp"

namespace overtake::fuzz {

namespace {

constexpr uint32_t ring_entries = 64;
constexpr uint32_t usual_flags = IORING_SETUP_SQE128 | IORING_SETUP_CQE32;
constexpr uint64_t cancel_mark = 1ull << 63; // in user_data: not a job

bool is_job_status(int error) {
    return !error || error == ENOEXEC || error == ETIMEDOUT || error == ETIME || error == EIO ||
           error == ECANCELED;
}

} // namespace

void Worker::ring_close() {
    if (ring_.open)
        io_uring_queue_exit(&ring_.uring);
    ring_.open = false;
}

// Opens a ring, mostly as clients do; sometimes with entries of the wrong size or kernel polling.
void Worker::ring_open() {
    ring_close();
    ring_.flags = usual_flags;
    if (random_.one_in(8))
        ring_.flags = random_.pick<uint32_t>({0, IORING_SETUP_SQE128, IORING_SETUP_CQE32,
                                              IORING_SETUP_SQE128 | IORING_SETUP_IOPOLL,
                                              IORING_SETUP_SQE128 | IORING_SETUP_COOP_TASKRUN});
    log(Kind::ring_open, "flags %x", ring_.flags);
    const int ret = io_uring_queue_init(ring_entries, &ring_.uring, ring_.flags);
    outcome(Kind::ring_open, -ret);
    ring_.open = !ret;
}

// Submits one command at once.
void Worker::ring_issue(Kind kind, File& file, uint32_t op, const void* payload, std::size_t size,
                        uint64_t user_data) {
    if (!ring_.open || (ring_.flags != usual_flags && random_.one_in(8)))
        ring_open();
    io_uring_sqe* sqe = ring_.open ? io_uring_get_sqe(&ring_.uring) : nullptr;
    if (!sqe) {
        ring_reap();
        return;
    }
    const bool large = ring_.flags & IORING_SETUP_SQE128;
    auto* bytes = reinterpret_cast<uint8_t*>(sqe);
    std::memset(sqe, 0, large ? 128 : 64);
    sqe->opcode = IORING_OP_URING_CMD;
    sqe->fd = file.fd();
    sqe->cmd_op = op;
    sqe->user_data = user_data;
    std::memcpy(bytes + 48, payload, large ? size : 16);
    if (random_.one_in(16))
        sqe->flags |= random_.pick<uint8_t>({IOSQE_ASYNC, IOSQE_IO_LINK, IOSQE_IO_DRAIN});
    if (mutates()) {
        switch (random_.below(8)) {
        case 0:
            sqe->cmd_op = static_cast<uint32_t>(random_.boundary());
            break;
        case 1:
            sqe->fd = random_.pick<int>({-1, first_dma_buf_fd, first_file_fd, 0});
            break;
        case 2:
            sqe->uring_cmd_flags = random_.pick<uint32_t>({1, 2, 0x80000000});
            break;
        default:
            mutate_bytes(bytes + 48, large ? OVERTAKE_URING_PAYLOAD_BYTES : 16);
        }
        if (large && sqe->cmd_op == OVERTAKE_URING_SUBMIT) {
            auto* submit = reinterpret_cast<drm_overtake_submit*>(bytes + 48);
            submit->scratch_bytes %= window_bytes; // not all of the machine's memory
        }
    }
    char text[2 * 128 + 1] = "";
    for (std::size_t i = 0; i < (large ? 128 : 64); i++)
        std::snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    log(kind, "%s", text);
    const int ret = io_uring_submit(&ring_.uring);
    if (ret < 0)
        outcome(Kind::uring_reap, -ret);
}

void Worker::ring_submit(File& file) {
    drm_overtake_submit submit = {};
    fill_submit(file, &submit, false);
    submit.deadline_ns = 0; // with times a log would not be the same in a second run
    ring_issue(Kind::uring_submit, file, OVERTAKE_URING_SUBMIT, &submit, sizeof(submit),
               submit.tag);
}

void Worker::ring_cancel(File& file) {
    drm_overtake_submit submit = {};
    drm_overtake_cancel cancel[5] = {};
    plainly([&] {
        fill_submit(file, &submit, true);
        submit.deadline_ns = 0;
        ring_issue(Kind::uring_submit, file, OVERTAKE_URING_SUBMIT, &submit, sizeof(submit),
                   submit.tag);
    });
    cancel[0].tag = submit.tag;
    cancel[0].context_id = submit.context_id;
    ring_issue(Kind::uring_cancel, file, OVERTAKE_URING_CANCEL, cancel, sizeof(cancel),
               cancel_mark | submit.tag);
}

// Cancels one command or all commands by io_uring itself.
void Worker::ring_async_cancel() {
    if (!ring_.open)
        return;
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_.uring);
    if (!sqe)
        return ring_reap();
    std::memset(sqe, 0, ring_.flags & IORING_SETUP_SQE128 ? 128 : 64);
    const uint64_t tag =
        process_.world.files[random_.below(file_count)].next_tag - 1 - random_.below(4);
    const unsigned flags =
        random_.pick<unsigned>({0, 0, 0, IORING_ASYNC_CANCEL_ANY, IORING_ASYNC_CANCEL_ALL});
    io_uring_prep_cancel64(sqe, tag, static_cast<int>(flags));
    sqe->user_data = cancel_mark;
    log(Kind::uring_async_cancel, "of %llu, flags %x", static_cast<unsigned long long>(tag), flags);
    const int ret = io_uring_submit(&ring_.uring);
    if (ret < 0)
        outcome(Kind::uring_reap, -ret);
    else
        outcome(Kind::uring_async_cancel, 0);
}

void Worker::ring_reap() {
    if (!ring_.open)
        return;
    io_uring_cqe* cqe;
    log(Kind::uring_reap, "all");
    const int ret = io_uring_get_events(&ring_.uring);
    outcome(Kind::uring_reap, ret < 0 ? -ret : 0);
    while (!io_uring_peek_cqe(&ring_.uring, &cqe)) {
        const uint64_t user_data = cqe->user_data;
        const int error = cqe->res < 0 ? -cqe->res : 0;
        io_uring_cqe_seen(&ring_.uring, cqe);
        if (user_data == cancel_mark)
            continue;
        if (user_data & cancel_mark)
            outcome(Kind::uring_cancel, error);
        else if (user_data & task_mark)
            outcome(Kind::uring_task, error);
        else if (is_job_status(error))
            completed(user_data & replay_mark ? Kind::uring_replay : Kind::uring_submit, error);
        else
            outcome(user_data & replay_mark ? Kind::uring_replay : Kind::uring_submit, error);
    }
}

// Counts the status of a job whose command was accepted.
void Worker::completed(Kind kind, int error) {
    outcome(kind, 0);
    collected(-error);
}

} // namespace overtake::fuzz
