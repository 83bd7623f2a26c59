// SPDX-License-Identifier: MIT
//
// Takes a whole terminal while it lives: another screen, single keys, no cursor.
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
    /// Restores the terminal. A signal that ends the process must lead here.
    ~Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    /// Returns the columns and rows at this moment.
    std::pair<std::size_t, std::size_t> size() const;
    void show(const std::vector<std::string>& lines) const;
    /// Returns the next key; 0 if there is none.
    char key() const;

private:
    termios before_{};
};

} // namespace overtake::command
