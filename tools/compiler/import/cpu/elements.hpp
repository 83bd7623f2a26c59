// SPDX-License-Identifier: MIT
//
// How ONNX names the CPU's functions of one and two elements; see import_cpu_elements.cpp.
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

/// The function of one element that a node is, attributes included; nothing for other operators.
std::optional<UnaryForm> unary_form(const onnx::NodeProto& node);

/// Of integers, division rounds towards zero.
std::optional<cpu::Binary> binary_form(const onnx::NodeProto& node, bool of_integers);

} // namespace overtake::compiler
