// SPDX-License-Identifier: MIT
//
// The bytes of a model file, aligned to 64 bytes and read-only.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace overtake {

/// Owns a mapping or a copy.  The owner of a file must not shrink it while it is mapped (SIGBUS).
class FileBytes {
public:
    /// Maps a file.  Throws Error with errno's code, EISDIR for a directory, or EINVAL for a file
    /// that is empty or not regular.
    static FileBytes map(const std::string& path);
    /// Copies the bytes, since the reader needs them aligned.  Throws Error.
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
