// SPDX-License-Identifier: MIT
//
// The frame of every function of the C interface: an error names the function, and no exception
// leaves it.
#pragma once

#include <cerrno>
#include <cstdint>
#include <exception>
#include <new>

#include <fmt/format.h>

#include "dnn/convert.hpp"
#include "dnn/process.hpp"
#include "dnn/status.hpp"

#define OVERTAKE_DNN_API extern "C" __attribute__((visibility("default")))

namespace overtake::dnn {

/// Logs that `function` failed, with the reason `text`; returns `status`.
std::int32_t fail(const char* function, std::int32_t status, const char* text) noexcept;

/// Calls `body`, and turns its exceptions into a status: none leaves the library.
template <class Body>
std::int32_t call(const char* function, Body body) noexcept {
    try {
        body(Process::current());
        return HB_DNN_SUCCESS;
    } catch (const Failure& failure) {
        return fail(function, failure.status(), failure.what());
    } catch (const Error& error) {
        if (error.code() == ENODEV)
            return fail(function, HB_DNN_RUN_TASK_FAILED, device_is_gone(error).what());
        return fail(function, status_of(error), error.what());
    } catch (const std::bad_alloc&) {
        return fail(function, HB_DNN_OUT_OF_MEMORY, "not enough memory");
    } catch (const std::exception& exception) {
        return fail(function, HB_DNN_RUN_TASK_FAILED, exception.what());
    }
}

template <class Pointer>
void require(Pointer* pointer, const char* name) {
    if (!pointer)
        refuse(fmt::format("{} is NULL", name));
}

} // namespace overtake::dnn
