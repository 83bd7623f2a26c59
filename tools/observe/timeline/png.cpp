// SPDX-License-Identifier: MIT
#include "observe/timeline/png.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "observe/timeline/whole_file.hpp"
#include "overtake/device.hpp"

namespace overtake::timeline {
namespace {

constexpr char renderer[] = "rsvg-convert";

[[noreturn]] void fail(int code, std::string_view what) {
    throw Error(code, fmt::format("{}: {}: {}", renderer, what, std::strerror(code)));
}

/// Both ends of a pipe. They are closed on exec and at the end of the scope.
class Pipe {
public:
    Pipe() {
        if (pipe2(ends_, O_CLOEXEC) != 0)
            fail(errno, "no pipe");
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    ~Pipe() {
        close_end(0);
        close_end(1);
    }
    int reader() const { return ends_[0]; }
    int writer() const { return ends_[1]; }
    void close_reader() { close_end(0); }
    void close_writer() { close_end(1); }

private:
    void close_end(int end) {
        if (const int descriptor = std::exchange(ends_[end], -1); descriptor >= 0)
            close(descriptor);
    }
    int ends_[2];
};

/// Starts the renderer: SVG in at `input`, PNG out at `output`, error messages at `errors`.
pid_t start(int input, int output, int errors) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
    char* const arguments[] = {const_cast<char*>(renderer), const_cast<char*>("--unlimited"),
                               const_cast<char*>("--format=png"), nullptr};
    pid_t child = 0;
    const int code = posix_spawnp(&child, renderer, &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (code == ENOENT)
        throw Error(ENOENT, fmt::format("{}: not found; install the package librsvg2-bin to draw "
                                        "PNG, or ask for SVG",
                                        renderer));
    if (code != 0)
        fail(code, "cannot be started");
    return child;
}

/// Writes `svg` while it reads error messages, so that neither process waits for the other.
std::string converse(Pipe& input, Pipe& errors, std::string_view svg) {
    std::string complaints;
    fcntl(input.writer(), F_SETFL, O_NONBLOCK);
    for (bool reading = true; reading || input.writer() >= 0;) {
        pollfd waited[2] = {{errors.reader(), POLLIN, 0}, {input.writer(), POLLOUT, 0}};
        if (poll(waited, 2, -1) < 0) {
            if (errno == EINTR)
                continue;
            fail(errno, "poll");
        }
        if (waited[1].revents != 0) {
            const ssize_t written = write(input.writer(), svg.data(), svg.size());
            if (written > 0)
                svg.remove_prefix(static_cast<std::size_t>(written));
            // A renderer that ends early reports the reason in its error messages.
            if (svg.empty() || (written < 0 && errno != EAGAIN && errno != EINTR))
                input.close_writer();
        }
        if (waited[0].revents != 0) {
            char text[512];
            const ssize_t got = read(errors.reader(), text, sizeof(text));
            if (got > 0)
                complaints.append(text, static_cast<std::size_t>(got));
            else if (got == 0 || (errno != EINTR && errno != EAGAIN))
                reading = false;
            if (!reading)
                input.close_writer();
        }
    }
    return complaints;
}

int wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            fail(errno, "waitpid");
    return status;
}

/// Lets a write to a renderer that has ended fail, without the end of this process: SIGPIPE stays
/// pending for this thread and is then removed.
class NoBrokenPipeSignal {
public:
    NoBrokenPipeSignal() {
        sigemptyset(&signal_);
        sigaddset(&signal_, SIGPIPE);
        sigset_t pending;
        sigpending(&pending);
        was_pending_ = sigismember(&pending, SIGPIPE) == 1;
        pthread_sigmask(SIG_BLOCK, &signal_, &before_);
    }
    NoBrokenPipeSignal(const NoBrokenPipeSignal&) = delete;
    NoBrokenPipeSignal& operator=(const NoBrokenPipeSignal&) = delete;
    ~NoBrokenPipeSignal() {
        const timespec at_once{};
        if (!was_pending_)
            while (sigtimedwait(&signal_, nullptr, &at_once) < 0 && errno == EINTR) {
            }
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

private:
    sigset_t signal_;
    sigset_t before_;
    bool was_pending_;
};

} // namespace

void write_png(std::string_view svg, const std::string& path) {
    WholeFile file(path);
    Pipe input;
    Pipe errors;
    const pid_t child = start(input.reader(), file.descriptor(), errors.writer());
    input.close_reader();
    errors.close_writer();
    std::string complaints;
    {
        const NoBrokenPipeSignal no_signal;
        complaints = converse(input, errors, svg);
    }
    const int status = wait_for(child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        while (!complaints.empty() && complaints.back() == '\n')
            complaints.pop_back();
        throw Error(EIO, fmt::format("{}: cannot be written: {} failed: {}", path, renderer,
                                     complaints.empty() ? "no reason given" : complaints));
    }
    file.commit();
}

} // namespace overtake::timeline
