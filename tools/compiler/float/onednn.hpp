// SPDX-License-Identifier: MIT
//
// Settings of oneDNN for the compiler's whole process.
#pragma once

#include <string>

#include <oneapi/dnnl/dnnl.hpp>

namespace overtake::compiler {

/// Keeps oneDNN to AVX2, for the whole process. Version 3.7 computes some valid convolutions
/// wrongly with AVX-512 (1x1x2x2 by a 1x3 kernel, two columns of padding on the left, stride 2: off
/// by 0.62), and with AVX-512 sums would have another order. To be called before anything
/// else of oneDNN: throws Error if it is too late. The compiler is a program of ours; libovertake,
/// a guest in programs of others, sets nothing.
void limit_onednn();

/// Makes oneDNN keep no primitives for their next use, in the whole process: one that could not be
/// made for want of memory would be kept as a broken promise, and refused for good.  Only for our
/// own programs, too.
void keep_no_primitives();

/// Returns "oneDNN 2.6.3", say: another version may add the products of a convolution in another
/// order, and so give calibration, and scales, other last bits.
std::string onednn_version();

} // namespace overtake::compiler
