// SPDX-License-Identifier: MIT
//
// The bytes of a model file, aligned to 64 bytes and read-only.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace overtake {

/// Owns a mapping or a copy.  A file that shrinks while it is mapped is its owner's trouble
/// (SIGBUS).
class FileBytes {
public:
    /// Maps a file; throws Error with errno's code, or EINVAL if it is empty.
    static FileBytes map(const std::string& path);
    /// Copies bytes, since the reader wants them aligned; throws Error.
    static FileBytes copy(std::span<const std::byte> bytes, const std::string& name);
    FileBytes(FileBytes&& other) noexcept;
    FileBytes& operator=(FileBytes&&) = delete;
    ~FileBytes();

    std::span<const std::byte> span() const noexcept { return bytes_; }

private:
    FileBytes(std::span<const std::byte> bytes, bool is_mapped)
        : bytes_(bytes), is_mapped_(is_mapped) {}

    std::span<const std::byte> bytes_;
    bool is_mapped_;
};

} // namespace overtake
