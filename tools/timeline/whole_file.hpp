// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace overtake::timeline {

/// A file that appears whole or not at all: it is written beside its place and renamed. Devices and
/// pipes are written in place. Errors are thrown as Error, naming the file.
class WholeFile {
public:
    explicit WholeFile(std::string path);
    WholeFile(const WholeFile&) = delete;
    WholeFile& operator=(const WholeFile&) = delete;
    /// Without commit() nothing is left.
    ~WholeFile();

    int descriptor() const { return descriptor_; } ///< for writing
    void commit();

private:
    [[noreturn]] void fail(int code) const;

    std::string path_;
    std::string temporary_; ///< empty: path_ itself
    int descriptor_ = -1;
};

} // namespace overtake::timeline
