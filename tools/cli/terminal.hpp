// SPDX-License-Identifier: MIT
//
// A whole terminal, while this lives: another screen, keys one by one, no cursor.
#pragma once

#include <string>
#include <termios.h>
#include <utility>
#include <vector>

namespace overtake::command {

class Terminal {
public:
    /// Throws Error ENOTTY unless standard input and output are terminals.
    Terminal();
    /// As it was.  Signals that end the process have to end up here.
    ~Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    /// Columns and rows, now.
    std::pair<std::size_t, std::size_t> size() const;
    void show(const std::vector<std::string>& lines) const;
    /// The next key, 0 without one.
    char key() const;

private:
    termios before_{};
};

} // namespace overtake::command
