// SPDX-License-Identifier: MIT
// Processes that inherit files and memory, die at any moment or are interrupted; faults of the
// device.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker.hpp"

namespace overtake::fuzz {

// Forks a child that goes on with all objects of this process, and ends in one of three ways.
void Worker::fork_child() {
    if (in_child_)
        return;
    log(Kind::fork, " ");
    const uint32_t calls = random_.below(20);
    const uint32_t end = random_.below(3);
    const pid_t child = fork();
    outcome(Kind::fork, child < 0 ? errno : 0);
    if (!child) {
        in_child_ = true;
        ring_.open = false; // it belongs to the parent
        for (uint32_t i = 0; i < calls; i++) {
            mutate_ = random_.one_in(3);
            call(random_.pick<Kind>({Kind::submit, Kind::uring_submit, Kind::wait, Kind::uring_reap,
                                     Kind::bo_map, Kind::bo_unmap, Kind::close,
                                     Kind::context_destroy, Kind::scribble, Kind::bo_mmap_offset,
                                     Kind::prime_import}));
        }
        if (end == 0)
            execl("/bin/true", "true", nullptr);
        else if (end == 1)
            raise(SIGKILL);
        _exit(0);
    }
    if (child > 0)
        while (waitpid(child, nullptr, 0) < 0 && errno == EINTR)
            ;
}

// Kills any client process, also this one; the supervisor starts another one instead.
void Worker::kill_one_process() {
    if (in_child_ || !random_.one_in(4))
        return;
    const uint32_t victim = random_.below(process_.options.clients);
    const pid_t pid = process_.shared.pids[victim];
    log(Kind::kill, "client %u", victim);
    if (pid > 0)
        outcome(Kind::kill, kill(pid, SIGKILL) ? errno : 0);
}

// Sends a signal whose handler does nothing; a waiting call returns EINTR.
void Worker::signal_sibling() {
    if (in_child_)
        return;
    log(Kind::signal, " ");
    outcome(Kind::signal, kill(getpid(), SIGUSR1) ? errno : 0);
}

// Plans a fault of the device at one of the next FCs of any client.
void Worker::inject_fault() {
    if (!process_.options.inject)
        return;
    const char* kind =
        random_.pick<const char*>({"endless", "descriptor", "instruction", "lost-wakeup",
                                   "lost-interrupt", "spurious", "reset"});
    char text[64];
    const int length = std::snprintf(text, sizeof(text), "%s:%u", kind, 1 + random_.below(200));
    log(Kind::inject, "%s", text);
    const int fd = open(process_.options.inject, O_WRONLY | O_CLOEXEC);
    const bool planned = fd >= 0 && write(fd, text, static_cast<size_t>(length)) == length;
    outcome(Kind::inject, planned ? 0 : errno);
    if (fd >= 0)
        close(fd);
}

} // namespace overtake::fuzz
