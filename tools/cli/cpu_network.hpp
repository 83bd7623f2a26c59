// SPDX-License-Identifier: MIT
//
// Compiles ONNX networks to run wholly on the CPU.
#pragma once

#include <memory>
#include <string>

#include "compiler/import/import.hpp"
#include "overtake/model.hpp"
#include "warnings.hpp"

namespace overtake::command {

/// Returns whether a path is an ONNX file's, by its suffix.
bool is_onnx(const std::string& path);

/// Returns the network compiled in memory, with all nodes on the CPU, in float. Throws
/// CompileError.
std::shared_ptr<const Model>
compile_for_cpu(const std::string& path, const compiler::ImportOptions& import, Warnings& warnings);

} // namespace overtake::command
