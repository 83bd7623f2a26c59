// SPDX-License-Identifier: MIT
//
// An instruction for one image of a batch, made one for each of them or one for all.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ir/firmware.hpp"

namespace overtake::compiler {

/// What computes an image as `first` and `second` do the first two.  Images lie at equal distances.
overtake_insn for_image(const overtake_insn& first, const overtake_insn& second,
                        std::uint32_t image);

/// One instruction for so many images as for one of as many rows, where they lie without gaps and
/// no window reaches from one into the next: what they share is then fetched once.
std::optional<overtake_insn> for_all_images(const overtake_insn& first, const overtake_insn& second,
                                            std::uint32_t images);

} // namespace overtake::compiler
