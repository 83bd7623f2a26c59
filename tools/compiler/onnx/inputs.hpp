// SPDX-License-Identifier: MIT
//
// Settings of a network's inputs that the user gives.  All functions throw CompileError that names
// the option or the file, the input and the remedy.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/onnx/removed_node.hpp"

namespace overtake::compiler {

struct InputSettings {
    std::map<std::string, std::vector<std::int64_t>> shapes; ///< shapes of inputs by name
    /// Values of inputs that become constants, by name: a number for all elements, or one for each,
    /// separated by commas.
    std::map<std::string, std::string> values;
    /// Domains whose operators the program that runs the model has.
    std::vector<std::string> custom_domains = {};
    std::vector<RemovedNode> removed = {};
    std::function<void(const std::string&)> warn = {};
};

/// Gives inputs the user's shapes, and a batch of 1 where there is none.
void set_input_shapes(onnx::ModelProto& model, const InputSettings& settings,
                      const std::string& path);

/// Makes inputs to which the user gives values constants.
void set_inputs(onnx::ModelProto& model, const InputSettings& settings, const std::string& path);

/// Refuses inputs whose shape is not static.
void check_input_shapes(const onnx::ModelProto& model, const std::string& path);

} // namespace overtake::compiler
