// SPDX-License-Identifier: MIT
//
// Runs a computation of a program's on a thread of the library.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cxxabi.h>
#include <exception>
#include <new>

#include <fmt/format.h>

#include "engine/submitted_task.hpp"
#include "overtake/error.hpp"

namespace overtake::engine {

/// Returns 0, or a negative errno, whatever `compute` returns or throws; the task gets an error's
/// text.
template <class Compute>
std::int32_t compute_guarded(SubmittedTask& task, const Compute& compute) {
    constexpr std::int32_t most_errno = 4095;
    try {
        const std::int32_t status = compute();
        if (status <= 0 && status >= -most_errno)
            return status;
        task.set_error(
            fmt::format("a computation ended with {}, which is no errno", status).c_str());
        return -EIO;
    } catch (const Error& error) {
        task.set_error(error.what());
        return error.code() > 0 && error.code() <= most_errno ? -error.code() : -EIO;
    } catch (const std::bad_alloc&) {
        task.set_error("there is not enough memory");
        return -ENOMEM;
    } catch (const std::exception& exception) { // a program's own operator threw
        task.set_error(exception.what());
        return -EIO;
    } catch (const abi::__forced_unwind&) { // the thread is cancelled
        throw;
    } catch (...) {
        task.set_error("a computation threw what is no std::exception");
        return -EIO;
    }
}

} // namespace overtake::engine
