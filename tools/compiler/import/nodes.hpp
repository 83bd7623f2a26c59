// SPDX-License-Identifier: MIT
//
// Values and nodes that import adds to the graph.
#pragma once

#include <string>

#include "compiler/import/context.hpp"

namespace overtake::compiler {

/// Adds a node whose values are there.  Refuses one that would read or write beyond them: every
/// node of the graph comes through here, and nothing behind import looks again.
void add_node(Context& context, Node node);

/// A value that is to become another one than it was when it was added.
Value& change_value(Context& context, ValueId id);

/// Whether a node of the device reads or writes the value.
bool is_on_device(const Context& context, ValueId value);
bool is_read_by_cpu(const Context& context, ValueId value);
/// The node that writes the value; null for inputs and constants.
const Node* writer_of(const Context& context, ValueId value);

/// Takes back what has been added to the graph, and changed in it, since the mark was made.  The
/// meanings of the file's names stay: code that takes a node back imports it again.  Costs as much
/// as there is to take back.
Mark mark(Context& context);
void take_back(Context& context, const Mark& mark);

/// A value for the device, in the order that the node gives.
Value laid_out(const Context& context, const std::string& name, const Shape& shape, Order order);

ValueId add_value(Context& context, const std::string& name, const Shape& shape,
                  Order order = Order::planes);

/// A value that the CPU or the user makes.  In which order the device has it, its first reader
/// there says.
ValueId add_host_value(Context& context, const std::string& name, const Shape& shape);

Node new_node(const Context& context, Operation operation);

void finish(Context& context, Node node, ValueId output);

/// For operators whose output has the shape of `input`.  The value has that of the input's value,
/// if that is called by another shape.
void finish_like(Context& context, const Reference& input, Node node);

} // namespace overtake::compiler
