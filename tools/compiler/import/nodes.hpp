// SPDX-License-Identifier: MIT
//
// Values and nodes that import adds to the graph.
#pragma once

#include <string>

#include "compiler/import/context.hpp"

namespace overtake::compiler {

/// Adds a node whose values exist.  Refuses a node that would read or write beyond them: every node
/// of the graph passes through here, and nothing after import checks again.
void add_node(Context& context, Node node);

/// Returns a value that was added before, so that it can be changed.
Value& change_value(Context& context, ValueId id);

/// Whether a node of the device reads or writes the value.
bool is_on_device(const Context& context, ValueId value);
bool is_read_by_cpu(const Context& context, ValueId value);
/// Returns the node that writes the value; null for inputs and constants.
const Node* writer_of(const Context& context, ValueId value);

/// Returns a mark.  take_back() removes all additions to the graph, and undoes all changes in it,
/// since the mark.  The meanings of the file's names stay: code that takes a node back imports it
/// again.  The cost of taking back grows with the additions and changes.
Mark mark(Context& context);
void take_back(Context& context, const Mark& mark);

/// Returns a value for the device, in the order that the node gives.
Value laid_out(const Context& context, const std::string& name, const Shape& shape, Order order);

ValueId add_value(Context& context, const std::string& name, const Shape& shape,
                  Order order = Order::planes);

/// Adds a value that the CPU or the user makes.  Its first reader on the device determines its
/// order there.
ValueId add_host_value(Context& context, const std::string& name, const Shape& shape);

Node new_node(const Context& context, Operation operation);

void finish(Context& context, Node node, ValueId output);

/// Finishes an operator whose output has the shape of `input`.  The value gets the shape of the
/// input's value, if that has another shape.
void finish_like(Context& context, const Reference& input, Node node);

} // namespace overtake::compiler
