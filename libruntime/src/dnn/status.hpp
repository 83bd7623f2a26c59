// SPDX-License-Identifier: MIT
//
// The failure of a function of the C interface: a status, and the line that is logged.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "dnn/hb_dnn_status.h"
#include "overtake/error.hpp"

namespace overtake::dnn {

class Failure : public std::runtime_error {
public:
    Failure(std::int32_t status, const std::string& text)
        : std::runtime_error(text), status_(status) {}

    std::int32_t status() const noexcept { return status_; }

private:
    std::int32_t status_;
};

/// Makes the Failure for Error ENODEV: a server that has ended, a driver that was unbound.
inline Failure device_is_gone(const Error& error) {
    return {HB_DNN_RUN_TASK_FAILED, std::string(error.what()) +
                                        "; release all tasks and models, then "
                                        "hbDNNInitializeFromFiles() opens the device anew"};
}

[[noreturn]] inline void refuse(const std::string& text) {
    throw Failure(HB_DNN_INVALID_ARGUMENT, text);
}

} // namespace overtake::dnn
