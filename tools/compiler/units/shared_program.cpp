// SPDX-License-Identifier: MIT
#include "compiler/units/shared_program.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>

#include "compiler/ir/error.hpp"
#include "overtake_accel.h"

namespace overtake::compiler {
namespace {

// Equal instructions are rare, so few places need a look; this bounds networks that are made to
// have many.
constexpr std::size_t most_looks = 16;

std::size_t hash_of(const overtake_insn& insn) {
    return std::hash<std::string_view>{}({reinterpret_cast<const char*>(&insn), sizeof(insn)});
}

bool are_same(const overtake_insn& a, const overtake_insn& b) {
    return std::memcmp(&a, &b, sizeof(a)) == 0;
}

} // namespace

SharedProgram::SharedProgram(const std::vector<Step>& steps) {
    for (const Step& step : steps)
        add(step.insn);
}

SharedProgram::SharedProgram(const std::vector<overtake_insn>& instructions) {
    for (const overtake_insn& insn : instructions)
        add(insn);
}

std::uint32_t SharedProgram::place(std::span<const Step> steps) {
    const auto [first, last] = known_.equal_range(hash_of(steps[0].insn));
    std::size_t looks = 0;
    for (auto known = first; known != last && looks < most_looks; ++known, ++looks) {
        const std::span<const overtake_insn> there =
            std::span(instructions_).subspan(known->second);
        if (there.size() >= steps.size() &&
            std::ranges::equal(steps, there.first(steps.size()), are_same, &Step::insn))
            return known->second;
    }
    const auto begin = static_cast<std::uint32_t>(instructions_.size());
    for (const Step& step : steps)
        add(step.insn);
    if (instructions_.size() > OVERTAKE_MAX_BUFFER_BYTES / sizeof(overtake_insn))
        throw CompileError("units and cores", "have a program of more than " +
                                                  std::to_string(OVERTAKE_MAX_BUFFER_BYTES >> 20) +
                                                  " MiB");
    return begin;
}

void SharedProgram::add(const overtake_insn& insn) {
    known_.emplace(hash_of(insn), static_cast<std::uint32_t>(instructions_.size()));
    instructions_.push_back(insn);
}

} // namespace overtake::compiler
