// SPDX-License-Identifier: MIT
#include "output_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "overtake/device.hpp"

namespace overtake::command {
namespace {

[[noreturn]] void fail(const std::string& path) {
    const int code = errno != 0 ? errno : EIO;
    throw Error(code, fmt::format("{}: cannot be written: {}", path, std::strerror(code)));
}

/// Devices and pipes are written in place: there is nothing to replace.
bool replaceable(const std::string& path) {
    struct stat status {};
    return stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
}

} // namespace

void write_file(const std::string& path, const std::function<void(std::ostream&)>& write) {
    const std::string target = replaceable(path) ? fmt::format("{}.{}.part", path, getpid()) : path;
    errno = 0;
    std::ofstream file(target, std::ios::binary);
    if (!file)
        fail(path);
    write(file);
    file.close();
    if (!file) {
        const int code = errno;
        if (target != path)
            unlink(target.c_str());
        errno = code;
        fail(path);
    }
    if (target != path && std::rename(target.c_str(), path.c_str()) != 0) {
        const int code = errno;
        unlink(target.c_str());
        errno = code;
        fail(path);
    }
}

} // namespace overtake::command
