// SPDX-License-Identifier: MIT
//
// Memory that two processes share and neither need trust the other with.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "server/descriptor.hpp"

namespace overtake::server {

/// New zeroed memory, sealed against shrinking and growing.  Throws Error.
Descriptor make_shared_memory(const char* name, std::size_t bytes);

/// A mapping, for reading and writing.
class Mapping {
public:
    Mapping() = default;
    /// Of a whole file from make_shared_memory().  Throws Error.
    Mapping(int fd, std::size_t bytes);
    ~Mapping();
    Mapping(Mapping&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
    Mapping& operator=(Mapping&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }

    std::byte* data() const noexcept { return data_; }
    std::size_t bytes() const noexcept { return bytes_; }

private:
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
};

/// Bytes of memory that another process has made.  Throws Error EINVAL unless it is memory of pages
/// of the usual size, sealed so that it cannot shrink or grow and will always be writable.
std::size_t sealed_bytes(int fd);
/// A mapping of memory that another process holds as well, and pages for all of it.  The other one
/// can give pages back to the system at any time; should there be none to take their place when
/// this process touches them, the mapping gets a page of zeros of its own there, and not the
/// process a SIGBUS.  The pages of a file go with its last mapping, even if another process still
/// has the file, unless `keep` is true by then.
///
/// Thread safety: mappings are independent, even those of one file.  Errors: Error, ENOMEM when
/// there is no memory for all pages.
class GuardedMapping {
public:
    GuardedMapping(int fd, std::size_t bytes,
                   std::shared_ptr<const std::atomic<bool>> keep = nullptr);
    ~GuardedMapping();
    GuardedMapping(const GuardedMapping&) = delete;
    GuardedMapping& operator=(const GuardedMapping&) = delete;

    std::byte* data() const noexcept { return mapping_.data(); }
    std::size_t bytes() const noexcept { return mapping_.bytes(); }

    struct File;

private:
    Mapping mapping_;
    const std::shared_ptr<const std::atomic<bool>> keep_;
    std::shared_ptr<File> file_;
};

/// Takes SIGBUS for guarded mappings; any other ends the process as before.  Once is enough.
void guard_mappings();

} // namespace overtake::server
