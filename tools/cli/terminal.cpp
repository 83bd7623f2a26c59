// SPDX-License-Identifier: MIT
#include "terminal.hpp"

#include <cerrno>
#include <cstdio>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "overtake/error.hpp"

namespace overtake::command {

Terminal::Terminal() {
    if (isatty(STDOUT_FILENO) == 0 || tcgetattr(STDIN_FILENO, &before_) != 0)
        throw Error(ENOTTY, "top: needs a terminal; without one, use --batch or --json");
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO); // signals stay enabled
    keys.c_cc[VMIN] = 0;
    keys.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &keys);
    fmt::print("\x1b[?1049h\x1b[?25l");
    std::fflush(stdout);
}

Terminal::~Terminal() {
    fmt::print("\x1b[?25h\x1b[?1049l");
    std::fflush(stdout);
    tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

std::pair<std::size_t, std::size_t> Terminal::size() const {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
        return {80, 24};
    return {size.ws_col, size.ws_row};
}

void Terminal::show(const std::vector<std::string>& lines) const {
    std::string screen = "\x1b[H";
    for (std::size_t i = 0; i < lines.size(); i++)
        screen += (i == 0 ? "" : "\r\n") + lines[i] + "\x1b[K"; // erases the rest of the line
    screen += "\x1b[J";                                         // erases the rest of the screen
    fmt::print("{}", screen);
    std::fflush(stdout);
}

char Terminal::key() const {
    char key = 0;
    pollfd source{STDIN_FILENO, POLLIN, 0};
    return poll(&source, 1, 0) == 1 && read(STDIN_FILENO, &key, 1) == 1 ? key : '\0';
}

} // namespace overtake::command
