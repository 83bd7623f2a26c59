// SPDX-License-Identifier: MIT
//
// The errors that a user without permissions gets.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "overtake/error.hpp"

namespace overtake::test {

/// Runs `action` in a process of its own, as user 65534 if this user is root.  Returns the code and
/// the text of its Error; empty if it throws none.
inline std::string said_to_an_ordinary_user(const std::function<void()>& action) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(1);
        std::string said;
        try {
            action();
        } catch (const Error& error) {
            said = std::to_string(error.code()) + " " + error.what();
        }
        _exit(write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size()) ? 0
                                                                                            : 1);
    }
    close(ends[1]);
    std::string said(4096, '\0');
    const ssize_t size = read(ends[0], said.data(), said.size());
    close(ends[0]);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    said.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return said;
}

} // namespace overtake::test
