// SPDX-License-Identifier: MIT
//
// MaxPool, AveragePool and their global forms.
#include "importer.hpp"

namespace overtake::compiler {

void Importer::pool() {
    const Attributes attributes(*node_);
    const Reference input = variable_input(0);
    if (input.shape.size() != 4)
        refuse("only two-dimensional pools are supported");
    if (node_->output_size() > 1 && !node_->output(1).empty())
        refuse("the indices of its maxima are not supported");
    for (std::int64_t dilation : attributes.integers("dilations", {1, 1}))
        if (dilation != 1)
            refuse("dilation is not supported");
    const bool is_average = node_->op_type() == "AveragePool";
    Node node = new_node(is_average ? Operator::average_pool : Operator::max_pool);
    node.window = read_window(attributes.integers("kernel_shape", {}), value_of(input));
    node.count_include_pad = is_average && attributes.integer("count_include_pad", 0) != 0;
    if (node.count_include_pad && attributes.integer("ceil_mode", 0) != 0)
        refuse("ceil_mode together with count_include_pad is not supported");
    node.inputs = {input.value};
    const ValueId output = add_value(node_->output(0), output_shape());
    check_window(node.window, value_of(input), graph_.values[output]);
    finish(std::move(node), output);
}

void Importer::global_pool() {
    const Reference input = variable_input(0);
    const Value& data = value_of(input);
    if (input.shape.size() != 4 || data.height > max_window || data.width > max_window)
        refuse("only two-dimensional pools of at most 65535 rows and columns are supported");
    Node node =
        new_node(node_->op_type() == "GlobalMaxPool" ? Operator::max_pool : Operator::average_pool);
    node.window.kernel_height = data.height;
    node.window.kernel_width = data.width;
    node.inputs = {input.value};
    finish(std::move(node), add_value(node_->output(0), {1, input.shape[1], 1, 1}));
}

} // namespace overtake::compiler
