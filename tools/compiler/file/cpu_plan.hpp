// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cpu/layout_costs.hpp"
#include "overtake/cpu_layout.hpp"
#include "overtake/model_contents.hpp"

namespace overtake::compiler {

/// Returns the model's file with the layouts that its CPU segments have by `layout` and `costs`,
/// and with the weights of their convolutions again, as oneDNN reads them on this CPU.  `contents`
/// are those of `bytes`.  Throws CompileError if the file becomes too large, and Error ENOMEM.
std::vector<std::uint8_t> with_cpu_plan(std::span<const std::uint8_t> bytes,
                                        const ModelContents& contents, CpuLayout layout,
                                        const cpu::LayoutCosts& costs);

} // namespace overtake::compiler
