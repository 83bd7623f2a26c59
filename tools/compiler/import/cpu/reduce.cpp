// SPDX-License-Identifier: MIT
//
// ReduceMean and the other reductions on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/import/attributes.hpp"
#include "compiler/import/cpu/nodes.hpp"
#include "cpu/operation.hpp"

namespace overtake::compiler {

using cpu::Reduction;

void cpu_reduce(Context& context) {
    static const std::map<std::string, Reduction> functions = {
        {"ReduceL1", Reduction::l1},          {"ReduceL2", Reduction::l2},
        {"ReduceLogSum", Reduction::log_sum}, {"ReduceLogSumExp", Reduction::log_sum_exp},
        {"ReduceMax", Reduction::maximum},    {"ReduceMean", Reduction::mean},
        {"ReduceMin", Reduction::minimum},    {"ReduceProd", Reduction::product},
        {"ReduceSum", Reduction::sum},        {"ReduceSumSquare", Reduction::sum_of_squares},
    };
    const Reference input = cpu_input(context, 0);
    std::vector<std::int64_t> integers = reduced_axes(context, input.shape.size());
    const Shape shape = reduced_shape(context, input.shape, integers);
    integers.insert(integers.begin(),
                    static_cast<std::int64_t>(functions.at(context.node->op_type())));
    const Reference result = cpu_node(context, {CpuOpType::reduce, integers, {}}, {input}, shape);
    finish_cpu(context, input.integer ? cpu_truncated(context, result) : result);
}

} // namespace overtake::compiler
