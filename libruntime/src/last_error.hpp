// SPDX-License-Identifier: MIT
//
// Errors across the C interface: an errno, and a text for the thread.
#pragma once

#include <cerrno>
#include <exception>
#include <new>

#include "overtake/error.hpp"

namespace overtake {

/// Sets the text that overtake_last_error() gives this thread from now on.
void set_last_error(const char* text) noexcept;

/// Returns 0, or a negative errno for an exception of `call`, whose text becomes the thread's last
/// error.
template <class Call>
int result_in_c(const Call& call) noexcept {
    try {
        call();
        return 0;
    } catch (const Error& error) {
        set_last_error(error.what());
        return error.code() > 0 ? -error.code() : -EIO;
    } catch (const std::bad_alloc&) {
        set_last_error("there is not enough memory");
        return -ENOMEM;
    } catch (const std::exception& exception) { // a program's own operator threw
        set_last_error(exception.what());
        return -EIO;
    }
}

} // namespace overtake
