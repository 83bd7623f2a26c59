// SPDX-License-Identifier: MIT
//
// From a verified model file (verify.hpp) to what the library works with.  What its fields mean,
// and all that later code relies on, is checked here, and only here.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "model_generated.h"
#include "overtake/model_contents.hpp"

namespace overtake {

/// The root has passed verified_root() or verified_pack(), is in `file`, which is aligned to 64
/// bytes and outlives the result; `weights` are the model's own or its pack's; `path` is for
/// messages. Throws Error EINVAL, "PATH: offset N: FIELD: reason"; a field that the file leaves out
/// is where its table is.
ModelContents read_model(const fbs::Model& root, const flatbuffers::Vector<std::uint8_t>& weights,
                         std::span<const std::byte> file, const std::string& path);

} // namespace overtake
