// SPDX-License-Identifier: MIT
//
// How a function of the C interface fails: a status, and the line that is logged.
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

[[noreturn]] inline void refuse(const std::string& text) {
    throw Failure(HB_DNN_INVALID_ARGUMENT, text);
}

} // namespace overtake::dnn
