// SPDX-License-Identifier: MIT
#include "model/file_bytes.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "overtake/device.hpp"

namespace overtake {

namespace {

[[noreturn]] void fail(int code, const std::string& name, const std::string& what) {
    throw Error(code, name + ": " + what);
}

struct Descriptor {
    int fd;
    ~Descriptor() {
        if (fd >= 0)
            close(fd);
    }
};

} // namespace

FileBytes FileBytes::map(const std::string& path) {
    const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (file.fd < 0)
        fail(errno, path, std::string("cannot open: ") + std::strerror(errno));
    struct stat status {};
    if (fstat(file.fd, &status) != 0)
        fail(errno, path, std::string("cannot read its size: ") + std::strerror(errno));
    if (!S_ISREG(status.st_mode))
        fail(EINVAL, path, "not a regular file");
    if (status.st_size == 0)
        fail(EINVAL, path, "offset 0: the file is empty");
    const auto size = static_cast<std::size_t>(status.st_size);
    void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (memory == MAP_FAILED)
        fail(errno, path, std::string("cannot map: ") + std::strerror(errno));
    return FileBytes({static_cast<const std::byte*>(memory), size});
}

FileBytes FileBytes::copy(std::span<const std::byte> bytes, const std::string& name) {
    if (bytes.empty())
        fail(EINVAL, name, "offset 0: the file is empty");
    void* memory =
        mmap(nullptr, bytes.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        fail(errno, name, std::string("no memory: ") + std::strerror(errno));
    std::memcpy(memory, bytes.data(), bytes.size());
    return FileBytes({static_cast<const std::byte*>(memory), bytes.size()});
}

FileBytes::FileBytes(FileBytes&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

FileBytes::~FileBytes() {
    if (!bytes_.empty())
        munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

} // namespace overtake
