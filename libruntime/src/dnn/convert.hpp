// SPDX-License-Identifier: MIT
//
// Between the structs, numbers and statuses of dnn/hb_dnn.h and what the rest of the library has.
// Whatever is particular to that header is here; another interface needs another such file.
#pragma once

#include <cstdint>
#include <vector>

#include "dnn/hb_dnn.h"
#include "dnn/memory.hpp"
#include "dnn/models.hpp"
#include "dnn/status.hpp"
#include "overtake/engine.hpp"

namespace overtake::dnn {

/// What the interface reports of an input or output.  Points into the port.
hbDNNTensorProperties properties_of(Port& port);

/// Where a tensor of a user is, and what keeps it.  Throws Failure HB_DNN_INVALID_ARGUMENT, naming
/// the tensor, for what does not fit the port or is not memory of ours.
struct BoundTensor {
    TensorMemory memory;
    std::shared_ptr<Buffer> keep;
    std::shared_ptr<Buffer> keep_chroma; ///< or null
};
BoundTensor bind(Port& port, const hbDNNTensor& tensor, const Memory& memory);

/// All inputs of a model, beginning at `tensors`.  An input that is a batch is one tensor, or as
/// many as it has images, one behind the other, whose shapes say 1 image: these are copied now.
std::vector<BoundTensor> bind_inputs(std::vector<Port>& ports, const hbDNNTensor* tensors,
                                     const Memory& memory);

/// The same for an input from the resizer: a region of a picture of any even size.
BoundTensor bind_region(const Port& port, const hbDNNTensor& tensor, const hbDNNRoi& region,
                        const Memory& memory);
/// The same for an output of which the tensor holds `count`, one behind the other: number `index`.
BoundTensor bind_part(Port& port, const hbDNNTensor& tensor, std::size_t index, std::size_t count,
                      const Memory& memory);

/// Throws Failure HB_DNN_INVALID_ARGUMENT.  `cores` is how many the device has.
TaskOptions task_options(const hbDNNInferCtrlParam& control, unsigned cores);
TaskOptions task_options(const hbDNNResizeCtrlParam& control, unsigned cores);

/// The status for an error that loading, submitting or allocating threw.
std::int32_t status_of(const Error& error);

/// The status for how a request has ended.
std::int32_t status_of_end(std::int32_t request_status);

/// See hbDNNGetErrorDesc().
const char* describe_status(std::int32_t status);

} // namespace overtake::dnn
