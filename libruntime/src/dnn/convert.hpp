// SPDX-License-Identifier: MIT
//
// Converts between the structs, numbers and statuses of dnn/hb_dnn.h and those of the rest of the
// library.
#pragma once

#include <cstdint>
#include <vector>

#include "dnn/hb_dnn.h"
#include "dnn/memory.hpp"
#include "dnn/models.hpp"
#include "dnn/status.hpp"
#include "overtake/engine.hpp"

namespace overtake::dnn {

/// Returns the properties that the interface reports of an input or output.  They point into the
/// port.
hbDNNTensorProperties properties_of(Port& port);

/// The place of a user's tensor, and its owner.  The functions below throw Failure
/// HB_DNN_INVALID_ARGUMENT, naming the tensor, if the tensor does not fit the port or is not memory
/// of the library.
struct BoundTensor {
    TensorMemory memory;
    std::shared_ptr<Buffer> keep;
    std::shared_ptr<Buffer> keep_chroma; ///< null: there is no separate chroma
};
BoundTensor bind(Port& port, const hbDNNTensor& tensor, const Memory& memory);

/// Binds all inputs of a model, beginning at `tensors`.  An input that is a batch is one tensor, or
/// as many tensors as it has images, in a row, each with the shape of 1 image: these are copied
/// now.
std::vector<BoundTensor> bind_inputs(std::vector<Port>& ports, const hbDNNTensor* tensors,
                                     const Memory& memory);

/// Binds an input from the resizer: a region of a picture of any even size.
BoundTensor bind_region(const Port& port, const hbDNNTensor& tensor, const hbDNNRoi& region,
                        const Memory& memory);
/// Binds part `index` of `count` equal parts of the tensor, which follow each other, to an output.
BoundTensor bind_part(Port& port, const hbDNNTensor& tensor, std::size_t index, std::size_t count,
                      const Memory& memory);

/// Throws Failure HB_DNN_INVALID_ARGUMENT.  `cores` is the number of cores of the device.
TaskOptions task_options(const hbDNNInferCtrlParam& control, unsigned cores);
TaskOptions task_options(const hbDNNResizeCtrlParam& control, unsigned cores);

/// Returns the status for an error that loading, submitting or allocating threw.
std::int32_t status_of(const Error& error);

/// Returns the interface's status for the status with which a request has ended.
std::int32_t status_of_end(std::int32_t request_status);

/// See hbDNNGetErrorDesc().
const char* describe_status(std::int32_t status);

} // namespace overtake::dnn
