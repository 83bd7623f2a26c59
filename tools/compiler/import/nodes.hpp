// SPDX-License-Identifier: MIT
//
// Values and nodes that import adds to the graph.
#pragma once

#include <string>

#include "compiler/import/context.hpp"

namespace overtake::compiler {

bool is_on_device(const Context& context, ValueId value);

const Node* writer_of(const Context& context, ValueId value);

/// A value for the device, in the order that the node gives.
Value laid_out(const Context& context, const std::string& name, const Shape& shape, Order order);

ValueId add_value(Context& context, const std::string& name, const Shape& shape,
                  Order order = Order::planes);

/// A value that the CPU or the user makes.  In which order the device has it, its first reader
/// there says.
ValueId add_host_value(Context& context, const std::string& name, const Shape& shape);

Node new_node(const Context& context, Operator op);

void finish(Context& context, Node node, ValueId output);

/// For operators whose output has the shape of `input`.  The value has that of the input's value,
/// if that is called by another shape.
void finish_like(Context& context, const Reference& input, Node node);

} // namespace overtake::compiler
