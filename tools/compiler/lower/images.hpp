// SPDX-License-Identifier: MIT
//
// Turns an instruction for one image of a batch into one for each image, or into one for all.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ir/firmware.hpp"

namespace overtake::compiler {

/// Returns the instruction for an image, as `first` and `second` are for the first two.  Images are
/// at equal distances.
overtake_insn for_image(const overtake_insn& first, const overtake_insn& second,
                        std::uint32_t image);

/// Returns one instruction for so many images, as for one image of all their rows.  It fetches once
/// the weights that the images share.  Returns nothing if the images have gaps, or if a window
/// reaches from one image into the next.
std::optional<overtake_insn> for_all_images(const overtake_insn& first, const overtake_insn& second,
                                            std::uint32_t images);

} // namespace overtake::compiler
