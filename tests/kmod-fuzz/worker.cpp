// SPDX-License-Identifier: MIT
#include "worker.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <sys/ioctl.h>
#include <unistd.h>

namespace overtake::fuzz {

namespace {

// The share of a kind among all calls is its weight by the sum of all weights.
struct Weight {
    Kind kind;
    uint32_t weight;
};

constexpr Weight weights[] = {
    {Kind::close, 4},
    {Kind::dup, 4},
    {Kind::query, 30},
    {Kind::bo_create, 30},
    {Kind::bo_mmap_offset, 20},
    {Kind::bo_map, 40},
    {Kind::bo_unmap, 20},
    {Kind::bo_wait, 20},
    {Kind::context_create, 15},
    {Kind::context_destroy, 10},
    {Kind::submit, 150},
    {Kind::cancel, 20},
    {Kind::wait, 100},
    {Kind::task_submit, 60},
    {Kind::task_events, 60},
    {Kind::task_cpu_done, 40},
    {Kind::task_cancel, 10},
    {Kind::record, 20},
    {Kind::replay, 80},
    {Kind::forget, 8},
    {Kind::gem_close, 20},
    {Kind::prime_export, 12},
    {Kind::prime_import, 12},
    {Kind::dma_buf, 10},
    {Kind::syncobj_create, 6},
    {Kind::syncobj_destroy, 4},
    {Kind::syncobj_export, 5},
    {Kind::syncobj_import, 5},
    {Kind::syncobj_wait, 5},
    {Kind::syncobj_reset, 4},
    {Kind::syncobj_signal, 5},
    {Kind::syncobj_timeline_wait, 5},
    {Kind::syncobj_query, 4},
    {Kind::syncobj_transfer, 4},
    {Kind::syncobj_timeline_signal, 5},
    {Kind::mmap, 15},
    {Kind::munmap, 8},
    {Kind::poll, 8},
    {Kind::ring_open, 4},
    {Kind::uring_submit, 100},
    {Kind::uring_replay, 60},
    {Kind::uring_cancel, 15},
    {Kind::uring_async_cancel, 6},
    {Kind::uring_reap, 40},
    {Kind::fdinfo, 4},
    {Kind::garbage, 10},
    {Kind::scribble, 40},
    {Kind::fork, 1},
    {Kind::kill, 1},
    {Kind::signal, 6},
    {Kind::inject, 4},
};

constexpr uint32_t weight_sum = [] {
    uint32_t sum = 0;
    for (const Weight& entry : weights)
        sum += entry.weight;
    return sum;
}();

Kind pick_kind(Random& random) {
    uint32_t ticket = random.below(weight_sum);
    for (const Weight& entry : weights) {
        if (ticket < entry.weight)
            return entry.kind;
        ticket -= entry.weight;
    }
    return Kind::query;
}

// Smaller deadlines are relative to the present time.
constexpr int64_t relative_below_ns = 1000000000;

int64_t monotonic_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

// Avoids calls that only use up memory, and calls of DRM with bugs in Linux 6.12: it warns of
// syncobj tables of more than 4 MiB, and a TRANSFER with unknown flags leaks a syncobj, whose
// fences then hold the module for ever. Avoids endless waits for a fence that is never signalled.
void stay_modest(Kind kind, void* arguments) {
    const auto limit = [](auto& value, uint64_t least, uint64_t greatest) {
        if (value > least && value <= greatest)
            value %= least;
    };
    const auto limit_table = [&limit](auto* table) { limit(table->count_handles, 4096, ~0u); };
    const auto limit_wait = [&](auto* wait) {
        limit_table(wait);
        if (wait->timeout_nsec > 0)
            wait->timeout_nsec %= relative_below_ns;
    };
    switch (kind) {
    case Kind::bo_create:
        return limit(static_cast<drm_overtake_bo_create*>(arguments)->size, window_bytes,
                     OVERTAKE_MAX_BUFFER_BYTES);
    case Kind::submit:
        return limit(static_cast<drm_overtake_submit*>(arguments)->scratch_bytes, window_bytes,
                     OVERTAKE_MAX_SCRATCH_BYTES);
    case Kind::record: {
        auto* recording = static_cast<drm_overtake_record*>(arguments);
        limit(recording->scratch_bytes, window_bytes, OVERTAKE_MAX_SCRATCH_BYTES);
        limit(recording->instances, 8, OVERTAKE_MAX_INSTANCES);
        return;
    }
    case Kind::task_events: { // a queue may have no task that could end the wait
        auto* events = static_cast<drm_overtake_task_events*>(arguments);
        if (events->deadline_ns > 0)
            events->deadline_ns %= relative_below_ns;
        return;
    }
    case Kind::syncobj_wait:
        return limit_wait(static_cast<drm_syncobj_wait*>(arguments));
    case Kind::syncobj_timeline_wait:
        return limit_wait(static_cast<drm_syncobj_timeline_wait*>(arguments));
    case Kind::syncobj_reset:
    case Kind::syncobj_signal:
        return limit_table(static_cast<drm_syncobj_array*>(arguments));
    case Kind::syncobj_transfer:
        static_cast<drm_syncobj_transfer*>(arguments)->flags = 0;
        return;
    case Kind::syncobj_query:
    case Kind::syncobj_timeline_signal:
        return limit_table(static_cast<drm_syncobj_timeline_array*>(arguments));
    default:
        return;
    }
}

} // namespace

Worker::Worker(Process& process, uint32_t thread)
    : process_(process), thread_(thread), random_(0) {}

void Worker::live() {
    while (process_.shared.calls.load() < process_.options.calls) {
        number_ = process_.shared.made[process_.client][thread_]++;
        step();
    }
    ring_close();
}

void Worker::step() {
    random_ = Random(mix({process_.options.seed, process_.client, thread_, number_}));
    mutate_ = random_.one_in(3);
    call(pick_kind(random_));
}

void Worker::call(Kind kind) {
    File& file = process_.world.files[random_.below(file_count)];
    const uint32_t slot = random_.below(buffer_count);
    if (!file.open && !random_.one_in(8))
        open_file(file);

    switch (kind) {
    case Kind::open:
    case Kind::close:
        return close_file(file);
    case Kind::dup:
        return dup_file(file);
    case Kind::query:
        return query(file);
    case Kind::bo_create:
        return bo_create(file, find_buffer(file, false, false));
    case Kind::bo_mmap_offset:
    case Kind::mmap:
        return bo_show(file, find_buffer(file, true, true));
    case Kind::munmap:
        return bo_hide(file, slot);
    case Kind::bo_map:
        return bo_map(file, find_buffer(file, true, false),
                      OVERTAKE_MAP_READ | (random_.one_in(16) ? 0 : OVERTAKE_MAP_WRITE));
    case Kind::bo_unmap:
        return bo_unmap(file, find_buffer(file, true, true));
    case Kind::bo_wait:
        return bo_wait(file);
    case Kind::context_create:
        return context_create(file);
    case Kind::context_destroy:
        return context_destroy(file);
    case Kind::submit:
        submit(file, false);
        return;
    case Kind::cancel:
        return cancel(file);
    case Kind::wait:
        return wait(file);
    case Kind::task_submit:
        return task_submit(file);
    case Kind::task_events:
        return task_events(file);
    case Kind::task_cpu_done:
        return task_cpu_done(file);
    case Kind::task_cancel:
        return task_cancel(file);
    case Kind::record:
        return record(file, random_.below(recording_slots));
    case Kind::replay:
        return replay(file);
    case Kind::forget:
        return forget_recording(file);
    case Kind::gem_close:
        return gem_close(file, find_buffer(file, true, false));
    case Kind::prime_export:
        return prime_export(file);
    case Kind::prime_import:
        return prime_import(file);
    case Kind::dma_buf:
        return dma_buf(file);
    case Kind::poll:
        return poll_file(file);
    case Kind::ring_open:
        return ring_open();
    case Kind::uring_submit:
        return ring_submit(file);
    case Kind::uring_replay:
        return ring_replay(file);
    case Kind::uring_cancel:
        return ring_cancel(file);
    case Kind::uring_async_cancel:
        return ring_async_cancel();
    case Kind::uring_reap:
        return ring_reap();
    case Kind::fdinfo:
        return read_fdinfo(file);
    case Kind::garbage:
        return garbage(file);
    case Kind::scribble:
        return scribble(file);
    case Kind::fork:
        return fork_child();
    case Kind::kill:
        return kill_one_process();
    case Kind::signal:
        return signal_sibling();
    case Kind::inject:
        return inject_fault();
    default:
        return syncobj(kind, file);
    }
}

// Counts one more call. The worker that makes each ten-thousandth call (by default) asks for
// reference jobs.
void Worker::count_call() {
    const uint64_t calls = ++process_.shared.calls;
    const uint64_t one = 1;
    if (calls % process_.options.reference_interval == 0 &&
        write(process_.reference_fd, &one, sizeof(one)) != sizeof(one))
        std::perror("reference client");
}

void Worker::outcome(Kind kind, int error) {
    const auto index = static_cast<std::size_t>(kind);
    if (!error) {
        process_.shared.succeeded[index]++;
        return;
    }
    process_.shared.refused[index][static_cast<uint32_t>(error) < error_count ? error : 0]++;
    if (!is_documented(kind, error)) {
        process_.shared.undocumented++;
        dprintf(STDERR_FILENO,
                "not documented: %s answered %s (seed %llu, stream %u.%u, call %llu)\n",
                info(kind).name, std::strerror(error),
                static_cast<unsigned long long>(process_.options.seed), process_.client, thread_,
                static_cast<unsigned long long>(number_));
    }
}

// Writes a line before the call, so that the log has the last call even if the machine crashes.
void Worker::log(Kind kind, const char* format, ...) {
    count_call();
    char* line = process_.shared.last[process_.client][thread_];
    int length = std::snprintf(line, max_log_line, "%u.%u %llu %s ", process_.client, thread_,
                               static_cast<unsigned long long>(number_), info(kind).name);
    va_list values;
    va_start(values, format);
    length += std::vsnprintf(line + length, max_log_line - 1 - static_cast<std::size_t>(length),
                             format, values);
    va_end(values);
    if (length > static_cast<int>(max_log_line) - 2)
        length = max_log_line - 2;
    line[length++] = '\n';
    line[length] = '\0';
    if (process_.log_fd >= 0 &&
        write(process_.log_fd, line, static_cast<std::size_t>(length)) != length)
        std::perror("log");
}

// Swaps fields, sets them to limits, changes bits, or makes all bytes random.
void Worker::mutate_bytes(uint8_t* bytes, std::size_t size) {
    for (uint32_t times = 1 + random_.below(3); times--;) {
        const std::size_t width = random_.one_in(2) && size >= 8 ? 8 : 4;
        const std::size_t fields = size / width;
        uint8_t* field = bytes + width * random_.below(static_cast<uint32_t>(fields));
        const uint64_t value = random_.boundary();
        uint8_t other[8];
        switch (random_.below(8)) {
        case 0: // swap
            uint8_t* with;
            with = bytes + width * random_.below(static_cast<uint32_t>(fields));
            std::memcpy(other, with, width);
            std::memcpy(with, field, width);
            std::memcpy(field, other, width);
            break;
        case 1:
        case 2:
            field[random_.below(static_cast<uint32_t>(width))] ^=
                static_cast<uint8_t>(1u << random_.below(8));
            break;
        case 3:
            if (random_.one_in(4)) {
                for (std::size_t i = 0; i < size; i++)
                    bytes[i] = static_cast<uint8_t>(random_.next());
                break;
            }
            [[fallthrough]];
        default:
            std::memcpy(field, &value, width);
        }
    }
}

void Worker::mutate_ioctl(int* fd, Ioctl* ioctl) {
    switch (random_.below(16)) {
    case 0: // a size that the driver does not know, smaller or greater
        ioctl->request = _IOC(
            _IOC_DIR(ioctl->request), _IOC_TYPE(ioctl->request), _IOC_NR(ioctl->request),
            random_.one_in(2) ? random_.below(ioctl->size + 1) : ioctl->size + random_.below(256));
        break;
    case 1:
        ioctl->request =
            _IOC(random_.below(4), _IOC_TYPE(ioctl->request), _IOC_NR(ioctl->request), ioctl->size);
        break;
    case 2: {
        uint8_t* end = arguments_end(thread_);
        ioctl->arguments = random_.pick<uint8_t*>(
            {nullptr, end - 1, missing_page(thread_), read_only_page(thread_),
             reinterpret_cast<uint8_t*>(0xffff888000000000), reinterpret_cast<uint8_t*>(~0ull)});
        ioctl->deadline = -1;
        break;
    }
    case 3:
        *fd = random_.pick<int>(
            {-1, first_file_fd, first_file_fd + 1, first_dma_buf_fd, first_ring_fd});
        break;
    default:
        mutate_bytes(static_cast<uint8_t*>(ioctl->arguments), ioctl->size);
    }
}

// Makes the call; returns 0, errno, or -1 if the way of the call gives no answer. The arguments are
// where arguments() put them.
long Worker::make(int fd, Ioctl ioctl) {
    const unsigned long request = ioctl.request;
    if (mutates())
        mutate_ioctl(&fd, &ioctl);
    const auto* bytes = arguments_end(thread_) - ioctl.size;
    stay_modest(ioctl.kind, arguments_end(thread_) - ioctl.size);
    char text[2 * 128 + 1] = "";
    for (std::size_t i = 0; i < ioctl.size && i < 128; i++)
        std::snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    log(ioctl.kind, "fd %d request %08lx at %p: %s", fd, ioctl.request, ioctl.arguments, text);
    if (ioctl.deadline >= 0) {
        int64_t deadline;
        std::memcpy(&deadline, bytes + ioctl.deadline, sizeof(deadline));
        if (deadline > 0 && deadline < relative_below_ns)
            deadline += monotonic_ns();
        std::memcpy(arguments_end(thread_) - ioctl.size + ioctl.deadline, &deadline,
                    sizeof(deadline));
    }
    const int error = ::ioctl(fd, ioctl.request, ioctl.arguments) < 0 ? errno : 0;
    outcome(ioctl.kind, error);
    return ioctl.request == request ? error : -1;
}

} // namespace overtake::fuzz
