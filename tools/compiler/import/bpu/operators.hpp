// SPDX-License-Identifier: MIT
//
// The import of ONNX operators into the graph as operators of the device: a function and a file for
// each.  Each function imports the present node, and throws CompileError if the node has no form on
// the device.
#pragma once

#include "compiler/import/context.hpp"

namespace overtake::compiler {

void bpu_relu(Context& context);
void bpu_clip(Context& context);
void bpu_function(Context& context);
void bpu_batch_normalization(Context& context);
void bpu_arithmetic(Context& context);
void bpu_extreme(Context& context);
void bpu_sum(Context& context);
void bpu_power(Context& context);
void bpu_parametric_relu(Context& context);
void bpu_convolution(Context& context);
void bpu_transposed_convolution(Context& context);
void bpu_transpose(Context& context);
void bpu_gemm(Context& context);
void bpu_matrix_product(Context& context);
void bpu_pad(Context& context);
void bpu_depth_to_space(Context& context);
void bpu_concat(Context& context);
void bpu_slice(Context& context);
void bpu_split(Context& context);
void bpu_pool(Context& context);
void bpu_global_pool(Context& context);
void bpu_reduce(Context& context);
void bpu_gather(Context& context);
void bpu_expand(Context& context);
void bpu_tile(Context& context);
void bpu_resize(Context& context);

} // namespace overtake::compiler
