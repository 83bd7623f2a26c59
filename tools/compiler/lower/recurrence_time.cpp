// SPDX-License-Identifier: MIT
#include "compiler/lower/recurrence_time.hpp"

#include <algorithm>
#include <cstdint>

#include "compiler/ir/firmware.hpp"
#include "compiler/lower/cost.hpp"

namespace overtake::compiler {
namespace {

overtake_operand rows_of(std::int64_t rows, std::int64_t channels) {
    const auto bounded = [](std::int64_t size) {
        return static_cast<std::uint32_t>(std::clamp<std::int64_t>(size, 1, 1 << 20));
    };
    overtake_operand operand{};
    operand.height = 1;
    operand.width = bounded(rows);
    operand.channels = bounded(channels);
    return operand;
}

overtake_insn instruction(std::uint16_t opcode, const overtake_operand& in,
                          const overtake_operand& out) {
    overtake_insn insn{};
    insn.opcode = opcode;
    insn.groups = 1;
    insn.kernel_height = insn.kernel_width = insn.stride_height = insn.stride_width = 1;
    insn.in[0] = in;
    insn.out = out;
    return insn;
}

} // namespace

double recurrence_on_device_us(const RecurrenceSize& size, const ovt_profile& profile) {
    const std::int64_t gates = size.gates * size.hidden;
    // States and cells have 16 bits.
    const overtake_operand sums = rows_of(size.batch, gates),
                           state = rows_of(size.batch, size.hidden);
    const auto product = [&](std::int64_t rows, std::int64_t features) {
        return cost(instruction(OVERTAKE_OP_CONV, rows_of(rows, features), rows_of(rows, gates)),
                    profile);
    };
    overtake_insn added = instruction(OVERTAKE_OP_ADD, sums, sums);
    added.in[1] = sums;
    overtake_operand wide = state;
    wide.type = OVERTAKE_TYPE_INT16;
    overtake_insn multiplied = instruction(OVERTAKE_OP_MUL, state, wide);
    multiplied.in[1] = wide;
    // Beside the product: its sum with that of the inputs, a function of each gate, and about one
    // product for each gate with the state or the cells.
    const std::uint64_t step = product(size.batch, size.hidden) + cost(added, profile) +
                               static_cast<std::uint64_t>(size.gates) *
                                   (cost(instruction(OVERTAKE_OP_TABLE, state, state), profile) +
                                    cost(multiplied, profile));
    const std::uint64_t cycles = product(size.steps * size.batch, size.features) +
                                 static_cast<std::uint64_t>(size.steps) * step;
    return static_cast<double>(cycles) * static_cast<double>(size.directions) * 1000 /
           profile.clock_khz;
}

double recurrence_on_cpu_us(const RecurrenceSize& size, const CpuRates& rates) {
    const auto all = [](std::int64_t first, std::int64_t second, std::int64_t third) {
        return static_cast<std::uint64_t>(first) * static_cast<std::uint64_t>(second) *
               static_cast<std::uint64_t>(third);
    };
    const std::int64_t rows = size.gates * size.hidden * size.directions;
    const std::uint64_t weights = all(rows, size.features + size.hidden, 1);
    const std::uint64_t elements = weights + all(size.steps, size.batch, size.features) +
                                   all(size.steps, size.batch, size.directions * size.hidden);
    return rates.microseconds(weights * all(size.steps, size.batch, 1), elements);
}

} // namespace overtake::compiler
