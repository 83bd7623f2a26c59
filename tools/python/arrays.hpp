// SPDX-License-Identifier: MIT
//
// numpy arrays and the tensors of a model.
#pragma once

#include <string_view>

#include <pybind11/numpy.h>

#include "overtake/engine.hpp"
#include "overtake/model.hpp"

namespace overtake::python {

pybind11::tuple shape_of(const Tensor& tensor);

/// Returns the tensor's own dtype; an array may always be float32.
pybind11::dtype dtype_of(const Tensor& tensor);

/// An array, and the place of its elements.
struct LentArray {
    pybind11::array array; ///< owns the memory
    TensorMemory memory;
};

/// Returns `given` itself if it is contiguous and aligned, otherwise a copy. Throws Error EINVAL,
/// which names the input, if it is no array, or has another dtype or shape.
LentArray lend_input(const Tensor& tensor, const pybind11::handle& given);

/// Returns a new array for an output, which is not filled yet.
LentArray make_output(const Tensor& tensor);

} // namespace overtake::python
