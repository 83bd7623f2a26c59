// SPDX-License-Identifier: MIT
//
// ScatterElements on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"
#include "cpu/operation.hpp"

namespace overtake::compiler {

void cpu_scatter_elements(Context& context) {
    static const std::map<std::string, cpu::Scatter> ways = {
        {"none", cpu::Scatter::replace}, {"add", cpu::Scatter::add},
        {"mul", cpu::Scatter::multiply}, {"max", cpu::Scatter::maximum},
        {"min", cpu::Scatter::minimum},
    };
    const Attributes attributes(*context.node);
    const Reference data = cpu_input(context, 0), indices = cpu_input(context, 1),
                    updates = cpu_input(context, 2);
    const std::size_t axis = axis_of(context, attributes.integer("axis", 0), data.shape.size());
    const std::string reduction = attributes.text("reduction", "none");
    const auto way = ways.find(reduction);
    if (way == ways.end())
        refuse(context, "its reduction '" + reduction + "' is none of add, mul, max and min");
    if (indices.shape != updates.shape)
        refuse(context, "its indices and updates differ in shape");
    Reference result =
        cpu_node(context,
                 {CpuOpType::scatter_elements,
                  {static_cast<std::int64_t>(axis), static_cast<std::int64_t>(way->second)},
                  {}},
                 {data, indices, updates}, data.shape);
    result.integer = data.integer && updates.integer;
    finish_cpu(context, result);
}

} // namespace overtake::compiler
