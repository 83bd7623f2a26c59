// SPDX-License-Identifier: MIT
#include "programs.hpp"

#include <algorithm>
#include <cstring>

namespace overtake::test {

namespace {

overtake_operand column(std::uint32_t region, std::uint32_t height) {
    overtake_operand operand{};
    operand.region = region;
    operand.height = height;
    operand.width = 1;
    operand.channels = 8;
    operand.row_stride = 8;
    operand.pixel_stride = 8;
    return operand;
}

} // namespace

overtake_insn delay_insn(std::uint64_t cycles) {
    overtake_insn insn{};
    insn.opcode = OVERTAKE_OP_DELAY;
    insn.delay_cycles = cycles;
    return insn;
}

overtake_insn jump_insn(std::uint32_t target) {
    overtake_insn insn{};
    insn.opcode = OVERTAKE_OP_JUMP;
    insn.jump_target = target;
    return insn;
}

overtake_insn copy_insn(std::uint32_t height) {
    overtake_insn insn{};
    insn.opcode = OVERTAKE_OP_COPY;
    insn.in[0] = column(OVERTAKE_REGION_IO, height);
    insn.out = column(OVERTAKE_REGION_IO + 1, height);
    return insn;
}

Program::Program(Device& device, const std::vector<overtake_insn>& insns)
    : buffer(device.create_buffer(insns.size() * sizeof(overtake_insn))),
      fcs{{0, static_cast<std::uint32_t>(insns.size())}} {
    std::memcpy(buffer->data(), insns.data(), insns.size() * sizeof(overtake_insn));
    bindings.push_back({buffer->address(), insns.size() * sizeof(overtake_insn),
                        OVERTAKE_REGION_PROGRAM, OVERTAKE_MAP_READ});
}

Job Program::job(std::uint64_t tag, unsigned priority, unsigned core) const {
    Job job;
    job.tag = tag;
    job.fcs = fcs;
    job.bindings = bindings;
    job.priority = priority;
    job.core = core;
    return job;
}

void Program::bind(std::uint32_t region, const Buffer& memory, std::uint32_t flags) {
    bindings.push_back({memory.address(), memory.size(), region, flags});
}

Program delays(Device& device, const std::vector<std::uint64_t>& microseconds) {
    std::vector<overtake_insn> insns;
    std::vector<overtake_fc> fcs;
    for (const std::uint64_t duration : microseconds) {
        const auto first = static_cast<std::uint32_t>(insns.size());
        std::uint64_t cycles = duration * 1000;
        while (cycles != 0) {
            const std::uint64_t part = std::min<std::uint64_t>(cycles, OVERTAKE_DELAY_CYCLES_MAX);
            insns.push_back(delay_insn(part));
            cycles -= part;
        }
        fcs.push_back({first, static_cast<std::uint32_t>(insns.size()) - first});
    }
    Program program(device, insns);
    program.fcs = std::move(fcs);
    return program;
}

} // namespace overtake::test
