// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace overtake::timeline {

/// A file that is created or replaced atomically: it is written without a name and then takes its
/// place. If the file system has no files without names, it is written beside its place, and a
/// signal that ends the process may leave it there. Devices and pipes are written in place. Errors
/// are thrown as Error, which names the file.
class WholeFile {
public:
    explicit WholeFile(std::string path);
    WholeFile(WholeFile&& other) noexcept;
    WholeFile& operator=(WholeFile&&) = delete;
    /// Removes the file, unless commit() was called.
    ~WholeFile();

    int descriptor() const { return descriptor_; } ///< for writing
    void commit();
    /// Throws the error, an errno value, with which writing the file failed.
    [[noreturn]] void fail(int code) const;

private:
    void take_place();

    std::string path_;
    std::string temporary_; ///< the name beside path_; empty: path_ is written in place
    bool has_name_ = true;  ///< the temporary file has a name
    int descriptor_ = -1;
};

} // namespace overtake::timeline
