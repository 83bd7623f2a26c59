// SPDX-License-Identifier: MIT
//
// Keys that name nodes or operators of the network: where they run, their width, and which are
// removed.
#pragma once

#include "compiler/compile.hpp"
#include "compiler/configuration/value.hpp"

namespace overtake::compiler {

/// run_on_cpu and run_on_bpu: names, with a warning for those that the network lacks.
void read_placement(const ConfigurationValue& names, NodeWish::On on, ImportOptions& import);

/// node_info: {NODE: {ON: BPU or CPU, InputType: int16, OutputType: int16}}.
void read_node_info(const ConfigurationValue& info, ImportOptions& import);

/// set_node_data_type: NODE:int16;NODE:int8.
void read_node_types(const ConfigurationValue& types, ImportOptions& import);

/// optimization: words such as set_all_nodes_int16 and set_Softmax_input_int8.
void read_optimization(const ConfigurationValue& words, CompileOptions& compile);

/// remove_node_type and remove_node_name: nodes at the network's inputs and outputs that are
/// removed, in this order.
void read_removed_types(const ConfigurationValue& types, CompileOptions& compile);
void read_removed_names(const ConfigurationValue& names, CompileOptions& compile);

} // namespace overtake::compiler
