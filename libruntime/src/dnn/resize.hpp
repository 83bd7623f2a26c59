// SPDX-License-Identifier: MIT
//
// hbDNNResize: a region of a picture in another size, bilinear, on a CPU worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "dnn/hb_dnn.h"
#include "dnn/memory.hpp"

namespace overtake::dnn {

struct ResizeWork {
    std::function<std::int32_t()> compute;
    std::vector<std::shared_ptr<Buffer>> keep; ///< the memory that it works on
};

/// `region` may be null: all of the input.  Throws Failure HB_DNN_INVALID_ARGUMENT.
ResizeWork resize_work(const hbDNNTensor& output, const hbDNNTensor& input, const hbDNNRoi* region,
                       const Memory& memory);

} // namespace overtake::dnn
