// SPDX-License-Identifier: MIT
#include "process.hpp"

#include <csignal>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace overtake::command {
namespace {

// Opens missing standard streams, so that no opened file takes their place.
void open_standard_streams() {
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor)
        if (fcntl(descriptor, F_GETFD) < 0)
            (void)!open("/dev/null", O_RDWR); // the lowest free descriptor
}

// Prints a line and ends as the signal demands: no incomplete file has been put in its place.
void on_interrupt(int signal) {
    constexpr std::string_view told = "overtake: interrupted\n", clear = "\r\033[K";
    if (isatty(STDERR_FILENO) == 1)
        (void)!write(STDERR_FILENO, clear.data(), clear.size());
    (void)!write(STDERR_FILENO, told.data(), told.size());
    raise(signal); // SA_RESETHAND: the signal now ends the process
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
    // Exceeding a limit of file sizes becomes an error of writing, which is reported.
    std::signal(SIGXFSZ, SIG_IGN);
}

} // namespace overtake::command
