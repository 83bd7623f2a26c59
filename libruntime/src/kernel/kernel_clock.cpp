// SPDX-License-Identifier: MIT
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fmt/format.h>

#include "file_descriptor.hpp"
#include "kernel/kernel_file.hpp"

namespace overtake {

namespace {

/// The driver's file.  Reading it returns the time.  A write sets the time, and returns once
/// everything before that time has happened.  The file cannot be rewound, so it is opened anew each
/// time.
class KernelClock final : public ManualClock {
public:
    explicit KernelClock(std::string path) : path_(std::move(path)) { now_ns(); }

    std::uint64_t now_ns() const override {
        const Descriptor file(open_for(O_RDONLY));
        char text[32];
        const ssize_t length = read(file.get(), text, sizeof(text));
        if (length < 0)
            fail("read");
        std::uint64_t now = 0;
        if (std::from_chars(text, text + length, now).ec != std::errc()) {
            errno = EPROTO;
            fail("read");
        }
        return now;
    }

    void advance_to(std::uint64_t now_ns) override {
        const std::string text = fmt::format("{}\n", now_ns);
        const Descriptor file(open_for(O_WRONLY));
        ssize_t written;
        do
            written = write(file.get(), text.data(), text.size());
        while (written < 0 && errno == EINTR);
        if (written < 0)
            fail("advance");
    }

private:
    int open_for(int access) const {
        const int fd = open(path_.c_str(), access | O_CLOEXEC);
        if (fd < 0)
            fail("open");
        return fd;
    }

    [[noreturn]] void fail(const char* what) const {
        const int code = errno;
        throw Error(code, fmt::format("{}: {}: {}", path_, what, std::strerror(code)));
    }

    std::string path_;
};

/// Returns the directory of the driver's debugfs files for a node.
std::filesystem::path debugfs_directory(const KernelFile& file) {
    struct stat status {};
    if (fstat(file.fd(), &status) != 0)
        throw Error(errno, fmt::format("{}: {}", file.path(), std::strerror(errno)));
    const auto device = std::filesystem::read_symlink(
        fmt::format("/sys/dev/char/{}:{}/device", major(status.st_rdev), minor(status.st_rdev)));
    return "/sys/kernel/debug/accel" / device.filename();
}

} // namespace

std::unique_ptr<ManualClock> open_kernel_clock(const KernelFile& file) {
    if (!file.info().manual_clock)
        return nullptr;
    try {
        return std::make_unique<KernelClock>(debugfs_directory(file) / "clock");
    } catch (const Error& error) {
        // All users may use such a device; only root may step its clock.
        if (error.code() == EACCES || error.code() == ENOENT)
            return nullptr;
        throw;
    }
}

} // namespace overtake
