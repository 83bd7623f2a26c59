// SPDX-License-Identifier: MIT
#pragma once

#include "cpu/rates.hpp"

namespace overtake::compiler {

using CpuRates = cpu::Rates;

} // namespace overtake::compiler
