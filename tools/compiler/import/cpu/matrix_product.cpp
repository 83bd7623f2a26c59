// SPDX-License-Identifier: MIT
//
// MatMul on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include "compiler/import/attributes.hpp"
#include "compiler/import/cpu/nodes.hpp"
#include "compiler/import/cpu/product.hpp"

namespace overtake::compiler {

void cpu_matrix_product(Context& context) {
    check_weights(context, 0);
    check_weights(context, 1);
    finish_cpu(context, cpu_product(context, cpu_input(context, 0), cpu_input(context, 1)));
}

} // namespace overtake::compiler
