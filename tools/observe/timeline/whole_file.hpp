// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace overtake::timeline {

/// A file that appears whole or not at all: it is written without a name and then takes its place.
/// Where the file system has no files without names it is written beside its place, where a signal
/// may leave it. Devices and pipes are written in place. Errors are thrown as Error, naming the
/// file.
class WholeFile {
public:
    explicit WholeFile(std::string path);
    WholeFile(WholeFile&& other) noexcept;
    WholeFile& operator=(WholeFile&&) = delete;
    /// Without commit() nothing is left.
    ~WholeFile();

    int descriptor() const { return descriptor_; } ///< for writing
    void commit();
    /// Throws what writing it failed with, an errno value.
    [[noreturn]] void fail(int code) const;

private:
    void take_place();

    std::string path_;
    std::string temporary_; ///< empty: path_ itself
    bool has_name_ = true;  ///< the temporary one
    int descriptor_ = -1;
};

} // namespace overtake::timeline
