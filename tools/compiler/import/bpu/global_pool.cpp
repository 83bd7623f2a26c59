// SPDX-License-Identifier: MIT
#include "compiler/import/bpu/global_pool.hpp"

#include <utility>

#include "compiler/import/bpu/order.hpp"
#include "compiler/import/bpu/window.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/nodes.hpp"
#include "compiler/ir/limits.hpp"

namespace overtake::compiler {

void add_global_pool(Context& context, op::Pool::Kind kind, bool keeps_dimensions) {
    const Reference input = image_input(context, 0);
    const Value& data = value_of(context, input);
    if (data.height > max_window || data.width > max_window)
        refuse(context, "pools of more than 65535 rows or columns are not supported");
    Node node = new_node(context, op::Pool{kind});
    Window& window = node.as<op::Pool>()->window;
    window.kernel_height = data.height;
    window.kernel_width = data.width;
    check_pool_size(context, window);
    node.inputs = {input.value};
    if (data.batch > 1) // one window for each image
        window.stride_height = data.height;
    Shape shape = {data.batch, data.channels};
    if (keeps_dimensions)
        shape.resize(input.shape.size(), 1);
    finish(context, std::move(node), add_value(context, context.node->output(0), shape));
}

void bpu_global_pool(Context& context) {
    add_global_pool(context,
                    context.node->op_type() == "GlobalMaxPool" ? op::Pool::Kind::maximum
                                                               : op::Pool::Kind::average,
                    true);
}

} // namespace overtake::compiler
