// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <string>

namespace overtake::command {

/// A progress bar on stderr: only on a terminal, and only for work that takes more than two
/// seconds. The destructor removes it. Not thread-safe.
class ProgressBar {
public:
    ProgressBar();
    ~ProgressBar();
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;

    /// Shows that `done`, 0..1, of `what` is done.
    void show(const std::string& what, double done);

private:
    const bool on_terminal_;
    const std::chrono::steady_clock::time_point begin_;
    bool is_shown_ = false;
    int percent_ = -1;
};

} // namespace overtake::command
