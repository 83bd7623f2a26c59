// SPDX-License-Identifier: MIT
#include "observe/timeline/whole_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "overtake/device.hpp"

namespace overtake::timeline {
namespace {

int open_nameless(const std::string& path) {
    const auto directory = std::filesystem::path(path).parent_path();
    return open(directory.empty() ? "." : directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC,
                0666);
}

bool is_unsupported(int code) {
    return code == EOPNOTSUPP || code == EISDIR || code == EINVAL || code == ENOSYS;
}

const char* remedy(int code) {
    switch (code) {
    case ENOENT:
    case ENOTDIR:
        return "; make its directory first, or name another place";
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return "; make room, or name another place";
    case EISDIR:
        return "; name a file";
    default:
        return "; name another place";
    }
}

} // namespace

WholeFile::WholeFile(std::string path) : path_(std::move(path)) {
    struct stat status {};
    const bool exists = stat(path_.c_str(), &status) == 0;
    // A symbolic link stays, and its target is replaced.
    if (std::error_code error; exists && std::filesystem::is_symlink(path_, error))
        if (const auto target = std::filesystem::canonical(path_, error); !error)
            path_ = target.string();
    if (exists && !S_ISREG(status.st_mode)) {
        descriptor_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    } else {
        temporary_ = fmt::format("{}.{}.part", path_, getpid());
        descriptor_ = open_nameless(path_);
        has_name_ = descriptor_ < 0 && is_unsupported(errno);
        if (has_name_)
            descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    }
    if (descriptor_ < 0)
        fail(errno);
    // The file gets the permissions of the file that it replaces, if the file system has any.
    if (exists && !temporary_.empty())
        (void)!fchmod(descriptor_, status.st_mode & 0777);
}

WholeFile::WholeFile(WholeFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::move(other.temporary_)),
      has_name_(other.has_name_), descriptor_(std::exchange(other.descriptor_, -1)) {}

WholeFile::~WholeFile() {
    if (descriptor_ < 0)
        return;
    close(descriptor_);
    if (has_name_ && !temporary_.empty())
        unlink(temporary_.c_str());
}

// rename() replaces an existing file, but linkat() does not: so a file without a name needs both
// calls.
void WholeFile::take_place() {
    if (!has_name_) {
        unlink(temporary_.c_str()); // left by a process that has ended
        const std::string nameless = fmt::format("/proc/self/fd/{}", descriptor_);
        if (linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) !=
            0)
            fail(errno);
        has_name_ = true;
    }
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0)
        fail(errno);
}

void WholeFile::commit() {
    // Some file systems report only on close() that there is no room.
    if (const int copy = fcntl(descriptor_, F_DUPFD_CLOEXEC, 0); copy < 0 || close(copy) != 0)
        fail(errno);
    if (!temporary_.empty())
        take_place();
    close(std::exchange(descriptor_, -1));
}

void WholeFile::fail(int code) const {
    throw Error(
        code, fmt::format("{}: cannot be written: {}{}", path_, std::strerror(code), remedy(code)));
}

} // namespace overtake::timeline
