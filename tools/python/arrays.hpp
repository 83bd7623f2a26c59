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

/// Of the array that is the tensor's own; float32 will do for all.
pybind11::dtype dtype_of(const Tensor& tensor);

/// An array and where its elements are.
struct LentArray {
    pybind11::array array; ///< owns the memory
    TensorMemory memory;
};

/// `given` itself if it is contiguous and aligned, else a copy.  Throws Error EINVAL, naming the
/// input, if it is no array, or of another dtype or shape.
LentArray lend_input(const Tensor& tensor, const pybind11::handle& given);

/// A new array for an output, to be filled.
LentArray make_output(const Tensor& tensor);

} // namespace overtake::python
