// SPDX-License-Identifier: MIT
//
// The import of ONNX operators into the graph as operators of the CPU: a function and a file for
// each.  Each function imports the present node, and throws CompileError if the node has no form on
// the CPU.
#pragma once

#include "compiler/import/context.hpp"

namespace overtake::compiler {

void cpu_custom(Context& context);
void cpu_unary(Context& context);
void cpu_clip(Context& context);
void cpu_cast(Context& context);
void cpu_binary(Context& context);
void cpu_where(Context& context);
void cpu_batch_normalization(Context& context);
void cpu_softmax(Context& context);
void cpu_layer_normalization(Context& context);
void cpu_hardmax(Context& context);
void cpu_instance_normalization(Context& context);
void cpu_reduce(Context& context);
void cpu_global_pool(Context& context);
void cpu_arg_reduce(Context& context);
void cpu_top_k(Context& context);
void cpu_non_max_suppression(Context& context);
void cpu_matrix_product(Context& context);
void cpu_gemm(Context& context);
void cpu_convolution(Context& context);
void cpu_pool(Context& context);
void cpu_transpose(Context& context);
void cpu_slice(Context& context);
void cpu_split(Context& context);
void cpu_expand(Context& context);
void cpu_tile(Context& context);
void cpu_depth_to_space(Context& context);
void cpu_gather(Context& context);
void cpu_gather_elements(Context& context);
void cpu_scatter_elements(Context& context);
void cpu_cumulative_sum(Context& context);
void cpu_grid_sample(Context& context);
void cpu_dynamic_quantize(Context& context);
void cpu_roi_align(Context& context);
void cpu_recurrence(Context& context);
void cpu_concat(Context& context);
void cpu_pad(Context& context);
void cpu_resize(Context& context);

} // namespace overtake::compiler
