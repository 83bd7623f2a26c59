// SPDX-License-Identifier: MIT
//
// Settings of oneDNN for the compiler's whole process.
#pragma once

#include <string>

#include <oneapi/dnnl/dnnl.hpp>

namespace overtake::compiler {

/// Limits oneDNN to AVX2, for the whole process.  Version 3.7 computes some valid convolutions
/// wrongly with AVX-512 (1x1x2x2 by a 1x3 kernel, two columns of padding on the left, stride 2: off
/// by 0.62).  AVX-512 would also change the order of sums.  Must be called before other functions
/// of oneDNN; throws Error if it is too late.  Only the compiler, which is a program, sets this
/// limit; libovertake, which other programs load, does not.
void limit_onednn();

/// Makes oneDNN keep no primitives for their next use, in the whole process.  Otherwise oneDNN also
/// keeps the failure of a primitive that could not be made for want of memory, and refuses it for
/// good.  Only programs call this function, not libovertake.
void keep_no_primitives();

/// Returns the name and version, such as "oneDNN 2.6.3".  Another version may add the products of a
/// convolution in another order, and therefore give calibration, and scales, other last bits.
std::string onednn_version();

} // namespace overtake::compiler
