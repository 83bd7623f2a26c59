// SPDX-License-Identifier: MIT
//
// Error: the exception that the library throws.
#pragma once

#include <stdexcept>
#include <string>

#include "overtake/export.hpp"

namespace overtake {

/// The only exception that the library throws on purpose.  Small allocations may throw
/// std::bad_alloc.  what() is one line that names the place and, if there is a remedy, the remedy.
class OVERTAKE_API Error : public std::runtime_error {
public:
    /// `code` is an errno value such as EINVAL, not negative.
    Error(int code, const std::string& text) : std::runtime_error(text), code_(code) {}
    Error(const Error&) = default;            ///< a copy
    Error& operator=(const Error&) = default; ///< a copy
    ~Error() override;

    /// Returns the errno value that the constructor got.
    int code() const noexcept { return code_; }

private:
    int code_;
};

} // namespace overtake
