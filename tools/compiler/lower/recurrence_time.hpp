// SPDX-License-Identifier: MIT
//
// The times of RNN, GRU and LSTM on either processor, before they are lowered.
#pragma once

#include "compiler/import/import.hpp"
#include "compiler/ir/cpu_rates.hpp"
#include "compiler/ir/firmware.hpp"

namespace overtake::compiler {

/// Returns the modelled microseconds of the device's instructions, one step after the other.
double recurrence_on_device_us(const RecurrenceSize& size, const ovt_profile& profile);

/// Returns the estimated microseconds as one operator of the CPU.
double recurrence_on_cpu_us(const RecurrenceSize& size, const CpuRates& rates);

} // namespace overtake::compiler
