// SPDX-License-Identifier: MIT
//
// MaxPool and AveragePool on the device.
#include "compiler/import/bpu/operators.hpp"

#include <cstdint>
#include <utility>

#include "compiler/import/bpu/order.hpp"
#include "compiler/import/bpu/window.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/nodes.hpp"

namespace overtake::compiler {

void bpu_pool(Context& context) {
    const Attributes attributes(*context.node);
    const Reference input = image_input(context, 0);
    if (context.node->output_size() > 1 && !context.node->output(1).empty())
        refuse(context, "the indices of its maxima are read, which the CPU computes");
    const bool is_average = context.node->op_type() == "AveragePool";
    Node node =
        new_node(context, op::Pool{is_average ? op::Pool::Kind::average : op::Pool::Kind::maximum});
    auto& pool = *node.as<op::Pool>();
    pool.window = read_window(context, spatial_attribute(context, "kernel_shape", 1, input.shape),
                              value_of(context, input));
    check_pool_size(context, pool.window);
    pool.count_include_pad = is_average && attributes.integer("count_include_pad", 0) != 0;
    if (is_average && (pool.window.dilation_height != 1 || pool.window.dilation_width != 1))
        refuse(context, "dilation is not supported");
    // Padding that ceil_mode adds never counts; padding of `pads` does.
    const auto pads = spatial_attribute(context, "pads", 0, input.shape);
    if (pool.count_include_pad && attributes.integer("ceil_mode", 0) != 0) {
        if (attributes.text("auto_pad", "NOTSET") != "NOTSET")
            refuse(context, "ceil_mode together with auto_pad is not supported");
        if (pads[2] < 0 || pads[2] >= pool.window.kernel_height || pads[3] < 0 ||
            pads[3] >= pool.window.kernel_width)
            refuse(context, "padding as large as the kernel is not supported");
        pool.clips_padding = true;
        pool.pad_bottom = static_cast<std::uint32_t>(pads[2]);
        pool.pad_right = static_cast<std::uint32_t>(pads[3]);
    }
    node.inputs = {input.value};
    const ValueId output = add_value(context, context.node->output(0), output_shape(context));
    check_window(context, pool.window, value_of(context, input), context.graph.values[output]);
    check_taps(context, pool.window, value_of(context, input), context.graph.values[output]);
    finish(context, std::move(node), output);
}

} // namespace overtake::compiler
