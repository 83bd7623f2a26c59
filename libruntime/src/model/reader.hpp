// SPDX-License-Identifier: MIT
//
// Makes ModelContents from a model file that verify.hpp has verified.  read_model() checks the
// meaning of the file's fields, and everything that later code relies on; later code does not check
// it again.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "model_generated.h"
#include "overtake/model_contents.hpp"

namespace overtake {

/// Reads the model of a root that has passed verified_root() or verified_pack().  The root is in
/// `file`, which is aligned to 64 bytes and outlives the result.  `weights` are those of the model
/// or of its pack; `path` is for messages.  Throws Error EINVAL, "PATH: offset N: FIELD: reason";
/// the offset of a field that the file leaves out is that of its table.
ModelContents read_model(const fbs::Model& root, const flatbuffers::Vector<std::uint8_t>& weights,
                         std::span<const std::byte> file, const std::string& path);

} // namespace overtake
