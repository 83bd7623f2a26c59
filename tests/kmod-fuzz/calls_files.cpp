// SPDX-License-Identifier: MIT
// Files: opened, closed and replaced during calls of other threads; queries.
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "worker.hpp"

namespace overtake::fuzz {

namespace {

constexpr uint32_t first_syncobj_table = _IOC_NR(DRM_IOCTL_SYNCOBJ_WAIT);
constexpr uint32_t last_syncobj_table = _IOC_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL);

void forget(File& file) {
    for (Buffer& buffer : file.buffers) {
        buffer.handle = 0;
        buffer.address = 0;
        buffer.visible = 0;
        buffer.insns = 0;
    }
    file.tasks = 0;
    for (auto& context : file.contexts)
        context = 0;
    for (auto& syncobj : file.syncobjs)
        syncobj = 0;
}

} // namespace

// Replaces a file atomically. Memory that shows buffers goes on showing them.
void Worker::open_file(File& file) {
    log(Kind::open, "as fd %d", file.fd());
    const int fd = open(process_.options.device, O_RDWR | O_CLOEXEC);
    const int error = fd < 0 ? errno : 0;
    outcome(Kind::open, error);
    if (error)
        return;
    forget(file);
    dup3(fd, file.fd(), O_CLOEXEC);
    close(fd);
    file.open = true;
}

void Worker::close_file(File& file) {
    if (file.open.exchange(false) && random_.one_in(2)) {
        log(Kind::close, "fd %d", file.fd());
        outcome(Kind::close, close(file.fd()) ? errno : 0);
    } else {
        open_file(file);
    }
}

// Gives a file a second descriptor and closes one: the file stays.
void Worker::dup_file(File& file) {
    log(Kind::dup, "fd %d", file.fd());
    const int fd = dup(file.fd());
    outcome(Kind::dup, fd < 0 ? errno : 0);
    if (fd >= 0)
        close(fd);
}

void Worker::query(File& file) {
    auto* query = arguments<drm_overtake_query>();
    query->topic = random_.below(6);
    query->size = random_.pick<uint64_t>({0, 48, 64, 80, 112, 4096});
    query->data = reinterpret_cast<uint64_t>(answers(thread_));
    make(file.fd(), {Kind::query, DRM_IOCTL_OVERTAKE_QUERY, query, sizeof(*query)});
}

void Worker::poll_file(File& file) {
    pollfd poll_for = {.fd = file.fd(), .events = POLLIN | POLLOUT, .revents = 0};
    log(Kind::poll, "fd %d", file.fd());
    outcome(Kind::poll, poll(&poll_for, 1, 0) < 0 ? errno : 0);
}

void Worker::read_fdinfo(File& file) {
    char path[64], text[4096];
    std::snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", file.fd());
    log(Kind::fdinfo, "%s", path);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool read_it = fd >= 0 && read(fd, text, sizeof(text)) >= 0;
    outcome(Kind::fdinfo, read_it ? 0 : errno);
    if (fd >= 0)
        close(fd);
}

// Calls any ioctl number of DRM with random arguments: the driver must refuse numbers that it does
// not handle.
void Worker::garbage(File& file) {
    const uint32_t size = 8 * random_.below(16);
    uint32_t number = random_.below(256);
    if (number >= first_syncobj_table && number <= last_syncobj_table)
        number = 0; // allocates any size; see stay_modest()
    const unsigned long request = _IOC(random_.below(4), DRM_IOCTL_BASE, number, size);
    uint8_t* place = arguments_end(thread_) - 128;
    for (uint32_t i = 0; i < 128; i++)
        place[i] = random_.one_in(2) ? 0 : static_cast<uint8_t>(random_.next());
    log(Kind::garbage, "fd %d request %08lx", file.fd(), request);
    outcome(Kind::garbage, ioctl(file.fd(), request, place) < 0 ? errno : 0);
}

} // namespace overtake::fuzz
