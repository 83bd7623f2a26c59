// SPDX-License-Identifier: MIT
#include "model/file_bytes.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <utility>

#include "file_descriptor.hpp"
#include "overtake/device.hpp"

namespace overtake {

namespace {

constexpr std::align_val_t alignment{64}; // the largest alignment of the schema

[[noreturn]] void fail(int code, const std::string& name, const std::string& what) {
    throw Error(code, name + ": " + what);
}

} // namespace

FileBytes FileBytes::map(const std::string& path) {
    // With O_NONBLOCK, open() does not wait for the writer of a pipe.
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file)
        fail(errno, path,
             std::string("cannot open: ") + std::strerror(errno) +
                 "; name a compiled model (.ovm)");
    struct stat status {};
    if (fstat(file.get(), &status) != 0)
        fail(errno, path, std::string("cannot read its size: ") + std::strerror(errno));
    if (S_ISDIR(status.st_mode))
        fail(EISDIR, path, "is a directory; name a compiled model (.ovm)");
    if (!S_ISREG(status.st_mode))
        fail(EINVAL, path, "not a regular file; name a compiled model (.ovm)");
    if (status.st_size == 0)
        fail(EINVAL, path, "offset 0: the file is empty; compile the model again");
    const auto size = static_cast<std::size_t>(status.st_size);
    void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (memory == MAP_FAILED)
        fail(errno, path, std::string("cannot map: ") + std::strerror(errno));
    return FileBytes({static_cast<const std::byte*>(memory), size}, true);
}

FileBytes FileBytes::copy(std::span<const std::byte> bytes, const std::string& name) {
    if (bytes.empty())
        fail(EINVAL, name, "offset 0: the file is empty");
    // Exactly this many bytes, so that a sanitizer sees a read beyond the end.
    void* memory = ::operator new(bytes.size(), alignment, std::nothrow);
    if (!memory)
        fail(ENOMEM, name, "no memory for a copy of it");
    std::memcpy(memory, bytes.data(), bytes.size());
    return FileBytes({static_cast<const std::byte*>(memory), bytes.size()}, false);
}

FileBytes::FileBytes(FileBytes&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), is_mapped_(other.is_mapped_) {}

FileBytes::~FileBytes() {
    auto* memory = const_cast<std::byte*>(bytes_.data());
    if (!is_mapped_)
        ::operator delete(memory, alignment);
    else if (memory)
        munmap(memory, bytes_.size());
}

} // namespace overtake
