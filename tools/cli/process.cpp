// SPDX-License-Identifier: MIT
#include "process.hpp"

#include <csignal>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace overtake::command {
namespace {

// Files that are opened do not take the place of standard input, output and error.
void open_standard_streams() {
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor)
        if (fcntl(descriptor, F_GETFD) < 0)
            (void)!open("/dev/null", O_RDWR); // the lowest that is free
}

// Ends as the signal asks, on a line of its own: no file has appeared yet that is not whole.
void on_interrupt(int signal) {
    constexpr std::string_view told = "overtake: interrupted\n", clear = "\r\033[K";
    if (isatty(STDERR_FILENO) == 1)
        (void)!write(STDERR_FILENO, clear.data(), clear.size());
    (void)!write(STDERR_FILENO, told.data(), told.size());
    raise(signal); // SA_RESETHAND: this time for good
}

void tell_of_interrupts() {
    for (const int signal : {SIGINT, SIGTERM}) {
        struct sigaction before {};
        struct sigaction action {};
        action.sa_handler = on_interrupt;
        action.sa_flags = static_cast<int>(SA_RESETHAND);
        if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(signal, &action, nullptr);
    }
}

} // namespace

void prepare_process() {
    open_standard_streams();
    tell_of_interrupts();
    // A limit of file sizes is an error of writing, to be reported as one.
    std::signal(SIGXFSZ, SIG_IGN);
}

} // namespace overtake::command
