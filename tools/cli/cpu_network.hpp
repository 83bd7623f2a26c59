// SPDX-License-Identifier: MIT
//
// Networks as ONNX has them, to run wholly on the CPU.
#pragma once

#include <memory>
#include <string>

#include "compiler/import/import.hpp"
#include "overtake/model.hpp"
#include "warnings.hpp"

namespace overtake::command {

/// Whether a path is an ONNX file's, by its suffix.
bool is_onnx(const std::string& path);

/// The network, compiled in memory with all its nodes on the CPU, in float.  Throws CompileError.
std::shared_ptr<const Model>
compile_for_cpu(const std::string& path, const compiler::ImportOptions& import, Warnings& warnings);

} // namespace overtake::command
