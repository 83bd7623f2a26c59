// SPDX-License-Identifier: MIT
//
// MaxPool, AveragePool and their global forms.
#include "compiler/import/importer.hpp"

#include <algorithm>

#include "overtake_isa.h"

namespace overtake::compiler {

// More than an instruction takes, and no reason to try.
void Importer::check_pool_size(const Window& window) const {
    if (std::uint64_t{window.kernel_height} * window.kernel_width > OVERTAKE_MAX_KERNEL_ELEMENTS)
        refuse("pools of more than " + std::to_string(OVERTAKE_MAX_KERNEL_ELEMENTS) +
               " positions are not supported");
}

void Importer::pool() {
    const Attributes attributes(*node_);
    const Reference input = image_input(0);
    if (node_->output_size() > 1 && !node_->output(1).empty())
        refuse("the indices of its maxima are not supported");
    const bool is_average = node_->op_type() == "AveragePool";
    Node node = new_node(is_average ? Operator::average_pool : Operator::max_pool);
    node.window = read_window(spatial_attribute("kernel_shape", 1, input.shape), value_of(input));
    check_pool_size(node.window);
    node.count_include_pad = is_average && attributes.integer("count_include_pad", 0) != 0;
    if (is_average && (node.window.dilation_height != 1 || node.window.dilation_width != 1))
        refuse("dilation is not supported");
    // What ceil_mode adds never counts, what pads says does.
    const auto pads = spatial_attribute("pads", 0, input.shape);
    if (node.count_include_pad && attributes.integer("ceil_mode", 0) != 0) {
        if (attributes.text("auto_pad", "NOTSET") != "NOTSET")
            refuse("ceil_mode together with auto_pad is not supported");
        if (pads[2] < 0 || pads[2] >= node.window.kernel_height || pads[3] < 0 ||
            pads[3] >= node.window.kernel_width)
            refuse("padding as large as the kernel is not supported");
        node.clips_padding = true;
        node.pad_bottom = static_cast<std::uint32_t>(pads[2]);
        node.pad_right = static_cast<std::uint32_t>(pads[3]);
    }
    node.inputs = {input.value};
    const ValueId output = add_value(node_->output(0), output_shape());
    check_window(node.window, value_of(input), graph_.values[output]);
    check_taps(node.window, value_of(input), graph_.values[output]);
    finish(std::move(node), output);
}

void Importer::add_global_pool(Operator op, bool keeps_dimensions) {
    const Reference input = image_input(0);
    const Value& data = value_of(input);
    if (data.height > max_window || data.width > max_window)
        refuse("pools of more than 65535 rows or columns are not supported");
    Node node = new_node(op);
    node.window.kernel_height = data.height;
    node.window.kernel_width = data.width;
    check_pool_size(node.window);
    node.inputs = {input.value};
    Shape shape = {1, data.channels};
    if (keeps_dimensions)
        shape.resize(input.shape.size(), 1);
    finish(std::move(node), add_value(node_->output(0), shape));
}

void Importer::global_pool() {
    add_global_pool(
        node_->op_type() == "GlobalMaxPool" ? Operator::max_pool : Operator::average_pool, true);
}

} // namespace overtake::compiler
