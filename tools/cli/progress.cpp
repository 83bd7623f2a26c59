// SPDX-License-Identifier: MIT
#include "progress.hpp"

#include <cstdio>

#include <unistd.h>

namespace overtake::command {
namespace {

constexpr std::chrono::seconds patience{2};
constexpr int bar_width = 40;

} // namespace

ProgressBar::ProgressBar()
    : on_terminal_(isatty(STDERR_FILENO) == 1), begin_(std::chrono::steady_clock::now()) {}

ProgressBar::~ProgressBar() {
    if (is_shown_)
        std::fprintf(stderr, "\r\033[K");
}

void ProgressBar::show(const std::string& what, double done) {
    const int percent = static_cast<int>(done * 100);
    if (!on_terminal_ || percent == percent_ ||
        std::chrono::steady_clock::now() - begin_ < patience)
        return;
    percent_ = percent;
    is_shown_ = true;
    const int filled = percent * bar_width / 100;
    const std::string bar = std::string(static_cast<std::size_t>(filled), '#') +
                            std::string(static_cast<std::size_t>(bar_width - filled), '.');
    std::fprintf(stderr, "\r\033[K[%s] %3d %% %s", bar.c_str(), percent, what.c_str());
}

} // namespace overtake::command
