// SPDX-License-Identifier: MIT
//
// The names that ONNX has for the CPU's functions of one and two elements.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/onnx/file.hpp"
#include "cpu/operation.hpp"

namespace overtake::compiler {

struct UnaryForm {
    cpu::Unary function;
    std::vector<float> reals;
};

bool gives_truth(const std::string& type);

std::optional<UnaryForm> unary_form(const onnx::NodeProto& node);

std::optional<cpu::Binary> binary_form(const onnx::NodeProto& node, bool of_integers);

} // namespace overtake::compiler
