// SPDX-License-Identifier: MIT
//
// Operators that only name or shape what is there: Flatten, Reshape, Identity, Constant.
#include "importer.hpp"

namespace overtake::compiler {

void Importer::flatten() {
    const Reference input = variable_input(0);
    const Shape shape = output_shape();
    if (shape.size() != 2 || shape[0] != 1)
        refuse("gives shape " + to_text(shape) + "; only (1, features) is supported");
    references_[node_->output(0)] = {input.value, shape};
}

void Importer::reshape() {
    const Reference input = variable_input(0);
    const Shape shape = output_shape();
    const Value& data = value_of(input);
    const bool flattens = shape.size() == 2 && shape[0] == 1;
    const bool keeps = shape.size() == 4 && shape[0] == 1 && shape[1] == data.channels &&
                       shape[2] == data.height && shape[3] == data.width;
    if (!flattens && !keeps)
        refuse("from " + to_text(input.shape) + " to " + to_text(shape) +
               " moves data; only reshaping to (1, features) is supported");
    references_[node_->output(0)] = {input.value, shape};
}

void Importer::alias() {
    if (node_->output_size() > 1 && !node_->output(1).empty())
        refuse("its second output is not supported");
    if (is_constant(0))
        constants_[node_->output(0)] = constant_input(0);
    else
        references_[node_->output(0)] = Reference(variable_input(0));
}

void Importer::constant() {
    const onnx::TensorProto* tensor = Attributes(*node_).tensor("value");
    if (!tensor)
        refuse("is supported with the attribute 'value' only");
    constants_[node_->output(0)] = read_constant(*tensor, path_);
}

} // namespace overtake::compiler
