// SPDX-License-Identifier: MIT
//
// Writes a small model file: make_model FILE.ovm [CYCLES | endless]
//
// CYCLES: the device cycles for which its last FC does nothing else.
// endless: its last FC never ends.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "model_spec.hpp"

int main(int argc, char** argv) {
    if (argc != 2 && argc != 3)
        return std::fprintf(stderr, "usage: make_model FILE.ovm [CYCLES | endless]\n"), 2;
    auto spec = overtake::test::copy_and_softmax(2, 1, 2);
    if (argc == 3) {
        const bool is_endless = std::strcmp(argv[2], "endless") == 0;
        overtake_insn last_insn{};
        last_insn.opcode = is_endless ? OVERTAKE_OP_JUMP : OVERTAKE_OP_DELAY;
        if (is_endless)
            last_insn.jump_target = static_cast<std::uint32_t>(spec.program.size());
        else
            last_insn.delay_cycles = std::strtoull(argv[2], nullptr, 10);
        spec.program.push_back(last_insn);
        const auto& last = spec.segments.front().fcs.back();
        spec.segments.front().fcs.back() = overtake::fbs::Fc(
            last.first_insn(), last.insn_count() + 1, last.cycles() + last_insn.delay_cycles);
    }
    const auto bytes = overtake::test::build(spec);
    std::ofstream file(argv[1], std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return file.flush() ? 0 : 1;
}
