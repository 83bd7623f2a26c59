// SPDX-License-Identifier: MIT
#include "compiler/lower/images.hpp"

#include <cstring>

#include "compiler/ir/limits.hpp"
#include "compiler/lower/cut.hpp"

namespace overtake::compiler {

overtake_insn for_image(const overtake_insn& first, const overtake_insn& second,
                        std::uint32_t image) {
    overtake_insn insn = first;
    insn.out.offset += image * (second.out.offset - first.out.offset);
    for (std::size_t input : {0, 1})
        insn.in[input].offset += image * (second.in[input].offset - first.in[input].offset);
    return insn;
}

std::optional<overtake_insn> for_all_images(const overtake_insn& first, const overtake_insn& second,
                                            std::uint32_t images) {
    overtake_insn whole = first;
    whole.out.height *= images;
    for (std::size_t input : {0, 1})
        if (second.in[input].offset != first.in[input].offset)
            whole.in[input].height *= images;
    for (const overtake_operand* operand : {&whole.out, &whole.in[0], &whole.in[1]})
        if (operand->height > max_dimension)
            return std::nullopt;
    // Each part of it for one image has to be the instruction for that image.
    const std::uint32_t rows = first.out.height;
    for (std::uint32_t image = 0; image < images; ++image) {
        const overtake_insn part = cut_rows(whole, image * rows, rows);
        const overtake_insn wanted = cut_rows(for_image(first, second, image), 0, rows);
        if (std::memcmp(&part, &wanted, sizeof(part)) != 0)
            return std::nullopt;
    }
    return whole;
}

} // namespace overtake::compiler
