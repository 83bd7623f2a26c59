// SPDX-License-Identifier: MIT
#include "timeline/whole_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "overtake/device.hpp"

namespace overtake::timeline {

WholeFile::WholeFile(std::string path) : path_(std::move(path)) {
    struct stat status {};
    const bool in_place = stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
    if (!in_place)
        temporary_ = fmt::format("{}.{}.part", path_, getpid());
    const std::string& target = in_place ? path_ : temporary_;
    descriptor_ = open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor_ < 0)
        fail(errno);
}

WholeFile::~WholeFile() {
    if (descriptor_ >= 0) {
        close(descriptor_);
        if (!temporary_.empty())
            unlink(temporary_.c_str());
    }
}

void WholeFile::commit() {
    const int descriptor = std::exchange(descriptor_, -1);
    const bool written = close(descriptor) == 0;
    if (written && (temporary_.empty() || std::rename(temporary_.c_str(), path_.c_str()) == 0))
        return;
    const int code = errno;
    if (!temporary_.empty())
        unlink(temporary_.c_str());
    fail(code);
}

void WholeFile::fail(int code) const {
    throw Error(code, fmt::format("{}: cannot be written: {}", path_, std::strerror(code)));
}

} // namespace overtake::timeline
