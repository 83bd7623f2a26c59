// SPDX-License-Identifier: MIT
#include "compiler/import/cpu/product.hpp"

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"

namespace overtake::compiler {

Reference cpu_product(Context& context, Reference left, Reference right) {
    const bool is_row = left.shape.size() == 1, is_column = right.shape.size() == 1;
    if (left.shape.empty() || right.shape.empty())
        refuse(context, "needs matrices");
    if (is_row)
        left.shape.insert(left.shape.begin(), 1);
    if (is_column)
        right.shape.push_back(1);
    if (left.shape.back() != right.shape[right.shape.size() - 2])
        refuse(context, "matrices of shapes " + to_text(left.shape) + " and " +
                            to_text(right.shape) + " do not fit each other");
    Shape shape = broadcast_shape(context, Shape(left.shape.begin(), left.shape.end() - 2),
                                  Shape(right.shape.begin(), right.shape.end() - 2));
    shape.push_back(left.shape[left.shape.size() - 2]);
    shape.push_back(right.shape.back());
    Reference result = cpu_node(context, {CpuOpType::matrix_product, {}, {}}, {left, right}, shape);
    result.integer = left.integer && right.integer;
    if (is_column)
        result.shape.pop_back();
    if (is_row)
        result.shape.erase(result.shape.end() - (is_column ? 1 : 2));
    return result;
}

} // namespace overtake::compiler
