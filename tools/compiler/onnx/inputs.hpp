// SPDX-License-Identifier: MIT
//
// What the user says of a network's inputs, beyond what its file says.  All of these throw
// CompileError that names the option or the file, the input and the remedy.
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
    std::map<std::string, std::vector<std::int64_t>> shapes; ///< of inputs by name
    /// Of inputs that become constants: a number for all elements, or one for each, with commas.
    std::map<std::string, std::string> values;
    /// Whose operators the program that runs the model has.
    std::vector<std::string> custom_domains = {};
    std::vector<RemovedNode> removed = {};
    std::function<void(const std::string&)> warn = {};
};

/// The shapes that the user gives, and a batch of 1 where none is.
void set_input_shapes(onnx::ModelProto& model, const InputSettings& settings,
                      const std::string& path);

/// Inputs to which the user gives values are constants from here on.
void set_inputs(onnx::ModelProto& model, const InputSettings& settings, const std::string& path);

/// Refuses inputs whose shape is still open.
void check_input_shapes(const onnx::ModelProto& model, const std::string& path);

} // namespace overtake::compiler
