// SPDX-License-Identifier: MIT
//
// Memory that two processes share without having to trust each other.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "server/descriptor.hpp"

namespace overtake::server {

/// Makes new zeroed memory, sealed against shrinking and growing.  Throws Error.
Descriptor make_shared_memory(const char* name, std::size_t bytes);

/// A mapping, for reading and writing.
class Mapping {
public:
    Mapping() = default;
    /// Maps a whole file of make_shared_memory().  Throws Error.
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

/// Returns the bytes of memory that another process has made.  Throws Error EINVAL unless the
/// memory has whole pages of the usual size, is sealed so that it cannot shrink or grow, and will
/// always be writable.
std::size_t sealed_bytes(int fd);
/// A mapping of memory that another process also has, with pages for all of it.  The other process
/// can return pages to the system at any time.  If the system has no new page when this process
/// touches the memory, the mapping gets a page of zeros of its own there, and the process gets no
/// SIGBUS.  The pages of a file are removed with its last mapping, even if another process still
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

/// Handles SIGBUS for guarded mappings; any other SIGBUS ends the process as before.  One call is
/// enough.
void guard_mappings();

} // namespace overtake::server
